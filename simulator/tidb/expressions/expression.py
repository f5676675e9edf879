"""Compiled expressions: a function of a row, and the type of its values.

A value has one of MySQL's kinds, and each kind has one Python type. NULL is None in all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from simulator.tidb.expressions.context import ALWAYS, Context
from simulator.tidb.model.types import ColumnType

Row: TypeAlias = Sequence[Any]
"""The cells of a base table's row (TiDB text in bytes), or the values of any other row. The scope knows their places."""

Evaluate: TypeAlias = Callable[[Row, Context], Any]
"""Returns the value of an expression for a row in a statement. Raises SqlError."""

NUMERIC_KINDS = ("bool", "int", "uint", "decimal", "real")
INTEGER_KINDS = ("bool", "int", "uint")
MOMENT_KINDS = ("date", "datetime")

CONNECTION_COLLATION = ""
"""Stands for collation_connection."""

MAX_DIGITS, MAX_INTEGER_DIGITS, MAX_SCALE = 65, 81, 30
"""Digits of a decimal's type; digits before the point of a result, which fill TiDB's nine words; digits behind the point
(tidb pkg/types/mydecimal.go)."""


@dataclass(frozen=True)
class Expression:
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


def replace(value: Expression, **changes: Any) -> Expression:
    """Return an expression with other attributes: `dataclasses.replace`, in a tenth of its time."""
    changed = object.__new__(Expression)
    changed.__dict__.update(value.__dict__)
    changed.__dict__.update(changes)
    return changed


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
    """Return the expression as an error shows it."""
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
