"""The door to DuckDB: one embedded database a process, which reads nothing but the Arrow arrays it is given.

One law: it is opened when the first expression is evaluated, has one thread, and never touches files or the network.
"""

from __future__ import annotations

import atexit
import functools
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from simulator.tidb.expressions.kernels import KERNELS
from simulator.tidb.expressions.sql import Sql, query, quoted

if TYPE_CHECKING:
    import duckdb

ROWS = "rows_of_a_batch"
_LOCK = threading.Lock()
"""A connection does one thing at a time."""


class Uncomputable(Exception):
    """What DuckDB says of an expression that it cannot compute."""


@functools.cache
def _database() -> duckdb.DuckDBPyConnection:
    import duckdb
    from duckdb.func import PythonUDFType

    connection = duckdb.connect(":memory:", config={
        "threads": "1", "enable_external_access": "false", "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false"})
    connection.execute("SET max_expression_depth TO 10000; SET TimeZone TO 'UTC'")
    for called, kernel in KERNELS.items():
        connection.create_function(called, kernel.over, [kernel.takes], kernel.gives, type=PythonUDFType.ARROW)
    atexit.register(connection.close)
    return connection


def evaluated(wanted: Mapping[str, Sql], cells: Mapping[str, pa.Array], rows: int) -> dict[str, pa.Array]:
    """The values of expressions for each row, by name; `cells` are the TiDB texts of columns, string or binary.

    Raises Uncomputable.
    """
    import duckdb

    text = _query(tuple(wanted.items()))
    texts = {name: _text(cell) for name, cell in cells.items() if quoted(name) in text}
    table = pa.table({"row ": pa.nulls(rows, pa.int8()), **texts})
    with _LOCK:
        connection = _database()
        connection.register(ROWS, table)
        try:
            found = connection.sql(text).to_arrow_table()
        except duckdb.Error as error:
            raise Uncomputable(str(error).splitlines()[0]) from None
        finally:
            connection.unregister(ROWS)
    return {name: found.column(name).combine_chunks() for name in wanted}


@functools.lru_cache(256)
def _query(wanted: tuple[tuple[str, Sql], ...]) -> str:
    return query(dict(wanted), ROWS)


def _text(cell: pa.Array) -> pa.Array:
    """A cell as valid UTF-8, which DuckDB needs."""
    if pa.types.is_string(cell.type):
        return cell
    try:
        return cell.cast(pa.string())
    except pa.ArrowInvalid:
        texts = (None if one is None else one.decode("utf-8", "replace") for one in cell.to_pylist())
        return pa.array(texts, pa.string())
