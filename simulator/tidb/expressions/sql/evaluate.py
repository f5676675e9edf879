"""Evaluation of expressions by DuckDB, over Arrow arrays.

A process opens one in-memory database at the first expression. It has one thread and no access to files or the network.
Functions of ARROW_FUNCTIONS run in Arrow and numpy over whole batches; DuckDB passes them no NULL.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import re
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import hashing
from simulator.tidb.collations import compare, weights
from simulator.tidb.expressions.sql import python_functions, wide_decimals
from simulator.tidb.expressions.sql.graph import Sql, quote, select_query
from simulator.tidb.model.types import ColumnType
from simulator.tidb.values import spellings, times
from simulator.tidb.values.kernels import map_distinct

if TYPE_CHECKING:
    import duckdb

ROWS_TABLE = "rows_of_a_batch"
PYTHON_CALL_RESULT = "STRUCT(value VARCHAR, problem VARCHAR)"
_LOCK = threading.Lock()
"""A connection does one thing at a time."""


BATCH = 1 << 16
"""Rows that are fetched at a time."""

CELL = 16
"""Bytes that a value takes beside its text."""

MEMORY = 1 << 30
"""Bytes that a query may hold: TiDB's default of tidb_mem_quota_query."""


class EvaluationError(Exception):
    """An expression that DuckDB cannot compute; the text is DuckDB's first line."""


class MemoryExceeded(EvaluationError):
    """A query that needs more than MEMORY."""


class Interrupted(EvaluationError):
    """A query that `interrupt` has ended."""


@functools.cache
def _database() -> duckdb.DuckDBPyConnection:
    import duckdb
    from duckdb.func import FunctionNullHandling, PythonUDFType

    connection = duckdb.connect(
        ":memory:",
        config={
            "threads": "1",
            "memory_limit": f"{MEMORY}B",
            "enable_external_access": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        },
    )
    connection.execute("SET max_expression_depth TO 10000; SET TimeZone TO 'UTC'")
    for name, kernel in ARROW_FUNCTIONS.items():
        connection.create_function(name, kernel.over, [kernel.takes], kernel.gives, type=PythonUDFType.ARROW)
    connection.create_function(
        "python_call",
        lambda calls: python_functions.run_calls(calls),
        ["VARCHAR[]"],
        PYTHON_CALL_RESULT,
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
    )
    atexit.register(connection.close)
    return connection


def evaluate(
    expressions: Mapping[str, Sql], cells: Mapping[str, pa.Array], rows: int, lossy: bool = False
) -> dict[str, pa.Array]:
    """Return the values of expressions by name, one for each row.

    `cells` are the TiDB texts of columns, string or binary. With `lossy`, U+FFFD replaces bytes that are not UTF-8.
    Raises EvaluationError.
    """
    text = _query(tuple(expressions.items()))
    texts = {
        name: as_valid_utf8(cell) if lossy else as_strings(name, cell, text)
        for name, cell in cells.items()
        if quote(name) in text
    }
    result = run_query(text, {ROWS_TABLE: pa.table({"row ": pa.nulls(rows, pa.int8()), **texts})})
    return {name: result.column(name).combine_chunks() for name in expressions}


def run_query(text: str, tables: Mapping[str, pa.Table]) -> pa.Table:
    """Return the rows of a query over tables by name, whose texts come from `as_strings`. Raises EvaluationError."""
    import duckdb

    with _LOCK:
        connection = _database()
        for name, table in tables.items():
            connection.register(name, table)
        try:
            return _interruptible(connection, lambda: _fetched(connection, text))
        except (duckdb.OutOfMemoryException, MemoryError) as error:
            raise MemoryExceeded(str(error).splitlines()[0]) from None
        except duckdb.InterruptException as error:
            raise Interrupted(str(error).splitlines()[0]) from None
        except duckdb.Error as error:
            raise EvaluationError(str(error).splitlines()[0]) from None
        finally:
            for name in tables:
                connection.unregister(name)


def _fetched(connection: duckdb.DuckDBPyConnection, text: str) -> pa.Table:
    """Return the rows of a query. Raises MemoryExceeded before they fill the memory."""
    batches, size = [], 0
    with connection.sql(text).to_arrow_reader(BATCH) as reader:
        for batch in reader:
            batches.append(batch)
            size += batch.nbytes + CELL * batch.num_rows * batch.num_columns
            if size > MEMORY:
                raise MemoryExceeded(f"the result has more than {MEMORY:,} bytes")
        return pa.Table.from_batches(batches, reader.schema)


