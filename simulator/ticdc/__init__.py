"""What the changefeed does with rows and jobs."""
