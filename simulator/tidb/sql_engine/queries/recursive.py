"""WITH RECURSIVE: the rows of a seed, then level by level the rows that a query computes from the level before.

Columns have the types of the seed (tidb pkg/planner/core/logical_plan_builder.go, buildRecursiveCTE;
pkg/executor/cte.go). One query computes all rows of a level.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace

import numpy as np
import pyarrow as pa

from simulator.tidb import syntax
from simulator.tidb.expressions.operators.texts import as_blob
from simulator.tidb.expressions.sql.evaluate import MEMORY
from simulator.tidb.expressions.sql.graph import Sql, quote, sql
from simulator.tidb.expressions.translate import KnownValue, translate
from simulator.tidb.expressions.trees import strip_parentheses
from simulator.tidb.expressions.values.value import Value, as_text
from simulator.tidb.keys import encode_sort_keys
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import ColumnType, is_text
from simulator.tidb.sql_engine.errors import not_simulated, sql_error, sql_error_with_text
from simulator.tidb.sql_engine.queries.scopes import Evaluation, Field, QueryScope, stored_type
from simulator.tidb.sql_engine.queries.sources import Relation, build_source, table_fields
from simulator.tidb.sql_engine.sessions.session_variables import variable_text

Relations = Callable[[syntax.QueryTree | syntax.CommonTable, Evaluation, QueryScope], Relation]
NULL_TYPE = ColumnType("binary", 0, charset="binary", collation="binary")
"""The type of a column whose seed is NULL: all its rows are NULL."""

CHARACTERS = re.compile(r"CHAR\((\d+)\)")


@dataclass(frozen=True)
class RecursiveParts:
    """The parts of a table of WITH RECURSIVE."""

    seed: syntax.QueryTree
    steps: tuple[syntax.SelectTree, ...]
    """Each names the table once."""

    distinct: bool
    limit: syntax.Limit | None


def is_recursive(table: syntax.CommonTable) -> bool:
    return _references(table.query, table.name) > 0


def split_recursive(table: syntax.CommonTable) -> RecursiveParts:
    """Split a table into its parts. Raises SqlError for what TiDB does not accept."""
    tree, steps, operators = table.query, list[syntax.QueryTree](), list[str]()
    while isinstance(tree, syntax.SetOperation) and _references(tree.right, table.name):
        steps.insert(0, tree.right)
        operators.append(tree.operator)
        tree = tree.left
    if _references(tree, table.name):
        if not isinstance(table.query, syntax.SetOperation):
            raise sql_error_with_text(3573, f"Recursive Common Table Expression '{table.name}' should contain a UNION")
        raise sql_error_with_text(
            3574,
            f"Recursive Common Table Expression '{table.name}' should have one or more non-recursive"
            " query blocks followed by one or more recursive ones",
        )
    assert isinstance(table.query, syntax.SetOperation), "something of it names the table, and something does not"
    for operator in operators:
        if operator not in ("UNION", "UNION ALL"):
            raise sql_error(
                1235,
                f"{operator} between seed part and recursive part, hint: The operator between seed part"
                " and recursive part must bu UNION[DISTINCT] or UNION ALL",
            )
    if table.query.order:
        raise sql_error(1235, "ORDER BY over UNION in recursive Common Table Expression")
    checked = tuple(_check_step(step, table.name) for step in steps)
    return RecursiveParts(tree, checked, "UNION" in operators, table.query.limit)


def _check_step(tree: syntax.QueryTree, named: str) -> syntax.SelectTree:
    """Return one recursive query block. Raises SqlError for clauses that it may not have."""
    if not isinstance(tree, syntax.SelectTree):
        raise not_simulated(
            "a recursive part in parentheses of several queries is not computed; queries side by side are"
        )
    block = f"In recursive query block of Recursive Common Table Expression '{named}', the recursive table must "
    if _references(tree, named) != 1 or tree.source is None or not _in_from(tree.source, named):
        raise sql_error_with_text(3577, f"{block}be referenced only once, and not in any subquery")
    if tree.group_by or any(isinstance(part, syntax.Aggregate | syntax.WindowFunction) for part in _walk_tree(tree)):
        raise sql_error_with_text(
            3575,
            f"Recursive Common Table Expression '{named}' can contain neither aggregation nor window"
            " functions in recursive query block",
        )
    if _is_optional(tree.source, named):
        raise sql_error_with_text(
            3576,
            f"{block}neither be in the right argument of a LEFT JOIN, nor be forced to be non-first with"
            " join order hints",
        )
    if tree.distinct or tree.order or tree.limit:
        raise sql_error(1235, "ORDER BY / LIMIT / SELECT DISTINCT in recursive query block of Common Table Expression")
    return tree


def _walk_tree(tree: object) -> Iterator[object]:
    """Yield a tree and all trees inside of it."""
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, tuple):
            waiting += part
        elif is_dataclass(part):
            waiting += [getattr(part, member.name) for member in fields(part)]


def _references(tree: object, named: str) -> int:
    return sum(isinstance(part, syntax.TableSource) and _is_reference(part, named) for part in _walk_tree(tree))


def _is_reference(source: syntax.TableSource, named: str) -> bool:
    return not source.name.schema and source.name.name.lower() == named.lower()


def _in_from(source: syntax.Source, named: str) -> bool:
    if isinstance(source, syntax.Join):
        return _in_from(source.left, named) or _in_from(source.right, named)
    return isinstance(source, syntax.TableSource) and _is_reference(source, named)


def _is_optional(source: syntax.Source, named: str) -> bool:
    """Return whether an outer join may have no row of the table."""
    if not isinstance(source, syntax.Join):
        return False
    aside = {"LEFT": source.right, "RIGHT": source.left}.get(source.kind)
    return (
        aside is not None
        and _in_from(aside, named)
        or (_is_optional(source.left, named) or _is_optional(source.right, named))
    )


def build_recursive(
    table: syntax.CommonTable, evaluation: Evaluation, outer: QueryScope, relations: Relations
) -> Relation:
    """Return the rows of all levels. Raises SqlError."""
    levels = split_recursive(table)
    seed_evaluation = evaluation.separate()
    around = replace(_without_outer_values(outer, seed_evaluation) or QueryScope(seed_evaluation), common=outer.common)
    seed = relations(levels.seed, seed_evaluation, around)
    names = table.columns or tuple(field.name for field in seed.fields)
    if len(names) != len(seed.fields):
        raise sql_error(1353)
    lengths = _lengths(levels.seed, seed_evaluation, around, len(names), relations)
    level_table = Table(
        "",
        "",
        tuple(
            Column(str(place), _column_type(field, length))
            for place, (field, length) in enumerate(zip(seed.fields, lengths, strict=True))
        ),
    )
    seed_rows = _texts(seed, _shown_columns(seed, level_table, seed_evaluation), seed_evaluation)
    rows = _new_rows(seed_rows.slice(0, 0), seed_rows, level_table) if levels.distinct else seed_rows
    if levels.steps:
        rows = _run_levels(table, levels, level_table, names, rows, evaluation, around, relations)
    if levels.limit is not None:
        rows = rows.slice(levels.limit.offset, levels.limit.count)
    return _relation(rows, level_table, names, evaluation)


def _run_levels(
    table: syntax.CommonTable,
    levels: RecursiveParts,
    level_table: Table,
    names: Sequence[str],
    all_rows: pa.Table,
    evaluation: Evaluation,
    around: QueryScope,
    relations: Relations,
) -> pa.Table:
    maximum = int(variable_text(evaluation.upstream.session, "cte_max_recursion_depth") or 0)
    needed = None if levels.limit is None else levels.limit.offset + levels.limit.count
    level_evaluation = evaluation.separate()
    number = level_evaluation.next_number()
    _add_rows(all_rows, level_table, number, level_evaluation)
    rows = Relation(
        quote(f"rows {number}"), _fields(level_table, names, number, level_evaluation), (quote(f"{number}.place"),)
    )
    scope = replace(around, evaluation=level_evaluation, working={**around.working, table.name.lower(): rows})
    steps = [relations(step, level_evaluation, scope) for step in levels.steps]
    if any(len(step.fields) != len(names) for step in steps):
        raise sql_error(1222)
    columns_of_steps = [_shown_columns(step, level_table, level_evaluation) for step in steps]
    watched, level_rows, level = level_evaluation.watched_problems(), all_rows, 0
    while level_rows.num_rows and (needed is None or all_rows.num_rows < needed):
        level += 1
        if level > maximum:
            raise sql_error(3636, level)
        _add_rows(level_rows, level_table, number, level_evaluation)
        level_evaluation.restore_watched(watched)
        level_rows = pa.concat_tables(
            [_texts(step, columns, level_evaluation) for step, columns in zip(steps, columns_of_steps, strict=True)]
        )
        if levels.distinct:
            level_rows = _new_rows(all_rows, level_rows, level_table)
        all_rows = pa.concat_tables([all_rows, level_rows])
        if all_rows.nbytes > MEMORY:
            raise sql_error(8175, evaluation.upstream.session.connection_id)
    return all_rows.combine_chunks()


def _without_outer_values(scope: QueryScope | None, evaluation: Evaluation) -> QueryScope | None:
    """Return the scopes of the queries around without values: the rows are computed once for all rows of these."""
    if scope is None:
        return None

    def refuse() -> Value:
        raise not_simulated(
            "WITH RECURSIVE that names a column of a query around it is not computed; one that does not is"
        )

    hidden = tuple(replace(field, read=refuse) for field in scope.fields)
    inner = QueryScope(evaluation, hidden, outer=_without_outer_values(scope.outer, evaluation), working=scope.working)
    return QueryScope(evaluation, outer=inner)


def _add_rows(rows: pa.Table, level_table: Table, number: int, evaluation: Evaluation) -> None:
    evaluation.add_rows(
        level_table, number, {column: rows.column(column) for column in rows.column_names}, rows.num_rows
    )


def _relation(rows: pa.Table, level_table: Table, names: Sequence[str], evaluation: Evaluation) -> Relation:
    number = evaluation.next_number()
    _add_rows(rows, level_table, number, evaluation)
    return Relation(
        quote(f"rows {number}"), _fields(level_table, names, number, evaluation), (quote(f"{number}.place"),)
    )


def _fields(level_table: Table, names: Sequence[str], number: int, evaluation: Evaluation) -> tuple[Field, ...]:
    fields = table_fields(level_table, "", "", number, evaluation.upstream.session)
    return tuple(Field(called, field.read) for called, field in zip(names, fields, strict=True))


def _shown_columns(relation: Relation, level_table: Table, evaluation: Evaluation) -> dict[str, Sql]:
    """Return the TiDB text of a relation's columns in the types of a table."""
    scope = QueryScope(evaluation)
    return {
        column.name: _column_text(field.read(), column.type, scope)
        for field, column in zip(relation.fields, level_table.columns, strict=True)
    }


