"""Raw values of the commonest expressions, cell by cell and without a query: columns, literals, sums and products of
exact numbers, texts put together.

One law: what is read here is what the evaluator of expressions gives for the same cells; the rest is Unknown and goes
there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from functools import lru_cache, partial
from typing import NamedTuple, NoReturn

import pyarrow as pa

from simulator.tidb.expressions.trees import bare
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import INTEGER_BITS, family, is_binary, is_text
from simulator.tidb.syntax.expressions import Binary, Call, ColumnName, Literal, Node, Unary, names_in
from simulator.tidb.syntax.rows import InsertedValue
from simulator.tidb.upstream.literals import Raw, Unknown, raw_literal

FEW = 16
"""Rows up to which cells are computed so."""

Named = Callable[[Node], Column]
"""The column that a name or VALUES(name) means, whose cells are stored. Raises Unknown."""

Read = Callable[[Node], Raw]
"""Its cell in a row."""

Cells = Callable[[Node], "pa.Array | pa.ChunkedArray"]
"""Its cells, TiDB text."""

MOST_DIGITS = 27
"""Of a decimal."""

WIDE = Context(prec=2 * MOST_DIGITS)

NUMBERS, TEXTS = ("integer", "decimal", "float"), ("string", "text")
"""Families of types."""


class Number(NamedTuple):
    value: Decimal
    scale: int
    """Digits behind its point; 0 for whole numbers."""

    whole: bool
    unsigned: bool = False


def several(
    nodes: Sequence[Node], columns: Sequence[Column | None], named: Named, cells: Cells, rows: int
) -> list[pa.Array]:
    """Raw values of expressions, each for the column that takes it. Raises Unknown."""
    return [_over_rows(node, column, named, cells, rows) for node, column in zip(nodes, columns, strict=True)]


def _over_rows(node: Node, column: Column | None, named: Named, cells: Cells, rows: int) -> pa.Array:
    if column is None:
        raise Unknown
    if not any(names_in(node)):
        return repeated(plain(node, column), rows)
    if not 0 < rows <= FEW:
        raise Unknown
    held: dict[Node, list[Raw]] = {}

    def cell(name: Node, row: int) -> Raw:
        if name not in held:
            held[name] = [value if value is None or isinstance(value, bytes) else value.encode()
                          for value in cells(name).to_pylist()]
        return held[name][row]

    return pa.array([plain(node, column, named, partial(cell, row=row)) for row in range(rows)], pa.binary())


def _nothing(node: Node) -> NoReturn:
    raise Unknown


def repeated(value: Raw, rows: int) -> pa.Array:
    """A raw value for each row."""
    return pa.nulls(rows, pa.binary()) if value is None else pa.array([value] * rows, pa.binary())


def plain(node: Node, column: Column, named: Named = _nothing, read: Read = _nothing) -> Raw:
    """A raw value for a column. Raises Unknown."""
    node, kind = bare(node), family(column.type)
    if isinstance(node, (ColumnName, InsertedValue)):
        return _of_column(node, kind, named, read)
    if isinstance(node, Binary) and kind in (*NUMBERS, *TEXTS):
        number = _number(node, named, read)
        return None if number is None else _printed(number).encode()
    if isinstance(node, Call) and node.name == "CONCAT" and not node.schema and node.arguments and kind in TEXTS:
        pieces = [_text(argument, named, read) for argument in node.arguments]
        return None if None in pieces else "".join(piece or "" for piece in pieces).encode()
    return raw_literal(node, column)


def _of_column(node: Node, kind: str, named: Named, read: Read) -> Raw:
    type = named(node).type
    if family(type) == "integer" and kind in (*NUMBERS, *TEXTS) or family(type) == "decimal" and kind in (
            "decimal", "float", *TEXTS):
        return read(node)
    if not is_text(type) or is_binary(type) or kind not in TEXTS:
        raise Unknown
    return _checked(read(node))


def _checked(cell: Raw) -> Raw:
    """A cell that is text."""
    if cell is not None:
        try:
            cell.decode()
        except UnicodeDecodeError:
            raise Unknown from None
    return cell


def _text(node: Node, named: Named, read: Read) -> str | None:
    """A part of CONCAT."""
    node = bare(node)
    if isinstance(node, Literal) and (
            node.kind == "string" and node.charset in ("", "utf8mb4") or node.kind == "integer"):
        return node.text
    if not isinstance(node, (ColumnName, InsertedValue)):
        raise Unknown
    cell = _of_column(node, "text", named, read)
    return None if cell is None else cell.decode()


# -- exact numbers -----------------------------------------------------------------------------------------------------


def _number(node: Node, named: Named, read: Read) -> Number | None:
    """An exact number; None for NULL."""
    node = bare(node)
    if isinstance(node, Literal):
        if node.kind not in ("integer", "decimal"):
            raise Unknown
        return _of_text(node.text, node.kind == "integer")
    if isinstance(node, Unary) and node.operator == "-":
        if not isinstance(node.operand, Literal):
            raise Unknown
        number = _number(node.operand, named, read)
        return number and number._replace(value=WIDE.subtract(Decimal(0), number.value))
    if isinstance(node, (ColumnName, InsertedValue)):
        type = named(node).type
        if type.name not in (*INTEGER_BITS, "decimal"):
            raise Unknown
        cell = read(node)
        return None if cell is None else _of_text(cell.decode(), type.name != "decimal", type.unsigned)
    if isinstance(node, Binary) and node.operator in ("+", "-", "*"):
        left, right = _number(node.left, named, read), _number(node.right, named, read)
        return None if left is None or right is None else _calculated(node.operator, left, right)
    raise Unknown


@lru_cache(1024)
def _of_text(shown: str, whole: bool, unsigned: bool = False) -> Number:
    fraction = shown.partition(".")[2]
    if len(shown) > MOST_DIGITS or whole and len(shown) > 19:
        raise Unknown
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
    """A number that surely fits. Raises Unknown."""
    if number.whole and (not -2 ** 63 <= number.value < 2 ** 63 or number.unsigned and number.value < 0):
        raise Unknown
    if len(number.value.as_tuple().digits) + number.scale > MOST_DIGITS:
        raise Unknown
    return number


def _printed(number: Number) -> str:
    return f"{WIDE.add(number.value, Decimal(0)):.{number.scale}f}"
