"""What a database keeps of a value: TiDB text, as a MySQL client prints it.

One law: whatever gives a value (a file, a statement, a person) asks here: `conversion` takes whole columns, `spellings`
a single date or time without loading a library.
"""
