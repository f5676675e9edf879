"""Relations that filter rows, or lock them.

Rows are filtered by a path to those of a table, by a hash of keys, and by conditions. SELECT … FOR UPDATE locks rows;
TiDB knows FOR SHARE and SKIP LOCKED, and does nothing for them (tidb pkg/planner/core/logical_plan_builder.go,
buildSelect).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from simulator.tidb import syntax
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.queries.access import Comparison, TableReader, comparison_of, handle_column
from simulator.tidb.engine.queries.relation import Base, Relation, Values, checked, filtered, held, table_fields
from simulator.tidb.engine.scope import TOP, Field, QueryScope, known_function
from simulator.tidb.errors import sql_error_with_text
from simulator.tidb.expressions.comparisons import comparison_operands, of_today
from simulator.tidb.expressions.compile import compile_expression
from simulator.tidb.expressions.conversions import as_boolean
from simulator.tidb.expressions.expression import MOMENT_KINDS, Evaluate, Expression, Row
from simulator.tidb.model.table import visible_columns
from simulator.tidb.storage.rows import KeyRange, LockWait
from simulator.tidb.storage.tables import StoredTable

Lookup: TypeAlias = "Callable[[Row, StatementContext], Iterable[Values]]"
"""Returns the rows of a relation that belong to a row of another one."""

NOT_TAKEN = (syntax.ContextExpression, syntax.DefaultValue, syntax.InsertedValue)
"""Parts of a condition that is evaluated for whole rows of a join only."""


def compile_condition(node: syntax.Node, scope: QueryScope) -> Evaluate:
    return as_boolean(compile_expression(node, scope))


def is_movable(node: syntax.Node) -> bool:
    """Return whether a condition may be evaluated for the rows of one table before they are joined."""
    return not any(
        isinstance(part, NOT_TAKEN) or isinstance(part, syntax.Call) and _is_random(part) for part in syntax.walk(node)
    )


def _is_random(node: syntax.Call) -> bool:
    function = known_function(node)
    return function is not None and function.is_random


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
        each = comparison_of(node, own)
        if each is None or each.operator != "=" or len(each.values) > 1:
            return None
        return hashed(compile_expression(syntax.ColumnName((each.column,)), own), each.values[0])


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
        self._reader = TableReader(stored, ordinals)
        self._tests: Sequence[Evaluate] | None = ()
        """The conditions of rows; None if the table has an access by them."""
        self._descending = self.is_point = False
        self._ascends = True

    def _scan(self, context: StatementContext) -> Iterator[Values]:
        return checked(self._reader.scan(context, KeyRange(descending=self._descending)), context)

    def lock_keys(self) -> None:
        """Lock the keys by which rows are looked up, found or not."""
        self._reader = self._reader._replace(locks=True)

    def read_in_order(self, field: Field, descending: bool) -> bool:
        """Read the rows in the order of a column, if that is the order of handles; return whether it is."""
        if field.name.lower() != handle_column(self._reader.stored.table) or len(self._reader.ordinals) != 1:
            return False
        if not self._ascends or descending and self._tests is None:
            return False
        self._descending = descending
        return True

    def restrict(self, conditions: Sequence[syntax.Node], scope: QueryScope) -> Sequence[syntax.Node]:
        own, compilation = scope.of_rows(self.fields), scope.compilation
        reach, compilation.reach = compilation.reach, TOP
        comparisons = [each for node in conditions if (each := comparison_of(node, own)) is not None]
        access = self._reader.find(comparisons) if comparisons else None
        if access is not None:
            path, self.is_point, self._ascends = access.path, access.is_point, access.ascends
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
        access = None if tests is None or self.depends else self._reader.find(comparisons)
        if access is None or tests is None:
            return None
        path = access.path
        return (lambda row, context: filtered(path(row, context), tests, context)) if tests else path


CLAUSE = re.compile(r"FOR (UPDATE|SHARE)(?: OF (.+?))?(?: (NOWAIT|SKIP LOCKED|WAIT (\d+)))?", re.DOTALL)
NAME = re.compile(r"`((?:[^`]|``)*)`")

NO_WAIT = "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set."


class Locking(NamedTuple):
    """The tables whose rows a query locks."""

    bases: Sequence[Base]
    seconds: float | None
    """How long it waits; None for innodb_lock_wait_timeout."""

    def rows(self, rows: Iterator[Values], context: StatementContext) -> Iterator[Values]:
        """Yield rows, each locked. Raises LockWait, and SqlError 3572 with NOWAIT."""
        try:
            for row in rows:
                for base in self.bases:
                    location = row[base.place]
                    if location is not None:
                        context.transaction.select_row(base.stored, *location)
                yield row
        except LockWait as wait:
            if self.seconds == 0:
                raise sql_error_with_text(3572, NO_WAIT) from None
            wait.seconds = self.seconds
            raise


def find_locking(clause: str, relation: Relation, scope: QueryScope) -> Locking | None:
    """Return what a lock clause locks; None for nothing. Raises SqlError 3568."""
    match = CLAUSE.fullmatch(clause)
    assert match is not None, clause
    kind, tables, option, seconds = match.groups()
    bases = relation.bases if tables is None else _named_bases(tables, relation, scope)
    if kind == "SHARE" or option == "SKIP LOCKED":
        return None
    return Locking(bases, 0 if option == "NOWAIT" else None if seconds is None else float(seconds))


def _named_bases(tables: str, relation: Relation, scope: QueryScope) -> list[Base]:
    """Return the tables after OF. Raises SqlError 3568."""
    found = []
    for named in tables.split(", "):
        *schema, name = (part.replace("``", "`") for part in NAME.findall(named))
        base = next((base for base in relation.bases if base.alias.lower() == name.lower()), None)
        if base is None or schema and (base.schema or scope.database).lower() != schema[0].lower():
            raise sql_error_with_text(3568, f"Unresolved table name {named} in locking clause.")
        found.append(base)
    return found
