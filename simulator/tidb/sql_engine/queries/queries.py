"""Queries and expressions of statements, over the rows of an upstream.

A statement is one query of the evaluator in `tidb/expressions`. Three shortcuts answer the commonest statements on a
few rows without it: literals (`literals.py`), sums of columns and literals (`simple_values.py`), columns compared with
literals (`simple_conditions.py`). Tests hold each equal to the evaluator. What none of them computes is refused by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple

import pyarrow as pa

from simulator.tidb.datums.kinds import Datum, cells_of, datums, each
from simulator.tidb.ddl.catalog import Key, key
from simulator.tidb.ddl.columns.definitions import zero
from simulator.tidb.expressions.datums import DatumSql, datum_sql
from simulator.tidb.expressions.operators.casts import cast_to_column
from simulator.tidb.expressions.operators.texts import as_blob
from simulator.tidb.expressions.sql.graph import Sql, identifier, join, quote, select_query, sql, when
from simulator.tidb.expressions.sql.graph import text as text_of
from simulator.tidb.expressions.sql.python_functions import python_call
from simulator.tidb.expressions.translate import KnownValue, translate
from simulator.tidb.expressions.trees import strip_parentheses, walk
from simulator.tidb.expressions.values.literals import column_value
from simulator.tidb.expressions.values.value import Value, as_text, null, real_text, with_shown_digits
from simulator.tidb.model.table import Column, Table
from simulator.tidb.sql_engine.queries import simple_conditions, simple_values
from simulator.tidb.sql_engine.queries.expression_problems import ExpressionProblems
from simulator.tidb.sql_engine.queries.literals import NotSimple
from simulator.tidb.sql_engine.queries.scopes import Field, QueryScope, default_value
from simulator.tidb.sql_engine.queries.selects import add_common_tables, build_relation
from simulator.tidb.sql_engine.queries.sorting import order_rows, order_term, sort_key
from simulator.tidb.sql_engine.queries.sources import Relation, build_source, filter_relation, table_fields
from simulator.tidb.sql_engine.queries.statement_evaluation import StatementEvaluation
from simulator.tidb.sql_engine.sessions import clock
from simulator.tidb.sql_engine.storage.outcome import ResultSet
from simulator.tidb.sql_engine.storage.row_keys import columns_by_name
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.syntax.dml import DefaultValue, InsertedValue
from simulator.tidb.syntax.expressions import Call, ColumnName, Node, names_in
from simulator.tidb.syntax.queries import CommonTable, Limit, OrderItem, QueryTree, Source, TableSource, WithTree


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


class QueryColumn(NamedTuple):
    """What a column of given rows is called."""

    schema: str
    table: str
    called: str
    column: str
    """Of the rows' table."""


class RowSource(NamedTuple):
    """Rows that expressions name the columns of: equally long arrays of TiDB text by column name."""

    table: Table
    texts: Mapping[str, pa.Array]
    known: tuple[QueryColumn, ...] = ()
    """What the columns are called, where a query gave the rows; nothing else names them."""

    inserted: bool = False
    """Whether VALUES(column) means these rows; a plain name means them only where they have names of their own, or
    there is no other source."""


class InputValues(NamedTuple):
    """The values that rows of VALUES give a column."""

    raw: pa.Array
    """Datums; null for NULL and where the statement says DEFAULT."""

    default: pa.Array | None
    """bool: in which rows it says DEFAULT; None if in none."""


def run_select(
    tree: QueryTree, upstream: Upstream, now_ms: int, problems: ExpressionProblems | None = None
) -> ResultSet:
    """The rows of a query. Raises SqlError."""
    computation = StatementEvaluation(upstream, now_ms, problems)
    relation = build_relation(tree, computation, QueryScope(computation))
    values = [field.read() for field in relation.fields]
    order = f" ORDER BY {', '.join(relation.order)}" if relation.order else ""
    wanted = {f"shown {place}": client_bytes(value) for place, value in enumerate(values)}
    found = computation.rows(wanted or {"nothing": sql("1")}, relation.sql, order)
    rows = pa.table([_column_of(found, column) for column in wanted], list(wanted))
    return ResultSet(tuple(field.name for field in relation.fields), rows, tuple(value.is_binary for value in values))


