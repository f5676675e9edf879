"""Compiled expressions: a function of a row, the type of its values, and the statement in which it is evaluated.

A value has one of MySQL's kinds, and each kind has one Python type. NULL is None in all of them. The statement has the
clock, the sql_mode and the warnings, and takes the FunctionProblem that a Python function of `tidb.functions` raises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from msgspec import Struct

from simulator.errors import SqlError
from simulator.tidb.errors import FunctionProblem, sql_error_with_text
from simulator.tidb.model.types import ColumnType
from simulator.tidb.system_variables import new_server_value

TRUNCATED, DIVIDED, ALWAYS, WARNED = "truncated", "divided", "always", "warned"
"""Kinds of problems. Truncated: an error where strict mode writes rows, else a warning. Divided: a division by 0, which is
the same if ERROR_FOR_DIVISION_BY_ZERO is set. Always: an error in every statement. Warned: always a warning."""

MAX_SHOWN = 128
"""Characters of a value that an error shows (`%-.128s`)."""

MAX_WARNINGS = 64
"""Warnings that a statement keeps (tidb pkg/sessionctx/variable/tidb_vars.go, max_error_count)."""

STRICT = ("STRICT_TRANS_TABLES", "STRICT_ALL_TABLES")


class Context:
    """One execution of a statement. The defaults are those of a changefeed, which works in UTC and writes no rows.

    Every execution has a context of its own: what is constant is computed once for each context.
    """

    user = ""
    """The name of the session's user."""
    parameter = 0
    """The integer that a kept plan has in this execution."""

    def __init__(
        self,
        sql_mode: Collection[str] = ("NO_ZERO_DATE",),
        zone: str = "UTC",
        today: str = "",
        writing: bool = False,
        ignore: bool = False,
    ) -> None:
        """`writing` is true for INSERT, UPDATE and DELETE, `ignore` for a statement with IGNORE (tidb
        pkg/executor/executor.go, ResetContextOfStmt, ResetUpdateStmtCtx, ResetDeleteStmtCtx; pkg/errctx)."""
        self.execution = object()
        """What tells this execution from others. Compiled expressions outlive it, and do not hold the context itself."""
        self.zone, self.today = zone, today
        """The session's time zone, and the date of the statement in it; empty outside of statements."""
        self.zeros = ("" if "NO_ZERO_DATE" in sql_mode else "z") + ("" if "NO_ZERO_IN_DATE" in sql_mode else "p")
        """`z` if zero dates are allowed, `p` if parts of a date may be 0."""
        self.warnings: list[str] = []
        """As SHOW WARNINGS prints them: `1292 Truncated incorrect …`."""
        strict = writing and not ignore and any(mode in sql_mode for mode in STRICT)
        self.zero_parts = not strict or "NO_ZERO_IN_DATE" not in sql_mode or "NO_ZERO_DATE" not in sql_mode
        """Whether a text with a part of 0 is a date without a problem."""
        divided = not writing or "ERROR_FOR_DIVISION_BY_ZERO" in sql_mode
        self._errors = {ALWAYS, *((TRUNCATED, *((DIVIDED,) if divided else ())) if strict else ())}
        self._silent = () if divided else (DIVIDED,)

    def variable(self, name: str) -> str:
        """Return a system variable, here as a new server has it."""
        return new_server_value(name) or ""

    def problem(self, kind: str, text: str, warning: str = "") -> None:
        """Note a problem, given its number and text: `1292 Truncated incorrect DOUBLE value: 'x'`, and those of a warning
        that differs. Raises SqlError if the statement takes its kind for an error."""
        if kind in self._errors:
            number, _, message = text.partition(" ")
            raise sql_error_with_text(int(number), message)
        if kind not in self._silent and len(self.warnings) < MAX_WARNINGS:
            self.warnings.append(warning or text)


Row: TypeAlias = Sequence[Any]
"""The cells of a base table's row (TiDB text in bytes), or the values of any other row. The scope knows their places."""

Evaluate: TypeAlias = Callable[[Row, Context], Any]
"""Returns the value of an expression for a row in a statement. Raises SqlError."""

NUMERIC_KINDS = ("bool", "int", "uint", "decimal", "real")
INTEGER_KINDS = ("bool", "int", "uint")
MOMENT_KINDS = ("date", "datetime")

