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
from simulator.tidb.sql_engine.errors import outside
from simulator.tidb.sql_engine.queries.grouping import Grouping, by_values, constants, distinct, exported
from simulator.tidb.sql_engine.queries.recursive import names_itself, recursion
from simulator.tidb.sql_engine.queries.scopes import Answers, Field, QueryScope
from simulator.tidb.sql_engine.queries.sorting import ordered, ordinal, sort_key, sorted_by
from simulator.tidb.sql_engine.queries.sources import Relation, kept_rows, restricted, source_of
from simulator.tidb.sql_engine.queries.window_functions import windowed
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
class Item:
    """A column of the select list: an expression, or a field that a star means."""

    name: str
    node: Node | None
    field: Field | None = None


def relation_of(query: QueryTree | CommonTable, answers: Answers, outer: QueryScope) -> Relation:
    """The relation of a query, or of a table of WITH RECURSIVE, inside of those around it. Raises SqlError."""
    if isinstance(query, CommonTable):
        return recursion(query, answers, outer, relation_of)
    if isinstance(query, WithTree):
        return relation_of(query.query, answers, with_tables(query, outer))
    if isinstance(query, SelectTree):
        return _selected(query, answers, outer)
    if isinstance(query, ValuesTree):
        raise SqlError(1051, "42S02", "Unknown table ''")  # tidb plans VALUES ROW(…) as a SELECT of all columns
    return _finished(_combined(query, answers, outer), query.order, query.limit, answers, outer)


def with_tables(common: WithTree, scope: QueryScope) -> QueryScope:
    """A scope that knows the tables of WITH. Raises SqlError."""
    known = dict(scope.common)
    for table in common.tables:
        if common.recursive and names_itself(table):
            table = replace(table, recursive=True)
        known = {**known, table.name.lower(): (table, known)}
    return replace(scope, common=known)


def _selected(tree: SelectTree, answers: Answers, outer: QueryScope) -> Relation:
    if tree.beside:
        raise outside(
            f"{', '.join(tree.beside)} is not computed; SELECT … FROM … WHERE … GROUP BY … HAVING … ORDER BY … LIMIT is"
        )
    base = Relation(f'(SELECT 1 AS "{answers.number()}.one")', (), ())
    if tree.source is not None:
        base = source_of(tree.source, answers, outer, lambda query, around: relation_of(query, answers, around))
    rows = (
        join("||", [sql("coalesce({}::VARCHAR, '') || ' '", identifier(part.place)) for part in base.bases])
        if (base.bases)
        else None
    )
    scope = QueryScope(
        answers, base.fields, outer=outer, common=outer.common, row=rows, windowed=_windows(tree, base.order)
    )
    base = restricted(base, tree.where, scope.within("where clause"))
    items = [item for part in tree.items for item in _items(part, base)]
    nodes = [item.node for item in items if item.node is not None]
    asked = [*nodes, *(item.expression for item in tree.order), *([] if tree.having is None else [tree.having])]
    if tree.group_by or any(map(aggregates, asked)):
        return _grouped(tree, items, base, scope, answers)
    values = [_value(item, scope) for item in items]
    if tree.having is not None:
        named = replace(scope, fields=_having_fields(tree, items, scope))
        _check_having(tree.having, items, named)
        condition = _having_names(tree.having, tree, items, values, scope)
        base = replace(
            base, sql=kept_rows(base.sql, as_boolean(translate(condition, named.within("having clause"))), answers)
        )
    return _shown(tree, items, values, base, scope, answers, lambda node: None)


def _windows(tree: SelectTree, rows: Sequence[str]) -> Callable[[WindowFunction, QueryScope], Value]:
    return lambda asked, scope: windowed(asked, scope, tree.windows, rows)


def aggregates(node: Node) -> bool:
    return any(
        isinstance(part, ContextExpression)
        and (
            isinstance(part.tree, Aggregate)
            or isinstance(part.tree, WindowFunction)
            and (any(map(aggregates, part.tree.function.arguments)))
        )
        for part in walk(node)
    )


def _items(part: SelectItem | Star, base: Relation) -> list[Item]:
    """The columns that a part of the select list stands for. Raises SqlError."""
    if isinstance(part, SelectItem):
        return [Item(part.name, part.expression)]
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
    return [Item(field.name, None, field) for field in found]


def _value(item: Item, scope: QueryScope, known: Callable[[Node], Node | None] = lambda node: None) -> Value:
    if item.node is not None:
        return translate(replaced(item.node, known), scope)
    assert item.field is not None
    return item.field.read() if scope.through is None else scope.through(item.field)


def replaced(node: Node, change: Callable[[Node], Node | None]) -> Node:
    """The node with others in the place of those that are changed."""
    found = change(node)
    if found is not None:
        return found
    if isinstance(node, (ContextExpression, KnownValue)):
        return node
    parts = {member.name: _replaced(getattr(node, member.name), change) for member in members_of(node)}  # type: ignore
    same = all(part is getattr(node, called) for called, part in parts.items())
    return node if same else replace(node, **parts)  # type: ignore


