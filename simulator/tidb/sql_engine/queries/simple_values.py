"""Datums of the commonest expressions, one by one and without a query: columns, literals, sums and products of exact
numbers, texts put together.

What is read here is what the evaluator of expressions gives for the same cells; the rest is NotSimple and goes there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from functools import lru_cache, partial
from typing import NamedTuple, NoReturn

import pyarrow as pa

from simulator.tidb.datums.kinds import DATUMS, Datum, cell_datum, datums, each
from simulator.tidb.expressions.trees import strip_parentheses
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import INTEGER_BITS, family, is_text
from simulator.tidb.sql_engine.queries.literals import NotSimple, literal_datum
from simulator.tidb.syntax.dml import InsertedValue
from simulator.tidb.syntax.expressions import Binary, Call, ColumnName, Literal, Node, Unary, names_in

MAX_ROWS = 16
"""Rows up to which cells are computed so."""

ResolveColumn = Callable[[Node], Column]
"""The column that a name or VALUES(name) means, whose cells are stored. Raises NotSimple."""

Cell = bytes | None
ReadCell = Callable[[Node], Cell]
"""Its cell in a row, TiDB text."""

ReadColumn = Callable[[Node], "pa.Array | pa.ChunkedArray"]
"""Its cells, TiDB text."""

MOST_DIGITS = 27
"""Of a decimal."""

WIDE = Context(prec=2 * MOST_DIGITS)

PLAIN = ("utf8mb4", "utf8", "utf8mb3", "ascii", "latin1")
"""Charsets of texts that are put together here."""


class Number(NamedTuple):
    value: Decimal
    scale: int
    """Digits behind its point; 0 for whole numbers."""

    whole: bool
    unsigned: bool = False


def simple_columns(
    nodes: Sequence[Node], columns: Sequence[Column | None], named: ResolveColumn, cells: ReadColumn, rows: int
) -> list[pa.Array]:
    """Datums of expressions, each for the column that takes it. Raises NotSimple."""
    return [_simple_column(node, column, named, cells, rows) for node, column in zip(nodes, columns, strict=True)]


def _simple_column(node: Node, column: Column | None, named: ResolveColumn, cells: ReadColumn, rows: int) -> pa.Array:
    if column is None:
        raise NotSimple
    if not any(names_in(node)):
        return repeat_datum(simple_value(node), rows)
    if not 0 < rows <= MAX_ROWS:
        raise NotSimple
    held: dict[Node, list[Cell]] = {}

    def cell(name: Node, row: int) -> Cell:
        if name not in held:
            held[name] = [
                value if value is None or isinstance(value, bytes) else value.encode()
                for value in cells(name).to_pylist()
            ]
        return held[name][row]

    return each(simple_value(node, named, partial(cell, row=row)) for row in range(rows))


def _refuse(node: Node) -> NoReturn:
    raise NotSimple


def repeat_datum(value: Datum | None, rows: int) -> pa.Array:
    """A datum for each row."""
    if value is None:
        return pa.nulls(rows, DATUMS)
    return datums(value.kind, pa.repeat(pa.scalar(value.body, pa.binary()), rows))


def simple_value(node: Node, named: ResolveColumn = _refuse, read: ReadCell = _refuse) -> Datum | None:
    """The value of an expression; None for NULL. Raises NotSimple."""
    node = strip_parentheses(node)
    if isinstance(node, (ColumnName, InsertedValue)):
        return _of_column(node, named, read)
    if isinstance(node, Binary):
        number = _number(node, named, read)
        return None if number is None else _datum(number)
    if isinstance(node, Call) and node.name == "CONCAT" and not node.schema and node.arguments:
        pieces = [_text(argument, named, read) for argument in node.arguments]
        return None if None in pieces else Datum("string", "".join(piece or "" for piece in pieces).encode())
    return literal_datum(node)


def _datum(number: Number) -> Datum:
    kind = "decimal" if not number.whole else "uint" if number.unsigned else "int"
    return Datum(kind, _printed(number).encode())


def _of_column(node: Node, named: ResolveColumn, read: ReadCell) -> Datum | None:
    type = named(node).type
    if type.name == "timestamp":
        raise NotSimple
    cell = read(node)
    return None if cell is None else cell_datum(type, cell)


def _text(node: Node, named: ResolveColumn, read: ReadCell) -> str | None:
    """A part of CONCAT."""
    node = strip_parentheses(node)
    if isinstance(node, Literal) and (
        node.kind == "string" and node.charset in ("", "utf8mb4") or node.kind == "integer"
    ):
        return node.text
    if not isinstance(node, (ColumnName, InsertedValue)):
        raise NotSimple
    type = named(node).type
    if family(type) not in ("integer", "decimal") and not (is_text(type) and type.charset in PLAIN):
        raise NotSimple
    cell = read(node)
    try:
        return None if cell is None else cell.decode()
    except UnicodeDecodeError:
        raise NotSimple from None


# -- exact numbers -----------------------------------------------------------------------------------------------------


def _number(node: Node, named: ResolveColumn, read: ReadCell) -> Number | None:
    """An exact number; None for NULL."""
    node = strip_parentheses(node)
    if isinstance(node, Literal):
        if node.kind not in ("integer", "decimal"):
            raise NotSimple
        return _of_text(node.text, node.kind == "integer")
    if isinstance(node, Unary) and node.operator == "-":
        if not isinstance(node.operand, Literal):
            raise NotSimple
        number = _number(node.operand, named, read)
        return number and number._replace(value=WIDE.subtract(Decimal(0), number.value))
    if isinstance(node, (ColumnName, InsertedValue)):
        type = named(node).type
        if type.name not in (*INTEGER_BITS, "decimal"):
            raise NotSimple
        cell = read(node)
        return None if cell is None else _of_text(cell.decode(), type.name != "decimal", type.unsigned)
    if isinstance(node, Binary) and node.operator in ("+", "-", "*"):
        left, right = _number(node.left, named, read), _number(node.right, named, read)
        return None if left is None or right is None else _calculated(node.operator, left, right)
    raise NotSimple


@lru_cache(1024)
def _of_text(shown: str, whole: bool, unsigned: bool = False) -> Number:
    fraction = shown.partition(".")[2]
    if len(shown) > MOST_DIGITS or whole and len(shown) > 19:
        raise NotSimple
    return _within(Number(Decimal(shown), len(fraction), whole, unsigned))


def _calculated(operator: str, left: Number, right: Number) -> Number:
    whole, unsigned = left.whole and right.whole, left.unsigned or right.unsigned
    if operator == "*":
        found, scale = WIDE.multiply(left.value, right.value), left.scale + right.scale
    else:
        found = (WIDE.add if operator == "+" else WIDE.subtract)(left.value, right.value)
        scale = max(left.scale, right.scale)
    return _within(Number(found, scale, whole, unsigned))


def _within(number: Number) -> Number:
    """A number that surely fits. Raises NotSimple."""
    if number.whole and (not -(2**63) <= number.value < 2**63 or number.unsigned and number.value < 0):
        raise NotSimple
    if len(number.value.as_tuple().digits) + number.scale > MOST_DIGITS:
        raise NotSimple
    return number


def _printed(number: Number) -> str:
    return f"{WIDE.add(number.value, Decimal(0)):.{number.scale}f}"