CONNECTION_COLLATION = ""
"""Stands for collation_connection."""

MAX_DIGITS, MAX_SCALE = 65, 30
"""Digits of a decimal's type, and those behind its point (tidb pkg/types/mydecimal.go)."""


class Expression(Struct, frozen=True):
    """An expression that is compiled for the rows of a scope."""

    evaluate: Evaluate
    kind: str
    """`null`, or with its Python type: `bool` bool, `int` and `uint` int, `decimal` Decimal, `real` float, `string` and
    `json` str, `date` and `datetime` str `YYYY-MM-DD hh:mm:ss.ffffff`, `time` int of microseconds, `word` a keyword."""

    collation: str = CONNECTION_COLLATION
    coercibility: int = 4
    """Coercibility of its collation: 0 for COLLATE, 2 for a column, 4 for a literal."""

    ascii: bool = False
    """Whether all its characters are ASCII for certain (tidb: pkg/expression/collation.go, Repertoire)."""

    constant: str | None = None
    """The text of a literal."""

    is_constant: bool = False
    """Whether the value is the same in all rows of a statement."""

    number: Evaluate | None = None
    """The number (uint) of a string whose text does not tell it: the index of an ENUM, the bits of a SET."""

    text: Evaluate | None = None
    """The text of a number or time as TiDB prints it, if that is not what its kind prints."""

    is_binary: bool = False
    """Whether it is a binary string, whose text has one character per byte."""

    blob_type: int = 253
    """TiDB's type code of a binary string in JSON; VAR_STRING if it is no column's."""

    integral: bool = True
    """Whether TiCDC takes the result of a whole expression as a number (it does not for a BIT)."""

    is_year: bool = False
    is_column: bool = False
    scale: int = 0
    """Digits behind the point of a decimal, or of a second of a datetime or time."""

    digits: int = 0
    """The most digits of a decimal; 0 if they are not known."""

    column_type: ColumnType | None = None
    """The type of its column, where the kind does not tell it: BIT, FLOAT, TIMESTAMP, ENUM, SET, integers."""

    display_name: str = ""
    """Its name in errors, such as `test.t.a`, unless it is a literal."""

    shown_scale: int | None = None
    """Digits behind the point that a client is shown, if not `scale` (tidb pkg/types/mydecimal.go, resultFrac)."""

    @property
    def digits_shown(self) -> int:
        """Digits behind the point that a client is shown."""
        return self.scale if self.shown_scale is None else self.shown_scale


@dataclass(frozen=True)
class Function:
    """A function of SQL: its arguments and its compilation."""

    min_arguments: int
    max_arguments: int
    compute: Callable[..., Expression]
    """Returns the call, given its arguments."""

    literal_arguments: tuple[int, ...] = ()
    """Places of the arguments that must be literals."""

    is_random: bool = False
    """Whether it has another value in each row, even of constants."""

    def takes(self, count: int) -> bool:
        return self.min_arguments <= count <= self.max_arguments


UNLIMITED = 255
"""`max_arguments` of a function with any number of arguments."""


def fixed(value: Any) -> Evaluate:
    """Return the function that returns one value for all rows."""
    return lambda row, context: value


def place(number: int) -> Evaluate:
    """Return the function that returns what a row has at a place."""
    return lambda row, context: row[number]


NULL_VALUE = fixed(None)


def apply(compute: Callable[..., Any], *parts: Evaluate) -> Evaluate:
    """Return a function of the values of parts, which is NULL if one of them is. Parts behind a NULL are not evaluated."""
    if len(parts) == 1:
        (only,) = parts

        def of_one(row: Row, context: Context) -> Any:
            value = only(row, context)
            return None if value is None else compute(value)

        return of_one
    if len(parts) == 2:
        first, second = parts

        def of_two(row: Row, context: Context) -> Any:
            left = first(row, context)
            if left is None:
                return None
            right = second(row, context)
            return None if right is None else compute(left, right)

        return of_two

    def of_all(row: Row, context: Context) -> Any:
        values = []
        for part in parts:
            value = part(row, context)
            if value is None:
                return None
            values.append(value)
        return compute(*values)

    return of_all


