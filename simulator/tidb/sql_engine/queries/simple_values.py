"""Values of simple expressions, and comparisons of columns with literals, computed without a query: most of what
INSERT, UPDATE and DELETE need.

The evaluator of expressions gives the same values. It computes whatever raises NotSimple here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import raw
from simulator.tidb.collations import compare
from simulator.tidb.datums.kinds import DATUMS, Datum, datums, datums_of
from simulator.tidb.expressions.sql.evaluate import as_valid_utf8
from simulator.tidb.expressions.trees import conjuncts, strip_parentheses
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import INTEGER_BITS, ColumnType, is_binary, is_text
from simulator.tidb.sql_engine.queries.literals import NotSimple
from simulator.tidb.sql_engine.queries.simple_expressions import ResolveColumn, expression_datum
from simulator.tidb.syntax.expressions import Between, Binary, ColumnName, In, Is, Literal, Node, Unary, names_in

MAX_ROWS = 16
"""A column of more rows is read by the evaluator."""

ReadColumn = Callable[[Node], "pa.Array | pa.ChunkedArray"]
"""Returns the cells of that column as TiDB text."""


def simple_columns(
    nodes: Sequence[Node], columns: Sequence[Column | None], resolve: ResolveColumn, read: ReadColumn, rows: int
) -> list[pa.Array]:
    """Return the datums of expressions, each for the column that takes it. Raises NotSimple."""
    return [_simple_column(node, column, resolve, read, rows) for node, column in zip(nodes, columns, strict=True)]


def _simple_column(node: Node, column: Column | None, resolve: ResolveColumn, read: ReadColumn, rows: int) -> pa.Array:
    if column is None:
        raise NotSimple
    node = strip_parentheses(node)
    if not any(names_in(node)):
        return _repeat(expression_datum(node, resolve, lambda name: None), rows)
    if not 0 < rows <= MAX_ROWS:
        raise NotSimple
    cells: dict[Node, list[bytes | None]] = {}

    def read_cell(name: Node, row: int) -> bytes | None:
        if name not in cells:
            cells[name] = read(name).cast(pa.binary()).to_pylist()
        return cells[name][row]

    return datums_of(expression_datum(node, resolve, partial(read_cell, row=row)) for row in range(rows))


def _repeat(value: Datum | None, rows: int) -> pa.Array:
    if value is None:
        return pa.nulls(rows, DATUMS)
    return datums(value.kind, pa.repeat(pa.scalar(value.body, pa.binary()), rows))


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


def matching_places(conditions: Sequence[Condition], cells: Mapping[str, pa.Array], rows: int) -> pa.Array:
    """Return the int64 positions of the rows that meet all conditions, by the cells of their columns."""
    if not conditions:
        return pa.array(np.arange(rows))
    masks = [_mask(each, cells[each.column.name]) for each in conditions]
    return pc.indices_nonzero(pc.fill_null(reduce(pc.and_, masks), False)).cast(pa.int64())


def _mask(condition: Condition, cells: pa.Array) -> pa.Array:
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
        cells, texts = _comparable(type.collation, cells), _comparable(type.collation, texts)
    return (
        pc.equal(cells, texts[0]) if len(texts) == 1 else pc.and_(pc.is_in(cells, value_set=texts), pc.is_valid(cells))
    )


def _comparable(collation: str, texts: pa.Array) -> pa.Array:
    """Return texts in the form in which a collation compares them."""
    if compare.has_weights(collation):
        return raw(compare.sort_keys(collation, as_valid_utf8(texts)))
    return raw(compare.padded(texts)) if compare.pads_spaces(collation) else raw(texts)
