"""Engines compare snapshots and send the changes: in process for small snapshots, on Spark for any size.

Both call the same functions on Arrow batches and produce the same records, byte for byte.
"""