def _interruptible(connection: duckdb.DuckDBPyConnection, work: Callable[[], pa.Table]) -> pa.Table:
    """Return the result of work with the connection, which a signal ends: the main thread, where Python handles
    signals, waits for another one that works."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    working = _worker().submit(work)
    try:
        return working.result()
    except BaseException:
        while not working.done():
            connection.interrupt()
            wait([working], 0.1)
        raise


@functools.cache
def _worker() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "ticdc-sim-duckdb")


def interrupt() -> None:
    """End the query that runs, if one does, with Interrupted; may be called in any thread."""
    if _database.cache_info().currsize:
        _database().interrupt()


@functools.lru_cache(256)
def _query(expressions: tuple[tuple[str, Sql], ...]) -> str:
    return select_query(dict(expressions), ROWS_TABLE)


COPIED_COLUMN = r'(?:SELECT |, )(?:{0}|encode\({0}\)) AS ("[^"]+")'
MERGING_CLAUSE = re.compile("UNION|EXCEPT|INTERSECT|DISTINCT|GROUP BY")


def as_strings(column: str, cells: pa.Array | pa.ChunkedArray, text: str) -> pa.Array | pa.ChunkedArray:
    """Return cells of a column as strings for the query `text`.

    Bytes that are not UTF-8, which cells hold as lone surrogates, can only be copied by a query: DuckDB sees three
    bytes for each. Raises EvaluationError for a query that does more.
    """
    try:
        return cells.cast(pa.string())
    except pa.ArrowInvalid:
        if MERGING_CLAUSE.search(text) or not _is_copied(quote(column), text):
            raise EvaluationError("a text has bytes that are no UTF-8; SELECT of it alone shows them") from None
        pieces = cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]
        return pa.chunked_array([piece.view(pa.string()) for piece in pieces], pa.string())


def _is_copied(named: str, text: str) -> bool:
    """Return whether a query only copies a column, under the same name or another."""
    waiting, copied = [named], {named}
    while waiting:
        name = waiting.pop()
        copies = re.findall(COPIED_COLUMN.format(re.escape(name)), text)
        if text.count(name) != len(copies) + text.count(f" AS {name}"):
            return False
        waiting += [other for other in copies if other not in copied]
        copied.update(copies)
    return True


def as_valid_utf8(cell: pa.Array) -> pa.Array:
    """Return cells as valid UTF-8; U+FFFD replaces other bytes."""
    if pa.types.is_string(cell.type):
        return cell
    try:
        return cell.cast(pa.string())
    except pa.ArrowInvalid:
        texts = (None if value is None else value.decode("utf-8", "replace") for value in cell.to_pylist())
        return pa.array(texts, pa.string())


class ArrowFunction(NamedTuple):
    takes: str
    gives: str
    compute: Callable[[pa.Array], pa.Array]

    def over(self, cells: pa.ChunkedArray) -> pa.Array:
        return self.compute(cells.combine_chunks())


def _crc32(cells: pa.Array) -> pa.Array:
    return pa.array(hashing.crc32(cells).astype(np.int64))


def _digest(name: str, cells: pa.Array) -> pa.Array:
    """Return hexadecimal digests; each distinct value is hashed once."""
    distinct = cells.dictionary_encode()
    digests = [hashlib.new(name, value).hexdigest() for value in distinct.dictionary.to_pylist()]
    return pa.array(digests, pa.string()).take(distinct.indices)


def _moment(cells: pa.Array) -> pa.Array:
    """Parse moments, with six digits of a second; other text becomes the empty text."""
    return pc.fill_null(times.datetime(ColumnType("datetime", decimal=6), cells), "")


def _time(cells: pa.Array) -> pa.Array:
    """Parse durations, limited to the longest TIME; other text becomes the empty text."""
    return pc.fill_null(map_distinct(cells, lambda cell: spellings.time(cell, 6, cut=True)), "")


def _wide(cells: pa.Array) -> pa.Array:
    return pc.fill_null(wide_decimals.run_operations(cells), "")


ARROW_FUNCTIONS: dict[str, ArrowFunction] = {
    "crc32_of": ArrowFunction("BLOB", "BIGINT", _crc32),
    "moment_of": ArrowFunction("VARCHAR", "VARCHAR", _moment),
    "time_of": ArrowFunction("VARCHAR", "VARCHAR", _time),
    "wide_number_of": ArrowFunction("VARCHAR", "VARCHAR", _wide),
    **{
        f"{name}_of": ArrowFunction("BLOB", "VARCHAR", partial(_digest, name))
        for name in ("sha224", "sha384", "sha512")
    },
    **{
        f"sort_key_{name}": ArrowFunction("VARCHAR", "BLOB", partial(compare.sort_keys, name))
        for name in weights.WEIGHTS
    },
    **{
        f"alike_{name}": ArrowFunction("VARCHAR", "VARCHAR", partial(compare.like_representatives, name))
        for name in weights.WEIGHTS
    },
}
"""Functions of one argument that Arrow and numpy compute, by name in SQL."""
