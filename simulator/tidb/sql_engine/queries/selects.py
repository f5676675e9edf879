"""Builds SELECT, WITH and set operations as relations.

WHERE sees the columns of the sources. ORDER BY prefers the names of the select list to the sources, GROUP BY and HAVING
prefer the sources.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from simulator.errors import SqlError
from simulator.tidb import syntax
from simulator.tidb.expressions.sql.graph import Sql, quote, select_query, sql
from simulator.tidb.expressions.translate import translate
from simulator.tidb.expressions.trees import replace_nodes, strip_parentheses, walk
from simulator.tidb.expressions.values.value import Value, as_boolean
from simulator.tidb.sql_engine.errors import not_simulated, sql_error
from simulator.tidb.sql_engine.queries.grouping import (
    Grouping,
    constant_columns,
    distinct_rows,
    except_or_intersect,
    export_value,
    stack_relations,
)
from simulator.tidb.sql_engine.queries.recursive import build_recursive, is_recursive
from simulator.tidb.sql_engine.queries.scopes import Evaluation, Field, QueryScope, shown_column, value_field
from simulator.tidb.sql_engine.queries.select_names import (
    SelectedColumn,
    check_having_names,
    having_fields,
    resolve_aliases,
    resolve_group_key,
    resolve_having_names,
)
from simulator.tidb.sql_engine.queries.sorting import order_rows, order_term, select_ordinal, sort_key
from simulator.tidb.sql_engine.queries.sources import Relation, build_source, filter_relation, filter_rows, row_identity
from simulator.tidb.sql_engine.queries.window_functions import window_value


def build_relation(query: syntax.QueryTree | syntax.CommonTable, evaluation: Evaluation, outer: QueryScope) -> Relation:
    """Return the relation of a query, or of a table of WITH RECURSIVE, inside of the queries around it. Raises
    SqlError."""
    if isinstance(query, syntax.CommonTable):
        return build_recursive(query, evaluation, outer, build_relation)
    if isinstance(query, syntax.WithTree):
        return build_relation(query.query, evaluation, add_common_tables(query, outer))
    if isinstance(query, syntax.SelectTree):
        return _build_select(query, evaluation, outer)
    if isinstance(query, syntax.ValuesTree):
        raise sql_error(1051, "")  # tidb plans VALUES ROW(…) as a SELECT of all columns
    return _finish_query(_build_set_operation(query, evaluation, outer), query.order, query.limit, evaluation, outer)


def build_from(source: syntax.Source, evaluation: Evaluation, outer: QueryScope) -> Relation:
    """Return the relation of a FROM clause inside of the queries around it. Raises SqlError."""
    return build_source(source, evaluation, outer, lambda tree, around: build_relation(tree, evaluation, around))


def add_common_tables(common: syntax.WithTree, scope: QueryScope) -> QueryScope:
    """Return a scope with the tables of WITH. Raises SqlError."""
    tables = dict(scope.common)
    for table in common.tables:
        if common.recursive and is_recursive(table):
            table = replace(table, recursive=True)
        tables = {**tables, table.name.lower(): (table, tables)}
    return replace(scope, common=tables)


def _build_select(tree: syntax.SelectTree, evaluation: Evaluation, outer: QueryScope) -> Relation:
    if tree.unsupported:
        raise not_simulated(
            f"{', '.join(tree.unsupported)} is not computed; SELECT … FROM … WHERE … GROUP BY … HAVING … ORDER BY … LIMIT is"
        )
    base = Relation(f'(SELECT 1 AS "{evaluation.next_number()}.one")', (), ())
    if tree.source is not None:
        base = build_from(tree.source, evaluation, outer)
    scope = QueryScope(
        evaluation,
        base.fields,
        outer=outer,
        common=outer.common,
        row=row_identity(base),
        windowed=_windows(tree, base.order),
    )
    base = filter_relation(base, tree.where, scope.within("where clause"))
    items = [item for part in tree.items for item in _expand_item(part, base)]
    nodes = [item.node for item in items if item.node is not None]
    expressions = [*nodes, *(item.expression for item in tree.order), *([] if tree.having is None else [tree.having])]
    if tree.group_by or any(map(contains_aggregate, expressions)):
        return _build_grouped(tree, items, base, scope, evaluation)
    values = [_item_value(item, scope) for item in items]
    if tree.having is not None:
        having_scope = replace(scope, fields=having_fields(tree, items, scope))
        check_having_names(tree.having, items, having_scope)
        condition = resolve_having_names(tree.having, tree, items, values, scope)
        base = replace(
            base,
            sql=filter_rows(
                base.sql, as_boolean(translate(condition, having_scope.within("having clause"))), evaluation
            ),
        )
    order = _order_values(tree.order, items, values, scope, lambda node: None)
    return _finish_select(tree, items, values, order, base, scope)


def _windows(tree: syntax.SelectTree, rows: Sequence[str]) -> Callable[[syntax.WindowFunction, QueryScope], Value]:
    return lambda function, scope: window_value(function, scope, tree.windows, rows)


def contains_aggregate(node: syntax.Node) -> bool:
    return any(
        isinstance(part, syntax.ContextExpression)
        and (
            isinstance(part.tree, syntax.Aggregate)
            or isinstance(part.tree, syntax.WindowFunction)
            and (any(map(contains_aggregate, part.tree.function.arguments)))
        )
        for part in walk(node)
    )


def _expand_item(part: syntax.SelectItem | syntax.Star, base: Relation) -> list[SelectedColumn]:
    """Return the columns that an item of the select list stands for. Raises SqlError."""
    if isinstance(part, syntax.SelectItem):
        return [SelectedColumn(part.name, part.expression)]
    if part.table is None:
        fields = [field for field in base.fields if field.shown]
        if not fields:
            raise SqlError(1096, "HY000", "No tables used")
    else:
        schema, table = part.table.schema.lower(), part.table.name.lower()
        fields = [
            field
            for field in base.fields
            if not field.extra and field.table.lower() == table and (not schema or field.schema.lower() == schema)
        ]
        if not fields:
            raise sql_error(1051, part.table.name)
    return [SelectedColumn(field.name, None, field) for field in fields]


def _item_value(
    item: SelectedColumn,
    scope: QueryScope,
    replace_known: Callable[[syntax.Node], syntax.Node | None] = lambda node: None,
) -> Value:
    if item.node is not None:
        return translate(replace_nodes(item.node, replace_known), scope)
    assert item.field is not None
    return item.field.read() if scope.through is None else scope.through(item.field)


def _build_grouped(
    tree: syntax.SelectTree, items: Sequence[SelectedColumn], base: Relation, scope: QueryScope, evaluation: Evaluation
) -> Relation:
    keys: list[tuple[syntax.Node, Value]] = []
    for item in tree.group_by:
        node = resolve_group_key(item, items, scope)
        if contains_aggregate(node):
            raise SqlError(1056, "42000", "Can't group on an aggregate function")
        keys.append((node, translate(node, scope.within("group statement"))))
    constant = constant_columns(tree.where, scope)
    grouping = Grouping(evaluation, scope, base, keys, constant, not tree.group_by)
    group_scope = replace(grouping.scope(), windowed=_windows(tree, [grouping.first_row]))
    values = []
    for number, column in enumerate(items, 1):
        grouping.place = "SELECT list", number
        values.append(_item_value(column, group_scope, grouping.known))
    condition = None
    if tree.having is not None:
        grouping.place = "HAVING clause", 1
        named = replace(group_scope, fields=having_fields(tree, items, scope))
        check_having_names(tree.having, items, named)
        having = resolve_having_names(replace_nodes(tree.having, grouping.known), tree, items, values, scope)
        condition = as_boolean(translate(having, named.within("having clause")))
    grouping.place = "ORDER BY", 1
    order = _order_values(tree.order, items, values, group_scope, grouping.known)
    groups = grouping.relation()
    if condition is not None:
        groups = replace(groups, sql=filter_rows(groups.sql, condition, evaluation))
    return _finish_select(tree, items, values, order, groups, scope)


def _order_values(
    order: Sequence[syntax.OrderItem],
    items: Sequence[SelectedColumn],
    values: Sequence[Value],
    scope: QueryScope,
    replace_known: Callable[[syntax.Node], syntax.Node | None],
) -> list[Value]:
    order_values = []
    for item in order:
        node = strip_parentheses(item.expression)
        if isinstance(node, syntax.Literal) and node.kind == "integer":
            order_values.append(values[select_ordinal(node.text, len(values))])
            continue
        node = resolve_aliases(node, items, values, scope, first=isinstance(node, syntax.ColumnName))
        order_values.append(translate(replace_nodes(node, replace_known), scope.within("order clause")))
    return order_values


def _finish_select(
    tree: syntax.SelectTree,
    items: Sequence[SelectedColumn],
    values: Sequence[Value],
    order: Sequence[Value],
    base: Relation,
    scope: QueryScope,
) -> Relation:
    """Return the select list over a relation, with DISTINCT, ORDER BY and LIMIT. `scope` is that of the select list."""
    evaluation = scope.evaluation
    number = evaluation.next_number()
    shown = [_shown_column(item, scope) for item in items]
    fields, columns = _export_fields([item.name for item in items], values, shown, number)
    terms = []
    if tree.distinct:
        text = select_query(columns, base.sql, f"{evaluation.next_number()}:", with_all=True)
        distinct = distinct_rows(Relation(f"({text})", fields, base.order), evaluation)
        distinct_values = [field.read() for field in distinct.fields]
        if any(not any(value is each for each in values) for value in order):
            raise SqlError(
                3065,
                "HY000",
                "Expression #1 of ORDER BY clause is not in SELECT list; this is incompatible with DISTINCT",
            )
        places = [next(place for place, each in enumerate(values) if each is value) for value in order]
        return _sort_relation(
            distinct, [distinct_values[place] for place in places], tree.order, tree.limit, evaluation
        )
    for place, (value, item) in enumerate(zip(order, tree.order, strict=True)):
        columns[f"{number}.order{place}"] = sort_key(value)
        evaluation.watch_problems([columns[f"{number}.order{place}"]], base.sql)
        terms.append(order_term(quote(f"{number}.order{place}"), item.descending))
    text = select_query(columns, base.sql, f"{evaluation.next_number()}:", with_all=True)
    relation = Relation(f"({text})", fields, (*terms, *base.order))
    return replace(relation, sql=order_rows(relation.sql, relation.order, tree.limit)) if tree.limit else relation


def _shown_column(item: SelectedColumn, scope: QueryScope) -> Field | None:
    """Return the column of a base table that an item of the select list shows unchanged."""
    if isinstance(item.node, syntax.ColumnName):
        return shown_column(scope.find(item.node))
    return shown_column(item.field)


def _export_fields(
    names: Sequence[str], values: Sequence[Value], shown: Sequence[Field | None], number: int
) -> tuple[tuple[Field, ...], dict[str, Sql]]:
    columns: dict[str, Sql] = {}
    fields = []
    for place, (called, value, column) in enumerate(zip(names, values, shown, strict=True)):
        parts, read = export_value(value, f"{number}.{place}")
        columns |= parts
        fields.append(value_field(called, read, column))
    return tuple(fields), columns or {f"{number}.none": sql("1")}


def _sort_relation(
    relation: Relation,
    values: Sequence[Value],
    order: Sequence[syntax.OrderItem],
    limit: syntax.Limit | None,
    evaluation: Evaluation,
) -> Relation:
    number = evaluation.next_number()
    columns = {f"{number}.order{place}": sort_key(value) for place, value in enumerate(values)}
    evaluation.watch_problems(columns.values(), relation.sql)
    terms = [order_term(quote(column), item.descending) for column, item in zip(columns, order, strict=True)]
    if columns:
        text = select_query(columns, relation.sql, f"{evaluation.next_number()}:", with_all=True)
        relation = replace(relation, sql=f"({text})", order=(*terms, *relation.order))
    return replace(relation, sql=order_rows(relation.sql, relation.order, limit)) if limit else relation


def _finish_query(
    relation: Relation,
    order: Sequence[syntax.OrderItem],
    limit: syntax.Limit | None,
    evaluation: Evaluation,
    outer: QueryScope,
) -> Relation:
    """Apply ORDER BY and LIMIT to a set operation. They may name its columns only."""
    scope = QueryScope(evaluation, relation.fields, "order clause", outer, common=outer.common)
    items = [SelectedColumn(field.name, None, field) for field in relation.fields]
    values = [field.read() for field in relation.fields]
    return _sort_relation(
        relation, _order_values(order, items, values, scope, lambda node: None), order, limit, evaluation
    )


def _build_set_operation(tree: syntax.SetOperation, evaluation: Evaluation, outer: QueryScope) -> Relation:
    sides = [build_relation(side, evaluation, outer) for side in _sides(tree)]
    if tree.operator in ("UNION ALL", "UNION"):
        stacked = stack_relations(sides, evaluation)
        return distinct_rows(stacked, evaluation) if tree.operator == "UNION" else stacked
    if tree.operator in ("EXCEPT", "INTERSECT"):
        return except_or_intersect(tree.operator, sides, evaluation)
    raise not_simulated(f"{tree.operator} is not computed; UNION, UNION ALL, EXCEPT and INTERSECT are")


def _sides(tree: syntax.SetOperation) -> list[syntax.QueryTree]:
    """Return the queries of a chain of UNIONs, which leans to the left."""
    left = tree.left
    same = (
        isinstance(left, syntax.SetOperation)
        and left.operator == tree.operator
        and tree.operator.startswith("UNION")
        and (not left.order and left.limit is None)
    )
    return [*(_sides(left) if same and isinstance(left, syntax.SetOperation) else [left]), tree.right]
