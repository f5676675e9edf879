"""The values of new and changed rows: casts to the columns, defaults, NULLs, generated columns.

A value that does not fit is an error, or a warning with another value. Rows are computed one after another, and in a row
first the values that the statement names, in its order, then the other columns and NULLs in table order, then generated
columns, virtual ones among them (tidb pkg/executor/insert_common.go, evalRow and fillRow; pkg/executor/update.go).

The default of a TIMESTAMP is taken to be in the session's time zone; TiDB uses the zone in which the table was created. In
strict mode a NOT NULL column without a default has no value, except that ENUM takes its first member and YEAR its zero
(tidb pkg/table/column.go, getColDefaultValueFromNil; pkg/ddl/add_column.go, setYearDefaultValue).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache

from simulator.errors import SchemaError, SqlError
from simulator.tidb.datums import TRUNCATED, CastProblem, Datum, datum_text, truncated_value
from simulator.tidb.datums.cast import cast_value
from simulator.tidb.datums.numbers import rounded_value
from simulator.tidb.ddl.defaults import implicit_value, row_default
from simulator.tidb.engine.context import StatementContext, default_time_text, now_text
from simulator.tidb.engine.queries import new_compilation
from simulator.tidb.engine.scope import QueryScope, StatementCompilation
from simulator.tidb.errors import sql_error, sql_error_with_text
from simulator.tidb.expressions.casts import datum_of
from simulator.tidb.expressions.compile import compile_expression
from simulator.tidb.expressions.expression import Evaluate
from simulator.tidb.expressions.json_documents import typed_cell
from simulator.tidb.expressions.over_columns import generated_value, table_expression
from simulator.tidb.expressions.trees import parse_expression
from simulator.tidb.model.table import (
    ORIGIN_TS,
    Cells,
    Column,
    Index,
    Table,
    cached_by_table,
    is_array,
    places_of,
    visible_columns,
)
from simulator.tidb.model.types import INTEGER_BITS, ColumnType, bounds, family, is_binary

Cell = bytes | None

VALUES, SELECT, LOAD, UPDATE, DUPLICATE = "values", "select", "load", "update", "duplicate"
"""The origin of a value: INSERT's VALUES or its SELECT, LOAD DATA, UPDATE, ON DUPLICATE KEY UPDATE."""

MAX_CHARACTERS = {1292: 128, 1366: 192}
"""The number of characters of a value in an error."""


