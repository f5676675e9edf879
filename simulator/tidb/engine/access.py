"""How a table's rows are found by the conditions of a query: by handle, by a unique key, by a range of handles, or by a
scan (tidb pkg/planner/core/point_get_plan.go, pkg/util/ranger).

Conditions that a path decides are not evaluated, or evaluated for the rows that it finds only, so that their problems in
other rows do not occur.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from simulator.tidb import syntax
from simulator.tidb.engine.relation import Values
from simulator.tidb.engine.scope import Field, QueryScope
from simulator.tidb.expressions.trees import strip_parentheses, walk
from simulator.tidb.exprs.compile import compile_expression
from simulator.tidb.exprs.conversions import as_text
from simulator.tidb.exprs.expression import INTEGER_KINDS, Evaluate, Expression, Row, apply
from simulator.tidb.model.table import Column, IndexColumn, Table, row_id_column
from simulator.tidb.model.types import INTEGER_BITS, is_binary, is_text
from simulator.tidb.sql_engine.storage.row_keys import cached_by_table, columns_by_name
from simulator.tidb.sql_engine.storage.state import ROW_ID
from simulator.tidb.storage.row_keys import RowKey, encoder, entry_keys
from simulator.tidb.storage.rows import Handle
from simulator.tidb.storage.tables import StoredTable

if TYPE_CHECKING:
    from simulator.tidb.engine.context import StatementContext

MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
INTEGER = re.compile(r"-?\d{1,18}", re.ASCII)
MOST_KEYS = 1 << 16
"""Keys that are looked up one by one; more of them are a scan."""

Path = Callable[[Row, "StatementContext"], Iterator[Values]]
"""Returns rows of a table, given the row that the values of its keys depend on."""


class Comparison(NamedTuple):
    """A condition that compares a column of a table with values that do not depend on the table."""

    column: str
    """In lower case."""

    operator: str
    values: list[Expression]
    """Several for IN."""

    node: syntax.Node


class Access(NamedTuple):
    """A way to the rows of a table."""

    path: Path
    decided: Sequence[syntax.Node]
    """The conditions that are true for all rows of the path."""

    is_point: bool = True
    """Whether it looks up whole keys."""


def find_access(
    stored: StoredTable, ordinals: Sequence[int], comparisons: Sequence[Comparison], locks: bool = False
) -> Access | None:
    """Return the best access by conditions; None if there is none but a scan. `locks` is whether the statement locks what
    it reads, so that it locks keys that it does not find, too."""
    equal: dict[str, Comparison] = {}
    for each in comparisons:
        if each.operator == "=":
            equal.setdefault(each.column, each)
    number = handle_column(stored.table)
    if number is not None:
        return (
            _by_handles(stored, ordinals, equal.get(number), locks)
            or _by_entry(stored, ordinals, equal, locks)
            or _by_range(stored, ordinals, [each for each in comparisons if each.column == number])
        )
    return _by_common_handle(stored, ordinals, equal, locks) or _by_entry(stored, ordinals, equal, locks)


@cached_by_table
def handle_column(table: Table) -> str | None:
    """Return the name, in lower case, of the column that is the handle; None if the handle has several columns."""
    name = row_id_column(table) if table.clustered else ROW_ID
    return None if name is None else name.lower()


# -- integers ----------------------------------------------------------------------------------------------------------


def _as_integers(value: Expression) -> Evaluate | None:
    """Return a value that equals an integer column if its integer does; None if that is not known."""
    if value.kind in INTEGER_KINDS:
        return value.evaluate
    if value.kind == "string" and value.constant is not None and INTEGER.fullmatch(value.constant):
        number = int(value.constant)
        return lambda row, context: number
    return None


def _all_integers(values: Sequence[Expression]) -> list[Evaluate] | None:
    found = [_as_integers(value) for value in values]
    return None if None in found else [each for each in found if each is not None]


def _by_handles(
    stored: StoredTable, ordinals: Sequence[int], condition: Comparison | None, locks: bool
) -> Access | None:
    numbers = _all_integers(condition.values) if condition is not None else None
    if condition is None or numbers is None or len(numbers) > MOST_KEYS:
        return None

    def path(row: Row, context: StatementContext) -> Iterator[Values]:
        handles = {number(row, context) for number in numbers} - {None}
        return _rows_of_handles(stored, ordinals, sorted(handles), context, locks)

    return Access(path, (condition.node,))


def _rows_of_handles(
    stored: StoredTable, ordinals: Sequence[int], handles: Sequence[Handle], context: StatementContext, locks: bool
) -> Iterator[Values]:
    get, ts = context.transaction.get, context.read_ts
    for ordinal in ordinals:
        for handle in handles:
            if locks:
                context.transaction.lock_row(stored, ordinal, handle)
            cells = get(stored, ordinal, handle, ts)
            if cells is not None:
                yield [*cells, (ordinal, handle)]


def _by_range(stored: StoredTable, ordinals: Sequence[int], comparisons: Sequence[Comparison]) -> Access | None:
    """Return the access by bounds of the handle."""
    low, high = list[tuple[Evaluate, int]](), list[tuple[Evaluate, int]]()
    decided = []
    for each in comparisons:
        numbers = _all_integers(each.values)
        if numbers is None or each.operator == "=":
            continue
        if each.operator in (">", ">="):
            low.append((numbers[0], int(each.operator == ">")))
        elif each.operator in ("<", "<="):
            high.append((numbers[0], -int(each.operator == "<")))
        else:
            low.append((numbers[0], 0))
            high.append((numbers[1], 0))
        decided.append(each.node)
    if not decided:
        return None

    def path(row: Row, context: StatementContext) -> Iterator[Values]:
        lows = [(number(row, context), more) for number, more in low]
        highs = [(number(row, context), more) for number, more in high]
        if any(number is None for number, _ in (*lows, *highs)):
            return iter(())
        least = max((number + more for number, more in lows), default=None)
        most = min((number + more for number, more in highs), default=None)
        if least is not None and most is not None and least > most:
            return iter(())
        return scanned(stored, ordinals, context, least, most)

    return Access(path, decided, False)


def scanned(
    stored: StoredTable,
    ordinals: Sequence[int],
    context: StatementContext,
    low: Handle | None = None,
    high: Handle | None = None,
    descending: bool = False,
) -> Iterator[Values]:
    """Yield the rows of a table in the order of TiKV."""
    for ordinal, handle, cells in context.transaction.scan(stored, ordinals, context.read_ts, low, high, descending):
        yield [*cells, (ordinal, handle)]


# -- keys of several columns -------------------------------------------------------------------------------------------


def _as_cells(value: Expression, column: Column) -> Callable[[Row, StatementContext], bytes | None] | None:
    """Return the cell of a column that equals a value; None if several may, or if that is not known."""
    type = column.type
    if type.name in INTEGER_BITS:
        number = _as_integers(value)
        if number is None:
            return None
        least = 0 if type.unsigned else -(2**63)
        most = least + 2**64

        def cell_of_number(row: Row, context: StatementContext) -> bytes | None:
            found = number(row, context)
            return None if found is None or not least <= found < most else b"%d" % found

        return cell_of_number
    if not is_text(type) or value.kind != "string" or value.number is not None:
        return None
    alike = value.constant is not None and value.coercibility == 4 or value.collation == type.collation
    if not alike or value.is_binary != is_binary(type):
        return None
    if value.constant is None and type.charset not in ("utf8mb4", "utf8", "ascii", "binary"):
        return None
    return apply(lambda text: text.encode("utf-8", "surrogatepass"), as_text(value))


def _key_cells(
    parts: Sequence[IndexColumn], table: Table, equal: dict[str, Comparison]
) -> list[list[tuple[Callable[[Row, StatementContext], bytes | None], Callable[[bytes], bytes]]]]:
    """Return, for as many first parts of a key as have values, how the encoded values are computed."""
    found = []
    for part in parts:
        condition = equal.get(part.name.lower())
        if condition is None or part.expression or part.length >= 0:
            break
        column = columns_by_name(table)[part.name.lower()]
        cells = [_as_cells(value, column) for value in condition.values]
        if None in cells:
            break
        found.append([(cell, encoder(column.type)) for cell in cells if cell is not None])
    return found


def _encoded(parts: list[list[Any]], row: Row, context: StatementContext) -> Iterator[bytes]:
    """Yield the keys of all combinations of values, ascending; none with NULL."""
    values = []
    for part in parts:
        cells = {encode(cell) for read, encode in part if (cell := read(row, context)) is not None}
        values.append(sorted(cells))
    return map(b"".join, product(*values))


def _fits(parts: list[list[Any]], whole: Sequence[IndexColumn]) -> bool:
    count = 1
    for part in parts:
        count *= len(part)
    return len(parts) == len(whole) and 0 < count <= MOST_KEYS


@cached_by_table
def _primary_parts(table: Table) -> tuple[IndexColumn, ...]:
    primary = next((index.columns for index in table.indexes if index.primary), None)
    return primary or tuple(IndexColumn(name) for name in table.primary_key)


def _by_common_handle(
    stored: StoredTable, ordinals: Sequence[int], equal: dict[str, Comparison], locks: bool
) -> Access | None:
    whole = _primary_parts(stored.table)
    parts = _key_cells(whole, stored.table, equal)
    if _fits(parts, whole):

        def path(row: Row, context: StatementContext) -> Iterator[Values]:
            return _rows_of_handles(stored, ordinals, list(_encoded(parts, row, context)), context, locks)

        return Access(path, ())
    if not parts:
        return None

    def prefixed(row: Row, context: StatementContext) -> Iterator[Values]:
        for prefix in _encoded(parts, row, context):
            yield from scanned(stored, ordinals, context, prefix, _successor(prefix))

    return Access(prefixed, (), False)


def _successor(prefix: bytes) -> bytes:
    """Return the first key behind those that begin with a prefix."""
    head = prefix.rstrip(b"\xff")
    return head[:-1] + bytes([head[-1] + 1]) if head else prefix + b"\xff" * 64


def _by_entry(stored: StoredTable, ordinals: Sequence[int], equal: dict[str, Comparison], locks: bool) -> Access | None:
    """Return the access by all columns of a unique index."""
    table = stored.table
    keys = {key.index_id: key for key in entry_keys(table)}
    for index in table.indexes:
        if index.id not in keys or not index.visible:
            continue
        parts = _key_cells(index.columns, table, equal)
        if _fits(parts, index.columns):
            return Access(_entry_path(stored, ordinals, keys[index.id], parts, locks), ())
    return None


def _entry_path(stored: StoredTable, ordinals: Sequence[int], key: RowKey, parts: list[list[Any]], locks: bool) -> Path:
    def path(row: Row, context: StatementContext) -> Iterator[Values]:
        transaction, ts = context.transaction, context.read_ts
        for value in _encoded(parts, row, context):
            for ordinal in ordinals:
                if locks:
                    transaction.lock_entry(stored, ordinal, key, value)
                owner = transaction.owner_of(stored, ordinal, key, value, ts)
                if owner is not None and owner[0] == ordinal:
                    yield from _rows_of_handles(stored, (ordinal,), (owner[1],), context, locks)

    return path


# -- conditions --------------------------------------------------------------------------------------------------------


def comparison_of(node: syntax.Node, fields: QueryScope, values: QueryScope) -> Comparison | None:
    """Return a condition as a comparison of a column of `fields` with values in another scope; None if it is none."""
    if isinstance(node, syntax.Binary) and node.operator in MIRRORED:
        left, right = strip_parentheses(node.left), strip_parentheses(node.right)
        for operator, one, other in ((node.operator, left, right), (MIRRORED[node.operator], right, left)):
            field = _own_column(one, fields)
            if field is not None and not _depends(other, fields):
                return Comparison(field.name.lower(), operator, [compile_expression(other, values)], node)
        return None
    others: tuple[syntax.Node, ...]
    if isinstance(node, syntax.Between) and not node.negated:
        column, others, operator = node.operand, (node.low, node.high), "BETWEEN"
    elif isinstance(node, syntax.In) and not node.negated:
        column, others, operator = node.operand, node.candidates, "="
        if len(others) == 1 and isinstance(others[0], syntax.ContextExpression):
            return None
    else:
        return None
    field = _own_column(strip_parentheses(column), fields)
    if field is None or any(_depends(other, fields) for other in others):
        return None
    return Comparison(field.name.lower(), operator, [compile_expression(other, values) for other in others], node)


def _own_column(node: syntax.Node, scope: QueryScope) -> Field | None:
    field = scope.find(node) if isinstance(node, syntax.ColumnName) else None
    return field if field is not None and field.column is not None else None


def _depends(node: syntax.Node, scope: QueryScope) -> bool:
    """Return whether a value depends on rows of a scope, or is not worth to be known before them."""
    if isinstance(node, syntax.Literal):
        return False
    return any(
        isinstance(part, syntax.ContextExpression | syntax.RowExpression)
        or isinstance(part, syntax.ColumnName)
        and scope.find(part) is not None
        for part in walk(node)
    )
