"""Scopes: what the names of an expression mean inside of a query.

A name means the nearest column that has it. Two columns of that name in one query are an error (TiDB:
pkg/planner/core/expression_rewriter.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import pyarrow as pa

from simulator.errors import SqlError
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Key
from simulator.tidb.ddl.definitions.defaults import row_default
from simulator.tidb.expressions.functions.registry import FUNCTIONS, TIDB_ONLY_FUNCTIONS
from simulator.tidb.expressions.sql.graph import Sql, join, sql, text
from simulator.tidb.expressions.translate import row_values, translate, translate_call
from simulator.tidb.expressions.trees import uncomputable_part
from simulator.tidb.expressions.values.collations import function_collation, with_collation
from simulator.tidb.expressions.values.context import EvaluationContext
from simulator.tidb.expressions.values.literals import column_value
from simulator.tidb.expressions.values.value import Value, boolean
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import ColumnType
from simulator.tidb.sql_engine.errors import not_simulated, sql_error
from simulator.tidb.sql_engine.result_columns import ResultColumn, table_column, type_flags
from simulator.tidb.sql_engine.sessions import clock
from simulator.tidb.sql_engine.sessions.session_functions import session_function, variable_value
from simulator.tidb.sql_engine.sessions.session_variables import variable_text
from simulator.tidb.sql_engine.storage.state import Upstream


@dataclass(frozen=True, eq=False)
class Field:
    """A column of a source or of a query."""

    name: str
    read: Callable[[], Value]
    schema: str = ""
    table: str = ""
    """The alias or name of the column's table."""

    column: Column | None = None
    """The column's definition in its table."""

    hidden: bool = False
    """Whether only its qualified name means it: the second of two columns that USING joins."""

    source: int = 0
    """The number of the base table, which its fields share; 0 for other fields."""

    extra: bool = False
    """Whether it is `_tidb_rowid`, which `*` does not show and USING does not join."""

    base: Table | None = None
    """The table of `column`."""

    shows: Field | None = None
    """The column of a base table that a query's column shows unchanged."""

    @property
    def shown(self) -> bool:
        """Whether `*` shows the field."""
        return not self.hidden and not self.extra


def value_field(name: str, value: Value, shows: Field | None = None) -> Field:
    """Return a column of a query that is read as `value`."""
    return Field(name, lambda: value, shows=shows)


def shown_column(field: Field | None) -> Field | None:
    """Return the column of a base table that a field is, or shows unchanged."""
    return field if field is None or field.column is not None else field.shows


class Evaluation(Protocol):
    """The evaluation of the whole statement, as scopes and relations use it."""

    upstream: Upstream
    now_ms: int

    def scalar_subquery(self, query: syntax.QueryTree, scope: QueryScope) -> Value:
        """Return the value of a subquery."""

    def in_subquery(self, values: list[Value], query: syntax.QueryTree, scope: QueryScope) -> Sql:
        """Return whether a subquery has a row of these values, as a BOOLEAN."""

    def exists_subquery(self, query: syntax.QueryTree, scope: QueryScope) -> Sql:
        """Return whether a subquery has rows."""

    def quantified_comparison(self, value: Value, comparison: syntax.Quantified, scope: QueryScope) -> Sql:
        """Return the comparison with ANY or ALL rows of a subquery."""

    def next_number(self) -> int:
        """Return a number that the statement has not used yet."""

    def watch_problems(self, expressions: Iterable[Sql], source: str) -> None:
        """Also handle the problems of expressions that no row of the result shows, such as those of a WHERE."""

    def note_outer_reference(self) -> None:
        """Note that a subquery names a column of a query around it."""

    def subquery(self) -> AbstractContextManager[None]:
        """Enclose the building of a subquery. Problems in a subquery with outer references are not watched."""

    def separate(self) -> Evaluation:
        """Return another evaluation for the same statement, without the tables and problems of this one."""

    def fetch(self, columns: Mapping[str, Sql], source: str, order: str = "") -> pa.Table:
        """Handle the watched problems, then return the columns over a source. Raises SqlError."""

    def watched_problems(self) -> list[str]:
        pass

    def restore_watched(self, watched: Sequence[str]) -> None:
        """Watch the same problems again."""

    def add_rows(self, table: Table, number: int, texts: Mapping[str, pa.Array | pa.ChunkedArray], rows: int) -> None:
        """Add rows as the table `rows NUMBER`, with the columns that `texts` has."""

    def add_table(self, place: Key, table: Table, number: int) -> None:
        """Add a base table as `rows NUMBER`.

        It has the column `NUMBER.place`, and the columns `NUMBER.0`, `NUMBER.1`, … for its cells.
        """


