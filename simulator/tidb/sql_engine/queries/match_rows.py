"""Finds the rows that an UPDATE, a DELETE or an INSERT … SELECT applies to.

Conditions on the columns of one table are answered without a query (`simple_queries.py`), all others by DuckDB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa

from simulator.tidb.ddl.catalog import Key
from simulator.tidb.expressions.sql.graph import identifier, quote, select_query
from simulator.tidb.expressions.translate import translate
from simulator.tidb.model.table import Column, Table
from simulator.tidb.sql_engine.queries.evaluate import as_datums, datum_or_text, fetched_column
from simulator.tidb.sql_engine.queries.literals import NotSimple
from simulator.tidb.sql_engine.queries.scopes import QueryScope
from simulator.tidb.sql_engine.queries.selects import add_common_tables, build_from
from simulator.tidb.sql_engine.queries.simple_queries import match_and_evaluate
from simulator.tidb.sql_engine.queries.sorting import order_rows, order_term, sort_key
from simulator.tidb.sql_engine.queries.sources import filter_relation, row_identity
from simulator.tidb.sql_engine.queries.statement_evaluation import ExpressionProblems, StatementEvaluation
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.syntax.expressions import Node
from simulator.tidb.syntax.queries import Limit, OrderItem, Source, TableSource, WithTree


class MatchedTable(NamedTuple):
    """A base table of a FROM clause, with the positions of its matched rows."""

    alias: str
    """As written: the table's alias, or its name."""

    key: Key
    table: Table
    places: pa.Array
    """int64 positions in its `StoredRows`, in the order of the statement; null if an outer join has no row."""


class MatchedRows(NamedTuple):
    """The rows that WHERE, ORDER BY and LIMIT select. All arrays have equal length."""

    tables: tuple[MatchedTable, ...]
    """In the order of the FROM clause."""

    values: Mapping[str, pa.Array]
    """Raw values of the expressions by name."""


def match_rows(
    source: Source,
    where: Node | None,
    order: Sequence[OrderItem],
    limit: Limit | None,
    upstream: Upstream,
    now_ms: int,
    expressions: Mapping[str, Node],
    targets: Mapping[str, Column],
    common: WithTree | None = None,
    problems: ExpressionProblems | None = None,
) -> MatchedRows:
    """Return the rows of a statement, and raw values of `expressions`, computed from the rows before the statement.

    Values are datums for the columns in `targets`, TiDB text for other names. Without ORDER BY the rows are in the
    order of `StoredRows.cells`, which is the order of a scan in TiKV. Raises SqlError.
    """
    if common is None and isinstance(source, TableSource):
        try:
            match, simple = match_and_evaluate(source, where, order, limit, upstream, expressions, targets)
        except NotSimple:
            pass
        else:
            return MatchedRows((MatchedTable(match.alias, match.key, match.table, match.places),), simple)
    evaluation = StatementEvaluation(upstream, now_ms, problems)
    around = QueryScope(evaluation)
    if common is not None:
        around = add_common_tables(common, around)
    relation = build_from(source, evaluation, around)
    scope = replace(around, fields=relation.fields, row=row_identity(relation), outer=None)
    relation = filter_relation(relation, where, scope.within("where clause"))
    terms = list(relation.order)
    if order:
        keys = [sort_key(translate(item.expression, scope.within("order clause"))) for item in order]
        names = [f"{evaluation.next_number()}.key" for _ in keys]
        evaluation.watch_problems(keys, relation.sql)
        text = select_query(
            dict(zip(names, keys, strict=True)), relation.sql, f"{evaluation.next_number()}:", with_all=True
        )
        terms = [*(order_term(quote(key), item.descending) for key, item in zip(names, order, strict=True)), *terms]
        relation = replace(relation, sql=f"({text})")
    if limit is not None:
        relation = replace(relation, sql=order_rows(relation.sql, terms, limit))
    outputs = {f"place {number}": identifier(base.place) for number, base in enumerate(relation.bases)}
    values = {key: datum_or_text(translate(node, scope), targets.get(key)) for key, node in expressions.items()}
    outputs |= {f"value {key}": value.body for key, value in values.items()}
    result = evaluation.fetch(outputs, relation.sql, f" ORDER BY {', '.join(terms)}" if terms else "")
    tables = tuple(
        MatchedTable(base.alias, base.key, base.table, fetched_column(result, f"place {number}"))
        for number, base in enumerate(relation.bases)
    )
    return MatchedRows(
        tables, {key: as_datums(fetched_column(result, f"value {key}"), value) for key, value in values.items()}
    )
