"""Executes SHOW, DESCRIBE and ADMIN SHOW DDL JOBS."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import with_table
from simulator.tidb.sql_engine.queries.evaluate import run_select
from simulator.tidb.sql_engine.result_columns import ResultColumn, type_flags
from simulator.tidb.sql_engine.show.catalog import CATALOG_KINDS
from simulator.tidb.sql_engine.show.server import SERVER_KINDS
from simulator.tidb.sql_engine.storage.state import ResultSet, StoredRows, Upstream
from simulator.tidb.sql_engine.system_tables.definitions import SystemTable
from simulator.tidb.syntax.show import Show

KINDS = {**CATALOG_KINDS, **SERVER_KINDS}
"""The functions that return what a kind of SHOW shows, before LIKE and WHERE."""


def run_show(show: Show, text: str, upstream: Upstream, now_ms: int) -> ResultSet:
    """Return the rows of SHOW. Raises SqlError."""
    shown = KINDS[show.kind](show, text, upstream, now_ms)
    if show.like is not None:
        pattern = _like(show.like)
        shown = shown._replace(rows=[row for row in shown.rows if pattern.fullmatch(str(row[0]))])
    columns = tuple(ResultColumn(column.name, column.type, type_flags(column.type)) for column in shown.table.columns)
    if show.where is None:
        arrays = [array.cast(pa.binary()) for array in shown.cells().values()]
        return ResultSet(columns, _as_table(arrays))
    return ResultSet(columns, _filtered(shown, show.where, upstream, now_ms))


def _as_table(arrays: Sequence[pa.Array]) -> pa.Table:
    return pa.table(arrays, [str(place) for place in range(len(arrays))])


def _like(pattern: str) -> re.Pattern[str]:
    """Return the pattern of LIKE, which ignores case here."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    known = {"%": ".*", "_": "."}
    text = "".join(known.get(part) or re.escape(part[-1]) for part in parts)
    return re.compile(text, re.IGNORECASE | re.DOTALL)


def _filtered(shown: SystemTable, where: syntax.Node, upstream: Upstream, now_ms: int) -> pa.Table:
    """Return the rows for which a condition on the columns is true."""
    place = syntax.TableName(shown.table.schema, shown.table.name)
    table = shown.table
    stored = StoredRows(table, pa.table(shown.cells()), pa.array(range(shown.row_count), pa.int64()))
    inside = replace(upstream, catalog=with_table(upstream.catalog, table), rows={(place.schema, place.name): stored})
    query = syntax.SelectTree((syntax.Star(),), syntax.TableSource(place), where)
    return run_select(query, inside, now_ms).rows