class RowValues:
    """Computes the cells of a table's rows in one statement."""

    def __init__(self, table: Table, context: StatementContext, origin: str, rows: int = 0) -> None:
        """`rows` is the number of rows of an INSERT … VALUES."""
        self.table, self.context, self.origin = table, context, origin
        self.columns = visible_columns(table)
        self.place_of = places_of(table)
        self.mode = context.mode._replace(inserting=origin in (VALUES, SELECT, LOAD), loading=origin == LOAD)
        self._lone = rows == 1 and context.database.release.lone_null_refused
        self._steps: list[tuple[int, Column, Callable[[], Cell] | None]] = []
        self._not_null, self._on_update = not_null_columns(table), on_update_columns(table)
        self._generated, self.quick = generated_values(table), quick_casts_of(table)
        self._index_values = [evaluate for _, evaluate in index_values(table)]
        self._defaults: dict[str, Callable[[], Cell]] = {}
        self._origin = self.place_of.get(ORIGIN_TS) if table.soft_delete else None

    @cached_property
    def compilation(self) -> StatementCompilation:
        return new_compilation(self.context)

    # -- values --------------------------------------------------------------------------------------------------------

    def cast(self, column: Column, datum: Datum | None, row: int = 1, origin: str = "") -> Cell:
        """Return a value as the cell of a column. Raises SqlError."""
        if datum is None:
            return None
        quick = self.quick[column.name].get(datum.kind)
        if quick is not None:
            cell = quick(datum.body)
            if cell is not None:
                return cell
        cell, problem = cast_value(column.type, column.name, datum, self.mode)
        loss = problem or cell and accepted_loss(column.type, datum, cell)
        if loss:
            origin, forgiven = origin or self.origin, problem is None or self.mode.forgives(problem)
            if forgiven and origin == DUPLICATE:
                origin = VALUES  # warnings are completed as INSERT does, errors are not (doDupRowUpdate)
            error = cast_error(column, datum, loss, row, origin)
            if not forgiven:
                raise error
            self.context.warn(error)
        return typed_cell(datum, cell) if cell is not None and column.type.name == "json" else cell

    def not_null(self, column: Column, row: int = 1) -> Cell:
        """Return the zero that replaces NULL in a NOT NULL column, with a warning. Raises SqlError 1048, and 1263 in LOAD
        DATA.

        In some releases an INSERT of one row ignores the lenient mode (Release.lone_null_refused) unless it has IGNORE
        (tidb pkg/table/column.go, HandleBadNull).
        """
        error = sql_error(1048, column.name)
        if self.origin == LOAD:
            text = f"Column set to default value; NULL supplied to NOT NULL column '{column.name}' at row {row}"
            error = sql_error_with_text(1263, text)
        if not self.mode.lenient or self._lone and not self.mode.ignore:
            raise error
        self.context.warn(error)
        return zero_cell(column)

    # -- new rows ------------------------------------------------------------------------------------------------------

    def start(self, named: Collection[str]) -> Cells:
        """Return what new rows begin with, given the columns that the statement names."""
        cells: Cells = [*fixed_defaults(self.table)]
        self._steps = []
        for place, column in enumerate(self.columns):
            if column.generated or is_automatic(column):
                continue
            compute = None
            if column.name not in named:
                compute = self._varying_default(column)
            if compute is not None or column.not_null and (column.name in named or cells[place] is None):
                self._steps.append((place, column, compute))
        return cells

    def complete(self, cells: Cells, row: int) -> None:
        """Complete a new row that has the statement's values. Raises SqlError."""
        for place, column, compute in self._steps:
            if compute is not None:
                cells[place] = compute()
            if cells[place] is None and column.not_null:
                cells[place] = self.not_null(column, row)
        if self._generated or self._index_values:
            self.generate(cells, row, VALUES if self.origin == SELECT else self.origin)

    def generate(self, cells: Cells, row: int = 1, origin: str = "") -> None:
        """Compute the generated columns of a row, and the expressions of indexes, which are columns to TiDB. Raises
        SqlError."""
        for column, place, evaluate in self._generated:
            cell = self.cast(column, evaluate(cells, self.context), row, origin)
            if cell is None and column.not_null:
                cell = self.not_null(column, row)
            if place >= 0:
                cells[place] = cell
        for evaluate in self._index_values:
            evaluate(cells, self.context)

    # -- defaults ------------------------------------------------------------------------------------------------------

    def default(self, column: Column) -> Callable[[], Cell]:
        """Return the value of DEFAULT. Raises SqlError 1364 for a column without one, before any row is looked at."""
        if is_automatic(column):
            return lambda: None
        if not has_default(column) and not self.mode.lenient:
            raise sql_error(1364, column.name)
        compute = self._varying_default(column)
        if compute is not None:
            return compute
        cell = fixed_defaults(self.table)[self.place_of[column.name]]
        return lambda: cell

    def _varying_default(self, column: Column) -> Callable[[], Cell] | None:
        """Return the value of a column that the statement does not name; None for one that is the same in all
        statements."""
        if has_default(column) and not column.default_expression and column.type.name != "timestamp":
            return None
        if column.name not in self._defaults:
            self._defaults[column.name] = self._computed_default(column)
        return self._defaults[column.name]

    def _computed_default(self, column: Column) -> Callable[[], Cell]:
        settings = self.context.session.settings
        if not has_default(column):
            return self._missing_default(column)
        cell: Cell
        if column.default_expression:
            text = default_time_text(column, settings, self.context.now_ms)
            if text is None:
                return self._expression_default(column)
            cell = text.encode()
        else:
            cell = fixed_defaults(self.table)[self.place_of[column.name]]
            if cell is not None and settings.time_zone != "UTC":
                cell = cast_value(column.type, column.name, Datum("string", cell), self.mode)[0]
        return lambda: cell

    def _missing_default(self, column: Column) -> Callable[[], Cell]:
        """Return the zero of a column without a default, which is warned of once."""
        zero, is_first = fixed_defaults(self.table)[self.place_of[column.name]], True

        def compute() -> Cell:
            nonlocal is_first
            error = sql_error(1364, column.name)
            if not self.mode.lenient:
                raise error
            if is_first:
                self.context.warn(error)
            is_first = False
            return zero

        return compute

    def _expression_default(self, column: Column) -> Callable[[], Cell]:
        scope = QueryScope(self.compilation)
        node = parse_expression(column.default or "")
        evaluate = datum_of(compile_expression(node, scope), column)
        return lambda: self.cast(column, evaluate((), self.context), origin=SELECT)  # (GetColDefaultValue)

    # -- changed rows --------------------------------------------------------------------------------------------------

    def finish_update(self, old: Cells, new: Cells, named: Collection[str]) -> None:
        """Complete a row that has the assigned values; `named` are the columns that the statement assigns. A row that
        does not change stays as it is. Raises SqlError."""
        if new == old:
            return
        for place, column in self._not_null:
            if new[place] is None:
                new[place] = self.not_null(column)
        if new != old:
            for place, column in self._on_update:
                if column.name not in named:
                    digits = max(column.type.decimal, 0)
                    now = now_text(column.type.name, digits, self.context.session.settings, self.context.now_ms)
                    new[place] = now.encode()
            if self._origin is not None and ORIGIN_TS not in named:
                new[self._origin] = None
        if self._generated or self._index_values:
            self.generate(new)


