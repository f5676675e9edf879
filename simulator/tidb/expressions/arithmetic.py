"""Arithmetic and bit operators of MySQL.

Exact operands give exact results; text or a double gives a double. A division by zero is NULL and a result out of range
an error (tidb pkg/expression/builtin_arithmetic.go, builtin_op.go).
"""

from __future__ import annotations

import math
import operator as operators
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from simulator.errors import SqlError
from simulator.tidb.errors import sql_error_with_text
from simulator.tidb.expressions import numbers
from simulator.tidb.expressions.conversions import as_decimal, as_integer, as_number, as_real, integer_value
from simulator.tidb.expressions.expression import (
    DIVIDED,
    MAX_SCALE,
    Context,
    Evaluate,
    Expression,
    Row,
    apply,
    apply_in_context,
    checked_real,
    display_name,
    fixed,
    null,
)
from simulator.tidb.expressions.numbers import BOUNDS, EXACT, MOST, NAMES, WORD, bits, real_text, text_to_decimal

MASK = 2**64 - 1

_FUNCTION_NAMES = {"+": "plus", "-": "minus", "*": "mul", "/": "div", "%": "mod", "DIV": "intdiv"}


def calculate(
    operator: str, left: Expression, right: Expression, signed: bool = False, more_digits: int = 4
) -> Expression:
    """Return `left operator right`, NULL if either is. `signed` is whether the sql_mode has NO_UNSIGNED_SUBTRACTION;
    `more_digits` is div_precision_increment."""
    if "null" in (left.kind, right.kind):
        return null()
    if operator in _BIT_OPERATORS:
        return _BIT_OPERATORS[operator](left, right)
    shown = f"({display_name(left)} {operator} {display_name(right)})"
    if operator == "DIV":
        result = _integer_division(_exact(left), _exact(right), shown)
    else:
        first, second = _number(left), _number(right)
        if "real" in (first.kind, second.kind):
            result = _real_arithmetic(operator, first, second, shown)
        elif operator == "/" or "decimal" in (first.kind, second.kind):
            result = _decimal_arithmetic(operator, first, second, shown, more_digits)
        else:
            result = _integer_arithmetic(operator, first, second, signed, shown)
    return replace(result, display_name=f"{_FUNCTION_NAMES[operator]}({display_name(left)}, {display_name(right)})")


def _number(value: Expression) -> Expression:
    """Return the value as a number; a column of type ENUM or SET is a double, since it is a type of text."""
    is_member = value.number is not None and value.is_column
    return Expression(as_real(value), "real") if is_member else as_number(value)


def _exact(value: Expression) -> Expression:
    """Return the value as an integer or a decimal."""
    if value.kind == "string" and value.number is None:
        return Expression(apply_in_context(text_to_decimal, value.evaluate), "decimal")
    number = as_number(value)
    return as_decimal(number) if number.kind == "real" else number


def _of_both(compute: Callable[[Any, Any, Context], Any], left: Evaluate, right: Evaluate) -> Evaluate:
    """Return a function of two values, which are both evaluated; NULL if one is."""

    def evaluate(row: Row, context: Context) -> Any:
        first, second = left(row, context), right(row, context)
        return None if first is None or second is None else compute(first, second, context)

    return evaluate


def _by_divisor(compute: Callable[[Any, Any], Any], left: Evaluate, right: Evaluate) -> Evaluate:
    """Return a quotient or remainder; NULL with a problem if the divisor is 0."""

    def divided(first: Any, second: Any, context: Context) -> Any:
        if second:
            return compute(first, second)
        context.problem(DIVIDED, "1365 Division by 0")
        return None

    return _of_both(divided, left, right)


# -- doubles -----------------------------------------------------------------------------------------------------------


def _real_arithmetic(operator: str, left: Expression, right: Expression, shown: str) -> Expression:
    first, second = as_real(left), as_real(right)
    if operator in ("/", "%"):
        return checked_real(_by_divisor(_quotient_of_reals if operator == "/" else math.fmod, first, second), shown)
    compute = {"+": operators.add, "-": operators.sub, "*": operators.mul}[operator]

    def calculated(one: float, other: float, context: Context) -> float:
        result: float = compute(one, other)
        if math.isfinite(result):
            return result
        raise out_of_range("DOUBLE", shown)

    return Expression(_of_both(calculated, first, second), "real")