def _replaced(part: object, change: Callable[[Node], Node | None]) -> object:
    if isinstance(part, Node):
        return replaced(part, change)
    if isinstance(part, tuple):
        found = tuple(_replaced(each, change) for each in part)
        return part if all(one is other for one, other in zip(found, part, strict=True)) else found
    return part


def _with_aliases(
    node: Node, items: Sequence[Item], values: Sequence[Value], scope: QueryScope, first: bool = False
) -> Node:
    """An expression with the values of the select list for their names, where the sources have none such; `first`:
    even where they have."""
    known = {item.name.lower(): value for item, value in reversed(list(zip(items, values, strict=True)))}

    def change(part: Node) -> Node | None:
        if not isinstance(part, ColumnName) or len(part.parts) > 1 or part.parts[0].lower() not in known:
            return None
        return KnownValue(known[part.parts[0].lower()]) if first or scope.find(part) is None else None

    return replaced(node, change)


def _having_names(
    node: Node, tree: SelectTree, items: Sequence[Item], values: Sequence[Value], scope: QueryScope
) -> Node:
    """HAVING with the values of the select list for their names; a column of GROUP BY comes before one of that name."""
    grouped = {column.parts[-1].lower() for column in map(_column, tree.group_by) if column is not None}
    chosen = [(item, value) for item, value in zip(items, values, strict=True) if item.name.lower() not in grouped]
    node = _with_aliases(node, [item for item, _ in chosen], [value for _, value in chosen], scope, first=True)
    return _with_aliases(node, items, values, scope)


def _having_fields(tree: SelectTree, items: Sequence[Item], scope: QueryScope) -> tuple[Field, ...]:
    """The columns that HAVING can name outside of aggregate functions: those that the select list or GROUP BY has (tidb
    pkg/planner/core/logical_plan_builder.go, havingWindowAndOrderbyExprResolver)."""
    columns = [item.node for item in items if isinstance(item.node, ColumnName)]
    columns += [column for column in map(_column, tree.group_by) if column is not None]
    found = [*(item.field for item in items), *map(scope.find, columns)]
    return tuple(dict.fromkeys(field for field in found if field is not None))


def _check_having(having: Node, items: Sequence[Item], scope: QueryScope) -> None:
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


def _column(item: OrderItem) -> ColumnName | None:
    node = strip_parentheses(item.expression)
    return node if isinstance(node, ColumnName) else None


def _grouped(tree: SelectTree, items: Sequence[Item], base: Relation, scope: QueryScope, answers: Answers) -> Relation:
    keys: list[tuple[Node, Value]] = []
    for item in tree.group_by:
        node = _group_node(item, items, scope)
        if aggregates(node):
            raise SqlError(1056, "42000", "Can't group on an aggregate function")
        keys.append((node, translate(node, scope.within("group statement"))))
    fixed = constants(tree.where, scope)
    grouping = Grouping(answers, scope, base, keys, fixed, not tree.group_by)
    within = replace(grouping.scope(), windowed=_windows(tree, [grouping.first_row]))
    values = []
    for number, shown in enumerate(items, 1):
        grouping.place = "SELECT list", number
        values.append(_value(shown, within, grouping.known))
    condition = None
    if tree.having is not None:
        grouping.place = "HAVING clause", 1
        named = replace(within, fields=_having_fields(tree, items, scope))
        _check_having(tree.having, items, named)
        having = _having_names(replaced(tree.having, grouping.known), tree, items, values, scope)
        condition = as_boolean(translate(having, named.within("having clause")))
    grouping.place = "ORDER BY", 1
    order = _order_values(tree.order, items, values, within, grouping.known)
    groups = grouping.relation()
    if condition is not None:
        groups = replace(groups, sql=kept_rows(groups.sql, condition, answers))
    return _ended(tree, items, values, order, groups, answers)


def _group_node(item: OrderItem, items: Sequence[Item], scope: QueryScope) -> Node:
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


def _item_node(item: Item) -> Node:
    if item.node is not None:
        return strip_parentheses(item.node)
    assert item.field is not None
    parts = (item.field.schema, item.field.table, item.field.name)
    return ColumnName(tuple(part for part in parts if part))


def _order_values(
    order: Sequence[OrderItem],
    items: Sequence[Item],
    values: Sequence[Value],
    scope: QueryScope,
    known: Callable[[Node], Node | None],
) -> list[Value]:
    found = []
    for item in order:
        node = strip_parentheses(item.expression)
        if isinstance(node, Literal) and node.kind == "integer":
            found.append(values[ordinal(node.text, len(values))])
            continue
        node = _with_aliases(node, items, values, scope, first=isinstance(node, ColumnName))
        found.append(translate(replaced(node, known), scope.within("order clause")))
    return found


def _shown(
    tree: SelectTree,
    items: Sequence[Item],
    values: Sequence[Value],
    base: Relation,
    scope: QueryScope,
    answers: Answers,
    known: Callable[[Node], Node | None],
) -> Relation:
    return _ended(tree, items, values, _order_values(tree.order, items, values, scope, known), base, answers)