def _texts(relation: Relation, columns: Mapping[str, Sql], evaluation: Evaluation) -> pa.Table:
    """Return the rows of a relation in their order."""
    order = f" ORDER BY {', '.join(relation.order)}" if relation.order else ""
    return evaluation.fetch(columns, relation.sql, order).select([*columns])


def _column_text(value: Value, type: ColumnType, scope: QueryScope) -> Sql:
    if value.kind == "null" or type == NULL_TYPE:
        return sql("NULL::BLOB")
    if value.is_binary:
        return as_blob(value)
    if is_text(type):
        value_text = as_text(value)
        return sql("encode({})", sql(f"left({{}}, {type.length})", value_text) if type.length > 0 else value_text)
    return sql("encode({})", as_text(translate(syntax.Cast(KnownValue(value), _cast(type)), scope)))


def _cast(type: ColumnType) -> str:
    if type.name in ("bigint", "tinyint"):
        return "UNSIGNED" if type.unsigned else "SIGNED"
    if type.name == "decimal":
        return f"DECIMAL({type.length}, {type.decimal})"
    digits = f"({type.decimal})" if type.name in ("datetime", "time") and type.decimal > 0 else ""
    return f"{type.name.upper()}{digits}"


def _column_type(field: Field, length: int | None) -> ColumnType:
    """Return the type in which a column of the seed is stored."""
    value, type = field.read(), stored_type(field)
    if value.kind == "null":
        return NULL_TYPE
    if value.kind in ("decimal", "wide"):
        return ColumnType("decimal", value.digits or 65, value.scale)
    if value.kind in ("datetime", "time"):
        return replace(type, decimal=value.scale)
    return replace(type, length=length) if is_text(type) and length is not None else type