def accepted_loss(type: ColumnType, datum: Datum, cell: bytes) -> CastProblem | None:
    """Return what is a warning in any mode: digits that a DECIMAL lost, and spaces that a VARCHAR lost (tidb
    pkg/types/datum.go, ProduceDecWithSpecifiedTp, ProduceStrWithSpecifiedTp)."""
    if type.name == "decimal" and (value := rounded_value(datum, cell.decode())):
        return truncated_value("DECIMAL", value)
    if type.name == "varchar" and not is_binary(type) and (size := len(datum_text(datum))) > type.length:
        return TRUNCATED._replace(text=f"Data truncated, field len {type.length}, data len {size}")
    return None


def cast_error(column: Column, datum: Datum, problem: CastProblem, row: int, origin: str) -> SqlError:
    """Return the error as the statement completes it.

    INSERT … VALUES adds column and row (tidb pkg/executor/insert_common.go, completeInsertErr), LOAD DATA to a text that is
    too long (completeLoadErr), UPDATE in some errors (pkg/executor/update.go, handleErr), other statements do not.
    """
    if origin == LOAD and problem.name == "too long":
        return sql_error(1265, column.name, row)
    if origin in (VALUES, UPDATE):
        if problem.name == "too long":
            return sql_error(1406, column.name, row)
        if problem.name == "overflow":
            return sql_error(1264, column.name, row)
    if origin == VALUES:
        if problem.name in ("truncated", "out of range"):
            return sql_error(problem.number, column.name, row)
        if problem.name == "wrong value":
            number = 1292 if family(column.type) in ("date", "datetime", "time") else 1366
            value = datum_text(datum)[: MAX_CHARACTERS[number]]
            return sql_error(number, column.type.name, value, column.name, row)
    return sql_error_with_text(problem.number, problem.text)


def has_default(column: Column) -> bool:
    """Return whether a row may omit the column in strict mode."""
    if column.default_dropped:
        return False
    return column.default is not None or not column.not_null or column.type.name in ("enum", "year")


