"""Decimals of more digits than DuckDB's: texts, computed by Python's decimal module.

TiDB's decimals have up to 65 digits, at most 30 of them behind the point (pkg/types/mydecimal.go).
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal

import pyarrow as pa

from simulator.tidb.expressions.sql.graph import Sql, sql, text
from simulator.tidb.values.kernels import map_distinct

MAX_DIGITS, MAX_INTEGER_DIGITS, MAX_SCALE = 65, 81, 30
"""Digits of a type; digits before the point of a result, which fill TiDB's nine words; digits behind the point."""
EXACT_CONTEXT = Context(prec=700)
"""More digits than a double has before and behind its point."""


def call(operation: str, *numbers: Sql) -> Sql:
    """Return an operation on texts of numbers, as text; null for a null operand or too many digits."""
    pieces = ("nullif(wide_number_of(", *(" || ' ' || " for _ in numbers), "), '')")
    return Sql(pieces, (text(operation), *numbers))


def sort_key(number: Sql) -> Sql:
    """Return a text that sorts as the number does."""
    return call("key", number)


def as_text(number: Sql) -> Sql:
    return sql("{}::VARCHAR", number)


def run_operations(cells: pa.Array) -> pa.Array:
    """Return the results of operations, written `operation number number`."""
    return map_distinct(cells, _result)


def _result(request: str) -> str | None:
    operation, *shown = request.split(" ")
    name, _, argument = operation.partition(":")
    numbers = [Decimal(number) for number in shown if number]
    if name == "key":
        return _key(numbers[0])
    result = OPERATIONS[name](numbers, int(argument or 0))
    if result is None or result.copy_abs() >= Decimal(10) ** MAX_INTEGER_DIGITS:
        return None
    return f"{result if result else result.copy_abs():f}"


def _key(number: Decimal) -> str:
    """Return the sign followed by all digits, inverted for negative numbers."""
    digits = f"{_rounded(number.copy_abs(), MAX_SCALE):f}".zfill(MAX_INTEGER_DIGITS + MAX_SCALE + 1)
    if not number or number > 0:
        return f"1{digits}"
    return "0" + digits.translate(str.maketrans("0123456789", "9876543210"))


def _rounded(number: Decimal, scale: int, rounding: str = ROUND_HALF_UP) -> Decimal:
    result = number.quantize(Decimal(1).scaleb(-scale), rounding, EXACT_CONTEXT)
    return result


def _quotient(numbers: list[Decimal], scale: int) -> Decimal | None:
    if not numbers[1]:
        return None
    return _rounded(EXACT_CONTEXT.divide(numbers[0], numbers[1]), scale, ROUND_DOWN)


def _remainder(numbers: list[Decimal], scale: int) -> Decimal | None:
    return EXACT_CONTEXT.remainder(numbers[0], numbers[1]) if numbers[1] else None


def _integer_quotient(numbers: list[Decimal], scale: int) -> Decimal | None:
    return EXACT_CONTEXT.divide_int(numbers[0], numbers[1]) if numbers[1] else None


def _cast(numbers: list[Decimal], sizes: int) -> Decimal:
    """Cast to a type whose digits times 100 plus scale are `sizes`, limited to its range."""
    digits, scale = divmod(sizes, 100)
    result = _rounded(numbers[0], scale)
    most = Decimal(10**digits - 1).scaleb(-scale)
    return max(min(result, most), -most)


OPERATIONS: dict[str, Callable[[list[Decimal], int], Decimal | None]] = {
    "+": lambda numbers, scale: EXACT_CONTEXT.add(*numbers),
    "-": lambda numbers, scale: EXACT_CONTEXT.subtract(*numbers),
    "*": lambda numbers, scale: _limit_scale(EXACT_CONTEXT.multiply(*numbers)),
    "/": _quotient,
    "%": _remainder,
    "DIV": _integer_quotient,
    "negative": lambda numbers, scale: numbers[0].copy_negate(),
    "abs": lambda numbers, scale: numbers[0].copy_abs(),
    "round": lambda numbers, scale: _rounded(numbers[0], scale),
    "trunc": lambda numbers, scale: _rounded(numbers[0], scale, ROUND_DOWN),
    "ceil": lambda numbers, scale: _rounded(numbers[0], 0, ROUND_CEILING),
    "floor": lambda numbers, scale: _rounded(numbers[0], 0, ROUND_FLOOR),
    "cast": _cast,
    "sum": lambda numbers, scale: _sum(numbers),
}
"""Operations by name; the number after a colon is the scale."""


def _limit_scale(number: Decimal) -> Decimal:
    exponent = number.as_tuple().exponent
    return _rounded(number, MAX_SCALE) if isinstance(exponent, int) and -exponent > MAX_SCALE else number


def _sum(numbers: list[Decimal]) -> Decimal:
    result = Decimal(0)
    for number in numbers:
        result = EXACT_CONTEXT.add(result, number)
    return result