def _ended(
    tree: SelectTree,
    items: Sequence[Item],
    values: Sequence[Value],
    order: Sequence[Value],
    base: Relation,
    answers: Answers,
) -> Relation:
    """The select list over a relation, with DISTINCT, ORDER BY and LIMIT."""
    number = answers.number()
    fields, columns = _exported([item.name for item in items], values, number)
    terms = []
    if tree.distinct:
        text = select_query(columns, base.sql, f"{answers.number()}:", kept=True)
        once = distinct(Relation(f"({text})", fields, base.order), answers)
        shown = [field.read() for field in once.fields]
        if any(not any(value is each for each in values) for value in order):
            raise SqlError(
                3065,
                "HY000",
                "Expression #1 of ORDER BY clause is not in SELECT list; this is incompatible with DISTINCT",
            )
        places = [next(place for place, each in enumerate(values) if each is value) for value in order]
        return _sorted(once, [shown[place] for place in places], tree.order, tree.limit, answers)
    for place, (value, item) in enumerate(zip(order, tree.order, strict=True)):
        columns[f"{number}.order{place}"] = sort_key(value)
        answers.watch([columns[f"{number}.order{place}"]], base.sql)
        terms.append(sorted_by(quote(f"{number}.order{place}"), item.descending))
    text = select_query(columns, base.sql, f"{answers.number()}:", kept=True)
    found = Relation(f"({text})", fields, (*terms, *base.order))
    return replace(found, sql=ordered(found.sql, found.order, tree.limit)) if tree.limit else found


def _exported(names: Sequence[str], values: Sequence[Value], number: int) -> tuple[tuple[Field, ...], dict[str, Sql]]:
    columns: dict[str, Sql] = {}
    fields = []
    for place, (called, value) in enumerate(zip(names, values, strict=True)):
        parts, read = exported(value, f"{number}.{place}")
        columns |= parts
        fields.append(Field(called, partial(_same, read)))
    return tuple(fields), columns or {f"{number}.none": sql("1")}


def _same(value: Value) -> Value:
    return value


def _sorted(
    relation: Relation, values: Sequence[Value], order: Sequence[OrderItem], limit: Limit | None, answers: Answers
) -> Relation:
    number = answers.number()
    columns = {f"{number}.order{place}": sort_key(value) for place, value in enumerate(values)}
    answers.watch(columns.values(), relation.sql)
    terms = [sorted_by(quote(column), item.descending) for column, item in zip(columns, order, strict=True)]
    if columns:
        text = select_query(columns, relation.sql, f"{answers.number()}:", kept=True)
        relation = replace(relation, sql=f"({text})", order=(*terms, *relation.order))
    return replace(relation, sql=ordered(relation.sql, relation.order, limit)) if limit else relation


def _finished(
    relation: Relation, order: Sequence[OrderItem], limit: Limit | None, answers: Answers, outer: QueryScope
) -> Relation:
    """ORDER BY and LIMIT behind several queries, which name their columns alone."""
    scope = QueryScope(answers, relation.fields, "order clause", outer, common=outer.common)
    items = [Item(field.name, None, field) for field in relation.fields]
    values = [field.read() for field in relation.fields]
    return _sorted(relation, _order_values(order, items, values, scope, lambda node: None), order, limit, answers)


def _combined(tree: SetOperation, answers: Answers, outer: QueryScope) -> Relation:
    sides = [relation_of(side, answers, outer) for side in _sides(tree)]
    if tree.operator in ("UNION ALL", "UNION"):
        found = _stacked(sides, answers)
        return distinct(found, answers) if tree.operator == "UNION" else found
    if tree.operator in ("EXCEPT", "INTERSECT"):
        return _filtered(tree.operator, sides, answers)
    raise outside(f"{tree.operator} is not computed; UNION, UNION ALL, EXCEPT and INTERSECT are")


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


def _united(values: Sequence[Value]) -> Value:
    kind = common_type(values)
    return with_collation(kind, union_collation(values)) if kind.kind == "string" else kind


def _stacked(sides: Sequence[Relation], answers: Answers) -> Relation:
    """The rows of one relation after those of another, in the kinds that their columns have in common."""
    if len({len(side.fields) for side in sides}) > 1:
        raise SqlError(1222, "21000", "The used SELECT statements have a different number of columns")
    number = answers.number()
    columns = list(zip(*([field.read() for field in side.fields] for side in sides), strict=True))
    kinds = [_united(values) for values in columns]
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


def _filtered(operator: str, sides: Sequence[Relation], answers: Answers) -> Relation:
    """EXCEPT, INTERSECT: each different row of the first that the second has not, or has."""
    both = _stacked(sides, answers)
    grouping, fields = by_values(both, answers)
    side = grouping.column(Sql((both.order[0],)))
    first, second = (grouping.over(f"count(*) FILTER (WHERE {side} = {place})") for place in (0, 1))
    found = grouping.relation()
    condition = sql(f"{{}} > 0 AND {{}} {'= 0' if operator == 'EXCEPT' else '> 0'}", first, second)
    return replace(found, sql=kept_rows(found.sql, condition, answers), fields=fields)