def _quotient_of_reals(dividend: float, divisor: float) -> float:
    try:
        return dividend / divisor
    except OverflowError:
        return math.inf


# -- integers ----------------------------------------------------------------------------------------------------------


def out_of_range(type: str, shown: str) -> SqlError:
    """Return the error of a result out of the range of its type."""
    return sql_error_with_text(1690, f"{type} value is out of range in '{shown}'")


def check_range(evaluate: Evaluate, kind: str, shown: str) -> Evaluate:
    """Return a whole number; one out of the range of `kind` is an error."""
    low, high = BOUNDS[kind]

    def checked(number: int) -> int:
        if low <= number <= high:
            return number
        raise out_of_range(NAMES[kind], shown)

    return apply(checked, evaluate)


def _integer_arithmetic(operator: str, left: Expression, right: Expression, signed: bool, shown: str) -> Expression:
    if operator == "%":
        return Expression(_by_divisor(remainder, left.evaluate, right.evaluate), left.kind)
    kind = "uint" if "uint" in (left.kind, right.kind) and not (operator == "-" and signed) else "int"
    if operator == "*" and kind == "uint":
        left, right = integer_value(left, kind), integer_value(right, kind)
    first, second = left.evaluate, right.evaluate
    compute = {"+": operators.add, "-": operators.sub, "*": operators.mul}[operator]
    low, high = BOUNDS[kind]

    def evaluate(row: Row, context: Context) -> int | None:
        one, other = first(row, context), second(row, context)
        if one is None or other is None:
            return None
        result: int = compute(one, other)
        if low <= result <= high:
            return result
        raise out_of_range(NAMES[kind], shown)

    return Expression(evaluate, kind)


def remainder(dividend: int, divisor: int) -> int:
    """Return a remainder with the sign of the dividend."""
    rest = abs(dividend) % abs(divisor)
    return -rest if dividend < 0 else rest


def _integer_division(left: Expression, right: Expression, shown: str) -> Expression:
    """Return `left DIV right` of exact numbers."""
    kind = "uint" if "uint" in (left.kind, right.kind) else "int"
    if "decimal" in (left.kind, right.kind):
        left, right = as_decimal(left), as_decimal(right)
        quotient = _by_divisor(lambda one, other: int(EXACT.divide_int(one, other)), left.evaluate, right.evaluate)
    else:
        quotient, shown = _by_divisor(_whole_quotient, left.evaluate, right.evaluate), shown.replace(" DIV ", ", ")
    return Expression(check_range(quotient, kind, shown), kind)


def _whole_quotient(dividend: int, divisor: int) -> int:
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


# -- decimals ----------------------------------------------------------------------------------------------------------


