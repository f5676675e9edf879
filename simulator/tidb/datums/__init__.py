"""Values that a statement gives (TiDB calls them datums), and what a column makes of them: TiDB's CastValue.

`columns.cast_column` is the door: whole columns of datums become TiDB text, with the problems by row. `cast` does one.
"""
