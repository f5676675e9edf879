"""The sources of FROM as relations: tables, views, derived tables, tables of WITH, and joins of them.

A view is described by the columns of its query. Names in information_schema are searched without regard to case, and
sorted with regard to it. A join has for each row of the first side those of the second one, by a key of a table, by a
hash of keys, or all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import NamedTuple

from simulator.errors import DdlError, SqlError
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import ViewInfo, object_key
from simulator.tidb.engine import NOT_NULL
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.names import part_name, read_as_of, resolve_partitions, source_parts
from simulator.tidb.engine.queries.access import Comparison
from simulator.tidb.engine.queries.filters import (
    Filtered,
    Lookup,
    TableRelation,
    compile_condition,
    hashed,
    is_movable,
    lookup,
)
from simulator.tidb.engine.queries.relation import CHECKED_ROWS, Relation, Values, materialised, table_fields
from simulator.tidb.engine.queries.results import result_column
from simulator.tidb.engine.scope import TOP, Field, Fields, QueryScope, StatementCompilation
from simulator.tidb.engine.system_columns import NAMES, searched
from simulator.tidb.engine.system_tables import SystemTable
from simulator.tidb.errors import not_simulated, sql_error, sql_error_with_text
from simulator.tidb.expressions.comparisons import comparison
from simulator.tidb.expressions.compile import compile_expression
from simulator.tidb.expressions.expression import Evaluate, Expression
from simulator.tidb.expressions.trees import conjuncts, strip_parentheses
from simulator.tidb.model.table import Column, Table, visible_columns


def build_source(source: syntax.Source, outer: QueryScope) -> Relation:
    """Return the relation of a FROM clause inside of the queries around it. Raises SqlError."""
    if isinstance(source, syntax.Join):
        names = [part_name(part, outer.database) for part in source_parts(source)]
        repeated = next((name for place, name in enumerate(names) if name in names[:place]), None)
        if repeated is not None:
            raise sql_error(1066, repeated[1])
    return _build_part(source, outer)


def _build_part(source: syntax.Source, outer: QueryScope) -> Relation:
    if isinstance(source, syntax.Join):
        return _build_join(source, outer)
    if isinstance(source, syntax.DerivedTable):
        return renamed(_independent(source.query, outer), source.alias, source.columns)
    common = None if source.name.schema else outer.common.get(source.name.name.lower())
    if common is not None:
        return renamed(common(outer), source.alias or source.name.name, ())
    return _build_table(source, outer)


def _independent(query: syntax.QueryTree, outer: QueryScope) -> Relation:
    """Return the relation of a derived table, which knows whether it depends on rows of queries around it."""
    compilation = outer.compilation
    reach, compilation.reach = compilation.reach, TOP
    relation: Relation = outer.build(query)
    relation.depends = compilation.reach <= outer.depth
    compilation.reach = min(reach, compilation.reach)
    return relation


def renamed(relation: Relation, alias: str, columns: Sequence[str], schema: str = "") -> Relation:
    """Return a relation under an alias, with other names of its columns, in a schema. Raises SqlError 1353."""
    if columns and len(columns) != len(relation.fields):
        raise sql_error(1353)
    names = columns or [field.name for field in relation.fields]
    fields = Fields(
        Field(name, field.read, table=alias, schema=schema, shows=field.shown_column, slots=field.slots)
        for name, field in zip(names, relation.fields, strict=True)
    )
    result = Filtered(fields, relation.width, relation.rows)
    result.depends = relation.depends
    return result


# -- joins -------------------------------------------------------------------------------------------------------------


def _build_join(join: syntax.Join, outer: QueryScope) -> Relation:
    left, right = (_build_part(side, outer) for side in (join.left, join.right))
    names = _using_columns(join, left, right)
    pairs = [(_one_column(left, name), _one_column(right, name)) for name in names]
    if join.kind != "INNER" and join.on is None and not join.using and not join.natural:
        raise sql_error(1064, f"a {join.kind} JOIN takes ON or USING")
    return JoinedRelation(left, right, join, pairs, outer)


def _using_columns(join: syntax.Join, left: Relation, right: Relation) -> tuple[str, ...]:
    """Return the names of the columns that a join merges."""
    if not join.natural:
        return join.using
    names = {field.name.lower() for field in right.fields if field.shown}
    return tuple(field.name for field in left.fields if field.shown and field.name.lower() in names)


def _one_column(relation: Relation, name: str) -> Field:
    """Return the column of a name. Raises SqlError."""
    fields = [field for field in relation.fields.by_name.get(name.lower(), ()) if field.shown]
    if not fields:
        raise sql_error(1054, name, "from clause")
    if len(fields) > 1:
        raise sql_error(1052, name, "from clause")
    return fields[0]


# -- tables and views --------------------------------------------------------------------------------------------------


def _build_table(source: syntax.TableSource, outer: QueryScope) -> Relation:
    schema, name, context = source.name.schema or outer.database, source.name.name, outer.context
    if not schema:
        raise sql_error(1046)
    key, alias = object_key(schema, name), source.alias or name
    read_as_of(source.as_of, outer)
    catalog = context.catalog
    table = catalog.tables.get(key)
    shown_schema = "" if source.alias else schema
    if table is not None:
        stored = context.stored(table)
        ordinals = resolve_partitions(table, source.partitions) if source.partitions else range(len(stored.partitions))
        return TableRelation(stored, ordinals, alias, shown_schema)
    if key in catalog.views:
        return renamed(_view(catalog.views[key], outer), alias, (), shown_schema)
    if schema.lower() in ("information_schema", "performance_schema", "mysql"):
        # few statements ask for it
        from simulator.tidb.engine.system_tables import system_table

        system = system_table(schema, name, partial(valid_views, outer.compilation))
        if system is not None:
            return SystemRelation(system, alias, shown_schema)
    if key in catalog.sequences:
        raise not_simulated(f"the row of the sequence `{schema}`.`{name}` is not computed; tables and views are")
    raise sql_error(1146, schema, name)


ERRORS_OF_VIEWS = (1055, 1105, 1235, 1462, 8123)
"""Errors of a view's query that are not 1356 (tidb pkg/planner/core/logical_plan_builder.go, BuildDataSourceFromView)."""