def _decimal_arithmetic(operator: str, left: Expression, right: Expression, shown: str, more_digits: int) -> Expression:
    left, right = as_decimal(left), as_decimal(right)
    scale = {"*": min(left.scale + right.scale, MAX_SCALE), "/": _quotient_scale(left, right, more_digits)}.get(
        operator, max(left.scale, right.scale)
    )
    shown_scale = _shown_scale(operator, left, right, more_digits)
    if operator == "/":
        zero = Decimal(0).scaleb(-shown_scale)

        def divided(one: Decimal, other: Decimal) -> Decimal:
            whole = EXACT.divide_int(EXACT.scaleb(one, scale), other)
            return EXACT.scaleb(whole, -scale) if one else zero

        evaluate = _by_divisor(divided, left.evaluate, right.evaluate)
    elif operator == "%":
        evaluate = _by_divisor(EXACT.remainder, left.evaluate, right.evaluate)
    else:
        compute = {"+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply}[operator]
        evaluate = _of_both(lambda one, other, context: compute(one, other), left.evaluate, right.evaluate)
    too_fine = operator == "*" and left.scale + right.scale > MAX_SCALE

    def checked(number: Decimal) -> Decimal:
        if number.copy_abs() >= MOST:
            raise out_of_range("DECIMAL", shown)
        if too_fine:
            number = numbers.quantize(number, MAX_SCALE)
        return number or number.copy_abs()

    digits = _most_digits(operator, left, right)
    return Expression(
        apply(checked, evaluate),
        "decimal",
        scale=scale,
        digits=digits,
        shown_scale=None if shown_scale == scale else shown_scale,
    )


def _most_digits(operator: str, left: Expression, right: Expression) -> int:
    """Return the most digits that a result has, 0 if they are not known."""
    if not left.digits or not right.digits or operator not in "+-*":
        return 0
    if operator == "*":
        return left.digits + right.digits
    return max(left.digits - left.scale, right.digits - right.scale) + max(left.scale, right.scale) + 1


def _shown_scale(operator: str, left: Expression, right: Expression, more_digits: int) -> int:
    """Return the digits behind the point that clients are shown (pkg/types/mydecimal.go, resultFrac)."""
    first, second = (value.digits_shown for value in (left, right))
    if operator == "/":
        return min(first + more_digits, MAX_SCALE)
    return min(first + second, MAX_SCALE) if operator == "*" else max(first, second)


def _quotient_scale(left: Expression, right: Expression, more_digits: int) -> int:
    """Return the digits behind the point of a quotient: whole words (pkg/types/mydecimal.go, DecimalDiv)."""
    before, after = (-(-value.scale // WORD) * WORD for value in (left, right))
    more = max(0, more_digits - (before - left.scale) - (after - right.scale))
    return min(-(-(before + after + more) // WORD) * WORD, MAX_SCALE)


# -- negation ----------------------------------------------------------------------------------------------------------


def negate(value: Expression) -> Expression:
    if value.kind == "null":
        return value
    number = as_number(value)
    constant = None if value.constant is None or value.kind == "string" else _opposite(value.constant, number.kind)
    shown = None if constant is None or number.kind == "real" else fixed(constant)
    if number.kind == "real":
        if constant and constant.startswith("-"):
            shown = apply(lambda text: f"-{text}", value.text or apply(real_text, number.evaluate))
        return Expression(apply(operators.neg, number.evaluate), "real", constant=constant, text=shown)
    if number.kind in ("int", "uint") and (constant is None or -(2**63) <= int(constant) < 2**63):
        name = f"-{display_name(value)}"
        opposite = apply(operators.neg, number.evaluate)
        evaluate = opposite if constant is not None else check_range(opposite, "int", name)
        return Expression(evaluate, "int", constant=constant, text=shown, display_name=name)
    number = as_decimal(number)
    return Expression(
        apply(EXACT.minus, number.evaluate),
        "decimal",
        constant=constant,
        text=shown,
        scale=number.scale,
        digits=number.digits,
        shown_scale=number.shown_scale,
    )


def _opposite(number: str, kind: str) -> str:
    if kind != "real" and not number.strip("-0."):
        return number.lstrip("-")
    return number[1:] if number.startswith("-") else f"-{number}"


# -- bits --------------------------------------------------------------------------------------------------------------


def as_bits(value: Expression) -> Evaluate:
    """Return the 64 bits of the value as an unsigned number."""
    kind = "uint" if as_number(value).kind == "uint" else "int"
    evaluate = integer_value(value, kind).evaluate
    return evaluate if kind == "uint" else apply(lambda number: bits(number, "uint"), evaluate)


def _bit_operator(compute: Callable[[int, int], int]) -> Callable[[Expression, Expression], Expression]:
    def operation(left: Expression, right: Expression) -> Expression:
        return Expression(
            _of_both(lambda one, other, context: compute(one, other), as_bits(left), as_bits(right)), "uint"
        )

    return operation


def _shift(compute: Callable[[int, int], int]) -> Callable[[Expression, Expression], Expression]:
    def operation(value: Expression, places: Expression) -> Expression:
        def shifted(number: int, count: int, context: Context) -> int:
            return compute(number, count) & MASK if 0 <= count < 64 else 0

        return Expression(_of_both(shifted, as_bits(value), as_integer(places)), "uint")

    return operation


_BIT_OPERATORS: dict[str, Callable[[Expression, Expression], Expression]] = {
    "&": _bit_operator(operators.and_),
    "|": _bit_operator(operators.or_),
    "^": _bit_operator(operators.xor),
    "<<": _shift(operators.lshift),
    ">>": _shift(operators.rshift),
}
