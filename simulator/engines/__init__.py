"""The two engines: Spark moves the rows of snapshots of any size; in process, those of small ones need no Java.

One law: both call the same functions on the same kinds of batches, and give the same records, byte for byte.
"""