def _view(view: ViewInfo, outer: QueryScope) -> Relation:
    """Return the rows of a view, whose query is in its own database. Raises SqlError 1356, 1462."""
    key = object_key(view.schema, view.name)
    if key in outer.views:
        raise sql_error_with_text(1462, f"`{view.schema}`.`{view.name}` contains view recursion")
    around = QueryScope(outer.compilation).changed(
        database=view.schema, views=(*outer.views, key), stars=dict(view.stars)
    )
    try:
        relation = around.build(_parsed_view(view.query))
    except (SqlError, DdlError) as error:
        if isinstance(error, SqlError) and error.number in ERRORS_OF_VIEWS:
            raise
        raise invalid_view(view) from None
    if len(view.columns) > len(relation.fields):
        raise invalid_view(view)
    fields = Fields(field._replace(name=name) for name, field in zip(view.columns, relation.fields, strict=False))
    return Filtered(fields, relation.width, relation.rows)


def invalid_view(view: ViewInfo) -> SqlError:
    return sql_error_with_text(
        1356,
        f"View '{view.schema}.{view.name}' references invalid table(s) or column(s) or function(s) or definer/invoker"
        " of view lack rights to use them",
    )


@lru_cache(256)
def _parsed_view(query: str) -> syntax.QueryTree:
    from simulator.tidb.parser.query import parse_query
    from simulator.tidb.parser.script import parse_tokens
    from simulator.tidb.parser.tokens import tokenize

    tree = parse_tokens(query, tokenize(query, frozenset()), parse_query).tree
    assert tree is not None, "a stored view has a query"
    return tree


def view_table(view: ViewInfo, compilation: StatementCompilation) -> Table:
    """Return a view as a table without keys and defaults. Raises SqlError 1356."""
    source = syntax.TableSource(syntax.TableName(view.schema, view.name))
    shown = QueryScope(replace(compilation)).build(syntax.SelectTree((syntax.Star(),), source))
    columns = [result_column(field) for field in shown.fields]
    return Table(
        view.schema,
        view.name,
        tuple(Column(column.name, column.type, bool(column.flags & NOT_NULL)) for column in columns),
    )


