"""How a table's rows are found by the conditions of a query: by handle, by a unique key, by a range of handles, or by a
scan (tidb pkg/planner/core/point_get_plan.go, pkg/util/ranger).

Conditions that a path decides are not evaluated, or evaluated for the rows that it finds only, so that their problems in
other rows do not occur.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple, TypeAlias

from simulator.tidb import syntax
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.queries.relation import Values
from simulator.tidb.engine.scope import Field, QueryScope
from simulator.tidb.expressions.compile import compile_expression
from simulator.tidb.expressions.conversions import as_text
from simulator.tidb.expressions.expression import INTEGER_KINDS, Evaluate, Expression, Row, apply, fixed
from simulator.tidb.expressions.trees import strip_parentheses
from simulator.tidb.model.table import (
    ROW_ID,
    Column,
    IndexColumn,
    Table,
    cached_by_table,
    columns_by_name,
    mark_place,
    row_id_column,
)
from simulator.tidb.model.types import INTEGER_BITS, is_binary, is_text
from simulator.tidb.storage.row_keys import RowKey, encoder, entry_keys, key_parts
from simulator.tidb.storage.rows import Handle, KeyRange
from simulator.tidb.storage.tables import StoredTable

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

    ascends: bool = True
    """Whether its rows ascend by handle."""


class TableReader(NamedTuple):
    """Reads the rows of some partitions of a table."""

    stored: StoredTable
    ordinals: Sequence[int]
    locks: bool = False
    """Whether the statement locks what it reads, so that it locks keys that it does not find, too."""

    def scan(self, context: StatementContext, keys: KeyRange) -> Iterator[Values]:
        """Yield rows in the order of TiKV."""
        rows = context.transaction.scan(self.stored, self.ordinals, context.read_ts, keys)
        mark = None if context.sees_marked else mark_place(self.stored.table)
        if mark is not None:
            rows = (row for row in rows if row[2][mark] is None)
        for ordinal, handle, cells in rows:
            yield [*cells, (ordinal, handle)]

    def rows(self, locations: Iterable[tuple[int, Handle]], context: StatementContext) -> Iterator[Values]:
        """Yield the rows that are at locations."""
        get, ts, stored = context.transaction.get, context.read_ts, self.stored
        mark = None if context.sees_marked else mark_place(stored.table)
        for ordinal, handle in locations:
            cells = get(stored, ordinal, handle, ts)
            if self.locks:
                context.transaction.lock_row(stored, ordinal, handle, cells is not None)
            if cells is not None and (mark is None or cells[mark] is None):
                yield [*cells, (ordinal, handle)]

    def find(self, comparisons: Sequence[Comparison]) -> Access | None:
        """Return the best access by conditions; None if there is none but a scan."""
        equal: dict[str, Comparison] = {}
        for each in comparisons:
            if each.operator == "=":
                equal.setdefault(each.column, each)
        number = handle_column(self.stored.table)
        if number is None:
            return self._by_common_handle(equal) or self._by_entry(equal)
        return (
            self._by_handles(equal.get(number))
            or self._by_entry(equal)
            or self._by_range([each for each in comparisons if each.column == number])
        )

    def _by_handles(self, condition: Comparison | None) -> Access | None:
        numbers = _integers(condition.values) if condition is not None else None
        if condition is None or numbers is None or len(numbers) > MOST_KEYS:
            return None

        def path(row: Row, context: StatementContext) -> Iterator[Values]:
            handles = sorted({number(row, context) for number in numbers} - {None})
            return self.rows(product(self.ordinals, handles), context)

        return Access(path, (condition.node,))

    def _by_range(self, comparisons: Sequence[Comparison]) -> Access | None:
        """Return the access by bounds of the handle."""
        bounds = list[tuple[str, Evaluate]]()
        decided = []
        for each in comparisons:
            numbers = _integers(each.values)
            if numbers is not None and each.operator != "=":
                operators = (">=", "<=") if each.operator == "BETWEEN" else (each.operator,)
                bounds += zip(operators, numbers, strict=True)
                decided.append(each.node)
        if not decided:
            return None

        def path(row: Row, context: StatementContext) -> Iterator[Values]:
            low, high = list[int](), list[int]()
            for operator, number in bounds:
                bound = number(row, context)
                if bound is None:
                    return iter(())
                side, inside = (low, 1) if operator[0] == ">" else (high, -1)
                side.append(bound if operator.endswith("=") else bound + inside)
            least, most = max(low, default=None), min(high, default=None)
            if least is not None and most is not None and least > most:
                return iter(())
            return self.scan(context, KeyRange(least, most))

        return Access(path, decided, False)

    def _by_common_handle(self, equal: Mapping[str, Comparison]) -> Access | None:
        whole = key_parts(self.stored.table, 0)
        parts = _key_parts(whole, self.stored.table, equal)
        if not parts:
            return None

        def path(row: Row, context: StatementContext) -> Iterator[Values]:
            return self.rows(product(self.ordinals, list(_keys(parts, row, context))), context)

        def prefixed(row: Row, context: StatementContext) -> Iterator[Values]:
            for prefix in _keys(parts, row, context):
                yield from self.scan(context, KeyRange(prefix, _successor(prefix)))

        is_point = len(parts) == len(whole)
        return Access(path if is_point else prefixed, (), is_point)

    def _by_entry(self, equal: Mapping[str, Comparison]) -> Access | None:
        """Return the access by all columns of a unique index."""
        table = self.stored.table
        keys = {key.index_id: key for key in entry_keys(table)}
        for index in table.indexes:
            if index.id in keys and index.visible:
                parts = _key_parts(index.columns, table, equal)
                if len(parts) == len(index.columns):
                    return Access(self._entry_path(keys[index.id], parts), (), ascends=False)
        return None

    def _entry_path(self, key: RowKey, parts: list[Part]) -> Path:
        def path(row: Row, context: StatementContext) -> Iterator[Values]:
            transaction = context.transaction
            for value, ordinal in product(_keys(parts, row, context), self.ordinals):
                owner = transaction.owner_of(self.stored, ordinal, key, value, context.read_ts)
                if self.locks:
                    transaction.lock_entry(self.stored, ordinal, key, value, owner is not None)
                if owner is not None and owner[0] == ordinal:
                    yield from self.rows((owner,), context)

        return path


@cached_by_table
def handle_column(table: Table) -> str | None:
    """Return the name, in lower case, of the column that is the handle; None if the handle has several columns."""
    name = row_id_column(table) if table.clustered else ROW_ID
    return None if name is None else name.lower()


# -- values of keys ----------------------------------------------------------------------------------------------------

ReadCell: TypeAlias = "Callable[[Row, StatementContext], bytes | None]"

Part: TypeAlias = "list[tuple[ReadCell, Callable[[bytes], bytes]]]"
"""The values that a part of a key may have: how each is computed, and encoded."""


def _integer(value: Expression) -> Evaluate | None:
    """Return a value that equals an integer column if its integer does; None if that is not known."""
    if value.kind in INTEGER_KINDS:
        return value.evaluate
    if value.kind == "string" and value.constant is not None and INTEGER.fullmatch(value.constant):
        return fixed(int(value.constant))
    return None


def _integers(values: Sequence[Expression]) -> list[Evaluate] | None:
    found = [number for value in values if (number := _integer(value)) is not None]
    return found if len(found) == len(values) else None


def _cell(value: Expression, column: Column) -> ReadCell | None:
    """Return the cell of a column that equals a value; None if several may, or if that is not known."""
    type = column.type
    if type.name in INTEGER_BITS:
        number, least = _integer(value), 0 if type.unsigned else -(2**63)
        if number is None:
            return None
        return apply(lambda found: b"%d" % found if least <= found < least + 2**64 else None, number)
    if not is_text(type) or value.kind != "string" or value.number is not None or value.is_binary != is_binary(type):
        return None
    alike = value.constant is not None and value.coercibility == 4 or value.collation == type.collation
    if not alike or value.constant is None and type.charset not in ("utf8mb4", "utf8", "ascii", "binary"):
        return None
    return apply(lambda text: text.encode("utf-8", "surrogatepass"), as_text(value))


def _key_parts(parts: Sequence[IndexColumn], table: Table, equal: Mapping[str, Comparison]) -> list[Part]:
    """Return the values of as many first parts of a key as have some; none if they are too many."""
    found, count = list[Part](), 1
    for part in parts:
        condition = equal.get(part.name.lower())
        if condition is None or part.expression or part.length >= 0:
            break
        column = columns_by_name(table)[part.name.lower()]
        cells = [cell for value in condition.values if (cell := _cell(value, column)) is not None]
        count *= len(cells)
        if len(cells) < len(condition.values) or count > MOST_KEYS:
            break
        found.append([(cell, encoder(column.type)) for cell in cells])
    return found


def _keys(parts: Sequence[Part], row: Row, context: StatementContext) -> Iterator[bytes]:
    """Yield the keys of all combinations of values, ascending; none with NULL."""
    values = [{encode(cell) for read, encode in part if (cell := read(row, context)) is not None} for part in parts]
    return map(b"".join, product(*map(sorted, values)))


def _successor(prefix: bytes) -> bytes:
    """Return the first key behind those that begin with a prefix."""
    head = prefix.rstrip(b"\xff")
    return head[:-1] + bytes([head[-1] + 1]) if head else prefix + b"\xff" * 64


# -- conditions --------------------------------------------------------------------------------------------------------


def comparison_of(node: syntax.Node, scope: QueryScope) -> Comparison | None:
    """Return a condition as a comparison of a column of a table with values; None if it is none."""
    if isinstance(node, syntax.Binary) and node.operator in MIRRORED:
        left, right = strip_parentheses(node.left), strip_parentheses(node.right)
        for operator, one, other in ((node.operator, left, right), (MIRRORED[node.operator], right, left)):
            field = _own_column(one, scope)
            if field is not None and not _depends(other, scope):
                return Comparison(field.name.lower(), operator, [compile_expression(other, scope)], node)
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
    field = _own_column(strip_parentheses(column), scope)
    if field is None or any(_depends(other, scope) for other in others):
        return None
    return Comparison(field.name.lower(), operator, [compile_expression(other, scope) for other in others], node)


def _own_column(node: syntax.Node, scope: QueryScope) -> Field | None:
    field = scope.find(node) if isinstance(node, syntax.ColumnName) else None
    return field if field is not None and field.column is not None else None


def _depends(node: syntax.Node, scope: QueryScope) -> bool:
    """Return whether a value depends on rows of a scope, or is not worth to be known before them."""
    if isinstance(node, syntax.Literal):
        return False
    return any(
        isinstance(part, (syntax.ContextExpression, syntax.RowExpression))
        or isinstance(part, syntax.ColumnName)
        and scope.find(part) is not None
        for part in syntax.walk(node)
    )
