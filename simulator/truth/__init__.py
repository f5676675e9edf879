"""The truth of a run: a snapshot of the rows that a correct consumer holds at a watermark, with metadata of the run."""
