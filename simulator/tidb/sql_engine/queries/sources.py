"""FROM clauses as relations: rows in DuckDB's SQL, and the values of their columns.

No two columns of a statement have the same name in DuckDB's SQL, so every part of it may name every column that it
sees.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from simulator.tidb.ddl.catalog import Key, object_key
from simulator.tidb.expressions.functions.times import convert_zone
from simulator.tidb.expressions.operators.casts import cast_to_column
from simulator.tidb.expressions.operators.comparisons import OPERATORS, comparison
from simulator.tidb.expressions.sql.graph import Sql, identifier, inline_text, join, quote, select_query, sql, when
from simulator.tidb.expressions.sql.moments import from_timestamp, to_timestamp
from simulator.tidb.expressions.translate import TableScope, translate
from simulator.tidb.expressions.trees import conjuncts, parse_expression, strip_parentheses
from simulator.tidb.expressions.values.literals import column_value
from simulator.tidb.expressions.values.value import Value, as_boolean, is_true
from simulator.tidb.model.table import ROW_ID, Column, Table
from simulator.tidb.model.types import ColumnType
from simulator.tidb.partitions import partition_ordinal
from simulator.tidb.sql_engine.errors import not_simulated, sql_error
from simulator.tidb.sql_engine.queries.scopes import Evaluation, Field, QueryScope, all_true, shown_column
from simulator.tidb.sql_engine.storage.names import resolve_partitions
from simulator.tidb.sql_engine.storage.state import SqlSession, Upstream
from simulator.tidb.syntax.expressions import Binary, ColumnName, ContextExpression, In, Literal, Node, names_in
from simulator.tidb.syntax.queries import CommonTable, DerivedTable, Join, QueryTree, Source, TableSource

if TYPE_CHECKING:
    from simulator.tidb.sql_engine.system_tables import SystemTable

ROW_ID_COLUMN = Column(ROW_ID, ColumnType("bigint", 20), not_null=True)

LONGEST_CONDITION = 500_000
"""Characters of an ON condition of an outer join in DuckDB's SQL."""


@dataclass(frozen=True)
class BaseTable:
    """A base table in a relation."""

    alias: str
    key: Key
    table: Table
    place: str
    """The name of the column with the positions of its rows."""


@dataclass(frozen=True)
class Relation:
    """Rows in DuckDB's SQL."""

    sql: str
    """A term of FROM."""

    fields: tuple[Field, ...]
    order: tuple[str, ...]
    """The order of the rows, as terms of ORDER BY."""

    bases: tuple[BaseTable, ...] = ()


BuildQuery = Callable[[QueryTree | CommonTable, QueryScope], Relation]
"""Returns the relation of a query, or of a table of WITH RECURSIVE, inside of the queries around it."""


def table_fields(
    table: Table, schema: str, alias: str, number: int, session: SqlSession, present: str = ""
) -> tuple[Field, ...]:
    """Return the columns of a base table whose cells are the columns `NUMBER.place`. `present` is null for a missing
    row."""
    cells = _cells(table, number)
    return tuple(
        Field(
            column.name,
            functools.cache(functools.partial(_read_column, column, table, cells, session, present)),
            schema,
            alias,
            column,
            source=number,
            base=table,
        )
        for column in table.columns
    )


def _cells(table: Table, number: int) -> dict[str, Sql]:
    return {
        column.name: identifier(f"{number}.{place}")
        for place, column in enumerate(table.columns)
        if column.generated != "virtual"
    }


def _read_column(column: Column, table: Table, cells: dict[str, Sql], session: SqlSession, present: str) -> Value:
    if column.name in cells:
        value = column_value(column, cells[column.name])
        return (
            value
            if column.type.name != "timestamp" or session.time_zone in ("UTC", "+00:00")
            else _in_session_zone(value, session.time_zone)
        )
    value = cast_to_column(translate(parse_expression(column.generated_expression), TableScope(table, cells)), column)
    if not present:
        return value
    exists = sql(f"{quote(present)} IS NOT NULL")
    value_text = None if value.text is None else when(exists, value.text)
    return replace(value, sql=when(exists, value.sql), text=value_text)


def _in_session_zone(value: Value, zone: str) -> Value:
    """Return a TIMESTAMP, whose cells are UTC, in the session's time zone. Zero stays zero."""
    moved = from_timestamp(convert_zone(to_timestamp(value.sql), zone, 1))
    return Value(sql("coalesce({}, {})", moved, value.sql), "datetime")


def build_source(source: Source, evaluation: Evaluation, outer: QueryScope, queries: BuildQuery) -> Relation:
    """Return the relation of a FROM clause inside of the queries around it. Raises SqlError."""
    names = _aliases(source, evaluation)
    repeated = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if repeated is not None:
        raise sql_error(1066, repeated[1])
    return _build_part(source, evaluation, outer, queries)


