"""WITH RECURSIVE: the rows of a seed, and again and again those that a query makes of the rows before.

Columns have the types of the seed (tidb pkg/planner/core/logical_plan_builder.go, buildRecursiveCTE;
pkg/executor/cte.go). All rows of a level are computed by one query.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace

import numpy as np
import pyarrow as pa

from simulator.tidb.expressions.operators.texts import as_blob
from simulator.tidb.expressions.sql.graph import Sql, quote, sql
from simulator.tidb.expressions.translate import KnownValue, translate
from simulator.tidb.expressions.trees import strip_parentheses
from simulator.tidb.expressions.values.value import Value, as_text
from simulator.tidb.keys import ordered
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import ColumnType, is_text
from simulator.tidb.sql_engine.errors import not_simulated, sql_error, sql_error_with_text
from simulator.tidb.sql_engine.queries.column_types import stored_type
from simulator.tidb.sql_engine.queries.scopes import Evaluation, Field, QueryScope
from simulator.tidb.sql_engine.queries.sources import Relation, build_source, table_fields
from simulator.tidb.sql_engine.sessions.session_variables import variable_text
from simulator.tidb.syntax.expressions import Cast, ColumnName, Literal, Node
from simulator.tidb.syntax.queries import (
    Aggregate,
    CommonTable,
    Join,
    Limit,
    QueryTree,
    SelectItem,
    SelectTree,
    SetOperation,
    Source,
    TableSource,
    WindowFunction,
)

Relations = Callable[[QueryTree | CommonTable, Evaluation, QueryScope], Relation]
NULL_TYPE = ColumnType("binary", 0, charset="binary", collation="binary")
"""Of a column whose seed is NULL: all rows have NULL."""

CHARACTERS = re.compile(r"CHAR\((\d+)\)")


@dataclass(frozen=True)
class RecursiveParts:
    """A table of WITH RECURSIVE, taken apart."""

    seed: QueryTree
    steps: tuple[SelectTree, ...]
    """Each names the table once."""

    distinct: bool
    limit: Limit | None


def is_recursive(table: CommonTable) -> bool:
    return _references(table.query, table.name) > 0


def split_recursive(table: CommonTable) -> RecursiveParts:
    """Raises SqlError for what TiDB does not take."""
    tree, steps, operators = table.query, list[QueryTree](), list[str]()
    while isinstance(tree, SetOperation) and _references(tree.right, table.name):
        steps.insert(0, tree.right)
        operators.append(tree.operator)
        tree = tree.left
    if _references(tree, table.name):
        if not isinstance(table.query, SetOperation):
            raise sql_error_with_text(3573, f"Recursive Common Table Expression '{table.name}' should contain a UNION")
        raise sql_error_with_text(
            3574,
            f"Recursive Common Table Expression '{table.name}' should have one or more non-recursive"
            " query blocks followed by one or more recursive ones",
        )
    assert isinstance(table.query, SetOperation), "something of it names the table, and something does not"
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


def _check_step(tree: QueryTree, named: str) -> SelectTree:
    """One recursive query block. Raises SqlError for what it may not have."""
    if not isinstance(tree, SelectTree):
        raise not_simulated(
            "a recursive part in parentheses of several queries is not computed; queries side by side are"
        )
    block = f"In recursive query block of Recursive Common Table Expression '{named}', the recursive table must "
    if _references(tree, named) != 1 or tree.source is None or not _in_from(tree.source, named):
        raise sql_error_with_text(3577, f"{block}be referenced only once, and not in any subquery")
    if tree.group_by or any(isinstance(part, Aggregate | WindowFunction) for part in _walk_tree(tree)):
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
    """All trees inside of a tree, and itself."""
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, tuple):
            waiting += part
        elif is_dataclass(part):
            waiting += [getattr(part, member.name) for member in fields(part)]


def _references(tree: object, named: str) -> int:
    return sum(isinstance(part, TableSource) and _is_reference(part, named) for part in _walk_tree(tree))


def _is_reference(source: TableSource, named: str) -> bool:
    return not source.name.schema and source.name.name.lower() == named.lower()


def _in_from(source: Source, named: str) -> bool:
    if isinstance(source, Join):
        return _in_from(source.left, named) or _in_from(source.right, named)
    return isinstance(source, TableSource) and _is_reference(source, named)


def _is_optional(source: Source, named: str) -> bool:
    """Whether an outer join may leave the table out."""
    if not isinstance(source, Join):
        return False
    aside = {"LEFT": source.right, "RIGHT": source.left}.get(source.kind)
    return (
        aside is not None
        and _in_from(aside, named)
        or (_is_optional(source.left, named) or _is_optional(source.right, named))
    )


def build_recursive(table: CommonTable, evaluation: Evaluation, outer: QueryScope, relations: Relations) -> Relation:
    """The rows of all levels. Raises SqlError."""
    levels = split_recursive(table)
    apart = evaluation.apart()
    around = replace(_without_outer_values(outer, apart) or QueryScope(apart), common=outer.common)
    seed = relations(levels.seed, apart, around)
    names = table.columns or tuple(field.name for field in seed.fields)
    if len(names) != len(seed.fields):
        raise sql_error_with_text(
            1353,
            "In definition of view, derived table or common table expression, SELECT list and column"
            " names list have different column counts",
        )
    lengths = _lengths(levels.seed, apart, around, len(names), relations)
    made = Table(
        "",
        "",
        tuple(
            Column(str(place), _column_type(field, length))
            for place, (field, length) in enumerate(zip(seed.fields, lengths, strict=True))
        ),
    )
    found = _texts(seed, _shown_columns(seed, made, apart), apart)
    kept = _new_rows(found.slice(0, 0), found, made) if levels.distinct else found
    if levels.steps:
        kept = _run_levels(table, levels, made, names, kept, evaluation, around, relations)
    if levels.limit is not None:
        kept = kept.slice(levels.limit.offset, levels.limit.count)
    return _relation(kept, made, names, evaluation)


def _run_levels(
    table: CommonTable,
    levels: RecursiveParts,
    made: Table,
    names: Sequence[str],
    kept: pa.Table,
    evaluation: Evaluation,
    around: QueryScope,
    relations: Relations,
) -> pa.Table:
    most = int(variable_text(evaluation.upstream.session, "cte_max_recursion_depth") or 0)
    enough = None if levels.limit is None else levels.limit.offset + levels.limit.count
    apart = evaluation.apart()
    number = apart.number()
    _add_rows(kept, made, number, apart)
    rows = Relation(quote(f"rows {number}"), _fields(made, names, number, apart), (quote(f"{number}.place"),))
    scope = replace(around, evaluation=apart, working={**around.working, table.name.lower(): rows})
    steps = [relations(step, apart, scope) for step in levels.steps]
    if any(len(step.fields) != len(names) for step in steps):
        raise sql_error(1222)
    shown = [_shown_columns(step, made, apart) for step in steps]
    watched, last, level = apart.watched(), kept, 0
    while last.num_rows and (enough is None or kept.num_rows < enough):
        level += 1
        if level > most:
            raise sql_error(3636, level)
        _add_rows(last, made, number, apart)
        apart.watch_again(watched)
        last = pa.concat_tables([_texts(step, columns, apart) for step, columns in zip(steps, shown, strict=True)])
        if levels.distinct:
            last = _new_rows(kept, last, made)
        kept = pa.concat_tables([kept, last])
    return kept.combine_chunks()


def _without_outer_values(scope: QueryScope | None, evaluation: Evaluation) -> QueryScope | None:
    """The queries around as those whose columns have no value here: rows are computed once for all of theirs."""
    if scope is None:
        return None

    def refuse() -> Value:
        raise not_simulated(
            "WITH RECURSIVE that names a column of a query around it is not computed; one that does not is"
        )

    hidden = tuple(replace(field, read=refuse) for field in scope.fields)
    inner = QueryScope(evaluation, hidden, outer=_without_outer_values(scope.outer, evaluation), working=scope.working)
    return QueryScope(evaluation, outer=inner)


def _add_rows(rows: pa.Table, made: Table, number: int, evaluation: Evaluation) -> None:
    evaluation.hand_over(made, number, {column: rows.column(column) for column in rows.column_names}, rows.num_rows)


def _relation(rows: pa.Table, made: Table, names: Sequence[str], evaluation: Evaluation) -> Relation:
    number = evaluation.number()
    _add_rows(rows, made, number, evaluation)
    return Relation(quote(f"rows {number}"), _fields(made, names, number, evaluation), (quote(f"{number}.place"),))


def _fields(made: Table, names: Sequence[str], number: int, evaluation: Evaluation) -> tuple[Field, ...]:
    found = table_fields(made, "", "", number, evaluation.upstream.session)
    return tuple(Field(called, field.read) for called, field in zip(names, found, strict=True))


def _shown_columns(relation: Relation, made: Table, evaluation: Evaluation) -> dict[str, Sql]:
    """TiDB text of the columns of a relation, in the types of a table."""
    scope = QueryScope(evaluation)
    return {
        column.name: _column_text(field.read(), column.type, scope)
        for field, column in zip(relation.fields, made.columns, strict=True)
    }


def _texts(relation: Relation, columns: Mapping[str, Sql], evaluation: Evaluation) -> pa.Table:
    """The rows of a relation, in their order."""
    order = f" ORDER BY {', '.join(relation.order)}" if relation.order else ""
    return evaluation.rows(columns, relation.sql, order).select([*columns])


def _column_text(value: Value, type: ColumnType, scope: QueryScope) -> Sql:
    if value.kind == "null" or type == NULL_TYPE:
        return sql("NULL::BLOB")
    if value.is_binary:
        return as_blob(value)
    if is_text(type):
        shown = as_text(value)
        return sql("encode({})", sql(f"left({{}}, {type.length})", shown) if type.length > 0 else shown)
    return sql("encode({})", as_text(translate(Cast(KnownValue(value), _cast(type)), scope)))


def _cast(type: ColumnType) -> str:
    if type.name in ("bigint", "tinyint"):
        return "UNSIGNED" if type.unsigned else "SIGNED"
    if type.name == "decimal":
        return f"DECIMAL({type.length}, {type.decimal})"
    digits = f"({type.decimal})" if type.name in ("datetime", "time") and type.decimal > 0 else ""
    return f"{type.name.upper()}{digits}"


def _column_type(field: Field, length: int | None) -> ColumnType:
    """What the values of a column of the seed are kept as."""
    value, type = field.read(), stored_type(field)
    if value.kind == "null":
        return NULL_TYPE
    if value.kind in ("decimal", "wide"):
        return ColumnType("decimal", value.digits or 65, value.scale)
    if value.kind in ("datetime", "time"):
        return replace(type, decimal=value.scale)
    return replace(type, length=length) if is_text(type) and length is not None else type


def _lengths(
    tree: QueryTree, evaluation: Evaluation, around: QueryScope, columns: int, relations: Relations
) -> list[int | None]:
    """How many characters the texts of the seed may have, where that is a literal's, a cast's or a column's length."""
    if isinstance(tree, SetOperation):
        left, right = (_lengths(side, evaluation, around, columns, relations) for side in (tree.left, tree.right))
        return [
            None if one is None or other is None else max(one, other) for one, other in zip(left, right, strict=True)
        ]
    if not isinstance(tree, SelectTree) or not all(isinstance(item, SelectItem) for item in tree.items):
        return [None] * columns
    known: tuple[Field, ...] = ()
    if tree.source is not None and any(
        isinstance(strip_parentheses(item.expression), ColumnName)
        for item in tree.items
        if isinstance(item, SelectItem)
    ):
        known = build_source(
            tree.source, evaluation, around, lambda query, outer: relations(query, evaluation, outer)
        ).fields
    scope = QueryScope(evaluation, known)
    return [_length(strip_parentheses(item.expression), scope) for item in tree.items if isinstance(item, SelectItem)]


def _length(node: Node, scope: QueryScope) -> int | None:
    if isinstance(node, Literal) and node.kind == "string":
        return len(node.text)
    if isinstance(node, Cast):
        found = CHARACTERS.match(node.type)
        return int(found[1]) if found else None
    field = scope.find(node) if isinstance(node, ColumnName) else None
    if field is None or field.column is None or field.column.type.name not in ("char", "varchar"):
        return None
    return int(field.column.type.length)


def _new_rows(kept: pa.Table, rows: pa.Table, made: Table) -> pa.Table:
    """Those rows that are not among those that are kept, each different one once."""
    both = pa.concat_tables([kept, rows]).combine_chunks()
    keys = {column.name: ordered(column.type, both.column(column.name).combine_chunks()) for column in made.columns}
    places = pa.table({**keys, "place": pa.array(np.arange(both.num_rows))})
    first = places.group_by([*keys]).aggregate([("place", "min")]).column("place_min").to_numpy()
    return both.take(pa.array(np.sort(first[first >= kept.num_rows])))