def valid_views(compilation: StatementCompilation) -> list[Table]:
    """Return the views whose queries are valid."""
    found = []
    for view in compilation.context.schema.catalog.views.values():
        try:
            found.append(view_table(view, compilation))
        except (SqlError, DdlError):
            continue
    return found


class SystemRelation(Filtered):
    """The rows of a table of information_schema."""

    def __init__(self, system: SystemTable, alias: str, schema: str) -> None:
        table = system.table
        super().__init__(
            table_fields(table, alias, schema),
            len(visible_columns(table)) + 1,
            lambda context: ([*cells, (0, 0)] for cells in system.rows(context)),
        )
        self._searched = table_fields(searched(table), alias, schema)

    def restrict(self, conditions: Sequence[syntax.Node], scope: QueryScope) -> Sequence[syntax.Node]:
        names = [node for node in conditions if _is_search(node)]
        self.filter([compile_condition(node, scope.of_rows(self._searched)) for node in names])
        return super().restrict([node for node in conditions if node not in names], scope)


def _is_search(node: syntax.Node) -> bool:
    """Return whether a condition compares a name with constants."""
    if isinstance(node, syntax.Binary) and node.operator == "=":
        sides = [node.left, node.right]
    elif isinstance(node, syntax.In | syntax.PatternMatch) and not node.negated:
        sides = [node.operand, *(node.candidates if isinstance(node, syntax.In) else [node.pattern])]
    else:
        return False
    columns = [side for side in map(strip_parentheses, sides) if isinstance(side, syntax.ColumnName)]
    others = [side for side in map(strip_parentheses, sides) if not isinstance(side, syntax.ColumnName)]
    return (
        len(columns) == 1
        and columns[0].parts[-1].upper().endswith(NAMES)
        and all(isinstance(side, syntax.Literal) for side in others)
    )


class Equality(NamedTuple):
    """A condition of a join that a value of its first side equals a value of the second one."""

    test: Callable[[], Evaluate]
    """Compiles it for the rows of the join."""

    value: Expression
    """Of rows of the first side."""

    key: Expression
    """Of rows of the second side."""

    column: str
    """The column that `key` is, in lower case; empty if it is none."""


