"""SELECT, WITH and set operations as relations.

WHERE sees the columns of the sources. Rows go through FROM, WHERE, GROUP BY, HAVING, windows, DISTINCT, ORDER BY and
LIMIT; each stage but the last keeps the row of the one before and puts something behind it, so that an expression reads
the same places everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from simulator.tidb import syntax
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.queries.common_tables import build_set_operation, with_common_tables
from simulator.tidb.engine.queries.filters import Filtered, TableRelation, compile_condition, find_locking
from simulator.tidb.engine.queries.grouping import Grouping
from simulator.tidb.engine.queries.relation import (
    ONE_ROW,
    Relation,
    Rows,
    Selected,
    SortKey,
    Values,
    distinct_key,
    export,
    filtered,
    limited,
    projected,
    sort_key,
    sorted_rows,
)
from simulator.tidb.engine.queries.relation import distinct as distinct_rows
from simulator.tidb.engine.queries.results import (
    SelectItem,
    check_having_names,
    expand_items,
    having_fields,
    item_node,
    resolve_aliases,
    resolve_group_key,
    resolve_having_names,
    select_ordinal,
)
from simulator.tidb.engine.queries.sources import build_source
from simulator.tidb.engine.queries.windows import Windows
from simulator.tidb.engine.scope import Field, Fields, QueryScope
from simulator.tidb.errors import not_simulated, sql_error, sql_error_with_text
from simulator.tidb.expressions.compile import compile_expression
from simulator.tidb.expressions.expression import Expression
from simulator.tidb.expressions.trees import conjuncts, replace_nodes, strip_parentheses
from simulator.tidb.syntax.queries import OrderItem

WINDOW_ALIAS = "You cannot use the alias '{}' of an expression containing a window function in this context.'"

Stage: TypeAlias = "Callable[[Iterator[Values], StatementContext], Iterator[Values]]"


def build_query(query: syntax.QueryTree, outer: QueryScope) -> Relation:
    """Return the relation of a query inside of the queries around it. Raises SqlError."""
    if isinstance(query, syntax.WithTree):
        return build_query(query.query, with_common_tables(query, outer))
    if isinstance(query, syntax.SelectTree):
        return Select(query, outer).relation()
    if isinstance(query, syntax.ValuesTree):
        raise sql_error(1051, "")  # tidb plans VALUES ROW(…) as a SELECT of all columns
    return _finish_set_operation(query, build_set_operation(query, outer), outer)


def _finish_set_operation(tree: syntax.SetOperation, relation: Relation, outer: QueryScope) -> Relation:
    """Apply ORDER BY and LIMIT to a set operation. They may name its columns only."""
    if not tree.order and tree.limit is None:
        return relation
    scope = QueryScope(outer.compilation, relation.fields, outer).within("order clause")
    items = [SelectItem(field.name, None, field) for field in relation.fields]
    order = order_values(tree.order, items, [field.value for field in relation.fields], scope)
    keys = [SortKey(sort_key(value), item.descending) for value, item in order]
    rows, limit = relation.rows, tree.limit

    def finished(context: StatementContext) -> Iterator[Values]:
        found = rows(context)
        return iter(limited(sorted_rows(found, keys, context) if keys else found, limit))

    return Filtered(relation.fields, relation.width, finished)


def order_values(
    order: Sequence[OrderItem],
    items: Sequence[SelectItem],
    values: Sequence[Expression],
    scope: QueryScope,
    known: Callable[[syntax.Node], syntax.Node | None] = lambda node: None,
) -> list[tuple[Expression, OrderItem]]:
    """Return the expressions of ORDER BY, with names and numbers of the select list resolved. Raises SqlError."""
    found = []
    for item in order:
        node = strip_parentheses(item.expression)
        if isinstance(node, syntax.Literal) and node.kind == "integer":
            found.append((values[select_ordinal(node.text, len(values))], item))
            continue
        node = resolve_aliases(node, items, values, scope, first=isinstance(node, syntax.ColumnName))
        found.append((compile_expression(replace_nodes(node, known), scope), item))
    return found


SIMPLE = (syntax.ColumnName, syntax.Literal)


def context_trees(node: syntax.Node) -> Iterator[object]:
    """Yield the trees of subqueries, aggregate and window functions in an expression."""
    return (part.tree for part in syntax.walk(node) if isinstance(part, syntax.ContextExpression))


def contains_aggregate(node: syntax.Node) -> bool:
    return any(
        isinstance(tree, syntax.Aggregate)
        or isinstance(tree, syntax.WindowFunction)
        and any(map(contains_aggregate, _parts_of_window(tree)))
        for tree in context_trees(node)
    )


def _parts_of_window(tree: syntax.WindowFunction) -> Iterator[syntax.Node]:
    yield from tree.function.arguments
    yield from tree.window.partition
    yield from (item.expression for item in tree.window.order)


QUERIES = (syntax.Subquery, syntax.Exists, syntax.Quantified)


def _aggregates_around(query: syntax.QueryTree, scope: QueryScope) -> bool:
    """Return whether a subquery has an aggregate function of columns of the query around it, which computes it (tidb
    pkg/planner/core/logical_plan_builder.go, resolveCorrelatedAggregates)."""
    if not isinstance(query, syntax.SelectTree):
        return False
    nodes = [item.expression for item in query.items if isinstance(item, syntax.SelectItem)]
    nodes += [item.expression for item in query.order] + [node for node in (query.having,) if node is not None]
    trees = [tree for node in nodes for tree in context_trees(node) if isinstance(tree, syntax.Aggregate)]
    trees = [tree for tree in trees if (named := [*scope.named(tree)]) and all(map(scope.find, named))]
    if not trees:
        return False
    fields = build_source(query.source, scope).fields if query.source is not None else Fields()
    inner = QueryScope(scope.compilation, fields, scope)
    return not all(map(inner.has_columns, trees))


def _contains_window(node: syntax.Node) -> bool:
    return any(isinstance(tree, syntax.WindowFunction) for tree in context_trees(node))


class Select:
    """One SELECT."""

    def __init__(self, tree: syntax.SelectTree, outer: QueryScope) -> None:
        """Raises SqlError."""
        if tree.unsupported:
            raise not_simulated(
                f"{', '.join(tree.unsupported)} is not computed; SELECT … FROM … WHERE … GROUP BY … HAVING … ORDER BY …"
                " LIMIT is"
            )
        self.tree = tree
        if tree.counts_rows:
            outer.context.use_noop("SQL_CALC_FOUND_ROWS")
        source = Relation(ONE_ROW.fields, 0, ONE_ROW.rows) if tree.source is None else build_source(tree.source, outer)
        self._source = source
        self._scope = QueryScope(outer.compilation, source.fields, outer)
        self._locking = find_locking(tree.lock, source, outer) if tree.lock else None
        if self._locking is not None and isinstance(source, TableRelation):
            source.lock_keys()
        self._stages: list[Stage] = []
        where = self._scope.within("where clause")
        rest = source.restrict(conjuncts(tree.where), where)
        self._filter([compile_condition(node, where) for node in rest])
        if tree.lock.startswith("FOR SHARE") and not (isinstance(source, TableRelation) and source.is_point):
            # A look-up by key is planned without this check (tidb pkg/planner/core/point_get_plan.go).
            outer.context.use_noop("LOCK IN SHARE MODE")
        self._items = expand_items(tree.items, source.fields, outer.stars)
        self._width = source.width
        nodes = [item.node for item in self._items if item.node is not None and not isinstance(item.node, SIMPLE)]
        nodes += [item.expression for item in tree.order if not isinstance(item.expression, SIMPLE)]
        aggregated = nodes if tree.having is None else [*nodes, tree.having]
        self._grouping = self._group() if tree.group_by or any(map(self._aggregates, aggregated)) else None
        self._windows: Windows | None = None
        if any(map(_contains_window, nodes)):
            self._windows = Windows(self._width, tree.windows)
            self._width += 1

    def _aggregates(self, node: syntax.Node) -> bool:
        """Return whether an expression has an aggregate function over rows of this query."""
        for part in syntax.walk(node):
            tree = part.tree if isinstance(part, syntax.ContextExpression) else None
            if isinstance(tree, syntax.Aggregate) and self._scope.owns(tree):
                return True
            if isinstance(tree, syntax.WindowFunction) and contains_aggregate(part):
                return True
            if isinstance(tree, QUERIES) and _aggregates_around(tree.query, self._scope):
                return True
        return False

    def _filter(self, tests: Sequence[Any]) -> None:
        if tests:
            self._stages.append(lambda rows, context: filtered(rows, tests, context))

    def _group(self) -> Grouping:
        if self._locking is not None:
            self._stages.append(self._locking.rows)
            self._locking = None
        keys = []
        for item in self.tree.group_by:
            node = resolve_group_key(item, self._items, self._scope)
            if contains_aggregate(node):
                raise sql_error_with_text(1056, "Can't group on an aggregate function")
            keys.append((node, compile_expression(node, self._scope.within("group statement"))))
        grouping = Grouping(self.tree, self._scope, self._source.width, keys)
        self._stages.append(grouping.rows)
        self._width += 1
        return grouping

    def relation(self) -> Relation:
        tree, items, grouping = self.tree, self._items, self._grouping
        scope = self._scope if grouping is None else grouping.scope()
        if self._windows is not None:
            windows, inner = self._windows, scope
            scope = scope.changed(windowed=lambda function: windows.compile(function, inner))
        values = []
        for number, item in enumerate(items, 1):
            if grouping is not None:
                grouping.place = "SELECT list", number
            values.append(self._value(item, scope))
        if tree.having is not None:
            self._having(tree.having, values, scope)
        if self._windows is not None:
            self._stages.append(self._windows.rows)
        columns = [Selected(item.name, value, self._shown(item)) for item, value in zip(items, values, strict=True)]
        fields, makers = export(columns)
        is_sorted = not tree.distinct and (not tree.order or self._is_sorted())
        if is_sorted or all(column.field is not None and column.field.slots for column in columns):
            chosen = self._chosen(self._rows if is_sorted else self._sorted(self._rows, values, scope))
            relation = Filtered(fields, len(makers), lambda context: projected(chosen(context), makers, context))
            relation.unprojected = chosen, values, [column.field for column in columns]
            return relation
        width, rows = self._width, self._rows

        def extended(context: StatementContext) -> Iterator[Values]:
            return (row + [make(row, context) for make in makers] for row in rows(context))

        chosen = self._chosen(self._sorted(extended, [field.value for field in fields.moved(width)], scope))
        return Filtered(fields, len(makers), lambda context: (row[width:] for row in chosen(context)))

    def _sorted(self, rows: Rows, values: Sequence[Expression], scope: QueryScope) -> Rows:
        """Return rows without repetition and in order, as the query says, given the values of its columns."""
        if self._grouping is not None:
            self._grouping.place = "ORDER BY", 1
        order = order_values(self.tree.order, self._items, values, scope.within("order clause"), self._known)
        keys = [SortKey(sort_key(value), item.descending) for value, item in order]
        if not self.tree.distinct:
            return lambda context: iter(sorted_rows(rows(context), keys, context))
        self._check_distinct_order([value for value, _ in order], values)
        distinct = [distinct_key(value) for value in values]

        def chosen(context: StatementContext) -> Iterator[Values]:
            found = distinct_rows(rows(context), distinct, context)
            return iter(sorted_rows(found, keys, context) if keys else found)

        return chosen

    def _chosen(self, rows: Rows) -> Rows:
        """Return the rows that LIMIT leaves, locked."""
        limit, locking = self.tree.limit, self._locking

        def chosen(context: StatementContext) -> Iterator[Values]:
            found = iter(limited(rows(context), limit))
            return found if locking is None else locking.rows(found, context)

        return chosen

    def _rows(self, context: StatementContext) -> Iterator[Values]:
        rows = self._source.rows(context)
        for stage in self._stages:
            rows = stage(rows, context)
        return rows

    def _known(self, node: syntax.Node) -> syntax.Node | None:
        return None if self._grouping is None else self._grouping.known(node)

    def _value(self, item: SelectItem, scope: QueryScope) -> Expression:
        rollup = self._grouping is not None and self._grouping.rollup
        if item.node is not None or rollup:
            node = item_node(item) if item.node is None else item.node
            return compile_expression(node if self._grouping is None else replace_nodes(node, self._known), scope)
        assert item.field is not None
        return scope.read(item.field)

    def _shown(self, item: SelectItem) -> Field | None:
        """Return the field of the source that an item shows unchanged."""
        if self._grouping is not None and self._grouping.rollup:
            return None
        if item.node is None:
            return item.field
        return self._scope.find(item.node) if isinstance(item.node, syntax.ColumnName) else None

    def _having(self, having: syntax.Node, values: Sequence[Expression], scope: QueryScope) -> None:
        if self._grouping is not None:
            self._grouping.place = "HAVING clause", 1
        named = scope.changed(fields=having_fields(self.tree, self._items, self._scope), windowed=None)
        check_having_names(having, self._items, named)
        for name in {node.parts[0].lower() for node in syntax.names_in(having) if len(node.parts) == 1}:
            if any(item.name.lower() == name and item.node and _contains_window(item.node) for item in self._items):
                raise sql_error_with_text(3594, WINDOW_ALIAS.format(name))
        node = resolve_having_names(replace_nodes(having, self._known), self.tree, self._items, values, self._scope)
        self._filter([compile_condition(node, named.within("having clause"))])

    def _is_sorted(self) -> bool:
        """Return whether the rows of a table are read in the order that ORDER BY wants: that of its handles."""
        if len(self.tree.order) != 1 or self.tree.distinct or self._grouping or self._windows:
            return False
        node, source = strip_parentheses(self.tree.order[0].expression), self._source
        if not isinstance(node, syntax.ColumnName) or not isinstance(source, TableRelation):
            return False
        shown = [self._shown(item) for item in self._items if item.name.lower() == node.parts[-1].lower()]
        field = self._scope.find(node)
        if field is None or len(node.parts) == 1 and any(each is not field for each in shown):
            return False
        return source.read_in_order(field, self.tree.order[0].descending)

    def _check_distinct_order(self, order: Sequence[Expression], selected: Sequence[Expression]) -> None:
        """Raise SqlError 3065 for an ORDER BY by something that DISTINCT does not keep."""
        for number, (value, item) in enumerate(zip(order, self.tree.order, strict=True), 1):
            if any(value is each for each in selected):
                continue
            self._check_distinct_item(number, strip_parentheses(item.expression))

    def _check_distinct_item(self, number: int, node: syntax.Node) -> None:
        """A whole expression of the select list may be named, or its columns (tidb
        pkg/planner/core/logical_plan_builder.go, checkOrderByInDistinct)."""
        nodes = [strip_parentheses(item.node) for item in self._items if item.node is not None]
        if node in nodes or "ONLY_FULL_GROUP_BY" not in self._scope.context.session.settings.sql_mode:
            return
        shown = [self._shown(item) for item in self._items]
        names = {item.name.lower() for item in self._items}
        for part in syntax.walk(node):
            if isinstance(part, syntax.ColumnName):
                field = self._scope.find(part)
                if field in shown or len(part.parts) == 1 and part.parts[0].lower() in names:
                    continue
                column = ".".join(part.parts)
                if field is not None and field.table:
                    schema = field.schema or self._scope.database
                    column = f"{schema}.{field.table}.{field.name}"
                raise sql_error(3065, number, "ORDER BY clause", column, "DISTINCT")
            if isinstance(part, syntax.ContextExpression) and part not in nodes:
                raise sql_error(3065, number, "ORDER BY clause", part.restored, "DISTINCT")
