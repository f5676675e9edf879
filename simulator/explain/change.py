"""A row change that a user writes as JSON: null, TiDB text, numbers, {"hex": "…"} for bytes.

A value is rejected if TiDB cannot store it, or would store another value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from operator import eq
from typing import Any

import pyarrow as pa

from simulator.errors import UserError, did_you_mean
from simulator.tidb.datums.cast import tidb_text
from simulator.tidb.model.table import ROW_ID, Column, Table, visible_columns
from simulator.tidb.model.types import ColumnType, family, is_binary
from simulator.tidb.values.conversion import accepted_values
from simulator.tso import DEFAULT_START_TS, FOREVER

LONG = (-1 << 63, FOREVER)
NUMBERS = {"commit_ts": (1, FOREVER), "partitions": (1, (1 << 31) - 1), "row_id": LONG, "partition_id": LONG}
"""Ranges of the integer members."""

KNOWN = ("before", "after", *NUMBERS)


@dataclass(frozen=True)
class RowChange:
    """A row change that a user wrote as JSON."""

    before: Mapping[str, str | None] | None
    after: Mapping[str, str | None] | None
    """TiDB text of all visible columns, as `parse_value` returns it."""

    commit_ts: int = DEFAULT_START_TS + 1
    partitions: int | None = None
    """None means the changefeed's number."""

    row_id: int | None = None
    """`_tidb_rowid`, which the images may have as a column; a clustered integer primary key gives it by itself."""

    partition_id: int | None = None

    @property
    def op(self) -> str:
        return "INSERT" if self.before is None else "DELETE" if self.after is None else "UPDATE"

    @property
    def image(self) -> Mapping[str, str | None]:
        """Return the new row, or the old row of a DELETE."""
        image = self.before if self.after is None else self.after
        assert image is not None
        return image


def parse_row_change(table: Table, row: Mapping[str, Any]) -> RowChange:
    """Check the JSON of a row against its table and return the change; raises UserError. Missing columns are NULL."""
    for name in row:
        if name not in KNOWN:
            raise UserError(f"unknown member {name!r} of a row.{did_you_mean(name, KNOWN)} Known: {', '.join(KNOWN)}")
    before, after = (_image(table, row.get(name), name) for name in ("before", "after"))
    if before is None and after is None:
        raise UserError('a row needs "before" (DELETE), "after" (INSERT) or both (UPDATE), each {"column": value}')
    numbers = {name: _integer(name, row[name], *NUMBERS[name]) for name in NUMBERS if row.get(name) is not None}
    return RowChange(before, after, **(numbers | _row_id(row, numbers)))


def _row_id(row: Mapping[str, Any], numbers: Mapping[str, int]) -> dict[str, int]:
    """Return the row id that images have as a column, if they do."""
    images = [row[name] for name in ("before", "after") if row.get(name) is not None]
    told = [_integer(ROW_ID, image[ROW_ID], *LONG) for image in images if ROW_ID in image]
    if not told:
        return {}
    if len(told) < len(images) or len({*told, numbers.get("row_id", told[0])}) > 1:
        raise UserError(
            f"{ROW_ID}: before, after and row_id have to tell the same: a row with another one is a DELETE and an INSERT"
        )
    return {"row_id": told[0]}


def _image(table: Table, values: Any, name: str) -> dict[str, str | None] | None:
    if values is None:
        return None
    if not isinstance(values, dict):
        raise UserError(f'{name}: {values!r} is not {{"column": value}}')
    known = [column.name for column in table.columns]
    for column in values:
        if column not in known and (column != ROW_ID or table.clustered):
            hint = did_you_mean(column, known)
            raise UserError(f"{table.schema}.{table.name} has no column {column!r}.{hint} It has {', '.join(known)}")
    return {column.name: parse_value(values.get(column.name), column) for column in visible_columns(table)}


def _integer(name: str, value: Any, low: int, high: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return value
    raise UserError(f"{name}: {value!r} is not an integer from {low} to {high}")


def parse_value(value: Any, column: Column) -> str | None:
    """Convert null, text, a number or {"hex": "…"} to TiDB text; raises UserError. Bytes become Latin-1 text in a
    binary column, and lone surrogates in a text column if they are not UTF-8."""
    if value is None:
        if column.not_null:
            raise UserError(f"column {column.name!r} is NOT NULL: a value is needed")
        return None
    data, type = _data(value, column), column.type
    text = _tidb_text(type, data)
    if text is None:
        accepted = accepted_values(type)
        raise _refused(value, column, f"{accepted} are" if family(type) == "integer" else f"accepted: {accepted}")
    same = KEEPS_VALUE.get(family(type))
    if same and not same(data.decode(), text):
        raise _refused(value, column, f"TiDB would keep {text!r}")
    if family(type) in ("string", "text") and not is_binary(type) and "\ufffd" in text:
        return data.decode("utf-8", "surrogateescape")
    return text


def _refused(value: Any, column: Column, reason: str) -> UserError:
    return UserError(f"column {column.name!r}: {value!r} is no {column.type.name} ({reason})")


def _tidb_text(type: ColumnType, data: bytes) -> str | None:
    """Return the TiDB text of a value. TiCDC may also receive text that is not UTF-8, though strict mode rejects it in
    an INSERT."""
    if family(type) in ("string", "text") and not is_binary(type):
        data = data.decode("utf-8", "replace").encode()
    text: str | None = tidb_text(type, pa.array([b"n" + data if type.name == "bit" else data], pa.binary()))[0].as_py()
    return text


def _data(value: Any, column: Column) -> bytes:
    if isinstance(value, str):
        try:
            return value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise UserError(f"column {column.name!r}: {value[error.start]!r} is half a character") from None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value).encode()
    if not isinstance(value, dict) or value.keys() != {"hex"} or not isinstance(value["hex"], str):
        shape = 'null, text, a number or {"hex": "…"}'
        raise UserError(f"column {column.name!r}: {value!r} is not {shape}")
    try:
        return bytes.fromhex(value["hex"])
    except ValueError as error:
        raise UserError(f"column {column.name!r}: hex {value['hex'][:40]!r}: {error}") from None


def _same_number(text: str, stored: str) -> bool:
    return Decimal(text.strip()) == Decimal(stored)


KEEPS_VALUE: dict[str, Callable[[str, str], bool]] = {
    **dict.fromkeys(("integer", "decimal", "bit", "year"), _same_number),
    **dict.fromkeys(("date", "time", "datetime", "enum"), eq),
    "set": lambda text, stored: set(text.split(",")) == set(stored.split(",")),
}
"""Family → whether TiDB's text is the value that was written; in other families TiDB's own spelling is accepted."""
