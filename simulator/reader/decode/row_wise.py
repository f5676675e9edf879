"""Decodes records one by one with `decode`: the reference for `batches`, and the fallback for messages it cannot read
by columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from simulator.columns import row_image
from simulator.columns.change_frame import DDL, ROW, WATERMARK
from simulator.errors import UserError
from simulator.reader.decode import decode, fetch_claim_check
from simulator.reader.decode import stream_events as stream
from simulator.reader.decode.stream_events import (
    OPERATIONS,
    DdlEvent,
    Event,
    Image,
    RowEvent,
    TableSchemas,
    Value,
    event_layout,
)
from simulator.reader.frame import EVENT_SCHEMA, UNKNOWN_CELL, UNREADABLE, Layout

LONGEST = (1 << 63) - 1
UNTOLD = "schema-unknown"
"""The `type` of a row that cannot be read because no message told its table schema."""

LayoutIndex = Callable[[Layout], int]
"""Returns the index of a layout in the decoder's list."""

ReadClaimCheck = Callable[[str], bytes]
"""Reads a claim-check file."""


def decode_records(
    records: Iterable[tuple[int, bytes | None, bytes | None]],
    protocol: str | None,
    layout_index: LayoutIndex,
    read_claim_check: ReadClaimCheck | None = None,
    told: TableSchemas | None = None,
    schemas: Mapping[int, str] = MappingProxyType({}),
) -> pa.RecordBatch:
    """Decode records given as offset, key and value. Without a protocol it is detected for each. Table schemas that
    they tell are added to `told`; `schemas` are those of a registry."""
    told = {} if told is None else told
    rows: list[dict[str, Any]] = []
    for offset, key, value in records:
        head = {"offset": offset, "size": len(key or b"") + len(value or b"")}
        try:
            events = decode(key, value, protocol, schemas, told)
            parts = [event_row(event, protocol, layout_index, read_claim_check, told) for event in events]
        except UserError as error:
            parts = [{"kind": UNREADABLE, "commit_ts": 0, "exact": False, "text": arrow_text(str(error))}]
        rows += ({**head, "number": number, "events": len(parts), **part} for number, part in enumerate(parts))
    return pa.RecordBatch.from_pylist(rows, EVENT_SCHEMA)


def event_row(
    event: Event,
    protocol: str | None,
    layout_index: LayoutIndex,
    read_claim_check: ReadClaimCheck | None,
    told: TableSchemas,
) -> dict[str, Any]:
    """Return an event as a row of EVENT_SCHEMA, without its offset; raises UserError for numbers out of range."""
    ts = check_int64(stream.time_of(event), "commit-ts")
    match event:
        case RowEvent(untold=untold) if untold:
            why = f"{untold} was not told before in this partition"
            return {"kind": UNREADABLE, "commit_ts": 0, "exact": False, "text": arrow_text(why), "type": UNTOLD}
        case RowEvent():
            fields = row_change_fields(event, protocol, layout_index, read_claim_check, told)
            return {"kind": ROW, "commit_ts": ts, "exact": stream.is_exact(event), **fields}
        case DdlEvent():
            texts = {"schema": event.schema, "table": event.table, "text": event.query, "type": str(event.type)}
            texts = {name: arrow_text(text) for name, text in texts.items()}
            return {"kind": DDL, "commit_ts": ts, "exact": stream.is_exact(event), **texts}
        case _:
            return {"kind": WATERMARK, "commit_ts": ts, "exact": True}


def row_change_fields(
    event: RowEvent,
    protocol: str | None,
    layout_index: LayoutIndex,
    read_claim_check: ReadClaimCheck | None,
    told: TableSchemas,
) -> dict[str, Any]:
    """Return the fields of a row change except its time; from the claim-check file if that can be read."""
    stored_at, why = arrow_text(event.stored_at) if event.stored_at else None, None
    if stored_at is not None and read_claim_check is not None:
        try:
            event = fetch_claim_check(event, read_claim_check, protocol or "", told)
        except UserError as error:
            why = arrow_text(f"{error}; the row stays cut down to its handle key")
    layout = event_layout(event)
    return {
        "layout": layout_index(layout),
        "op": OPERATIONS[event.op],
        "ptn": check_int64(event.ptn, "ptn"),
        "rid": check_int64(event.rid, "rid"),
        "only_handle": event.only_handle,
        "stored_at": stored_at,
        "text": why,
        "before": encode_image(stream.before_image(event), layout),
        "after": encode_image(event.after, layout),
    }


def encode_image(image: Image | None, layout: Layout) -> bytes | None:
    if image is None:
        return None
    return row_image.joined(
        encode_cell(image[name], binary) if name in image else UNKNOWN_CELL
        for name, binary in zip(layout.names, layout.binary, strict=True)
    )


def encode_cell(value: Value, as_bytes: bool) -> bytes | None:
    """Encode a value: bytes as Latin-1 text for a binary column, else as text with lone surrogates for invalid
    UTF-8."""
    if isinstance(value, bytes):
        value = value.decode("latin-1") if as_bytes else value.decode("utf-8", "surrogateescape")
    return None if value is None else value.encode("utf-8", "surrogatepass")


def arrow_text(text: str) -> str:
    """Replace lone surrogates, which Arrow does not accept."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def check_int64(number: int | None, name: str) -> int | None:
    if number is None or -LONGEST - 1 <= number <= LONGEST:
        return number
    raise UserError(f"{name} {number} has more than 63 bits")


def iterate_records(batch: pa.RecordBatch) -> Iterator[tuple[int, bytes | None, bytes | None]]:
    return zip(*(batch.column(name).to_pylist() for name in ("offset", "key", "value")), strict=True)