@dataclass(frozen=True)
class QueryScope:
    """The names that an expression in a clause of a query can use."""

    evaluation: Evaluation
    fields: tuple[Field, ...] = ()
    clause: str = "field list"
    """TiDB's name of the clause in errors."""

    outer: QueryScope | None = None
    inserted: tuple[Field, ...] = ()
    """The columns that VALUES(column) means."""

    row: Sql | None = None
    """Text that identifies the row."""

    aggregate: Callable[[syntax.Aggregate], Value] | None = None
    """Returns the value of an aggregate function; None in a clause without them."""

    windowed: Callable[[syntax.WindowFunction, QueryScope], Value] | None = None
    """Returns the value of a window function; None in a clause without them."""

    common: Mapping[str, tuple[syntax.CommonTable, Mapping[str, Any]]] = field(default_factory=dict)
    """The tables of WITH by name in lower case, each with the tables that it can name itself."""

    working: Mapping[str, Any] = field(default_factory=dict)
    """For FROM: the rows of the last level of each table of WITH RECURSIVE, by name in lower case."""

    through: Callable[[Field], Value] | None = None
    """Reads a field; None reads the field itself."""

    def within(self, clause: str) -> QueryScope:
        return replace(self, clause=clause)

    def find(self, node: syntax.ColumnName) -> Field | None:
        """Return the field of this query that a name means. Raises SqlError 1052."""
        fields = [each for each in self.fields if _is_named(node, each)]
        if len(fields) > 1:
            qualified_name = ".".join(node.parts)
            raise sql_error(1052, qualified_name, self.clause)
        return fields[0] if fields else None

    def column_value(self, node: syntax.ColumnName) -> Value:
        scope: QueryScope | None = self
        while scope is not None:
            field = scope.find(node)
            if field is not None:
                if scope is not self:
                    self.evaluation.note_outer_reference()
                return field.read() if scope.through is None else scope.through(field)
            scope = scope.outer
        raise sql_error(1054, ".".join(node.parts), self.clause)

    def call_value(self, node: syntax.Call) -> Value:
        name = node.name.removesuffix("_FUNC")
        upstream = self.evaluation.upstream
        if node.schema or node.name not in FUNCTIONS and node.name not in TIDB_ONLY_FUNCTIONS:
            database = node.schema or upstream.session.database
            raise sql_error(1305, "FUNCTION", f"{database}.{name.lower()}")
        function = FUNCTIONS.get(node.name)
        if function is None or not node.arguments:
            arguments = [translate(argument, self) for argument in node.arguments]
            value = session_function(node.name, arguments, upstream, self.evaluation.now_ms, self._row)
            if value is not None:
                return with_collation(value, function_collation(node.name, arguments))
        if function is not None and not function.min_arguments <= len(node.arguments) <= function.max_arguments:
            raise sql_error(1582, name)
        problem = uncomputable_part(node)
        if problem:
            raise not_simulated(f"{problem} is not computed; a constant, or a result written as a literal, is accepted")
        return translate_call(node, self)

    def context(self) -> EvaluationContext:
        session = self.evaluation.upstream.session
        now = clock.statement_time(session, self.evaluation.now_ms)
        zeros = "" if "NO_ZERO_DATE" in session.sql_mode else "z"
        local_time = now.astimezone(clock.time_zone(session.time_zone))
        zeros += "" if "NO_ZERO_IN_DATE" in session.sql_mode else "p"
        return EvaluationContext(session.time_zone, f"{local_time:%Y-%m-%d}", zeros)

    def collation(self) -> str:
        return variable_text(self.evaluation.upstream.session, "collation_connection") or "utf8mb4_bin"

    def subtracts_signed(self) -> bool:
        return "NO_UNSIGNED_SUBTRACTION" in self.evaluation.upstream.session.sql_mode

    def _row(self) -> Sql:
        place = text(f"{self.evaluation.next_number()} ")
        return place if self.row is None else sql("{} || {}", place, self.row)

    def context_value(self, node: syntax.Node, operand: syntax.Node | None = None) -> Value:
        if isinstance(node, syntax.DefaultValue):
            return self._default(node)
        if isinstance(node, syntax.InsertedValue):
            return replace(self, fields=self.inserted, outer=None).column_value(node.column)
        tree = node.tree if isinstance(node, syntax.ContextExpression) else None
        if isinstance(tree, syntax.Subquery):
            if operand is None:
                return self.evaluation.scalar_subquery(tree.query, self)
            return boolean(self.evaluation.in_subquery(row_values(operand, self), tree.query, self))
        if isinstance(tree, syntax.Exists):
            value = self.evaluation.exists_subquery(tree.query, self)
            return boolean(sql("NOT {}", value) if tree.negated else value)
        if isinstance(tree, syntax.Quantified):
            return boolean(self.evaluation.quantified_comparison(translate(tree.operand, self), tree, self))
        if isinstance(tree, syntax.Variable):
            return variable_value(tree, self.evaluation.upstream, self.evaluation.now_ms)
        if isinstance(tree, syntax.WindowFunction):
            if self.windowed is None or self.clause not in ("field list", "order clause"):
                raise SqlError(
                    3593,
                    "HY000",
                    f"You cannot use the window function '{tree.function.name.lower()}' in this context.'",
                )
            return self.windowed(tree, self)
        if isinstance(tree, syntax.Aggregate):
            if self.aggregate is None:
                raise sql_error(1111)
            return self.aggregate(tree)
        description = node.kind if isinstance(node, syntax.ContextExpression) else type(node).__name__.lower()
        text = f"{description} {node.restored}" if isinstance(node, syntax.ContextExpression) else description
        raise not_simulated(f"{text} is not computed; expressions, subqueries, aggregate and window functions are")

    def _default(self, node: syntax.DefaultValue) -> Value:
        """Return the value of DEFAULT(column)."""
        assert node.column is not None, "DEFAULT alone is no expression"
        field = self.find(node.column)
        if field is None or field.column is None:
            raise sql_error(1054, ".".join(node.column.parts), self.clause)
        return default_value(field.column)


