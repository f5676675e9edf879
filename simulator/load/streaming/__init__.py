"""Load on Spark Structured Streaming: a micro-batch is a window. Its tasks send the rows, its commit sends the
watermark.

Rows are generated, encoded and sent in one Python process each. Only descriptors and reports pass through Java.
"""
