"""Cast the values of a statement, TiDB's datums, to a column's type: TiDB's CastValue.

`cast.cast_column` casts whole columns, and returns TiDB text and the problems by row. `cast.cast_value` casts one datum.
"""
