"""Load on Spark Structured Streaming: a micro-batch is a window, its tasks send the rows, its commit the watermark.

One law: rows are made, encoded and sent in one Python process each; through Java go descriptors and reports alone.
"""
