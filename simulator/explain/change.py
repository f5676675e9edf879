"""A row change as a user writes it in JSON: null, TiDB text, numbers, {"hex": "…"} for bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simulator.errors import UserError, did_you_mean
from simulator.explain.values import read_value
from simulator.tidb.model.table import Table, visible_columns
from simulator.tso import DEFAULT_START_TS, FOREVER

LONG = (-1 << 63, FOREVER)
NUMBERS = {"commit_ts": (1, FOREVER), "partitions": (1, (1 << 31) - 1), "row_id": LONG, "partition_id": LONG}
"""From which number to which."""

KNOWN = ("before", "after", *NUMBERS)


@dataclass(frozen=True)
class RowChange:
    """A row change as a user writes it in JSON."""

    before: Mapping[str, str | None] | None
    after: Mapping[str, str | None] | None
    """TiDB text by visible column, all of them, as `read_value` gives it."""

    commit_ts: int = DEFAULT_START_TS + 1
    partitions: int | None = None
    """None takes the changefeed's."""

    row_id: int | None = None
    """`_tidb_rowid`; by itself the value of a clustered integer primary key."""

    partition_id: int | None = None

    @property
    def op(self) -> str:
        return "INSERT" if self.before is None else "DELETE" if self.after is None else "UPDATE"

    @property
    def image(self) -> Mapping[str, str | None]:
        """The new row, or for a DELETE the old one."""
        image = self.before if self.after is None else self.after
        assert image is not None
        return image


def read_row(table: Table, row: Mapping[str, Any]) -> RowChange:
    """The JSON of a row checked against its table: null, TiDB text, numbers, {"hex": "…"}; raises UserError.

    Columns that are not given are NULL.
    """
    for name in row:
        if name not in KNOWN:
            raise UserError(f"unknown member {name!r} of a row.{did_you_mean(name, KNOWN)} Known: {', '.join(KNOWN)}")
    before, after = (_image(table, row.get(name), name) for name in ("before", "after"))
    if before is None and after is None:
        raise UserError('a row needs "before" (DELETE), "after" (INSERT) or both (UPDATE), each {"column": value}')
    numbers = {name: _integer(name, row[name]) for name in NUMBERS if row.get(name) is not None}
    return RowChange(before, after, **numbers)


def _image(table: Table, values: Any, name: str) -> dict[str, str | None] | None:
    if values is None:
        return None
    if not isinstance(values, dict):
        raise UserError(f'{name}: {values!r} is not {{"column": value}}')
    known = [column.name for column in table.columns]
    for column in values:
        if column not in known:
            hint = did_you_mean(column, known)
            raise UserError(f"{table.schema}.{table.name} has no column {column!r}.{hint} It has {', '.join(known)}")
    return {column.name: read_value(values.get(column.name), column) for column in visible_columns(table)}


def _integer(name: str, value: Any) -> int:
    low, high = NUMBERS[name]
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return value
    raise UserError(f"{name}: {value!r} is not an integer from {low} to {high}")