def is_automatic(column: Column) -> bool:
    return column.auto_increment or column.auto_random


@cached_by_table
def quick_casts_of(table: Table) -> dict[str, Mapping[str, QuickCast]]:
    """Return the quick casts to each column by its name."""
    return {column.name: quick_casts(column.type) for column in table.columns}


@cached_by_table
def fixed_defaults(table: Table) -> Cells:
    """Return the literal defaults of the visible columns. A column without one is NULL, or the zero of its type if it is
    NOT NULL."""
    return [
        None if column.generated or is_automatic(column) or column.default_expression else _literal_default(column)
        for column in visible_columns(table)
    ]


@lru_cache(4096)
def _literal_default(column: Column) -> Cell:
    text = row_default(column)
    if text is None:
        text = implicit_value(column.type) if column.not_null else None
    return None if text is None else text.encode()


def zero_cell(column: Column) -> bytes:
    """Return the value that replaces NULL: the zero of the column's type, the empty member of an ENUM (tidb
    pkg/table/column.go, GetZeroValue)."""
    return b"" if column.type.name == "enum" else implicit_value(column.type).encode()


@cached_by_table
def not_null_columns(table: Table) -> list[tuple[int, Column]]:
    """Return the NOT NULL columns that are not generated, with their places."""
    columns = enumerate(visible_columns(table))
    return [(place, column) for place, column in columns if column.not_null and not column.generated]


@cached_by_table
def on_update_columns(table: Table) -> list[tuple[int, Column]]:
    """Return the columns with ON UPDATE CURRENT_TIMESTAMP, with their places."""
    return [(place, column) for place, column in enumerate(visible_columns(table)) if column.on_update]


@cached_by_table
def generated_values(table: Table) -> list[tuple[Column, int, Evaluate]]:
    """Return the generated columns in table order: the place of a stored one, -1 for a virtual one, and its datum."""
    places = places_of(table)
    return [
        (column, places.get(column.name, -1), datum_of(generated_value(table, column), column))
        for column in table.columns
        if column.generated
    ]


@cached_by_table
def index_values(table: Table) -> list[tuple[Index, Evaluate]]:
    """Return the expressions in indexes. Without arrays, whose values `array_keys` checks, and without those that are not
    simulated: rows do not need them."""
    found = []
    for index in table.indexes:
        for part in index.columns:
            if part.expression and not is_array(part):
                with suppress(SchemaError, SqlError):
                    found.append((index, table_expression(table, part.expression).evaluate))
    return found


# -- casts of values that a column takes as they are ----------------------------------------------------------------------


QuickCast = Callable[[bytes], "bytes | None"]
"""Returns the cell that the body of a datum is, None if that is not certain."""

PLAIN_CHARSETS = ("utf8mb4", "utf8", "latin1", "ascii", "gbk", "binary")
"""Character sets in which ASCII is itself."""

_DATE = re.compile(rb"(?!0000)[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])")
_MOMENT = re.compile(_DATE.pattern + rb" (?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]")


@lru_cache(4096)
def quick_casts(type: ColumnType) -> Mapping[str, QuickCast]:
    """Return the quick casts to a type by the kind of datum. Any other value has `cast_value`."""
    if type.name in INTEGER_BITS:
        low, high = bounds(type)
        return {"int": lambda body: body if low <= int(body) <= high else None}
    if type.name == "varchar" and type.charset in PLAIN_CHARSETS:
        length = type.length
        return {"string": lambda body: body if len(body) <= length and body.isascii() else None}
    if type.name == "date":
        return {"string": _matching(_DATE)}
    if type.name == "datetime" and type.decimal <= 0:
        return {"string": _matching(_MOMENT)}
    return {}


def _matching(pattern: re.Pattern[bytes]) -> QuickCast:
    return lambda body: body if pattern.fullmatch(body) else None
