"""The commonest WHERE without any query: columns of one table that are compared with literals.

One law: it evaluation only where the cells tell as much as the evaluator of expressions would; for anything else it gives
no answer, and the whole condition goes there.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import raw
from simulator.tidb.collations import compare
from simulator.tidb.expressions.sql.evaluate import as_valid_utf8
from simulator.tidb.expressions.trees import strip_parentheses
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import INTEGER_BITS, ColumnType, is_binary, is_text
from simulator.tidb.sql_engine.queries.simple_values import NotSimple, ResolveColumn
from simulator.tidb.syntax.expressions import Between, Binary, ColumnName, In, Is, Literal, Node, Unary

INTEGER = re.compile(r"[0-9]{1,18}")
KERNELS = {"<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal}
MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
REPLACEMENT = "\ufffd"
"""What the evaluator sees in the place of bytes that are no text."""


class Condition(NamedTuple):
    """What a column has to be."""

    column: Column
    operator: str
    """`=` for one of the texts, `NULL`, `NOT NULL`, or an order with regard to the only one."""

    texts: tuple[str, ...] = ()


def parse_conditions(where: Node | None, named: ResolveColumn) -> list[Condition]:
    """What WHERE asks of every column that it names. Raises NotSimple."""
    found: list[Condition] = []
    waiting = [] if where is None else [strip_parentheses(where)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Binary) and node.operator == "AND":
            waiting += [strip_parentheses(node.left), strip_parentheses(node.right)]
        elif isinstance(node, Binary) and node.operator in MIRRORED:
            found.append(_comparison(node.operator, strip_parentheses(node.left), strip_parentheses(node.right), named))
        elif isinstance(node, Between) and not node.negated:
            found += [
                _comparison(">=", strip_parentheses(node.operand), strip_parentheses(node.low), named),
                _comparison("<=", strip_parentheses(node.operand), strip_parentheses(node.high), named),
            ]
        elif isinstance(node, In) and not node.negated:
            column = _simple_column(strip_parentheses(node.operand), named)
            found.append(
                Condition(
                    column, "=", tuple(_literal_text(strip_parentheses(each), column.type) for each in node.candidates)
                )
            )
        elif isinstance(node, Is) and node.test == "NULL":
            found.append(
                Condition(
                    _simple_column(strip_parentheses(node.operand), named), "NOT NULL" if node.negated else "NULL"
                )
            )
        else:
            raise NotSimple
    return found


def _comparison(operator: str, left: Node, right: Node, named: ResolveColumn) -> Condition:
    if isinstance(right, ColumnName):
        left, right, operator = right, left, MIRRORED[operator]
    column = _simple_column(left, named)
    if operator != "=" and (column.type.name not in INTEGER_BITS or _is_large(column.type)):
        raise NotSimple
    return Condition(column, operator, (_literal_text(right, column.type),))


def _is_large(type: ColumnType) -> bool:
    return type.name == "bigint" and type.unsigned


def _simple_column(node: Node, named: ResolveColumn) -> Column:
    if not isinstance(node, ColumnName):
        raise NotSimple
    column = named(node)
    if not is_text(column.type) and column.type.name not in INTEGER_BITS:
        raise NotSimple
    return column


def _literal_text(node: Node, type: ColumnType) -> str:
    """The text of the cells that equal a literal."""
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


def matching_places(found: Sequence[Condition], cells: pa.Table) -> pa.Array:
    """int64 places of the rows that meet all conditions."""
    if not found:
        return pa.array(np.arange(cells.num_rows))
    masks = [_mask(each, cells.column(each.column.name)) for each in found]
    return pc.indices_nonzero(pc.fill_null(functools.reduce(pc.and_, masks), False)).cast(pa.int64())


def _mask(condition: Condition, held: pa.ChunkedArray) -> pa.Array:
    type, operator = condition.column.type, condition.operator
    if operator in ("NULL", "NOT NULL"):
        return (pc.is_null if operator == "NULL" else pc.is_valid)(held)
    if not is_text(type) and (operator in KERNELS or type.zerofill):
        numbers = held.cast(pa.string()).cast(pa.uint64() if _is_large(type) else pa.int64())
        wanted = [int(text) for text in condition.texts]
        if operator in KERNELS:
            return KERNELS[operator](numbers, wanted[0])
        return pc.is_in(numbers, value_set=pa.array([each for each in wanted if each >= 0], numbers.type))
    texts = pa.array(np.array([text.encode() for text in condition.texts], object), pa.binary())
    if is_text(type):
        held, texts = _comparable(type.collation, held.combine_chunks()), _comparable(type.collation, texts)
    return pc.equal(held, texts[0]) if len(texts) == 1 else pc.and_(pc.is_in(held, value_set=texts), pc.is_valid(held))


def _comparable(collation: str, texts: pa.Array) -> pa.Array:
    """Texts in the form in which a collation compares them."""
    if compare.is_weighed(collation):
        return raw(compare.sortable(collation, as_valid_utf8(texts)))
    return raw(compare.padded(texts)) if compare.pads(collation) else raw(texts)
