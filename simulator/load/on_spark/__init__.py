"""Load on Spark: one job for the whole run, whose tasks send window after window.

Rows are generated, encoded and sent in one Python process each. Windows and reports go over a socket, past Java.
"""
