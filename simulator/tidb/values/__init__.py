"""What a database keeps of a value: TiDB text, as a MySQL client prints it.

One law: whatever gives a value (a file, a statement, a person) asks these functions, which take whole columns.
"""

from simulator.tidb.values.conversion import accepted, convertible, tagged, text_as, tidb_text

__all__ = ["accepted", "convertible", "tagged", "text_as", "tidb_text"]
