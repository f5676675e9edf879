"""Scopes: what the names of an expression mean inside of a query.

A name means the nearest column that has it. Two columns of that name in one query are an error (tidb
pkg/planner/core/expression_rewriter.go). Calls of NEXTVAL, LASTVAL and SETVAL name a sequence of the catalog
(pkg/expression/builtin_other.go, nextValFunctionClass).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from msgspec.structs import replace

from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Key, SequenceInfo, object_key
from simulator.tidb.ddl.defaults import row_default
from simulator.tidb.engine.context import StatementContext, default_time_text
from simulator.tidb.engine.session_functions import session_function
from simulator.tidb.errors import not_simulated, sql_error, sql_error_with_text
from simulator.tidb.expressions.compile import Compilation, compile_function
from simulator.tidb.expressions.expression import Evaluate, Expression, Function, Row, fixed, null
from simulator.tidb.expressions.literals import column_value
from simulator.tidb.expressions.trees import FUNCTIONS, TIDB_ONLY_FUNCTIONS
from simulator.tidb.model.table import Column, Table
from simulator.tidb.storage.ids import RunOut, SequenceValues

CompileTree = Callable[[Any, "QueryScope", syntax.Node | None], Expression | None]
"""Compiles a tree in a scope, with the operand of IN; None for a tree of another kind."""

TOP = 1 << 30
"""A depth that no scope has."""


class Field(NamedTuple):
    """A column of a source or of a query."""

    name: str
    read: Callable[[int], Expression]
    """Returns the column in rows in which those of its relation begin at a place."""

    schema: str = ""
    table: str = ""
    """The alias or name of the column's table."""

    column: Column | None = None
    """The column's definition in its table."""

    base: Table | None = None
    """The table of `column`."""

    shows: Field | None = None
    """The column of a base table that a query's column shows unchanged."""

    slots: tuple[int, ...] = ()
    """Its places in the rows of its relation."""

    start: int = 0
    """The place where the row of its relation begins."""

    hidden: bool = False
    """Whether only its qualified name means it: the second of two columns that USING joins."""

    extra: bool = False
    """Whether it is a column of TiDB's own, which `*` does not show and USING does not join."""

    @property
    def value(self) -> Expression:
        return self.read(self.start)

    @property
    def shown(self) -> bool:
        """Whether `*` shows the field."""
        return not self.hidden and not self.extra

    @property
    def shown_column(self) -> Field | None:
        """The column of a base table that the field is, or shows unchanged."""
        return self if self.column is not None else self.shows


class Fields(tuple[Field, ...]):
    """The columns of a relation."""

    @cached_property
    def by_name(self) -> Mapping[str, list[Field]]:
        """The columns by their names in lower case."""
        found: dict[str, list[Field]] = {}
        for each in self:
            found.setdefault(each.name.lower(), []).append(each)
        return found

    def moved(self, places: int) -> Fields:
        """Return the columns of rows that begin `places` later."""
        return Fields(each._replace(start=each.start + places) for each in self) if places else self


class Frame:
    """The row of a query for which its correlated subqueries run."""

    __slots__ = ("row",)

    def __init__(self) -> None:
        self.row: Row = ()


@dataclass
class StatementCompilation(Compilation):
    """What all parts of a statement on rows are compiled with."""

    context: StatementContext = field(kw_only=True)
    build_query: Callable[[syntax.QueryTree, QueryScope], Any] = field(kw_only=True)
    """Returns the relation of a query inside of the queries around it."""

    compile_tree: CompileTree = field(kw_only=True)
    """Compiles what queries and sessions give: subqueries, variables, values of sequences."""

    reach: int = TOP
    """The least depth of a scope that a subquery so far has named a column of."""

    eager: list[Evaluate] = field(default_factory=list)
    """Subqueries that do not depend on rows: they are evaluated before the first row (tidb
    pkg/planner/core/expression_rewriter.go, handleScalarSubquery)."""


class Known(syntax.Node, frozen=True):
    """An expression that is compiled already, in the place of a node."""

    value: Expression