def _lengths(
    tree: syntax.QueryTree, evaluation: Evaluation, around: QueryScope, columns: int, relations: Relations
) -> list[int | None]:
    """Return the maximum number of characters of the seed's texts, if a literal, a cast or a column defines it."""
    if isinstance(tree, syntax.SetOperation):
        left, right = (_lengths(side, evaluation, around, columns, relations) for side in (tree.left, tree.right))
        return [
            None if one is None or other is None else max(one, other) for one, other in zip(left, right, strict=True)
        ]
    if not isinstance(tree, syntax.SelectTree) or not all(isinstance(item, syntax.SelectItem) for item in tree.items):
        return [None] * columns
    fields: tuple[Field, ...] = ()
    if tree.source is not None and any(
        isinstance(strip_parentheses(item.expression), syntax.ColumnName)
        for item in tree.items
        if isinstance(item, syntax.SelectItem)
    ):
        fields = build_source(
            tree.source, evaluation, around, lambda query, outer: relations(query, evaluation, outer)
        ).fields
    scope = QueryScope(evaluation, fields)
    return [
        _length(strip_parentheses(item.expression), scope) for item in tree.items if isinstance(item, syntax.SelectItem)
    ]


def _length(node: syntax.Node, scope: QueryScope) -> int | None:
    if isinstance(node, syntax.Literal) and node.kind == "string":
        return len(node.text)
    if isinstance(node, syntax.Cast):
        match = CHARACTERS.match(node.type)
        return int(match[1]) if match else None
    field = scope.find(node) if isinstance(node, syntax.ColumnName) else None
    if field is None or field.column is None or field.column.type.name not in ("char", "varchar"):
        return None
    return int(field.column.type.length)


def _new_rows(existing: pa.Table, rows: pa.Table, level_table: Table) -> pa.Table:
    """Return the rows that are not among the existing ones, without repetition."""
    both = pa.concat_tables([existing, rows]).combine_chunks()
    keys = {
        column.name: encode_sort_keys(column.type, both.column(column.name).combine_chunks())
        for column in level_table.columns
    }
    places = pa.table({**keys, "place": pa.array(np.arange(both.num_rows))})
    first = places.group_by([*keys]).aggregate([("place", "min")]).column("place_min").to_numpy()
    return both.take(pa.array(np.sort(first[first >= existing.num_rows])))