def apply_in_context(compute: Callable[..., Any], *parts: Evaluate) -> Evaluate:
    """Return a function of the context and the values of parts, which is NULL if one of them is."""

    def evaluate(row: Row, context: Context) -> Any:
        values = []
        for part in parts:
            value = part(row, context)
            if value is None:
                return None
            values.append(value)
        return compute(context, *values)

    return evaluate


def display_name(value: Expression) -> str:
    return value.display_name or ("Column#0" if value.constant is None else value.constant)


def null() -> Expression:
    return Expression(NULL_VALUE, "null", is_constant=True)


def boolean(evaluate: Evaluate) -> Expression:
    return Expression(evaluate, "bool")


def integer(evaluate: Evaluate, kind: str = "int") -> Expression:
    return Expression(evaluate, kind)


def real(evaluate: Evaluate) -> Expression:
    """Return a double; NULL for infinity and NaN, which MySQL does not have."""
    return Expression(apply(lambda number: number if math.isfinite(number) else None, evaluate), "real")


def checked_real(evaluate: Evaluate, shown: str = "") -> Expression:
    """Return a double; infinity is an error (tidb pkg/types/errors.go, ErrOverflow)."""

    def checked(context: Context, number: float) -> float | None:
        if math.isfinite(number):
            return number
        if math.isinf(number):
            context.problem(ALWAYS, f"1690 DOUBLE value is out of range in '{shown}'")
        return None

    return Expression(apply_in_context(checked, evaluate), "real")


def decimal(evaluate: Evaluate, scale: int, digits: int = 0) -> Expression:
    """Return a decimal whose values have `scale` digits behind the point already."""
    return Expression(evaluate, "decimal", scale=scale, digits=digits)


def string(evaluate: Evaluate, *like: Expression) -> Expression:
    """Return a string with the collation of the values it comes from."""
    first = min(like, key=lambda value: value.coercibility, default=None)
    if first is None or first.kind != "string":
        return Expression(evaluate, "string")
    return Expression(evaluate, "string", first.collation, first.coercibility, first.ascii, is_binary=first.is_binary)


def once(evaluate: Evaluate) -> Evaluate:
    """Return a constant function that is evaluated once in each statement, with its problems."""
    known: tuple[object, Any] = (None, None)

    def constant(row: Row, context: Context) -> Any:
        nonlocal known
        execution, value = known
        if execution is not context.execution:
            value = evaluate(row, context)
            known = context.execution, value
        return value

    return constant


KINDS = {"E": ALWAYS, "T": TRUNCATED, "D": DIVIDED, "W": WARNED}
"""Kinds of problems by the letters of `FunctionProblem`."""


def note(context: Context, problem: FunctionProblem) -> Any:
    """Note the problem of a function; return its value for a statement that goes on. Raises SqlError."""
    context.problem(KINDS[problem.kind], f"{problem.number} {problem.text}")
    return problem.value


def call(compute: Callable[..., Any], *parts: Evaluate) -> Evaluate:
    """Return the call of a function that may raise FunctionProblem; NULL if an argument is."""
    return call_in_context(lambda context, *values: compute(*values), *parts)


def call_in_context(compute: Callable[..., Any], *parts: Evaluate) -> Evaluate:
    """Return the call of a function of the context and values that may raise FunctionProblem; NULL if a value is."""

    def called(context: Context, *values: Any) -> Any:
        try:
            return compute(context, *values)
        except FunctionProblem as problem:
            return note(context, problem)

    return apply_in_context(called, *parts)


def call_with_nulls(compute: Callable[..., Any], *parts: Evaluate) -> Evaluate:
    """Return the call of a function that takes NULL as None, and may raise FunctionProblem."""

    def evaluate(row: Row, context: Context) -> Any:
        values = [part(row, context) for part in parts]
        try:
            return compute(*values)
        except FunctionProblem as problem:
            return note(context, problem)

    return evaluate


def value_for_errors(part: Evaluate, other: Any = None) -> Evaluate:
    """Return a value; another if the statement takes a problem of it for an error."""

    def evaluate(row: Row, context: Context) -> Any:
        try:
            return part(row, context)
        except SqlError:
            return other

    return evaluate