class QueryScope:
    """The names that an expression in a clause of a query can use."""

    aggregate: Callable[[syntax.Aggregate], Expression] | None = None
    """Returns the value of an aggregate function; None in a clause without them."""

    windowed: Callable[[syntax.WindowFunction], Expression] | None = None
    """Returns the value of a window function; None in a clause without them."""

    check: Callable[[Field], None] | None = None
    """Refuses columns that have several values in a group."""

    clause = "field list"
    """TiDB's name of the clause in errors."""

    views: tuple[Any, ...] = ()
    """The views that the query is in."""

    stars: Mapping[Any, tuple[str, ...]] = {}
    """The columns that `*` means of tables in a view."""

    inserted: Fields | None = None
    """The columns that VALUES(column) means."""

    def __init__(
        self, compilation: StatementCompilation, fields: Fields = Fields(), outer: QueryScope | None = None
    ) -> None:
        """A scope has the tables of WITH and the database of the scope around it."""
        self.compilation, self.fields, self.outer = compilation, fields, outer
        self.aggregated = fields
        """The columns that aggregate functions are over, whatever other expressions of the clause may name."""
        self.frame = Frame()
        self.depth: int = 0
        self.database = compilation.context.session.settings.database
        self.common: Mapping[str, Any] = {}
        """The relations of WITH by name in lower case."""
        if outer is not None:
            self.depth, self.database, self.common = outer.depth + 1, outer.database, outer.common
            self.views, self.stars = outer.views, outer.stars

    @property
    def context(self) -> StatementContext:
        return self.compilation.context

    def changed(self, **changes: Any) -> QueryScope:
        """Return the scope of the same rows with other attributes."""
        other = QueryScope.__new__(QueryScope)
        other.__dict__ = {**self.__dict__, **changes}
        return other

    def of_rows(self, fields: Fields) -> QueryScope:
        """Return the scope of the rows of one source."""
        return self.changed(fields=fields)

    def within(self, clause: str) -> QueryScope:
        return self.changed(clause=clause)

    def build(self, query: syntax.QueryTree) -> Any:
        """Return the relation of a query inside of this one. Raises SqlError."""
        return self.compilation.build_query(query, self)

    # -- names ---------------------------------------------------------------------------------------------------------

    def find(self, node: syntax.ColumnName) -> Field | None:
        """Return the field of this query that a name means. Raises SqlError 1052."""
        parts = node.parts
        candidates = self.fields.by_name.get(parts[-1].lower())
        if candidates is None:
            return None
        self.context.check_named(parts[-1])
        if len(parts) == 1:
            found = [each for each in candidates if not each.hidden]
        else:
            table, schema = parts[-2].lower(), parts[0].lower() if len(parts) > 2 else ""
            found = [
                each
                for each in candidates
                if each.table.lower() == table and (not schema or each.schema.lower() == schema)
            ]
        if len(found) > 1:
            raise sql_error(1052, ".".join(parts), self.clause)
        return found[0] if found else None

    def column(self, node: syntax.ColumnName) -> Expression:
        field = self.find(node)
        if field is not None:
            return self.read(field)
        scope = self.outer
        while scope is not None:
            field = scope.find(node)
            if field is not None:
                self.compilation.reach = min(self.compilation.reach, scope.depth)
                return _of_frame(scope.read(field), scope.frame)
            scope = scope.outer
        raise sql_error(1054, ".".join(node.parts), self.clause)

    def read(self, field: Field) -> Expression:
        """Return a field of this query. Raises SqlError 1055, 8123."""
        if self.check is not None:
            self.check(field)
        self.compilation.varying += 1
        return field.value

    # -- functions, subqueries and the session -------------------------------------------------------------------------

    def call(self, node: syntax.Call) -> Expression:
        name = node.name.removesuffix("_FUNC")
        function = known_function(node)
        if node.schema or function is None and node.name not in TIDB_ONLY_FUNCTIONS:
            raise sql_error(1305, "FUNCTION", f"{node.schema or self.database}.{name.lower()}")
        if function is None:
            raise not_simulated(f"{name}() is not computed; a constant, or its result as a literal, is accepted")
        if not function.takes(len(node.arguments)):
            raise sql_error(1582, name.lower())
        return compile_function(node, function, self)

    def other(self, node: syntax.Node, operand: syntax.Node | None = None) -> Expression:
        if isinstance(node, Known):
            self.compilation.varying += not node.value.is_constant
            return node.value
        if isinstance(node, syntax.DefaultValue):
            return self._default(node)
        if isinstance(node, syntax.InsertedValue):
            if self.inserted is None:  # VALUES(column) is NULL outside of ON DUPLICATE KEY UPDATE
                self.column(node.column)
                return null()
            return QueryScope(self.compilation, self.inserted).within(self.clause).column(node.column)
        tree = node.tree if isinstance(node, syntax.ContextExpression) else None
        compiled = self.compilation.compile_tree(tree, self, operand)
        if compiled is not None:
            return compiled
        if isinstance(tree, syntax.WindowFunction):
            if self.windowed is None or self.clause not in ("field list", "order clause"):
                name = tree.function.name.lower()
                raise sql_error_with_text(3593, f"You cannot use the window function '{name}' in this context.'")
            return self.windowed(tree)
        if isinstance(tree, syntax.Aggregate):
            return self._aggregate(tree)
        if isinstance(node, syntax.RowExpression):
            raise sql_error(1241, 1)
        shown = f"{node.kind} {node.restored}" if isinstance(node, syntax.ContextExpression) else type(node).__name__
        raise not_simulated(f"{shown} is not computed; expressions, subqueries, aggregate and window functions are")

    def named(self, tree: syntax.Aggregate) -> Iterator[syntax.ColumnName]:
        """Yield the names in an aggregate function."""
        return (name for argument in tree.arguments for name in syntax.names_in(argument))

    def has_columns(self, tree: syntax.Aggregate) -> bool:
        """Return whether an aggregate function has columns of this query."""
        scope = self.of_rows(self.aggregated)
        return any(scope.find(name) is not None for name in self.named(tree))

    def owns(self, tree: syntax.Aggregate) -> bool:
        """Return whether an aggregate function is over rows of this query: unless all of its columns are of a query around,
        in a clause that may have it."""
        if self.has_columns(tree) or not any(True for _ in self.named(tree)):
            return True
        outer = self.outer
        while outer is not None and not outer.has_columns(tree):
            outer = outer.outer
        return outer is None or outer.aggregate is None

    def _aggregate(self, tree: syntax.Aggregate) -> Expression:
        scope: QueryScope | None = self
        while scope is not None and not scope.owns(tree):
            scope = scope.outer
        if scope is None or scope.aggregate is None:
            raise sql_error(1111)
        if scope is self:
            return scope.aggregate(tree)
        self.compilation.reach = min(self.compilation.reach, scope.depth)
        return _of_frame(scope.aggregate(tree), scope.frame)

    def _default(self, node: syntax.DefaultValue) -> Expression:
        """Return the value of DEFAULT(column)."""
        assert node.column is not None, "DEFAULT alone is no expression"
        field = self.find(node.column)
        if field is None or field.column is None:
            raise sql_error(1054, ".".join(node.column.parts), self.clause)
        now = default_time_text(field.column, self.context.session.settings, self.context.now_ms)
        return default_value(field.column) if now is None else column_value(field.column, fixed(now.encode()))