def client_bytes(value: Value) -> Sql:
    """What a client sees of a value (tidb pkg/server/internal/column/column.go, DumpTextRow)."""
    if value.kind == "null":
        return sql("NULL::BLOB")
    if value.is_binary:
        return as_blob(value)
    if value.shown_scale is not None:
        return sql("encode({}::VARCHAR)", with_shown_digits(value).sql)
    if value.kind == "real" and (value.text is None or value.constant is not None):
        size = sql("abs({})", value.sql)
        usual = sql("{} = 0 OR {} >= 1e-15 AND {} < 1e15", size, size, size)
        other = python_call("shown_real", sql("{}::VARCHAR", value.sql))
        return sql("encode({})", when(usual, real_text(value.sql), other))
    return sql("encode({})", as_text(value))


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
    computation = StatementEvaluation(upstream, now_ms, problems)
    around = QueryScope(computation)
    if common is not None:
        around = add_common_tables(common, around)
    relation = build_source(source, computation, around, partial(relation_of_query, computation))
    scope = replace(around, fields=relation.fields, row=_row_identity(relation), outer=None)
    relation = filter_relation(relation, where, scope.within("where clause"))
    terms = list(relation.order)
    if order:
        keys = [sort_key(translate(item.expression, scope.within("order clause"))) for item in order]
        names = [f"{computation.number()}.key" for _ in keys]
        computation.watch(keys, relation.sql)
        text = select_query(dict(zip(names, keys, strict=True)), relation.sql, f"{computation.number()}:", kept=True)
        terms = [*(order_term(quote(key), item.descending) for key, item in zip(names, order, strict=True)), *terms]
        relation = replace(relation, sql=f"({text})")
    if limit is not None:
        relation = replace(relation, sql=order_rows(relation.sql, terms, limit))
    shown = {f"place {number}": identifier(base.place) for number, base in enumerate(relation.bases)}
    values = {key: _datum_or_text(translate(node, scope), targets.get(key)) for key, node in wanted.items()}
    shown |= {f"value {key}": value.body for key, value in values.items()}
    found = computation.rows(shown, relation.sql, f" ORDER BY {', '.join(terms)}" if terms else "")
    tables = tuple(
        MatchedTable(base.alias, base.key, base.table, _column_of(found, f"place {number}"))
        for number, base in enumerate(relation.bases)
    )
    return MatchedRows(
        tables, {key: _as_datums(_column_of(found, f"value {key}"), value) for key, value in values.items()}
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
    place = key(schema, called)
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


def resolve_stored_column(table: Table, schema: str, alias: str, node: Node) -> Column:
    """The column of a table that a name means, whose cells are stored. Raises NotSimple."""
    if isinstance(node, ColumnName):
        *qualifier, name = (part.lower() for part in node.parts)
        if qualifier in ([], [alias.lower()]) or schema and qualifier == [schema.lower(), alias.lower()]:
            column = columns_by_name(table).get(name)
            if column is not None and column.generated != "virtual":
                return column
    raise NotSimple


def relation_of_query(computation: StatementEvaluation, query: QueryTree | CommonTable, outer: QueryScope) -> Relation:
    return build_relation(query, computation, outer)


def _row_identity(relation: Relation) -> Sql | None:
    """Text that tells a row of base tables from others."""
    return (
        join("||", [sql("coalesce({}::VARCHAR, '') || ' '", identifier(base.place)) for base in relation.bases])
        if (relation.bases)
        else None
    )


def _datum_or_text(value: Value, column: Column | None) -> DatumSql:
    """A datum for a column, else TiDB text as bytes."""
    if column is not None:
        return datum_sql(value, column)
    return DatumSql("", sql("NULL::BLOB") if value.kind == "null" else sql("encode({})", as_text(value)))


def _as_datums(found: pa.Array, value: DatumSql) -> pa.Array:
    return datums(value.kind, found) if value.kind else found


def _column_of(found: pa.Table, column: str) -> pa.Array:
    return found.column(column).combine_chunks()


def evaluate(
    nodes: Sequence[Node],
    columns: Sequence[Column | None],
    upstream: Upstream,
    now_ms: int,
    sources: Sequence[RowSource] = (),
    rows: int = 1,
    problems: ExpressionProblems | None = None,
) -> list[pa.Array]:
    """Raw values of expressions, each for the column that takes it (TiDB text for None), over the sources' rows side by
    side; `rows` counts where there is no source. Without `problems` they are met as in a SELECT. Raises SqlError."""
    if sources:
        rows = len(next(iter(sources[0].texts.values()))) if sources[0].texts else rows
    of_rows = partial(_resolve_source_column, sources)
    try:
        return simple_values.simple_columns(
            nodes, columns, lambda node: of_rows(node)[1], lambda node: _source_cells(*of_rows(node)), rows
        )
    except NotSimple:
        pass
    computation = StatementEvaluation(upstream, now_ms, problems)
    numbers = [computation.number() for _ in sources] or [computation.number()]
    for number, rows_of in zip(numbers, sources, strict=False):
        computation.hand_over(rows_of.table, number, rows_of.texts, rows)
    if not sources:
        computation.hand_over(NO_TABLE, numbers[0], {}, rows)
    place = quote(f"{numbers[0]}.place")
    text = f"(SELECT * FROM {quote(f'rows {numbers[0]}')}"
    for number in numbers[1:]:
        text += f" JOIN {quote(f'rows {number}')} ON {place} = {quote(f'{number}.place')}"
    known = [
        table_fields(rows_of.table, rows_of.table.schema, rows_of.table.name, number, upstream.session)
        for rows_of, number in zip(sources, numbers, strict=False)
    ]
    inserted = [fields for rows_of, fields in zip(sources, known, strict=True) if rows_of.inserted]
    named = [
        _query_named_fields(rows_of, fields)
        for rows_of, fields in zip(sources, known, strict=True)
        if not rows_of.inserted or rows_of.known
    ]
    scope = QueryScope(
        computation, tuple(chain(*(named or inserted))), inserted=tuple(chain(*inserted)), row=sql(f"{place}::VARCHAR")
    )
    values = [_datum_or_text(translate(node, scope), column) for node, column in zip(nodes, columns, strict=True)]
    if not values:
        return []
    wanted = {f"value {number}": value.body for number, value in enumerate(values)}
    found = computation.rows(wanted, f"{text})", f" ORDER BY {place}")
    return [_as_datums(_column_of(found, key), value) for key, value in zip(wanted, values, strict=True)]


def _resolve_source_column(sources: Sequence[RowSource], node: Node) -> tuple[RowSource, Column]:
    """The column of given rows that a name or VALUES(name) means. Raises NotSimple."""
    inserted = isinstance(node, InsertedValue)
    found = [rows for rows in sources if rows.inserted == inserted]
    if len(found) != 1 or any(rows.known for rows in sources):
        raise NotSimple
    table = found[0].table
    column = resolve_stored_column(
        table, table.schema, table.name, node.column if isinstance(node, InsertedValue) else node
    )
    if column.name not in found[0].texts:
        raise NotSimple
    return found[0], column


def _source_cells(rows: RowSource, column: Column) -> pa.Array:
    return rows.texts[column.name]


def _query_named_fields(rows: RowSource, fields: Sequence[Field]) -> tuple[Field, ...]:
    """The columns by the names that a query gives them."""
    if not rows.known:
        return tuple(fields)
    by_column = {field.name: field for field in fields}
    return tuple(
        replace(by_column[each.column], name=each.called, schema=each.schema, table=each.table) for each in rows.known
    )


NO_TABLE = Table("", "", ())


def evaluate_rows(
    rows: Sequence[tuple[Node, ...]],
    columns: Sequence[Column],
    upstream: Upstream,
    now_ms: int,
    table: Table,
    problems: ExpressionProblems | None = None,
) -> tuple[InputValues, ...]:
    """The values of the rows of VALUES for these columns of the table, one `InputValues` for each column. Raises SqlError.

    What a TIMESTAMP is given is in the session's time zone.
    """
    found: list[list[Datum | None]] = [[None] * len(rows) for _ in columns]
    defaults: list[set[int]] = [set() for _ in columns]
    waiting: dict[tuple[int, Node, int], list[int]] = {}
    for place, row in enumerate(rows):
        for number, (node, column) in enumerate(zip(row, columns, strict=True)):
            if isinstance(node, DefaultValue) and node.column is None:
                defaults[number].add(place)
                continue
            try:
                found[number][place] = simple_values.simple_value(node)
            except NotSimple:
                apart = place if any(names_in(node)) or _has_random(node) else -1
                waiting.setdefault((number, node, apart), []).append(place)
    asked = list(waiting)
    for start in range(0, len(asked), EXPRESSION_BATCH):
        batch = asked[start : start + EXPRESSION_BATCH]
        computation = StatementEvaluation(upstream, now_ms, problems)
        nodes = [
            node if apart < 0 else _resolve_in_row(node, rows[apart], number, columns, table, computation)
            for number, node, apart in batch
        ]
        values = evaluate(nodes, [columns[number] for number, _, _ in batch], upstream, now_ms, problems=problems)
        for (number, node, apart), value in zip(batch, values, strict=True):
            given = cells_of(value.slice(0, 1))[0]
            for place in waiting[number, node, apart]:
                found[number][place] = given
    return tuple(
        InputValues(each(cells), pa.array([place in known for place in range(len(rows))]) if known else None)
        for cells, known in zip(found, defaults, strict=True)
    )


EXPRESSION_BATCH = 256
"""Expressions of VALUES that one query evaluates."""


def _has_random(node: Node) -> bool:
    """Whether each row has another value."""
    return any(isinstance(part, Call) and part.name in ("RAND", "UUID") for part in walk(node))


def _resolve_in_row(
    node: Node,
    row: Sequence[Node],
    number: int,
    columns: Sequence[Column],
    table: Table,
    computation: StatementEvaluation,
) -> Node:
    """An expression of VALUES where a name means what the row gives that column before it, else its default, and of one
    that is NOT NULL without a default the zero of its type (tidb pkg/executor/insert_common.go, setValueForRefColumn).
    """
    places = {column.name: place for place, column in enumerate(columns)}

    def read(column: Column, number: int) -> Value:
        place = places.get(column.name, number)
        if place < number and not isinstance(row[place], DefaultValue):
            return cast_to_column(translate(row[place], scope(place)), column)
        return _unset_value(column, computation)

    def scope(number: int) -> QueryScope:
        def fields(read: Callable[[Column], Value]) -> tuple[Field, ...]:
            return tuple(
                Field(column.name, partial(read, column), table.schema, table.name, column) for column in table.columns
            )

        return QueryScope(
            computation, fields(lambda column: read(column, number)), inserted=fields(lambda column: null())
        )

    return KnownValue(translate(node, scope(number)))


def _unset_value(column: Column, computation: StatementEvaluation) -> Value:
    """What a name means of a column that the row has not given yet."""
    now = clock.default_time_text(column, computation.upstream.session, computation.now_ms)
    if now is not None:
        return column_value(column, text_of(now))
    if column.default is not None:
        return default_value(column)
    needed = (column.not_null or column.auto_increment) and not column.generated
    return column_value(column, text_of(zero(column.type))) if needed else null()
