"""Values of literals and columns, and comparisons of columns with literals, computed without a query: most of what
INSERT, UPDATE and DELETE need.

The evaluator of expressions gives the same values. It computes whatever raises NotSimple here.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import raw
from simulator.tidb.collations import compare
from simulator.tidb.datums.kinds import DATUMS, Datum, cell_datum, datums, datums_of
from simulator.tidb.expressions.sql.evaluate import as_valid_utf8
from simulator.tidb.expressions.trees import conjuncts, strip_parentheses
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import INTEGER_BITS, ColumnType, is_binary, is_text
from simulator.tidb.syntax.dml import InsertedValue
from simulator.tidb.syntax.expressions import Between, Binary, ColumnName, In, Is, Literal, Node, Parenthesised, Unary

MAX_ROWS = 16
"""A column of more rows is read by the evaluator."""

MAX_DIGITS, MAX_SCALE = 65, 30
"""Limits of a decimal literal."""

ResolveColumn = Callable[[Node], Column]
"""Returns the stored column that a name or VALUES(name) means. Raises NotSimple."""

ReadColumn = Callable[[Node], "pa.Array | pa.ChunkedArray"]
"""Returns the cells of that column as TiDB text."""

_TIMES = {
    "date": re.compile(r"\d{4}-\d\d-\d\d", re.ASCII),
    "timestamp": re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?", re.ASCII),
    "time": re.compile(r"-?\d{2,3}:\d\d:\d\d(\.\d{1,6})?", re.ASCII),
}
"""Time literals that are written as TiDB prints them."""


class NotSimple(Exception):
    """The value or condition has to be computed by the evaluator of expressions."""


def simple_columns(
    nodes: Sequence[Node], columns: Sequence[Column | None], resolve: ResolveColumn, read: ReadColumn, rows: int
) -> list[pa.Array]:
    """Return the datums of expressions, each for the column that takes it. Raises NotSimple."""
    return [_simple_column(node, column, resolve, read, rows) for node, column in zip(nodes, columns, strict=True)]


def _simple_column(node: Node, column: Column | None, resolve: ResolveColumn, read: ReadColumn, rows: int) -> pa.Array:
    if column is None:
        raise NotSimple
    node = strip_parentheses(node)
    if not isinstance(node, (ColumnName, InsertedValue)):
        return _repeat(literal_datum(node), rows)
    type = resolve(node).type
    if type.name == "timestamp" or not 0 < rows <= MAX_ROWS:
        raise NotSimple
    cells = read(node).cast(pa.binary()).to_pylist()
    return datums_of(None if cell is None else cell_datum(type, cell) for cell in cells)


def _repeat(value: Datum | None, rows: int) -> pa.Array:
    if value is None:
        return pa.nulls(rows, DATUMS)
    return datums(value.kind, pa.repeat(pa.scalar(value.body, pa.binary()), rows))


def literal_datum(node: Node) -> Datum | None:
    """Return the value of a literal, or of a number with a sign; None for NULL. Raises NotSimple."""
    sign = ""
    while isinstance(node, (Parenthesised, Unary)):
        if isinstance(node, Unary):
            if node.operator not in ("-", "+") or sign and node.operator == "-":
                raise NotSimple
            sign = "-" if node.operator == "-" else sign
            node = node.operand
            if not isinstance(node, Literal) or node.kind not in ("integer", "decimal", "float"):
                raise NotSimple
        else:
            node = node.inner
    if not isinstance(node, Literal):
        raise NotSimple
    if node.kind == "null":
        return None
    if node.kind == "string":
        if node.charset not in ("", "utf8mb4", "utf8", "binary"):
            raise NotSimple
        return Datum("bytes" if node.charset == "binary" else "string", node.text.encode())
    if node.kind == "boolean":
        return Datum("int", b"1" if node.text == "TRUE" else b"0")
    if node.kind in ("hex", "bit"):
        return Datum("literal", _literal_bytes(node))
    if node.kind in _TIMES:
        if not _TIMES[node.kind].fullmatch(node.text):
            raise NotSimple
        return Datum("datetime" if node.kind == "timestamp" else node.kind, node.text.encode())
    return _number_datum(sign + node.text, node.kind)


def _number_datum(text: str, kind: str) -> Datum:
    if kind == "float":
        number = float(text)
        if math.isinf(number):
            raise NotSimple
        return Datum("double", repr(number).encode())
    if kind == "integer" and -(2**63) <= int(text) < 2**64:
        return Datum("int" if int(text) < 2**63 else "uint", str(int(text)).encode())
    whole, _, fraction = text.lstrip("+-").partition(".")
    if len(whole) + len(fraction) > MAX_DIGITS or len(fraction) > MAX_SCALE:
        raise NotSimple
    value = Decimal(text)
    return Datum("decimal", f"{value if value else abs(value):f}".encode())


def _literal_bytes(node: Literal) -> bytes:
    base, digits_per_byte = (2, 8) if node.kind == "bit" else (16, 2)
    size = (len(node.text) + digits_per_byte - 1) // digits_per_byte
    return int(node.text or "0", base).to_bytes(size, "big")


INTEGER = re.compile(r"[0-9]{1,18}")
KERNELS = {"<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal}
MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
REPLACEMENT = "\ufffd"
"""The evaluator reads invalid UTF-8 as this character."""


class Condition(NamedTuple):
    """A condition on one column."""

    column: Column
    operator: str
    """`=` for one of the texts, `NULL`, `NOT NULL`, or an order relative to the only text."""

    texts: tuple[str, ...] = ()


def parse_conditions(where: Node | None, resolve: ResolveColumn) -> list[Condition]:
    """Return the conditions that WHERE joins by AND. Raises NotSimple."""
    parsed: list[Condition] = []
    for node in conjuncts(where):
        if isinstance(node, Binary) and node.operator in MIRRORED:
            parsed.append(
                _comparison(node.operator, strip_parentheses(node.left), strip_parentheses(node.right), resolve)
            )
        elif isinstance(node, Between) and not node.negated:
            parsed += [
                _comparison(">=", strip_parentheses(node.operand), strip_parentheses(node.low), resolve),
                _comparison("<=", strip_parentheses(node.operand), strip_parentheses(node.high), resolve),
            ]
        elif isinstance(node, In) and not node.negated:
            column = _condition_column(strip_parentheses(node.operand), resolve)
            parsed.append(
                Condition(
                    column, "=", tuple(_literal_text(strip_parentheses(each), column.type) for each in node.candidates)
                )
            )
        elif isinstance(node, Is) and node.test == "NULL":
            parsed.append(
                Condition(
                    _condition_column(strip_parentheses(node.operand), resolve), "NOT NULL" if node.negated else "NULL"
                )
            )
        else:
            raise NotSimple
    return parsed


def _comparison(operator: str, left: Node, right: Node, resolve: ResolveColumn) -> Condition:
    if isinstance(right, ColumnName):
        left, right, operator = right, left, MIRRORED[operator]
    column = _condition_column(left, resolve)
    if operator != "=" and (column.type.name not in INTEGER_BITS or _is_large(column.type)):
        raise NotSimple
    return Condition(column, operator, (_literal_text(right, column.type),))


def _is_large(type: ColumnType) -> bool:
    return type.name == "bigint" and type.unsigned


def _condition_column(node: Node, resolve: ResolveColumn) -> Column:
    if not isinstance(node, ColumnName):
        raise NotSimple
    column = resolve(node)
    if not is_text(column.type) and column.type.name not in INTEGER_BITS:
        raise NotSimple
    return column


def _literal_text(node: Node, type: ColumnType) -> str:
    """Return the text of the cells that equal a literal."""
    sign = ""
    if isinstance(node, Unary) and node.operator == "-":
        sign, node = "-", strip_parentheses(node.operand)
    if not isinstance(node, Literal):
        raise NotSimple
    if not is_text(type):
        if node.kind != "integer" and (node.kind != "string" or sign) or not INTEGER.fullmatch(node.text):
            raise NotSimple
        return str(int(sign + node.text))
    if node.kind != "string" or sign or node.charset not in ("", "utf8mb4") or REPLACEMENT in node.text:
        raise NotSimple
    if is_binary(type) and not node.text.isascii():
        raise NotSimple
    return node.text


def matching_places(conditions: Sequence[Condition], cells: pa.Table) -> pa.Array:
    """Return the int64 positions of the rows that meet all conditions."""
    if not conditions:
        return pa.array(np.arange(cells.num_rows))
    masks = [_mask(each, cells.column(each.column.name)) for each in conditions]
    return pc.indices_nonzero(pc.fill_null(functools.reduce(pc.and_, masks), False)).cast(pa.int64())


def _mask(condition: Condition, cells: pa.ChunkedArray) -> pa.Array:
    type, operator = condition.column.type, condition.operator
    if operator in ("NULL", "NOT NULL"):
        return (pc.is_null if operator == "NULL" else pc.is_valid)(cells)
    if not is_text(type) and (operator in KERNELS or type.zerofill):
        numbers = cells.cast(pa.string()).cast(pa.uint64() if _is_large(type) else pa.int64())
        numbers_compared = [int(text) for text in condition.texts]
        if operator in KERNELS:
            return KERNELS[operator](numbers, numbers_compared[0])
        return pc.is_in(numbers, value_set=pa.array([each for each in numbers_compared if each >= 0], numbers.type))
    texts = pa.array(np.array([text.encode() for text in condition.texts], object), pa.binary())
    if is_text(type):
        cells, texts = _comparable(type.collation, cells.combine_chunks()), _comparable(type.collation, texts)
    return (
        pc.equal(cells, texts[0]) if len(texts) == 1 else pc.and_(pc.is_in(cells, value_set=texts), pc.is_valid(cells))
    )


def _comparable(collation: str, texts: pa.Array) -> pa.Array:
    """Return texts in the form in which a collation compares them."""
    if compare.has_weights(collation):
        return raw(compare.sort_keys(collation, as_valid_utf8(texts)))
    return raw(compare.padded(texts)) if compare.pads_spaces(collation) else raw(texts)
