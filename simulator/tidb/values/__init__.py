"""Convert values to TiDB text, as a MySQL client prints it.

`conversion` converts whole columns, `spellings` single dates and times, without loading a library.
"""
