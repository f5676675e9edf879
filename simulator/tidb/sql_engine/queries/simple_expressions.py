"""Sums and products of exact numbers, and CONCAT, of a few rows, computed without a query: an embedded database takes
some milliseconds for each.

The evaluator of expressions gives the same values. It computes whatever raises NotSimple here.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal
from functools import lru_cache
from typing import NamedTuple

from simulator.tidb.datums.kinds import Datum, cell_datum
from simulator.tidb.expressions.trees import strip_parentheses
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import INTEGER_BITS, family, is_text
from simulator.tidb.sql_engine.queries.literals import NotSimple, literal_datum
from simulator.tidb.syntax.dml import InsertedValue
from simulator.tidb.syntax.expressions import Binary, Call, ColumnName, Literal, Node, Unary

ResolveColumn = Callable[[Node], Column]
"""Returns the stored column that a name or VALUES(name) means. Raises NotSimple."""

Cell = bytes | None

ReadCell = Callable[[Node], Cell]
"""Returns the cell of that column in the row, as TiDB text."""

MAX_DIGITS = 27
"""The most digits of a number."""

CONTEXT = Context(prec=2 * MAX_DIGITS)

CONCATENATED_CHARSETS = ("utf8mb4", "utf8", "utf8mb3", "ascii", "latin1")


class ExactNumber(NamedTuple):
    value: Decimal
    scale: int
    """The number of digits after the point; 0 for integers."""

    is_integer: bool
    unsigned: bool = False


def expression_datum(node: Node, resolve: ResolveColumn, read: ReadCell) -> Datum | None:
    """Return the value of an expression for one row; None for NULL. Raises NotSimple."""
    node = strip_parentheses(node)
    if isinstance(node, (ColumnName, InsertedValue)):
        type = resolve(node).type
        if type.name == "timestamp":
            raise NotSimple
        cell = read(node)
        return None if cell is None else cell_datum(type, cell)
    if isinstance(node, Binary):
        number = _number(node, resolve, read)
        return None if number is None else _number_datum(number)
    if isinstance(node, Call) and node.name == "CONCAT" and not node.schema and node.arguments:
        texts = [_text(argument, resolve, read) for argument in node.arguments]
        return None if None in texts else Datum("string", "".join(text or "" for text in texts).encode())
    return literal_datum(node)


def _number_datum(number: ExactNumber) -> Datum:
    kind = "decimal" if not number.is_integer else "uint" if number.unsigned else "int"
    return Datum(kind, f"{CONTEXT.add(number.value, Decimal(0)):.{number.scale}f}".encode())


def _text(node: Node, resolve: ResolveColumn, read: ReadCell) -> str | None:
    """Return an argument of CONCAT as text."""
    node = strip_parentheses(node)
    if isinstance(node, Literal) and (
        node.kind == "string" and node.charset in ("", "utf8mb4") or node.kind == "integer"
    ):
        return node.text
    if not isinstance(node, (ColumnName, InsertedValue)):
        raise NotSimple
    type = resolve(node).type
    if family(type) not in ("integer", "decimal") and not (is_text(type) and type.charset in CONCATENATED_CHARSETS):
        raise NotSimple
    cell = read(node)
    try:
        return None if cell is None else cell.decode()
    except UnicodeDecodeError:
        raise NotSimple from None


def _number(node: Node, resolve: ResolveColumn, read: ReadCell) -> ExactNumber | None:
    node = strip_parentheses(node)
    match node:
        case Literal(kind="integer" | "decimal"):
            return _parse_number(node.text, node.kind == "integer")
        case Unary(operator="-", operand=Literal()):
            number = _number(node.operand, resolve, read)
            return number and number._replace(value=CONTEXT.subtract(Decimal(0), number.value))
        case ColumnName() | InsertedValue():
            type = resolve(node).type
            if type.name not in (*INTEGER_BITS, "decimal"):
                raise NotSimple
            cell = read(node)
            return None if cell is None else _parse_number(cell.decode(), type.name != "decimal", type.unsigned)
        case Binary(operator="+" | "-" | "*"):
            left, right = _number(node.left, resolve, read), _number(node.right, resolve, read)
            return None if left is None or right is None else _calculate(node.operator, left, right)
        case _:
            raise NotSimple


@lru_cache(1024)
def _parse_number(text: str, is_integer: bool, unsigned: bool = False) -> ExactNumber:
    if len(text) > MAX_DIGITS or is_integer and len(text) > 19:
        raise NotSimple
    return _in_range(ExactNumber(Decimal(text), len(text.partition(".")[2]), is_integer, unsigned))


def _calculate(operator: str, left: ExactNumber, right: ExactNumber) -> ExactNumber:
    if operator == "*":
        value, scale = CONTEXT.multiply(left.value, right.value), left.scale + right.scale
    else:
        value = (CONTEXT.add if operator == "+" else CONTEXT.subtract)(left.value, right.value)
        scale = max(left.scale, right.scale)
    is_integer, unsigned = left.is_integer and right.is_integer, left.unsigned or right.unsigned
    return _in_range(ExactNumber(value, scale, is_integer, unsigned))


def _in_range(number: ExactNumber) -> ExactNumber:
    """Return a number that surely fits its type. Raises NotSimple."""
    if number.is_integer and (not -(2**63) <= number.value < 2**63 or number.unsigned and number.value < 0):
        raise NotSimple
    if len(number.value.as_tuple().digits) + number.scale > MAX_DIGITS:
        raise NotSimple
    return number