def _aliases(source: Source, evaluation: Evaluation) -> list[tuple[str, str]]:
    """Return schema (without an alias) and name of each part."""
    if isinstance(source, Join):
        return [*_aliases(source.left, evaluation), *_aliases(source.right, evaluation)]
    if isinstance(source, DerivedTable) or source.alias:
        return [("", source.alias.lower())]
    return [((source.name.schema or evaluation.upstream.session.database).lower(), source.name.name.lower())]


def _build_part(source: Source, evaluation: Evaluation, outer: QueryScope, queries: BuildQuery) -> Relation:
    if isinstance(source, Join):
        return _build_join(source, evaluation, outer, queries)
    if isinstance(source, DerivedTable):
        return _rename_columns(queries(source.query, outer), source.alias, source.columns)
    table_name = "" if source.name.schema else source.name.name.lower()
    if table_name in outer.working:
        return _rename_columns(outer.working[table_name], source.alias or source.name.name, ())
    common = outer.common.get(table_name)
    if common is not None:
        table, its_tables = common
        relation = queries(table if table.recursive else table.query, replace(outer, common=its_tables))
        return _rename_columns(relation, source.alias or table.name, table.columns)
    return _build_table(source, evaluation)


def _rename_columns(relation: Relation, alias: str, columns: Sequence[str]) -> Relation:
    if columns and len(columns) != len(relation.fields):
        raise sql_error(1353)
    names = columns or [field.name for field in relation.fields]
    fields = tuple(
        Field(name, field.read, table=alias, shows=shown_column(field))
        for name, field in zip(names, relation.fields, strict=True)
    )
    return Relation(relation.sql, fields, relation.order)


def _build_table(source: TableSource, evaluation: Evaluation) -> Relation:
    upstream = evaluation.upstream
    schema, table_name = source.name.schema or upstream.session.database, source.name.name
    if not schema:
        raise sql_error(1046)
    key = object_key(schema, table_name)
    table = upstream.catalog.tables.get(key)
    number = evaluation.next_number()
    if table is not None:
        evaluation.add_table(key, table, number)
    elif (system := _system_table(schema, table_name, upstream, evaluation.now_ms)) is not None:
        table = system.table
        evaluation.add_rows(table, number, system.cells(), system.row_count)
    else:
        if upstream.catalog.has(schema, table_name):
            raise not_simulated(
                f"`{schema}`.`{table_name}` is a view or a sequence, whose rows are not computed; tables, derived "
                f"tables and WITH are"
            )
        raise sql_error(1146, schema, table_name)
    alias, rows = source.alias or table_name, f"{number}.place"
    shown_schema = "" if source.alias else schema
    fields = table_fields(table, shown_schema, alias, number, upstream.session, rows)
    if not table.clustered and key in upstream.catalog.tables:
        row_id = Value(identifier(f"{number}.{ROW_ID}"), "int", is_column=True)
        fields += (Field(ROW_ID, lambda: row_id, shown_schema, alias, ROW_ID_COLUMN, source=number, extra=True),)
    relation = Relation(quote(f"rows {number}"), fields, (quote(rows),), (BaseTable(alias, key, table, rows),))
    return (
        relation
        if not source.partitions
        else replace(
            relation, sql=filter_rows(relation.sql, _partition_condition(table, source.partitions, number), evaluation)
        )
    )


def _system_table(schema: str, name: str, upstream: Upstream, now_ms: int) -> SystemTable | None:
    """Return a table of information_schema with its rows, or None for a table of another database."""
    if schema.lower() != "information_schema":
        return None
    from simulator.tidb.sql_engine.system_tables import system_table  # few statements ask for it

    return system_table(name, upstream, now_ms)


def _partition_condition(table: Table, names: Sequence[str], number: int) -> Sql:
    """Return whether a row is in one of the partitions. Raises SqlError 1735, 1747."""
    ordinals = resolve_partitions(table, names)
    assert table.partitioning is not None, "checked before"
    ordinal = partition_ordinal(table, table.partitioning, _cells(table, number))
    return sql(f"{{}} IN ({', '.join(map(str, ordinals))})", ordinal)


