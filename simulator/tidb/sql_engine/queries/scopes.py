"""What names mean inside a query: columns of its sources, of the queries around it, and what only a query evaluation.

One law: a name means the nearest column that has it; two columns of one query that have it are an error (TiDB:
pkg/planner/core/expression_rewriter.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import pyarrow as pa

from simulator.errors import SqlError
from simulator.tidb.ddl.catalog import Key
from simulator.tidb.expressions.functions.registry import FUNCTIONS, TIDB_ONLY_FUNCTIONS
from simulator.tidb.expressions.sql.graph import Sql, join, sql, text
from simulator.tidb.expressions.translate import row_values, translate, translate_call
from simulator.tidb.expressions.trees import uncomputable_part
from simulator.tidb.expressions.values.collations import function_collation, with_collation
from simulator.tidb.expressions.values.context import EvaluationContext
from simulator.tidb.expressions.values.literals import column_value
from simulator.tidb.expressions.values.value import Value, boolean
from simulator.tidb.model.table import Column, Table
from simulator.tidb.sql_engine.errors import not_simulated
from simulator.tidb.sql_engine.sessions.session_functions import (
    named_zone,
    session_function,
    statement_micros,
    variable_value,
)
from simulator.tidb.sql_engine.sessions.session_variables import variable_text
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.syntax.dml import DefaultValue, InsertedValue
from simulator.tidb.syntax.expressions import Call, ColumnName, ContextExpression, Node
from simulator.tidb.syntax.queries import (
    Aggregate,
    CommonTable,
    Exists,
    Quantified,
    QueryTree,
    Subquery,
    Variable,
    WindowFunction,
)


@dataclass(frozen=True, eq=False)
class Field:
    """A column of a source or of a query."""

    name: str
    read: Callable[[], Value]
    schema: str = ""
    table: str = ""
    """Alias or name of what it belongs to."""

    column: Column | None = None
    """What it is a column of, as the table defines it."""

    hidden: bool = False
    """Whether only its qualified name means it (the second of two columns that USING joins)."""

    source: int = 0
    """Fields of one base table share it; 0 for none."""

    extra: bool = False
    """Whether it is `_tidb_rowid`, which no star shows and no USING joins."""

    @property
    def shown(self) -> bool:
        """Whether a star shows it."""
        return not self.hidden and not self.extra


def value_field(name: str, value: Value) -> Field:
    """Return a column of a query that is read as `value`."""
    return Field(name, lambda: value)


class Evaluation(Protocol):
    """What a scope asks of the whole statement."""

    upstream: Upstream
    now_ms: int

    def one_value(self, query: QueryTree, scope: QueryScope) -> Value:
        """A subquery as a value."""

    def one_of(self, values: list[Value], query: QueryTree, scope: QueryScope) -> Sql:
        """Whether its rows have the values, as a BOOLEAN."""

    def any_rows(self, query: QueryTree, scope: QueryScope) -> Sql:
        """Whether it has rows."""

    def quantified(self, value: Value, asked: Quantified, scope: QueryScope) -> Sql:
        """The comparison with ANY or ALL of its rows."""

    def number(self) -> int:
        """One that it has not given before."""

    def watch(self, found: Iterable[Sql], source: str) -> None:
        """Has the problems of expressions over a source met that no row of the statement shows."""

    def read_outside(self) -> None:
        """Notes that a subquery names a column of a query around it."""

    def subquery(self) -> AbstractContextManager[None]:
        """Around the building of a subquery."""

    def apart(self) -> Evaluation:
        """Others of the same statement, that know nothing of what has been built here."""

    def rows(self, wanted: Mapping[str, Sql], source: str, order: str = "") -> pa.Table:
        """The wanted expressions over a source, once the problems of all that is watched are met. Raises SqlError."""

    def watched(self) -> list[str]:
        """What is watched."""

    def watch_again(self, watched: Sequence[str]) -> None:
        """Has the same problems met once more."""

    def hand_over(self, table: Table, number: int, texts: Mapping[str, pa.Array | pa.ChunkedArray], rows: int) -> None:
        """Has these rows as `rows NUMBER`; texts of columns that are not given are not there."""

    def scan(self, place: Key, table: Table, number: int) -> None:
        """Has the rows of a base table as `rows NUMBER`, with the columns `NUMBER.place`, and `NUMBER.0`, `NUMBER.1`,
        … for its cells."""


@dataclass(frozen=True)
class QueryScope:
    """What an expression in a clause of a query can name."""

    evaluation: Evaluation
    fields: tuple[Field, ...] = ()
    clause: str = "field list"
    """As TiDB calls it in its errors."""

    outer: QueryScope | None = None
    inserted: tuple[Field, ...] = ()
    """What VALUES(column) means."""

    row: Sql | None = None
    """Text that tells the row from others."""

    aggregate: Callable[[Aggregate], Value] | None = None
    """The value of an aggregate function, where there may be one."""

    windowed: Callable[[WindowFunction, QueryScope], Value] | None = None
    """The value of a window function, where there may be one."""

    common: Mapping[str, tuple[CommonTable, Mapping[str, Any]]] = field(default_factory=dict)
    """Of WITH by name in lower case, each with those that it sees itself."""

    working: Mapping[str, Any] = field(default_factory=dict)
    """The relations of the last rows of tables of WITH RECURSIVE, by name in lower case, for FROM alone."""

    through: Callable[[Field], Value] | None = None
    """How a field is read; as itself without it."""

    def within(self, clause: str) -> QueryScope:
        return replace(self, clause=clause)

    def find(self, node: ColumnName) -> Field | None:
        """The field of this query that a name means. Raises SqlError 1052."""
        found = [each for each in self.fields if _is_named(node, each)]
        if len(found) > 1:
            shown = ".".join(node.parts)
            raise SqlError(1052, "23000", f"Column '{shown}' in {self.clause} is ambiguous")
        return found[0] if found else None

    def column_value(self, node: ColumnName) -> Value:
        scope: QueryScope | None = self
        while scope is not None:
            found = scope.find(node)
            if found is not None:
                if scope is not self:
                    self.evaluation.read_outside()
                return found.read() if scope.through is None else scope.through(found)
            scope = scope.outer
        raise SqlError(1054, "42S22", f"Unknown column '{'.'.join(node.parts)}' in '{self.clause}'")

    def call_value(self, node: Call) -> Value:
        name = node.name.removesuffix("_FUNC")
        upstream = self.evaluation.upstream
        if node.schema or node.name not in FUNCTIONS and node.name not in TIDB_ONLY_FUNCTIONS:
            database = node.schema or upstream.session.database
            raise SqlError(1305, "42000", f"FUNCTION {database}.{name.lower()} does not exist")
        known = FUNCTIONS.get(node.name)
        if known is None or not node.arguments:
            arguments = [translate(argument, self) for argument in node.arguments]
            found = session_function(node.name, arguments, upstream, self.evaluation.now_ms, self._row)
            if found is not None:
                return with_collation(found, function_collation(node.name, arguments))
        if known is not None and not known.min_arguments <= len(node.arguments) <= known.max_arguments:
            raise SqlError(1582, "42000", f"Incorrect parameter count in the call to native function '{name}'")
        problem = uncomputable_part(node)
        if problem:
            raise not_simulated(f"{problem} is not computed; a constant, or a result written as a literal, is accepted")
        return translate_call(node, self)

    def context(self) -> EvaluationContext:
        session = self.evaluation.upstream.session
        _, now = statement_micros(session, self.evaluation.now_ms)
        zeros = "" if "NO_ZERO_DATE" in session.sql_mode else "z"
        there = now.astimezone(named_zone(session.time_zone))
        zeros += "" if "NO_ZERO_IN_DATE" in session.sql_mode else "p"
        return EvaluationContext(session.time_zone, f"{there:%Y-%m-%d}", zeros)

    def collation(self) -> str:
        return variable_text(self.evaluation.upstream.session, "collation_connection") or "utf8mb4_bin"

    def subtracts_signed(self) -> bool:
        return "NO_UNSIGNED_SUBTRACTION" in self.evaluation.upstream.session.sql_mode

    def _row(self) -> Sql:
        place = text(f"{self.evaluation.number()} ")
        return place if self.row is None else sql("{} || {}", place, self.row)

    def context_value(self, node: Node, operand: Node | None = None) -> Value:
        if isinstance(node, DefaultValue):
            return self._default(node)
        if isinstance(node, InsertedValue):
            return replace(self, fields=self.inserted, outer=None).column_value(node.column)
        tree = node.tree if isinstance(node, ContextExpression) else None
        if isinstance(tree, Subquery):
            if operand is None:
                return self.evaluation.one_value(tree.query, self)
            return boolean(self.evaluation.one_of(row_values(operand, self), tree.query, self))
        if isinstance(tree, Exists):
            found = self.evaluation.any_rows(tree.query, self)
            return boolean(sql("NOT {}", found) if tree.negated else found)
        if isinstance(tree, Quantified):
            return boolean(self.evaluation.quantified(translate(tree.operand, self), tree, self))
        if isinstance(tree, Variable):
            return variable_value(tree, self.evaluation.upstream, self.evaluation.now_ms)
        if isinstance(tree, WindowFunction):
            if self.windowed is None or self.clause not in ("field list", "order clause"):
                raise SqlError(
                    3593,
                    "HY000",
                    f"You cannot use the window function '{tree.function.name.lower()}' in this context.'",
                )
            return self.windowed(tree, self)
        if isinstance(tree, Aggregate):
            if self.aggregate is None:
                raise SqlError(1111, "HY000", "Invalid use of group function")
            return self.aggregate(tree)
        what = node.kind if isinstance(node, ContextExpression) else type(node).__name__.lower()
        shown = f"{what} {node.restored}" if isinstance(node, ContextExpression) else what
        raise not_simulated(f"{shown} is not computed; expressions, subqueries, aggregate and window functions are")

    def _default(self, node: DefaultValue) -> Value:
        """DEFAULT(column)"""
        assert node.column is not None, "DEFAULT alone is no expression"
        found = self.find(node.column)
        if found is None or found.column is None:
            raise SqlError(1054, "42S22", f"Unknown column '{'.'.join(node.column.parts)}' in '{self.clause}'")
        return default_value(found.column)


def default_value(column: Column) -> Value:
    """The value of DEFAULT(column). Raises SqlError."""
    if column.default is None and column.not_null:
        raise SqlError(1364, "HY000", f"Field '{column.name}' doesn't have a default value")
    if column.default_expression:
        raise not_simulated(f"DEFAULT({column.name}) of an expression is not computed; a literal default is")
    return column_value(column, sql("NULL::VARCHAR") if column.default is None else text(column.default))


def _is_named(node: ColumnName, field: Field) -> bool:
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
