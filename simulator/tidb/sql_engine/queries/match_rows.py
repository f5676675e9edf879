"""The rows that an UPDATE, a DELETE or an INSERT … SELECT is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from simulator.tidb.ddl.catalog import Key, object_key
from simulator.tidb.expressions.sql.graph import identifier, quote, select_query
from simulator.tidb.expressions.translate import translate
from simulator.tidb.expressions.trees import strip_parentheses
from simulator.tidb.model.table import Column, Table
from simulator.tidb.sql_engine.queries import simple_conditions, simple_values
from simulator.tidb.sql_engine.queries.evaluate import as_datums, datum_or_text, fetched_column, resolve_stored_column
from simulator.tidb.sql_engine.queries.expression_problems import ExpressionProblems
from simulator.tidb.sql_engine.queries.scopes import QueryScope
from simulator.tidb.sql_engine.queries.selects import add_common_tables, build_from
from simulator.tidb.sql_engine.queries.simple_values import NotSimple
from simulator.tidb.sql_engine.queries.sorting import order_rows, order_term, sort_key
from simulator.tidb.sql_engine.queries.sources import filter_relation, row_identity
from simulator.tidb.sql_engine.queries.statement_evaluation import StatementEvaluation
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.syntax.expressions import Node
from simulator.tidb.syntax.queries import Limit, OrderItem, Source, TableSource, WithTree


class MatchedTable(NamedTuple):
    """A base table of a FROM clause."""

    alias: str
    """As written: its alias, else its name."""

    key: Key
    table: Table
    places: pa.Array
    """int64 places in its `StoredRows`, in the order of the statement; null where an outer join has no row."""


class MatchedRows(NamedTuple):
    """What a statement's WHERE, ORDER BY and LIMIT let through; all arrays equally long."""

    tables: tuple[MatchedTable, ...]
    """In the order of the FROM clause."""

    values: Mapping[str, pa.Array]
    """Raw values of what was wanted, by its name."""


def match_rows(
    source: Source,
    where: Node | None,
    order: Sequence[OrderItem],
    limit: Limit | None,
    upstream: Upstream,
    now_ms: int,
    wanted: Mapping[str, Node],
    targets: Mapping[str, Column],
    common: WithTree | None = None,
    problems: ExpressionProblems | None = None,
) -> MatchedRows:
    """The rows that a statement is about, and raw values of `wanted` for the columns in `targets` (TiDB text for names
    that have no target), computed from the rows as they are before it. Raises SqlError.

    Without ORDER BY rows come by their places: `StoredRows.cells` are kept in TiKV's order, which is that of a scan.
    """
    if common is None and isinstance(source, TableSource) and not source.partitions:
        looked = _match_simply(source, where, order, limit, upstream, wanted, targets)
        if looked is not None:
            return looked
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
        names = [f"{evaluation.number()}.key" for _ in keys]
        evaluation.watch(keys, relation.sql)
        text = select_query(dict(zip(names, keys, strict=True)), relation.sql, f"{evaluation.number()}:", kept=True)
        terms = [*(order_term(quote(key), item.descending) for key, item in zip(names, order, strict=True)), *terms]
        relation = replace(relation, sql=f"({text})")
    if limit is not None:
        relation = replace(relation, sql=order_rows(relation.sql, terms, limit))
    shown = {f"place {number}": identifier(base.place) for number, base in enumerate(relation.bases)}
    values = {key: datum_or_text(translate(node, scope), targets.get(key)) for key, node in wanted.items()}
    shown |= {f"value {key}": value.body for key, value in values.items()}
    found = evaluation.rows(shown, relation.sql, f" ORDER BY {', '.join(terms)}" if terms else "")
    tables = tuple(
        MatchedTable(base.alias, base.key, base.table, fetched_column(found, f"place {number}"))
        for number, base in enumerate(relation.bases)
    )
    return MatchedRows(
        tables, {key: as_datums(fetched_column(found, f"value {key}"), value) for key, value in values.items()}
    )


def _match_simply(
    source: TableSource,
    where: Node | None,
    order: Sequence[OrderItem],
    limit: Limit | None,
    upstream: Upstream,
    wanted: Mapping[str, Node],
    targets: Mapping[str, Column],
) -> MatchedRows | None:
    """The same of one table without a query; None where that takes one."""
    schema, called = source.name.schema or upstream.session.database, source.name.name
    place = object_key(schema, called)
    table, stored = upstream.catalog.tables.get(place), upstream.rows.get(place)
    if table is None or stored is None:
        return None
    alias = source.alias or called
    named = partial(resolve_stored_column, table, "" if source.alias else schema, alias)
    try:
        found = simple_conditions.matching_places(simple_conditions.parse_conditions(where, named), stored.cells)
        if order and (len(found) > 1 or not all(named(strip_parentheses(item.expression)) for item in order)):
            return None
        if limit is not None:
            found = found.slice(limit.offset, limit.count)
        values = simple_values.simple_columns(
            list(wanted.values()),
            [targets.get(called) for called in wanted],
            named,
            lambda node: stored.cells.column(named(node).name).take(found),
            len(found),
        )
    except NotSimple:
        return None
    return MatchedRows((MatchedTable(alias, place, table, found),), dict(zip(wanted, values, strict=True)))
