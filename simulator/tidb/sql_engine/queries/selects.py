"""Queries as relations: SELECT, VALUES, WITH, and what they are joined to by UNION, EXCEPT and INTERSECT.

One law: a clause sees what MySQL lets it see: WHERE the sources, ORDER BY the select list before them, GROUP BY and
HAVING the sources before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from dataclasses import fields as members_of
from functools import partial

from simulator.errors import SqlError
from simulator.tidb.expressions.functions.choices import common_type, convert_to
from simulator.tidb.expressions.sql.graph import Sql, identifier, join, quote, select_query, sql
from simulator.tidb.expressions.sql.problems import KINDS, collect_problems, with_problems
from simulator.tidb.expressions.translate import KnownValue, translate
from simulator.tidb.expressions.trees import strip_parentheses, walk
from simulator.tidb.expressions.values.collations import union_collation, with_collation
from simulator.tidb.expressions.values.value import Value, as_boolean
from simulator.tidb.sql_engine.errors import not_simulated
from simulator.tidb.sql_engine.queries.grouping import (
    Grouping,
    constant_columns,
    distinct_rows,
    export_value,
    group_by_values,
)
from simulator.tidb.sql_engine.queries.recursive import build_recursive, is_recursive
from simulator.tidb.sql_engine.queries.scopes import Field, QueryScope, StatementContext
from simulator.tidb.sql_engine.queries.sorting import order_rows, order_term, select_ordinal, sort_key
from simulator.tidb.sql_engine.queries.sources import Relation, build_source, filter_relation, filter_rows
from simulator.tidb.sql_engine.queries.window_functions import window_value
from simulator.tidb.syntax.expressions import ColumnName, ContextExpression, Literal, Node, names_in
from simulator.tidb.syntax.queries import (
    Aggregate,
    CommonTable,
    Limit,
    OrderItem,
    QueryTree,
    SelectItem,
    SelectTree,
    SetOperation,
    Star,
    ValuesTree,
    WindowFunction,
    WithTree,
)


@dataclass(frozen=True)
class SelectedColumn:
    """A column of the select list: an expression, or a field that a star means."""

    name: str
    node: Node | None
    field: Field | None = None


def build_relation(query: QueryTree | CommonTable, answers: StatementContext, outer: QueryScope) -> Relation:
    """The relation of a query, or of a table of WITH RECURSIVE, inside of those around it. Raises SqlError."""
    if isinstance(query, CommonTable):
        return build_recursive(query, answers, outer, build_relation)
    if isinstance(query, WithTree):
        return build_relation(query.query, answers, add_common_tables(query, outer))
    if isinstance(query, SelectTree):
        return _build_select(query, answers, outer)
    if isinstance(query, ValuesTree):
        raise SqlError(1051, "42S02", "Unknown table ''")  # tidb plans VALUES ROW(…) as a SELECT of all columns
    return _finish_query(_build_set_operation(query, answers, outer), query.order, query.limit, answers, outer)


def add_common_tables(common: WithTree, scope: QueryScope) -> QueryScope:
    """A scope that knows the tables of WITH. Raises SqlError."""
    known = dict(scope.common)
    for table in common.tables:
        if common.recursive and is_recursive(table):
            table = replace(table, recursive=True)
        known = {**known, table.name.lower(): (table, known)}
    return replace(scope, common=known)


def _build_select(tree: SelectTree, answers: StatementContext, outer: QueryScope) -> Relation:
    if tree.beside:
        raise not_simulated(
            f"{', '.join(tree.beside)} is not computed; SELECT … FROM … WHERE … GROUP BY … HAVING … ORDER BY … LIMIT is"
        )
    base = Relation(f'(SELECT 1 AS "{answers.number()}.one")', (), ())
    if tree.source is not None:
        base = build_source(tree.source, answers, outer, lambda query, around: build_relation(query, answers, around))
    rows = (
        join("||", [sql("coalesce({}::VARCHAR, '') || ' '", identifier(part.place)) for part in base.bases])
        if (base.bases)
        else None
    )
    scope = QueryScope(
        answers, base.fields, outer=outer, common=outer.common, row=rows, windowed=_windows(tree, base.order)
    )
    base = filter_relation(base, tree.where, scope.within("where clause"))
    items = [item for part in tree.items for item in _expand_item(part, base)]
    nodes = [item.node for item in items if item.node is not None]
    asked = [*nodes, *(item.expression for item in tree.order), *([] if tree.having is None else [tree.having])]
    if tree.group_by or any(map(contains_aggregate, asked)):
        return _build_grouped(tree, items, base, scope, answers)
    values = [_item_value(item, scope) for item in items]
    if tree.having is not None:
        named = replace(scope, fields=_having_fields(tree, items, scope))
        _check_having(tree.having, items, named)
        condition = _having_names(tree.having, tree, items, values, scope)
        base = replace(
            base, sql=filter_rows(base.sql, as_boolean(translate(condition, named.within("having clause"))), answers)
        )
    return _finish_ungrouped(tree, items, values, base, scope, answers, lambda node: None)


def _windows(tree: SelectTree, rows: Sequence[str]) -> Callable[[WindowFunction, QueryScope], Value]:
    return lambda asked, scope: window_value(asked, scope, tree.windows, rows)


def contains_aggregate(node: Node) -> bool:
    return any(
        isinstance(part, ContextExpression)
        and (
            isinstance(part.tree, Aggregate)
            or isinstance(part.tree, WindowFunction)
            and (any(map(contains_aggregate, part.tree.function.arguments)))
        )
        for part in walk(node)
    )


def _expand_item(part: SelectItem | Star, base: Relation) -> list[SelectedColumn]:
    """The columns that a part of the select list stands for. Raises SqlError."""
    if isinstance(part, SelectItem):
        return [SelectedColumn(part.name, part.expression)]
    if part.table is None:
        found = [field for field in base.fields if field.shown]
        if not found:
            raise SqlError(1096, "HY000", "No tables used")
    else:
        schema, table = part.table.schema.lower(), part.table.name.lower()
        found = [
            field
            for field in base.fields
            if not field.extra and field.table.lower() == table and (not schema or field.schema.lower() == schema)
        ]
        if not found:
            raise SqlError(1051, "42S02", f"Unknown table '{part.table.name}'")
    return [SelectedColumn(field.name, None, field) for field in found]


def _item_value(
    item: SelectedColumn, scope: QueryScope, known: Callable[[Node], Node | None] = lambda node: None
) -> Value:
    if item.node is not None:
        return translate(replace_nodes(item.node, known), scope)
    assert item.field is not None
    return item.field.read() if scope.through is None else scope.through(item.field)


def replace_nodes(node: Node, change: Callable[[Node], Node | None]) -> Node:
    """The node with others in the place of those that are changed."""
    found = change(node)
    if found is not None:
        return found
    if isinstance(node, (ContextExpression, KnownValue)):
        return node
    parts = {member.name: _replace_in(getattr(node, member.name), change) for member in members_of(node)}  # type: ignore
    same = all(part is getattr(node, called) for called, part in parts.items())
    return node if same else replace(node, **parts)  # type: ignore


def _replace_in(part: object, change: Callable[[Node], Node | None]) -> object:
    if isinstance(part, Node):
        return replace_nodes(part, change)
    if isinstance(part, tuple):
        found = tuple(_replace_in(each, change) for each in part)
        return part if all(one is other for one, other in zip(found, part, strict=True)) else found
    return part


def _with_aliases(
    node: Node, items: Sequence[SelectedColumn], values: Sequence[Value], scope: QueryScope, first: bool = False
) -> Node:
    """An expression with the values of the select list for their names, where the sources have none such; `first`:
    even where they have."""
    known = {item.name.lower(): value for item, value in reversed(list(zip(items, values, strict=True)))}

    def change(part: Node) -> Node | None:
        if not isinstance(part, ColumnName) or len(part.parts) > 1 or part.parts[0].lower() not in known:
            return None
        return KnownValue(known[part.parts[0].lower()]) if first or scope.find(part) is None else None

    return replace_nodes(node, change)


def _having_names(
    node: Node, tree: SelectTree, items: Sequence[SelectedColumn], values: Sequence[Value], scope: QueryScope
) -> Node:
    """HAVING with the values of the select list for their names; a column of GROUP BY comes before one of that name."""
    grouped = {column.parts[-1].lower() for column in map(_plain_column, tree.group_by) if column is not None}
    chosen = [(item, value) for item, value in zip(items, values, strict=True) if item.name.lower() not in grouped]
    node = _with_aliases(node, [item for item, _ in chosen], [value for _, value in chosen], scope, first=True)
    return _with_aliases(node, items, values, scope)


def _having_fields(tree: SelectTree, items: Sequence[SelectedColumn], scope: QueryScope) -> tuple[Field, ...]:
    """The columns that HAVING can name outside of aggregate functions: those that the select list or GROUP BY has (tidb
    pkg/planner/core/logical_plan_builder.go, havingWindowAndOrderbyExprResolver)."""
    columns = [item.node for item in items if isinstance(item.node, ColumnName)]
    columns += [column for column in map(_plain_column, tree.group_by) if column is not None]
    found = [*(item.field for item in items), *map(scope.find, columns)]
    return tuple(dict.fromkeys(field for field in found if field is not None))


def _check_having(having: Node, items: Sequence[SelectedColumn], scope: QueryScope) -> None:
    """Raises SqlError 1054 and 1052 for names, also for those of an expression that GROUP BY has."""
    for node in names_in(having):
        named = [item for item in items if len(node.parts) == 1 and item.name.lower() == node.parts[0].lower()]
        meant = {
            item.field or (scope.find(item.node) if isinstance(item.node, ColumnName) else item.node) for item in named
        }
        if len(meant) > 1:
            raise SqlError(1052, "23000", f"Column '{node.parts[0]}' in field list is ambiguous")
        around: QueryScope | None = scope
        while around is not None and not named and around.find(node) is None:
            around = around.outer
        if around is None:
            raise SqlError(1054, "42S22", f"Unknown column '{'.'.join(node.parts)}' in 'having clause'")


def _plain_column(item: OrderItem) -> ColumnName | None:
    node = strip_parentheses(item.expression)
    return node if isinstance(node, ColumnName) else None


def _build_grouped(
    tree: SelectTree, items: Sequence[SelectedColumn], base: Relation, scope: QueryScope, answers: StatementContext
) -> Relation:
    keys: list[tuple[Node, Value]] = []
    for item in tree.group_by:
        node = _group_node(item, items, scope)
        if contains_aggregate(node):
            raise SqlError(1056, "42000", "Can't group on an aggregate function")
        keys.append((node, translate(node, scope.within("group statement"))))
    fixed = constant_columns(tree.where, scope)
    grouping = Grouping(answers, scope, base, keys, fixed, not tree.group_by)
    within = replace(grouping.scope(), windowed=_windows(tree, [grouping.first_row]))
    values = []
    for number, shown in enumerate(items, 1):
        grouping.place = "SELECT list", number
        values.append(_item_value(shown, within, grouping.known))
    condition = None
    if tree.having is not None:
        grouping.place = "HAVING clause", 1
        named = replace(within, fields=_having_fields(tree, items, scope))
        _check_having(tree.having, items, named)
        having = _having_names(replace_nodes(tree.having, grouping.known), tree, items, values, scope)
        condition = as_boolean(translate(having, named.within("having clause")))
    grouping.place = "ORDER BY", 1
    order = _order_values(tree.order, items, values, within, grouping.known)
    groups = grouping.relation()
    if condition is not None:
        groups = replace(groups, sql=filter_rows(groups.sql, condition, answers))
    return _finish_select(tree, items, values, order, groups, answers)


def _group_node(item: OrderItem, items: Sequence[SelectedColumn], scope: QueryScope) -> Node:
    """What GROUP BY is by: a column, or what a name or a number of the select list stands for."""
    node = strip_parentheses(item.expression)
    if isinstance(node, Literal) and node.kind == "integer":
        place = int(node.text)
        if not 1 <= place <= len(items):
            raise SqlError(1054, "42S22", f"Unknown column '{node.text}' in 'group statement'")
        return _item_node(items[place - 1])
    if isinstance(node, ColumnName) and len(node.parts) == 1 and scope.find(node) is None:
        found = next((each for each in items if each.name.lower() == node.parts[0].lower()), None)
        return node if found is None else _item_node(found)
    return node


def _item_node(item: SelectedColumn) -> Node:
    if item.node is not None:
        return strip_parentheses(item.node)
    assert item.field is not None
    parts = (item.field.schema, item.field.table, item.field.name)
    return ColumnName(tuple(part for part in parts if part))


def _order_values(
    order: Sequence[OrderItem],
    items: Sequence[SelectedColumn],
    values: Sequence[Value],
    scope: QueryScope,
    known: Callable[[Node], Node | None],
) -> list[Value]:
    found = []
    for item in order:
        node = strip_parentheses(item.expression)
        if isinstance(node, Literal) and node.kind == "integer":
            found.append(values[select_ordinal(node.text, len(values))])
            continue
        node = _with_aliases(node, items, values, scope, first=isinstance(node, ColumnName))
        found.append(translate(replace_nodes(node, known), scope.within("order clause")))
    return found


def _finish_ungrouped(
    tree: SelectTree,
    items: Sequence[SelectedColumn],
    values: Sequence[Value],
    base: Relation,
    scope: QueryScope,
    answers: StatementContext,
    known: Callable[[Node], Node | None],
) -> Relation:
    return _finish_select(tree, items, values, _order_values(tree.order, items, values, scope, known), base, answers)


def _finish_select(
    tree: SelectTree,
    items: Sequence[SelectedColumn],
    values: Sequence[Value],
    order: Sequence[Value],
    base: Relation,
    answers: StatementContext,
) -> Relation:
    """The select list over a relation, with DISTINCT, ORDER BY and LIMIT."""
    number = answers.number()
    fields, columns = _export_fields([item.name for item in items], values, number)
    terms = []
    if tree.distinct:
        text = select_query(columns, base.sql, f"{answers.number()}:", kept=True)
        once = distinct_rows(Relation(f"({text})", fields, base.order), answers)
        shown = [field.read() for field in once.fields]
        if any(not any(value is each for each in values) for value in order):
            raise SqlError(
                3065,
                "HY000",
                "Expression #1 of ORDER BY clause is not in SELECT list; this is incompatible with DISTINCT",
            )
        places = [next(place for place, each in enumerate(values) if each is value) for value in order]
        return _sort_relation(once, [shown[place] for place in places], tree.order, tree.limit, answers)
    for place, (value, item) in enumerate(zip(order, tree.order, strict=True)):
        columns[f"{number}.order{place}"] = sort_key(value)
        answers.watch([columns[f"{number}.order{place}"]], base.sql)
        terms.append(order_term(quote(f"{number}.order{place}"), item.descending))
    text = select_query(columns, base.sql, f"{answers.number()}:", kept=True)
    found = Relation(f"({text})", fields, (*terms, *base.order))
    return replace(found, sql=order_rows(found.sql, found.order, tree.limit)) if tree.limit else found


def _export_fields(
    names: Sequence[str], values: Sequence[Value], number: int
) -> tuple[tuple[Field, ...], dict[str, Sql]]:
    columns: dict[str, Sql] = {}
    fields = []
    for place, (called, value) in enumerate(zip(names, values, strict=True)):
        parts, read = export_value(value, f"{number}.{place}")
        columns |= parts
        fields.append(Field(called, partial(_same, read)))
    return tuple(fields), columns or {f"{number}.none": sql("1")}


def _same(value: Value) -> Value:
    return value


def _sort_relation(
    relation: Relation,
    values: Sequence[Value],
    order: Sequence[OrderItem],
    limit: Limit | None,
    answers: StatementContext,
) -> Relation:
    number = answers.number()
    columns = {f"{number}.order{place}": sort_key(value) for place, value in enumerate(values)}
    answers.watch(columns.values(), relation.sql)
    terms = [order_term(quote(column), item.descending) for column, item in zip(columns, order, strict=True)]
    if columns:
        text = select_query(columns, relation.sql, f"{answers.number()}:", kept=True)
        relation = replace(relation, sql=f"({text})", order=(*terms, *relation.order))
    return replace(relation, sql=order_rows(relation.sql, relation.order, limit)) if limit else relation


def _finish_query(
    relation: Relation, order: Sequence[OrderItem], limit: Limit | None, answers: StatementContext, outer: QueryScope
) -> Relation:
    """ORDER BY and LIMIT behind several queries, which name their columns alone."""
    scope = QueryScope(answers, relation.fields, "order clause", outer, common=outer.common)
    items = [SelectedColumn(field.name, None, field) for field in relation.fields]
    values = [field.read() for field in relation.fields]
    return _sort_relation(
        relation, _order_values(order, items, values, scope, lambda node: None), order, limit, answers
    )


def _build_set_operation(tree: SetOperation, answers: StatementContext, outer: QueryScope) -> Relation:
    sides = [build_relation(side, answers, outer) for side in _sides(tree)]
    if tree.operator in ("UNION ALL", "UNION"):
        found = _stack(sides, answers)
        return distinct_rows(found, answers) if tree.operator == "UNION" else found
    if tree.operator in ("EXCEPT", "INTERSECT"):
        return _except_or_intersect(tree.operator, sides, answers)
    raise not_simulated(f"{tree.operator} is not computed; UNION, UNION ALL, EXCEPT and INTERSECT are")


def _sides(tree: SetOperation) -> list[QueryTree]:
    """Chains lean to the left."""
    left = tree.left
    same = (
        isinstance(left, SetOperation)
        and left.operator == tree.operator
        and tree.operator.startswith("UNION")
        and (not left.order and left.limit is None)
    )
    return [*(_sides(left) if same and isinstance(left, SetOperation) else [left]), tree.right]


def _common_value(values: Sequence[Value]) -> Value:
    kind = common_type(values)
    return with_collation(kind, union_collation(values)) if kind.kind == "string" else kind


def _stack(sides: Sequence[Relation], answers: StatementContext) -> Relation:
    """The rows of one relation after those of another, in the kinds that their columns have in common."""
    if len({len(side.fields) for side in sides}) > 1:
        raise SqlError(1222, "21000", "The used SELECT statements have a different number of columns")
    number = answers.number()
    columns = list(zip(*([field.read() for field in side.fields] for side in sides), strict=True))
    kinds = [_common_value(values) for values in columns]
    texts, flawed = [], set[tuple[int, str]]()
    for place, side in enumerate(sides):
        shown = {
            f"{number}.{column}": convert_to(values[place], kind)
            for column, (values, kind) in enumerate(zip(columns, kinds, strict=True))
        }
        order = f" ORDER BY {', '.join(side.order)}" if side.order else ""
        shown |= {f"{number}.side": sql(str(place)), f"{number}.row": sql(f"row_number() OVER ({order.strip()})")}
        for column in range(len(kinds)):
            problems = collect_problems(shown[f"{number}.{column}"])
            flawed |= {(column, problem) for problem in problems}
            shown |= {f"{number}.{column} {problem}": problems.get(problem, sql("NULL::VARCHAR")) for problem in KINDS}
        texts.append(select_query(shown, side.sql, f"{answers.number()}:"))
    fields = tuple(
        Field(
            field.name,
            partial(
                _same,
                kind
                if kind.kind == "null"
                else replace(
                    kind,
                    sql=with_problems(
                        identifier(f"{number}.{column}"),
                        {
                            problem: identifier(f"{number}.{column} {problem}")
                            for problem in KINDS
                            if (column, problem) in flawed
                        },
                    ),
                ),
            ),
        )
        for column, (field, kind) in enumerate(zip(sides[0].fields, kinds, strict=True))
    )
    rows = quote(f"{number}.side"), quote(f"{number}.row")
    return Relation(f"({' UNION ALL '.join(texts)})", fields, rows)


def _except_or_intersect(operator: str, sides: Sequence[Relation], answers: StatementContext) -> Relation:
    """EXCEPT, INTERSECT: each different row of the first that the second has not, or has."""
    both = _stack(sides, answers)
    grouping, fields = group_by_values(both, answers)
    side = grouping.column(Sql((both.order[0],)))
    first, second = (grouping.over(f"count(*) FILTER (WHERE {side} = {place})") for place in (0, 1))
    found = grouping.relation()
    condition = sql(f"{{}} > 0 AND {{}} {'= 0' if operator == 'EXCEPT' else '> 0'}", first, second)
    return replace(found, sql=filter_rows(found.sql, condition, answers), fields=fields)
