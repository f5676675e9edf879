"""Executes SHOW, DESCRIBE and ADMIN SHOW DDL JOBS."""

from __future__ import annotations

import re

from simulator.tidb.engine.queries.compilation import new_compilation
from simulator.tidb.engine.queries.filters import compile_condition
from simulator.tidb.engine.queries.relation import table_fields
from simulator.tidb.engine.queries.statements import evaluate_subqueries
from simulator.tidb.engine.scopes.scope import QueryScope
from simulator.tidb.engine.sessions.context import StatementContext
from simulator.tidb.engine.sessions.outcome import ResultSet
from simulator.tidb.engine.sessions.result_columns import ResultColumn, type_flags
from simulator.tidb.engine.show.catalog import CATALOG_KINDS
from simulator.tidb.engine.show.server import SERVER_KINDS
from simulator.tidb.engine.show.shown import Shown
from simulator.tidb.engine.system_tables.tables import cells_of_row
from simulator.tidb.model.table import Cells
from simulator.tidb.syntax.expressions import Node
from simulator.tidb.syntax.session import Show

KINDS = {**CATALOG_KINDS, **SERVER_KINDS}
"""The functions that return what a kind of SHOW shows, before LIKE and WHERE."""


def run_show(show: Show, text: str, context: StatementContext) -> ResultSet:
    """Return the rows of SHOW. Raises SqlError."""
    shown = KINDS[show.kind](show, text, context)
    if show.like is not None:
        pattern = _like(show.like)
        shown = shown._replace(rows=[row for row in shown.rows if pattern.fullmatch(str(row[0]))])
    columns = tuple(ResultColumn(column.name, column.type, type_flags(column.type)) for column in shown.table.columns)
    rows = [cells_of_row(row) for row in shown.rows]
    if show.where is not None:
        rows = _filtered(shown, rows, show.where, context)
    return ResultSet(columns, [tuple(row) for row in rows])


def _like(pattern: str) -> re.Pattern[str]:
    """Return the pattern of LIKE, which ignores case here."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    known = {"%": ".*", "_": "."}
    text = "".join(known.get(part) or re.escape(part[-1]) for part in parts)
    return re.compile(text, re.IGNORECASE | re.DOTALL)


def _filtered(shown: Shown, rows: list[Cells], where: Node, context: StatementContext) -> list[Cells]:
    """Return the rows for which a condition on the columns is true."""
    compilation = new_compilation(context)
    fields = table_fields(shown.table, shown.table.name, shown.table.schema)
    test = compile_condition(where, QueryScope(compilation, fields).within("where clause"))
    evaluate_subqueries(compilation)
    return [row for row in rows if test([*row, (0, 0)], context)]
