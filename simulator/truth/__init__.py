"""The truth of a run: the rows that its consumer should have at a watermark, as a snapshot that says whose it is."""
