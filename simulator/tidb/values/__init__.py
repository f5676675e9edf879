"""Convert values to TiDB text, as a MySQL client prints it.

`conversion` converts whole columns, `durations` and `moments` single dates and times, without loading a library.
"""