class JoinedRelation(Relation):
    """A join: for each row of its first side (the left one unless it is a RIGHT JOIN) those of the second one."""

    def __init__(
        self,
        left: Relation,
        right: Relation,
        join: syntax.Join,
        using: Sequence[tuple[Field, Field]],
        outer: QueryScope,
    ) -> None:
        """`using` are the pairs of columns that the join merges."""
        bases = (*left.bases, *(base._replace(place=base.place + left.width) for base in right.bases))
        moved = right.fields.moved(left.width)
        super().__init__(Fields((*left.fields, *moved)), left.width + right.width, self._joined, bases)
        self.left, self.right = left, right
        self._is_outer, self._by_right = join.kind != "INNER", join.kind == "RIGHT"
        self._scope = QueryScope(outer.compilation, self.fields, outer).within("on clause")
        self._on, self._using = conjuncts(join.on), using
        if using:
            self.fields = self._merged(moved)
        self._path: Lookup = lambda row, context: ()
        self._tests: Sequence[Evaluate] = ()

    def _merged(self, moved: Fields) -> Fields:
        """Return the fields of a join with USING: each merged column comes first, and once."""
        pairs = [(one, moved[self.right.fields.index(other)]) for one, other in self._using]
        one, other = [pair[self._by_right] for pair in pairs], [pair[not self._by_right] for pair in pairs]
        rest = [*moved, *self.left.fields] if self._by_right else [*self.left.fields, *moved]
        return Fields(
            (*one, *(field._replace(hidden=field.hidden or field in other) for field in rest if field not in one))
        )

    def restrict(self, conditions: Sequence[syntax.Node], scope: QueryScope) -> Sequence[syntax.Node]:
        first = "right" if self._by_right else "left"
        on: dict[str, list[syntax.Node]] = {"left": [], "right": [], "both": []}
        where: dict[str, list[syntax.Node]] = {"left": [], "right": [], "both": [], "": []}
        for node in self._on:
            side = self._side(node, self._scope)
            on["both" if not side or self._is_outer and side == first else side].append(node)
        for node in conditions:
            side = self._side(node, scope)
            where["" if self._is_outer and side != first else side].append(node)
        for name, relation in (("left", self.left), ("right", self.right)):
            own = (scope if where[name] else self._scope).of_rows(relation.fields)
            rest = relation.restrict([*on[name], *where[name]], own)
            if rest:
                relation.filter([compile_condition(node, own) for node in rest])
        self._prepare([*((node, self._scope) for node in on["both"]), *((node, scope) for node in where["both"])])
        self.depends = self.left.depends or self.right.depends
        return where[""]

    def _side(self, node: syntax.Node, scope: QueryScope) -> str:
        """Return the side whose rows a condition tests: `left`, `right` or `both`; empty if it is not to be moved."""
        if not is_movable(node):
            return ""
        sides = self._sides(node, scope)
        return sides.pop() if len(sides) == 1 else "both"

    def _sides(self, node: syntax.Node, scope: QueryScope) -> set[str]:
        fields = [scope.find(part) for part in syntax.walk(node) if isinstance(part, syntax.ColumnName)]
        return {"left" if field.start < self.left.width else "right" for field in fields if field is not None}

    def _prepare(self, conditions: Sequence[tuple[syntax.Node, QueryScope]]) -> None:
        """Find the way from a row of the first side to those of the second one: by a key of a table, by a hash, or all."""
        second = self.left if self._by_right else self.right
        equalities = [self._using_equality(pair) for pair in self._using]
        tests = list[Evaluate]()
        for node, scope in conditions:
            equality = self._equality(node, scope)
            if equality is None:
                tests.append(compile_condition(node, scope))
            else:
                equalities.append(equality)
        nothing = syntax.Literal("null")
        comparisons = [Comparison(each.column, "=", [each.value], nothing) for each in equalities if each.column]
        path = second.looked_up(comparisons) if isinstance(second, TableRelation) and comparisons else None
        if path is None:
            pairs = [pair for each in equalities if (pair := hashed(each.key, each.value)) is not None]
            if pairs:
                path = lookup(second, pairs)
            else:
                read = materialised(second.rows)
                path = (
                    (lambda row, context: second.rows(context))
                    if second.depends
                    else lambda row, context: read(context)
                )
            equalities = [each for each in equalities if "null" in (each.key.kind, each.value.kind)]
        self._path, self._tests = path, [*(each.test() for each in equalities), *tests]

    def _using_equality(self, pair: tuple[Field, Field]) -> Equality:
        left, right = pair
        self._scope.compilation.varying += 1
        value, key = (right, left) if self._by_right else (left, right)

        def test() -> Evaluate:
            return comparison("=", left.value, right.read(right.start + self.left.width))

        return Equality(test, value.value, key.value, key.name.lower() if key.column else "")

    def _equality(self, node: syntax.Node, scope: QueryScope) -> Equality | None:
        if not isinstance(node, syntax.Binary) or node.operator != "=":
            return None
        parts = strip_parentheses(node.left), strip_parentheses(node.right)
        sides = [self._sides(part, scope) for part in parts]
        if not is_movable(node) or len(sides[0]) != 1 or len(sides[1]) != 1 or sides[0] == sides[1]:
            return None
        if any(isinstance(part, syntax.RowExpression) for part in parts):
            return None
        left, right = parts if sides[0] == {"left"} else (parts[1], parts[0])
        value, key = (right, left) if self._by_right else (left, right)
        first, second = (self.right, self.left) if self._by_right else (self.left, self.right)
        field = second.fields.by_name if isinstance(key, syntax.ColumnName) else None
        return Equality(
            lambda: compile_condition(node, scope),
            compile_expression(value, scope.of_rows(first.fields)),
            compile_expression(key, scope.of_rows(second.fields)),
            key.parts[-1].lower() if field is not None and isinstance(key, syntax.ColumnName) else "",
        )

    def _joined(self, context: StatementContext) -> Iterator[Values]:
        first, second = (self.right, self.left) if self._by_right else (self.left, self.right)
        path, tests, missing = self._path, self._tests, [None] * second.width
        count = 0
        for row in first.rows(context):
            found = False
            for other in path(row, context):
                count += 1
                if not count % CHECKED_ROWS:
                    context.check()
                joined = other + row if self._by_right else row + other
                if not tests or all(test(joined, context) for test in tests):
                    found = True
                    yield joined
            if not found and self._is_outer:
                yield missing + row if self._by_right else row + missing