def known_function(node: syntax.Call) -> Function | None:
    """Return the function that a call means; None for one that is not computed."""
    return session_function(node.name, len(node.arguments)) or FUNCTIONS.get(node.name)


def default_value(column: Column) -> Expression:
    """Return the value of DEFAULT(column). Raises SqlError."""
    if column.default is None and column.not_null:
        raise sql_error(1364, column.name)
    if column.default_expression:
        raise not_simulated(f"DEFAULT({column.name}) of an expression is not computed; a literal default is")
    text = row_default(column)
    return column_value(column, fixed(None if text is None else text.encode()))


def _of_frame(value: Expression, frame: Frame) -> Expression:
    """Return a column of an outer query, whose row is in a frame."""

    def read(evaluate: Evaluate) -> Evaluate:
        return lambda row, context: evaluate(frame.row, context)

    return map_expression(value, read)


def map_expression(value: Expression, change: Callable[[Evaluate], Evaluate]) -> Expression:
    """Return an expression with each of its parts changed alike, which is no literal any more."""
    if value.kind == "null":
        return value
    evaluate, text, number = (
        None if part is None else change(part) for part in (value.evaluate, value.text, value.number)
    )
    assert evaluate is not None, "every expression has one"
    return replace(value, evaluate=evaluate, text=text, number=number, constant=None, is_constant=False)


def compile_sequence(tree: syntax.SequenceCall, scope: QueryScope) -> Expression:
    """Return a call of a function of a sequence, which has another value in each row. Raises SqlError."""
    scope.compilation.varying += 1
    schema = tree.sequence.schema or scope.database
    if not schema:
        raise sql_error(1046)
    key = object_key(schema, tree.sequence.name)
    _info(key, schema, tree.sequence.name, scope.context)

    def evaluate(row: Row, context: Any) -> int | None:
        values = _values(_info(key, schema, tree.sequence.name, context), key, context)
        known: dict[Key, int] = context.session.sequence_values
        if tree.function == "LASTVAL":
            return known.get(key)
        if tree.function == "SETVAL":
            return values.set(tree.value)
        try:
            known[key] = values.next()
        except RunOut:
            info = values.info
            raise sql_error_with_text(4135, f"Sequence '{info.schema}.{info.name}' has run out") from None
        return known[key]

    return Expression(evaluate, "int")


def _info(key: Key, schema: str, name: str, context: StatementContext) -> SequenceInfo:
    """Return a sequence of the catalog. Raises SqlError 1146, and 1347 for another object."""
    catalog = context.database.catalog
    info = catalog.sequences.get(key)
    if info is not None:
        return info
    if catalog.has(*key):
        raise sql_error(1347, schema, name, "SEQUENCE")
    raise sql_error(1146, schema, name)


def _values(info: SequenceInfo, key: Key, context: StatementContext) -> SequenceValues:
    known = context.database.sequences
    values = known.get(key)
    if values is None:
        values = known[key] = SequenceValues(info)
    elif values.info is not info:
        values.altered(info)
    return values
