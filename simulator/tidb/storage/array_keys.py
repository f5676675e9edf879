"""Multi-valued indexes: `(CAST(… AS SIGNED ARRAY))`, which have an entry for each value of a JSON array.

Each value has to be of the type. In a unique index no two rows have a value in common.

Sources: tidb v8.5 pkg/expression/builtin_cast.go castJSONAsArrayFunctionSig, convertJSON2Tp; pkg/table/tables/index.go
getIndexedValue; pkg/executor/insert_common.go completeError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simulator.errors import SqlError
from simulator.tidb.errors import not_simulated, sql_error
from simulator.tidb.expressions.context import Context
from simulator.tidb.expressions.conversions import as_text
from simulator.tidb.expressions.tables import table_expression
from simulator.tidb.model.table import Cells, Index, Table
from simulator.tidb.model.table_keys import cached_by_table, is_array
from simulator.tidb.storage.row_keys import RowKey, entry_keys, part_of, shown_part

ARRAY = re.compile(
    r"[\s(]*cast\((?P<operand>.*)\s+as\s+(?P<type>\w+)(?:\((?P<length>\d+)\))?\s+array\)[\s)]*", re.I | re.S
)
BOUNDS = {"SIGNED": (-(1 << 63), (1 << 63) - 1), "UNSIGNED": (0, (1 << 64) - 1)}

_NO_STATEMENT = Context()


@dataclass(frozen=True, eq=False)
class ArrayKey:
    """A multi-valued index of a table."""

    table: Table
    index: Index
    place: int
    """The place of the array among the parts of the index."""

    beside: RowKey
    """The other parts of the index."""

    operand: str
    type: str
    length: int

    @property
    def name(self) -> str:
        return self.index.name

    def values(self, cells: Cells, row: int = 1) -> Sequence[object] | None:
        """Return the values of a row in the index's type, None for NULL. Raises SqlError 3903, 3752 or 3907; `row` is the
        row's number in the statement."""
        document = table_expression(self.table, self.operand)
        if document.kind != "json":
            raise not_simulated(f"index {self.name} of an array that is no JSON; accepted: one of a JSON column")
        shown = as_text(document)(cells, _NO_STATEMENT)
        if shown is None:
            return None
        content = json.loads(shown)
        if isinstance(content, dict):
            raise sql_error(1235, "CAST-ing JSON OBJECT type to array")
        return [self._value(each, row) for each in (content if isinstance(content, list) else [content])]

    def _value(self, content: object, row: int) -> object:
        match self.type:
            case "SIGNED" | "UNSIGNED" if isinstance(content, int) and not isinstance(content, bool):
                low, high = BOUNDS[self.type]
                if not low <= content <= high:
                    raise SqlError(
                        3752, "HY000", f"Value is out of range for expression index '{self.name}' at row {row}"
                    )
                return content
            case "DOUBLE" | "REAL" if isinstance(content, int | float) and not isinstance(content, bool):
                return float(content)
            case "CHAR" if isinstance(content, str):
                if len(content.rstrip(" ")) > self.length:
                    raise SqlError(3907, "22001", f"Data too long for expression index '{self.name}'")
                return content[: self.length].rstrip(" ")
            case "SIGNED" | "UNSIGNED" | "DOUBLE" | "REAL" | "CHAR":
                raise SqlError(3903, "HY000", f"Invalid JSON value for CAST for expression index '{self.name}'")
        raise not_simulated(f"index {self.name} of {self.type} ARRAY; accepted: SIGNED, UNSIGNED, DOUBLE, CHAR")

    def entries(self, cells: Cells, row: int = 1) -> dict[bytes, str]:
        """Return the entries of a row: bytes that are equal for equal values of its key, and the text of each in error
        1062. None for a NULL in its key, which conflicts with no other. Raises SqlError as `values` does."""
        values = self.values(cells, row)
        beside = self.beside.of(cells)
        if values is None or beside is None:
            return {}
        shown = [shown_part(self.table, part, cells) for part in self.index.columns if not is_array(part)]
        return {
            beside + b"\0" + str(value).encode(): "-".join([*shown[: self.place], str(value), *shown[self.place :]])
            for value in values
        }


@cached_by_table
def array_keys(table: Table) -> tuple[ArrayKey, ...]:
    """Return the multi-valued indexes, unique or not: the values of either are checked."""
    found = []
    for index in table.indexes:
        for place, part in enumerate(index.columns):
            if match := ARRAY.fullmatch(part.expression) if is_array(part) else None:
                type, length = match["type"].upper(), int(match["length"] or -1)
                others = tuple(part_of(table, other) for other in index.columns if not is_array(other))
                beside = RowKey(index.id, index.name, others)
                found.append(ArrayKey(table, index, place, beside, match["operand"], type, length))
    return tuple(found)


Entries = Callable[[Cells, int], list[tuple[RowKey, bytes]]]
"""Returns the entries of a row in unique indexes, given its number in the statement."""


@cached_by_table
def entries_of(table: Table) -> Entries:
    """Return how rows have their entries in unique indexes, in the order of `entry_keys`, those of arrays behind. It raises
    SqlError for values that an array's index does not take."""
    keys, arrays = entry_keys(table), array_keys(table)
    if not keys and not arrays:
        return lambda cells, row: []

    def entries(cells: Cells, row: int) -> list[tuple[RowKey, bytes]]:
        found = [(key, value) for key in keys if (value := key.of(cells)) is not None]
        for array in arrays:
            values = array.entries(cells, row)
            if array.index.unique:
                found += [(array.beside, value) for value in values]
        return found

    return entries