def default_value(column: Column) -> Value:
    """Return the value of DEFAULT(column). Raises SqlError."""
    if column.default is None and column.not_null:
        raise sql_error(1364, column.name)
    if column.default_expression:
        raise not_simulated(f"DEFAULT({column.name}) of an expression is not computed; a literal default is")
    value = row_default(column)
    return column_value(column, sql("NULL::VARCHAR") if value is None else text(value))


def _is_named(node: syntax.ColumnName, field: Field) -> bool:
    *qualifier, name = node.parts
    if name.lower() != field.name.lower():
        return False
    if not qualifier:
        return not field.hidden
    if qualifier[-1].lower() != field.table.lower():
        return False
    return len(qualifier) == 1 or qualifier[0].lower() == field.schema.lower()


def all_true(parts: list[Sql]) -> Sql:
    return join("AND", parts) if parts else sql("true")


TYPES = {
    "bool": ColumnType("tinyint", 1),
    "int": ColumnType("bigint", 20),
    "uint": ColumnType("bigint", 20, unsigned=True),
    "decimal": ColumnType("decimal", 65, 30),
    "wide": ColumnType("decimal", 65, 30),
    "real": ColumnType("double"),
    "date": ColumnType("date"),
    "datetime": ColumnType("datetime", decimal=6),
    "time": ColumnType("time", decimal=6),
    "json": ColumnType("json"),
}
"""The type by the kind of a column's values; other kinds are texts."""

TEXT = ColumnType("longtext", charset="utf8mb4", collation="utf8mb4_bin")
BYTES = ColumnType("longblob", charset="binary", collation="binary")


def stored_type(field: Field) -> ColumnType:
    """Return the type of a query's column."""
    if field.column is not None:
        type = field.column.type
        return replace(type, name="datetime") if type.name == "timestamp" else type
    value: Value = field.read()
    if value.kind in TYPES:
        return TYPES[value.kind]
    return BYTES if value.is_binary else replace(TEXT, collation=value.collation)


def result_column(field: Field) -> ResultColumn:
    """Return a query's column as a client is told of it."""
    shown = shown_column(field)
    if shown is not None and shown.column is not None and shown.base is not None:
        return table_column(field.name, shown.column, shown.base, shown.base.schema, shown.table)
    type = value_type(field.read())
    return ResultColumn(field.name, type, type_flags(type))


def value_type(value: Value) -> ColumnType:
    """Return the type of an expression."""
    if value.kind == "null":
        return ColumnType("null")
    if value.is_year:
        return ColumnType("year", 4)
    if value.kind == "string":
        return SHORT_BYTES if value.is_binary else replace(SHORT_TEXT, collation=value.collation or "utf8mb4_bin")
    if value.is_column and value.column_type is not None:
        return value.column_type
    type = TYPES.get(value.kind, SHORT_TEXT)
    if value.kind in ("decimal", "wide"):
        scale = value.scale if value.shown_scale is None else value.shown_scale
        return replace(type, length=value.digits or 65, decimal=scale)
    return replace(type, decimal=value.scale) if value.kind in ("datetime", "time") else type


SHORT_TEXT = ColumnType("varchar", charset="utf8mb4", collation="utf8mb4_bin")
SHORT_BYTES = ColumnType("varchar", charset="binary", collation="binary")


def map_value(value: Value, change: Callable[[Sql], Sql]) -> Value:
    """Return a value with each of its parts changed alike. NULL stays NULL."""
    if value.kind == "null":
        return value
    text, number = (None if part is None else change(part) for part in (value.text, value.number))
    return replace(value, sql=change(value.sql), text=text, number=number, constant=None)