def _build_join(join: Join, evaluation: Evaluation, outer: QueryScope, queries: BuildQuery) -> Relation:
    left, right = (_build_part(side, evaluation, outer, queries) for side in (join.left, join.right))
    names = _using_columns(join, left, right)
    is_outer = join.kind in ("LEFT", "RIGHT")
    first, second = (right, left) if join.kind == "RIGHT" else (left, right)
    fields = (*left.fields, *right.fields)
    scope = QueryScope(evaluation, fields, "on clause", outer, common=outer.common)
    pairs = [(_one_column(left, column_name), _one_column(right, column_name)) for column_name in names]
    parts = [comparison("=", one.read(), other.read()) for one, other in pairs]
    parts += [] if join.on is None else [as_boolean(translate(join.on, scope))]
    order, bases = (*first.order, *second.order), (*left.bases, *right.bases)
    if names:
        fields = _merge_using(pairs, left, right, join.kind == "RIGHT")
    if not is_outer:
        both = f"(SELECT * FROM {left.sql}, {right.sql})"
        joined = Relation(both, fields, order, bases)
        return replace(joined, sql=filter_rows(joined.sql, all_true(parts), evaluation)) if parts else joined
    if not parts:
        raise sql_error(1064, f"a {join.kind} JOIN takes ON or USING")
    evaluation.watch_problems([all_true(parts)], f"(SELECT * FROM {first.sql}, {second.sql})")
    condition = inline_text(is_true(all_true(parts)), LONGEST_CONDITION)
    if condition is None:
        raise not_simulated(f"the ON condition of this {join.kind} JOIN is too long to be computed; a shorter one is")
    return Relation(f"(SELECT * FROM {first.sql} LEFT JOIN {second.sql} ON {condition})", fields, order, bases)


def _using_columns(join: Join, left: Relation, right: Relation) -> tuple[str, ...]:
    """Return the names of the columns that a join merges."""
    if not join.natural:
        return join.using
    right_names = {field.name.lower() for field in right.fields if field.shown}
    return tuple(field.name for field in left.fields if field.shown and field.name.lower() in right_names)


def _one_column(relation: Relation, name: str) -> Field:
    """Return the column of a name. Raises SqlError."""
    fields = [field for field in relation.fields if field.name.lower() == name.lower() and field.shown]
    if not fields:
        raise sql_error(1054, name, "from clause")
    if len(fields) > 1:
        raise sql_error(1052, name, "from clause")
    return fields[0]


def _merge_using(
    pairs: Sequence[tuple[Field, Field]], left: Relation, right: Relation, by_right: bool
) -> tuple[Field, ...]:
    """Return the fields of a join with USING: each merged column comes first, and once."""
    one = [pair[by_right] for pair in pairs]
    other = {pair[not by_right] for pair in pairs}
    rest = [*right.fields, *left.fields] if by_right else [*left.fields, *right.fields]
    return (*one, *(replace(field, hidden=field.hidden or field in other) for field in rest if field not in one))


def row_identity(relation: Relation) -> Sql | None:
    """Return text that differs between the rows of a relation of base tables."""
    parts = [sql("coalesce({}::VARCHAR, '') || ' '", identifier(base.place)) for base in relation.bases]
    return join("||", parts) if parts else None


def filter_rows(source: str, condition: Sql, evaluation: Evaluation) -> str:
    """Return the rows of a source for which a condition is true."""
    number = evaluation.next_number()
    is_kept = f"{number}.held"
    evaluation.watch_problems([condition], source)
    text = select_query({is_kept: is_true(condition)}, source, f"{number}:", with_all=True)
    return f"(SELECT * FROM ({text}) WHERE {quote(is_kept)})"


def filter_relation(relation: Relation, where: Node | None, scope: QueryScope) -> Relation:
    """Return the rows of a relation for which a statement's WHERE is true."""
    if where is None:
        return relation
    condition = as_boolean(translate(_access_conditions_first(where, relation, scope), scope))
    return replace(relation, sql=filter_rows(relation.sql, condition, scope.evaluation))


def _access_conditions_first(where: Node, relation: Relation, scope: QueryScope) -> Node:
    """Move the conditions by which TiDB looks up rows before others, whose problems in other rows do not occur (tidb
    pkg/planner/core, access conditions)."""
    parts = conjuncts(where)
    ordered = sorted(parts, key=lambda part: not (isinstance(part, Literal) or _is_by_key(part, relation, scope)))
    return functools.reduce(lambda left, right: Binary("AND", left, right), ordered) if len(parts) > 1 else where


def _is_by_key(part: Node, relation: Relation, scope: QueryScope) -> bool:
    """Return whether a condition compares the first column of a key with a constant."""
    if isinstance(part, Binary) and part.operator in OPERATORS:
        sides, exact = [strip_parentheses(part.left), strip_parentheses(part.right)], part.operator in ("=", "<=>")
    elif isinstance(part, In) and not part.negated:
        sides, exact = [strip_parentheses(part.operand), *part.candidates], True
    else:
        return False
    columns = [side for side in sides if isinstance(side, ColumnName)]
    if len(columns) != 1 or any(
        any(names_in(side)) or isinstance(side, ContextExpression) for side in sides if side is not columns[0]
    ):
        return False
    field = scope.find(columns[0])
    base = next((base for base in relation.bases if field and base.place == f"{field.source}.place"), None)
    if field is None or base is None:
        return False
    primary = base.table.primary_key[:1] if base.table.clustered else ()
    keys = {*primary, *(index.columns[0].name for index in base.table.indexes if exact)}
    return field.name.lower() in {name.lower() for name in keys}
