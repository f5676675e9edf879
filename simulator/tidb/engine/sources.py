"""The sources of FROM as relations: tables, views, derived tables, tables of WITH, and joins of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from simulator.errors import DdlError, SqlError
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Catalog, ViewInfo, object_key
from simulator.tidb.engine.access import Comparison, comparison_of, find_access, handle_column, scanned
from simulator.tidb.engine.names import resolve_partitions
from simulator.tidb.engine.past import read_as_of
from simulator.tidb.engine.relation import (
    CHECKED_ROWS,
    Base,
    Relation,
    Rows,
    Values,
    checked,
    held,
    materialised,
    table_fields,
)
from simulator.tidb.engine.scope import TOP, Field, Fields, QueryScope
from simulator.tidb.expressions.trees import conjuncts, strip_parentheses, walk
from simulator.tidb.exprs.comparisons import comparison, comparison_operands, of_today
from simulator.tidb.exprs.compile import compile_expression
from simulator.tidb.exprs.conversions import as_boolean
from simulator.tidb.exprs.expression import MOMENT_KINDS, Evaluate, Expression, Row
from simulator.tidb.model.table import visible_columns
from simulator.tidb.sql_engine.errors import not_simulated, sql_error, sql_error_with_text
from simulator.tidb.storage.tables import StoredTable

if TYPE_CHECKING:
    from simulator.tidb.engine.context import StatementContext

Lookup: TypeAlias = "Callable[[Row, StatementContext], Iterable[Values]]"
"""Returns the rows of a relation that belong to a row of another one."""

NOT_TAKEN = (syntax.ContextExpression, syntax.DefaultValue, syntax.InsertedValue)
"""Parts of a condition that is evaluated for whole rows of a join only."""

UNREPEATABLE = frozenset(("RAND", "UUID", "UUID_SHORT", "SLEEP", "RANDOM_BYTES", "NEXTVAL", "SETVAL", "GET_LOCK"))

BuildQuery = Callable[[syntax.QueryTree, QueryScope], Relation]
"""Returns the relation of a query inside of the queries around it."""


def build_source(source: syntax.Source, outer: QueryScope, build: BuildQuery) -> Relation:
    """Return the relation of a FROM clause inside of the queries around it. Raises SqlError."""
    if isinstance(source, syntax.Join):
        names = _aliases(source, outer)
        repeated = next((name for place, name in enumerate(names) if name in names[:place]), None)
        if repeated is not None:
            raise sql_error(1066, repeated[1])
    return _build_part(source, outer, build)


def _aliases(source: syntax.Source, scope: QueryScope) -> list[tuple[str, str]]:
    """Return schema (without an alias) and name of each part."""
    if isinstance(source, syntax.Join):
        return [*_aliases(source.left, scope), *_aliases(source.right, scope)]
    if isinstance(source, syntax.DerivedTable) or source.alias:
        return [("", source.alias.lower())]
    return [((source.name.schema or scope.database).lower(), source.name.name.lower())]


def _build_part(source: syntax.Source, outer: QueryScope, build: BuildQuery) -> Relation:
    if isinstance(source, syntax.Join):
        return _build_join(source, outer, build)
    if isinstance(source, syntax.DerivedTable):
        return renamed(_independent(source.query, outer, build), source.alias, source.columns)
    common = None if source.name.schema else outer.common.get(source.name.name.lower())
    if common is not None:
        return renamed(common(outer), source.alias or source.name.name, ())
    return _build_table(source, outer, build)


def _independent(query: syntax.QueryTree, outer: QueryScope, build: BuildQuery) -> Relation:
    """Return the relation of a derived table, which knows whether it depends on rows of queries around it."""
    compilation = outer.compilation
    reach, compilation.reach = compilation.reach, TOP
    relation = build(query, outer)
    relation.depends = compilation.reach <= outer.depth
    compilation.reach = min(reach, compilation.reach)
    return relation


def renamed(relation: Relation, alias: str, columns: Sequence[str]) -> Relation:
    """Return a relation under an alias, with other names of its columns. Raises SqlError 1353."""
    if columns and len(columns) != len(relation.fields):
        raise sql_error(1353)
    names = columns or [field.name for field in relation.fields]
    fields = Fields(
        Field(name, field.read, table=alias, shows=field.shown_column, slots=field.slots)
        for name, field in zip(names, relation.fields, strict=True)
    )
    result = Filtered(fields, relation.width, relation.rows)
    result.depends = relation.depends
    return result


# -- tables and views --------------------------------------------------------------------------------------------------


def _build_table(source: syntax.TableSource, outer: QueryScope, build: BuildQuery) -> Relation:
    schema, name, context = source.name.schema or outer.database, source.name.name, outer.context
    if not schema:
        raise sql_error(1046)
    key, alias = object_key(schema, name), source.alias or name
    read_as_of(source.as_of, outer)
    catalog = context.schema.catalog
    table = catalog.tables.get(key)
    shown_schema = "" if source.alias else schema
    if table is not None:
        stored = context.stored(table)
        ordinals = resolve_partitions(table, source.partitions) if source.partitions else range(len(stored.partitions))
        return TableRelation(stored, ordinals, alias, shown_schema)
    if key in catalog.views:
        return renamed(_view(catalog.views[key], catalog, outer, build), alias, ())
    if schema.lower() in ("information_schema", "performance_schema", "mysql"):
        from simulator.tidb.engine.system_relation import SystemRelation  # few statements ask for it
        from simulator.tidb.engine.system_tables import system_table

        system = system_table(schema, name, context)
        if system is not None:
            return SystemRelation(system, alias, shown_schema)
    if key in catalog.sequences:
        raise not_simulated(f"the row of the sequence `{schema}`.`{name}` is not computed; tables and views are")
    raise sql_error(1146, schema, name)


def _view(view: ViewInfo, catalog: Catalog, outer: QueryScope, build: BuildQuery) -> Relation:
    """Return the rows of a view, whose query is in its own database. Raises SqlError 1356."""
    around = QueryScope(outer.compilation).changed(database=view.schema)
    try:
        relation = build(_parsed_view(view.query), around)
    except (SqlError, DdlError) as error:
        if isinstance(error, SqlError) and error.number not in (1054, 1146, 1356):
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
    from simulator.tidb.parser.queries.query import parse_query
    from simulator.tidb.parser.splitting import parse_tokens
    from simulator.tidb.parser.tokens import tokenize

    tree = parse_tokens(query, tokenize(query, frozenset()), parse_query).tree
    assert tree is not None, "a stored view has a query"
    return tree


# -- conditions --------------------------------------------------------------------------------------------------------


def compile_condition(node: syntax.Node, scope: QueryScope) -> Evaluate:
    return as_boolean(compile_expression(node, scope))


def filtered(rows: Iterator[Values], tests: Sequence[Evaluate], context: StatementContext) -> Iterator[Values]:
    """Yield the rows for which all conditions are true."""
    if len(tests) == 1:
        (test,) = tests
        return (row for row in rows if test(row, context))
    return (row for row in rows if all(test(row, context) for test in tests))


def is_movable(node: syntax.Node) -> bool:
    """Return whether a condition may be evaluated for the rows of one table before they are joined."""
    return not any(
        isinstance(part, NOT_TAKEN) or isinstance(part, syntax.Call) and part.name in UNREPEATABLE
        for part in walk(node)
    )


def hashed(key: Expression, value: Expression) -> tuple[Evaluate, Evaluate] | None:
    """Return two values so that those that are equal have equal hashes; None if one is NULL."""
    if "null" in (key.kind, value.kind):
        return None
    if any(each.kind in MOMENT_KINDS for each in (key, value)):
        key, value = of_today(key), of_today(value)
    return comparison_operands(key, value)


class Filtered(Relation):
    """A relation that takes all conditions which are evaluated for its rows alone."""

    def restrict(self, conditions: Sequence[syntax.Node], scope: QueryScope) -> Sequence[syntax.Node]:
        own, compilation = scope.of_rows(self.fields), scope.compilation
        tests, depending, pairs = list[Evaluate](), list[Evaluate](), list[tuple[Evaluate, Evaluate]]()
        for node in conditions:
            reach, compilation.reach = compilation.reach, TOP
            test = compile_condition(node, own)
            pair = None
            if compilation.reach < own.depth:
                pair = self._outer_equality(node, own)
                depending += [test] if pair is None else []
            else:
                tests.append(test)
            pairs += [] if pair is None else [pair]
            compilation.reach = min(reach, compilation.reach)
        self.filter(tests)
        if pairs:
            path = lookup(self, pairs)
            self.rows = lambda context: iter(path((), context))
        self.filter(depending)
        self.depends = self.depends or bool(pairs or depending)
        return ()

    def _outer_equality(self, node: syntax.Node, own: QueryScope) -> tuple[Evaluate, Evaluate] | None:
        """Return a column and the value that it equals in a row of a query around; None for another condition."""
        each = comparison_of(node, own, own)
        if each is None or each.operator != "=" or len(each.values) > 1:
            return None
        return hashed(compile_expression(syntax.ColumnName((each.column,)), own), each.values[0])

    def filter(self, tests: Sequence[Evaluate]) -> None:
        """Keep the rows for which all conditions are true."""
        if tests:
            rows = self.rows
            self.rows = lambda context: filtered(rows(context), tests, context)


def lookup(relation: Relation, pairs: Sequence[tuple[Evaluate, Evaluate]]) -> Lookup:
    """Return the rows of a relation by a hash of their keys, given keys and values of another row; none with NULL."""
    keys, values = [key for key, _ in pairs], [value for _, value in pairs]
    rows, depends = relation.rows, relation.depends
    known: StatementContext | None = None
    index: dict[Any, list[Values]] = {}

    def path(row: Row, context: StatementContext) -> Iterable[Values]:
        nonlocal known, index
        if known is not context or depends:
            index = {}
            for each in held(rows(context), context):
                index.setdefault(tuple([key(each, context) for key in keys]), []).append(each)
            known = context
        wanted = tuple([value(row, context) for value in values])
        return () if None in wanted else index.get(wanted, ())

    return path


class TableRelation(Filtered):
    """The rows of a base table."""

    def __init__(self, stored: StoredTable, ordinals: Sequence[int], alias: str, schema: str) -> None:
        table = stored.table
        width = len(visible_columns(table)) + 1
        base = Base(alias, schema, stored, width - 1)
        super().__init__(table_fields(table, alias, schema), width, self._scan, (base,))
        self.stored, self.ordinals = stored, ordinals
        self.locks = False
        """Whether the statement locks keys that it looks up, found or not."""
        self._tests: Sequence[Evaluate] | None = ()
        """The conditions of rows; None if the table has an access by them."""
        self._descending = self.is_point = False

    def _scan(self, context: StatementContext) -> Iterator[Values]:
        return checked(scanned(self.stored, self.ordinals, context, descending=self._descending), context)

    def read_in_order(self, field: Field, descending: bool) -> bool:
        """Read the rows in the order of a column, if that is the order of handles; return whether it is."""
        if field.name.lower() != handle_column(self.stored.table) or len(self.ordinals) != 1:
            return False
        if descending and self._tests is None:
            return False
        self._descending = descending
        return True

    def restrict(self, conditions: Sequence[syntax.Node], scope: QueryScope) -> Sequence[syntax.Node]:
        own, compilation = scope.of_rows(self.fields), scope.compilation
        reach, compilation.reach = compilation.reach, TOP
        comparisons = [each for node in conditions if (each := comparison_of(node, own, own)) is not None]
        access = find_access(self.stored, self.ordinals, comparisons, self.locks) if comparisons else None
        if access is not None:
            path, self.is_point = access.path, access.is_point
            self.rows, self._tests = lambda context: path((), context), None
            self.depends = compilation.reach < own.depth
            conditions = [node for node in conditions if not any(node is each for each in access.decided)]
        compilation.reach = min(reach, compilation.reach)
        return super().restrict(conditions, scope)

    def filter(self, tests: Sequence[Evaluate]) -> None:
        super().filter(tests)
        self._tests = None if self._tests is None else [*self._tests, *tests]

    def looked_up(self, comparisons: Sequence[Comparison]) -> Lookup | None:
        """Return the rows by a key that depends on another row; None if there is no such key."""
        tests = self._tests
        access = None if tests is None or self.depends else find_access(self.stored, self.ordinals, comparisons)
        if access is None or tests is None:
            return None
        path = access.path
        return (lambda row, context: filtered(path(row, context), tests, context)) if tests else path


# -- joins -------------------------------------------------------------------------------------------------------------


def _build_join(join: syntax.Join, outer: QueryScope, build: BuildQuery) -> Relation:
    left, right = (_build_part(side, outer, build) for side in (join.left, join.right))
    names = _using_columns(join, left, right)
    pairs = [(_one_column(left, name), _one_column(right, name)) for name in names]
    if join.kind != "INNER" and join.on is None and not join.using and not join.natural:
        raise sql_error(1064, f"a {join.kind} JOIN takes ON or USING")
    return JoinedRelation(left, right, join.kind, pairs, conjuncts(join.on), outer)


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
        kind: str,
        using: Sequence[tuple[Field, Field]],
        on: Sequence[syntax.Node],
        outer: QueryScope,
    ) -> None:
        bases = (*left.bases, *(base._replace(place=base.place + left.width) for base in right.bases))
        moved = right.fields.moved(left.width)
        super().__init__(Fields((*left.fields, *moved)), left.width + right.width, self._joined, bases)
        self.left, self.right = left, right
        self._is_outer, self._by_right = kind != "INNER", kind == "RIGHT"
        self._scope = QueryScope(outer.compilation, self.fields, outer).within("on clause")
        self._on, self._using = on, using
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
                tests = [compile_condition(node, own) for node in rest]
                relation.rows = partial(_filtered_rows, relation.rows, tests)
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
        fields = [scope.find(part) for part in walk(node) if isinstance(part, syntax.ColumnName)]
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
        for row in first.rows(context):
            found = False
            for count, other in enumerate(path(row, context), 1):
                if not count % CHECKED_ROWS:
                    context.check()
                joined = other + row if self._by_right else row + other
                if not tests or all(test(joined, context) for test in tests):
                    found = True
                    yield joined
            if not found and self._is_outer:
                yield missing + row if self._by_right else row + missing


def _filtered_rows(rows: Rows, tests: Sequence[Evaluate], context: StatementContext) -> Iterator[Values]:
    return filtered(rows(context), tests, context)
