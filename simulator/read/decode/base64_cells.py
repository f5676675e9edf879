"""Base64 of whole columns. One law: what Python's strict decoder refuses is refused here, too."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    import duckdb


def from_base64(cells: pa.Array) -> pa.Array:
    """The bytes behind texts, null for null; raises ValueError where one is no base64."""
    import duckdb

    try:
        found = _cursor().from_arrow(pa.table({"cell": cells})).project("from_base64(cell)").to_arrow_table()
    except duckdb.Error as error:
        raise ValueError(f"bad base64 ({str(error).splitlines()[0]})") from error
    column = found.column(0).combine_chunks()
    return column if isinstance(column, pa.Array) else pa.concat_arrays(column.chunks)


@cache
def _database() -> duckdb.DuckDBPyConnection:
    import duckdb

    # One thread: it keeps the order of rows, and the tasks of an engine share the cores as they are.
    return duckdb.connect(":memory:", config={"threads": 1})


def _cursor() -> duckdb.DuckDBPyConnection:
    return _database().cursor()
