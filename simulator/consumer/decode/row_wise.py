"""Records as DECODED one by one, by `decode`: what the columns of `batches` are held against, and the way of whatever
is too odd for them.

One law: this says what a record means; whoever is faster says the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from simulator.columns import row_image
from simulator.columns.change_frame import DDL, DELETE, INSERT, ROW, UPDATE, WATERMARK
from simulator.consumer.decode import canal_json, decode, fetch_claim_check, open_protocol
from simulator.consumer.decode.row_texts import before_image
from simulator.consumer.decode.stream_events import (
    ColumnInfo,
    DdlEvent,
    Event,
    Image,
    RowEvent,
    Value,
    is_exact,
    time_of,
)
from simulator.consumer.frame import EVENT_SCHEMA, UNKNOWN_CELL, UNREADABLE, Layout
from simulator.errors import UserError
from simulator.ticdc.table_info import BINARY

OPERATIONS = {"DELETE": DELETE, "UPDATE": UPDATE, "INSERT": INSERT}
LONGEST = (1 << 63) - 1
NO_INFO = ColumnInfo(0)
"""Of a column that only an old row has."""

LayoutIndex = Callable[[Layout], int]
"""A layout → its place in the reader's list."""

ReadClaimCheck = Callable[[str], bytes]
"""What is in a file of claim-check."""


def is_bytes(kind: int | str, flags: int | None) -> bool:
    """Whether messages have a column's values as bytes, which stand as Latin-1 text in DECODED."""
    if isinstance(kind, str):
        return kind.split("(")[0].split(" ")[0] in canal_json.BINARY
    return bool((flags or 0) & BINARY) and kind in open_protocol.STRINGS | open_protocol.LONG_STRINGS


def decode_records(
    records: Iterable[tuple[int, bytes | None, bytes | None]],
    protocol: str | None,
    place: LayoutIndex,
    stored: ReadClaimCheck | None = None,
) -> pa.RecordBatch:
    """The events of records given as offset, key and value; without a protocol, each is read as what it looks like."""
    found: list[dict[str, Any]] = []
    for offset, key, value in records:
        head = {"offset": offset, "size": len(key or b"") + len(value or b"")}
        try:
            events = decode(key, value, protocol)
            parts = [event_row(event, protocol, place, stored) for event in events]
        except UserError as error:
            parts = [{"kind": UNREADABLE, "commit_ts": 0, "exact": False, "text": arrow_text(str(error))}]
        found += ({**head, "number": number, "events": len(parts), **part} for number, part in enumerate(parts))
    return pa.RecordBatch.from_pylist(found, EVENT_SCHEMA)


def event_row(event: Event, protocol: str | None, place: LayoutIndex, stored: ReadClaimCheck | None) -> dict[str, Any]:
    """One event as a row of DECODED, without its place; raises UserError for numbers that are none of TiDB's."""
    ts = check_int64(time_of(event), "commit-ts")
    if isinstance(event, RowEvent):
        return {
            "kind": ROW,
            "commit_ts": ts,
            "exact": is_exact(event),
            **row_change_fields(event, protocol, place, stored),
        }
    if isinstance(event, DdlEvent):
        texts = {"schema": event.schema, "table": event.table, "text": event.query, "type": str(event.type)}
        return {
            "kind": DDL,
            "commit_ts": ts,
            "exact": is_exact(event),
            **{name: arrow_text(text) for name, text in texts.items()},
        }
    return {"kind": WATERMARK, "commit_ts": ts, "exact": True}


def row_change_fields(
    event: RowEvent, protocol: str | None, place: LayoutIndex, stored: ReadClaimCheck | None
) -> dict[str, Any]:
    """What a row change has beside its time; from the file of claim-check where that can be read."""
    stored_at, why = arrow_text(event.stored_at) if event.stored_at else None, None
    if stored_at is not None and stored is not None:
        try:
            event = fetch_claim_check(event, stored, protocol or "")
        except UserError as error:
            why = arrow_text(f"{error}; the row stays cut down to its handle key")
    layout = event_layout(event)
    old = before_image(event)
    return {
        "layout": place(layout),
        "op": OPERATIONS[event.op],
        "ptn": check_int64(event.ptn, "ptn"),
        "rid": check_int64(event.rid, "rid"),
        "only_handle": event.only_handle,
        "stored_at": stored_at,
        "text": why,
        "before": encode_image(old, layout),
        "after": encode_image(event.after, layout),
    }


def event_layout(event: RowEvent) -> Layout:
    """What the message says of its table."""
    names = tuple({**(event.after or {}), **(event.before or {})})
    infos: Mapping[str, ColumnInfo] = event.columns
    found = [infos.get(name, NO_INFO) for name in names]
    return Layout(
        event.schema,
        event.table,
        names,
        tuple(info.type for info in found),
        tuple(info.flags for info in found),
        tuple(name for name, info in zip(names, found, strict=True) if info.key),
    )


def encode_image(image: Image | None, layout: Layout) -> bytes | None:
    """The cells of a row in the order of its layout."""
    if image is None:
        return None
    columns = zip(layout.names, layout.types, layout.flags, strict=True)
    return row_image.joined(
        encode_cell(image[name], is_bytes(kind, flags)) if name in image else UNKNOWN_CELL
        for name, kind, flags in columns
    )


def encode_cell(value: Value, as_bytes: bool) -> bytes | None:
    """Bytes as Latin-1 text where the column has them, else as text whose invalid UTF-8 is lone surrogates."""
    if isinstance(value, bytes):
        value = value.decode("latin-1") if as_bytes else value.decode("utf-8", "surrogateescape")
    return None if value is None else value.encode("utf-8", "surrogatepass")


def arrow_text(text: str) -> str:
    """As Arrow can have it: without lone surrogates."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def check_int64(number: int | None, name: str) -> int | None:
    if number is None or -LONGEST - 1 <= number <= LONGEST:
        return number
    raise UserError(f"{name} {number} has more than 63 bits")


def iterate_records(batch: pa.RecordBatch) -> Iterator[tuple[int, bytes | None, bytes | None]]:
    """Offset, key and value of RECORDS."""
    return zip(*(batch.column(name).to_pylist() for name in ("offset", "key", "value")), strict=True)
