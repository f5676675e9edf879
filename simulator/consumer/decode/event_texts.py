"""Splits records into the JSON texts of their events, by columns, and tells which JSON values differ from row to row.

The text of an Open Protocol event is its key and its value, joined by NEW_LINE.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Bytes, Mask, Places, buffers
from simulator.consumer.decode import open_protocol
from simulator.consumer.decode.tokens import QUOTE, JsonStrings
from simulator.consumer.decode.whole_messages import decompress_value

NEW_LINE, LINE_END = b"\n", b"\r\n"
NULL, LIST, OBJECT = b"n[{"
DATA, OLD = np.frombuffer(b"data", np.uint8), np.frombuffer(b'old"', np.uint8)


@dataclass(frozen=True)
class EventTexts:
    """The events of those records that are framed correctly."""

    record: Places
    """Index of each event's record."""

    number: Places
    texts: pa.Array


@dataclass(frozen=True)
class ColumnarProtocol:
    """Functions to read a protocol by columns."""

    events: Callable[[pa.Array, pa.Array], EventTexts]
    """Splits keys and values of records into events, as far as possible."""

    values: Callable[[JsonStrings], tuple[Mask, Mask]]
    """The protocol's `tokens.TokenRule`."""

    message: Callable[[bytes], tuple[bytes | None, bytes]]
    """Converts the text of one event to the key and value of a message."""

    breaks: int
    """Number of control characters in a text, where its parts are joined."""

    rows: tuple[str, tuple[str, ...]]
    """A column of RECORD_SCHEMA, and texts in it that only records without statements contain."""


def canal_events(keys: pa.Array, values: pa.Array) -> EventTexts:
    """Return the events of Canal-JSON; a message is one event."""
    places = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
    texts, fine = _decompress(_without_line_end(values.take(pa.array(places)) if values.null_count else values))
    return EventTexts(places[fine], np.zeros(int(fine.sum()), np.int64), texts.filter(pa.array(fine)))


def _without_line_end(values: pa.Array) -> pa.Array:
    """Remove the CR LF that rows of 6.5.0 to 6.5.11, 6.6 and 7.0 end with."""
    data, bounds = buffers(values)
    if not len(data) or not (data[bounds[1:] - 1] == LINE_END[1]).any():
        return values
    lasts = _bytes_at(data, np.maximum(bounds[1:] - 2, 0), 2)
    ended = (np.diff(bounds) > 2) & (lasts == np.frombuffer(LINE_END, np.uint8)).all(axis=1)
    return _spans(data, bounds[:-1], bounds[1:] - 2 * ended)


def canal_values(strings: JsonStrings) -> tuple[Mask, Mask]:
    """From `data` or `old` on, every string that is no key, every NULL, and commitTs; before them `es` and `ts`.

    Only these two members have a list with an object as value. `data` with another value is that of a statement or
    watermark.
    """
    data, opens, behind = strings.data, strings.opens, strings.behind
    size = strings.closes - opens - 1
    listed = np.flatnonzero(strings.is_key & (size <= 4) & ((behind == LIST) | (behind == NULL)))
    names = _bytes_at(data, opens[listed] + 1, 4)
    is_object = (behind[listed] == LIST) & (data[strings.closes[listed] + 3] == OBJECT)
    is_data = (names == DATA).all(axis=1) & (is_object | (behind[listed] == NULL))
    begins = listed[is_data | (names == OLD).all(axis=1) & is_object]
    begins = begins[np.diff(strings.row[begins], prepend=-1) > 0]
    region = np.full(int(strings.row[-1]) + 1 if len(opens) else 0, len(data), np.int64)
    region[strings.row[begins]] = opens[begins]
    inside = opens > region[strings.row]
    number = _digit(behind) & strings.is_key
    short = np.flatnonzero(number & ~inside & (size == 2))
    short = short[(data[opens[short] + 2] == ord("s")) & np.isin(data[opens[short] + 1], (ord("e"), ord("t")))]
    loose = inside & (number | (behind == NULL) & strings.is_key)
    loose[short] = True
    return ~strings.is_key & inside, loose


def canal_message(text: bytes) -> tuple[bytes | None, bytes]:
    """Return the value alone."""
    return None, text


def open_events(keys: pa.Array, values: pa.Array) -> EventTexts:
    """Split keys and values of Open Protocol; in each round the next event of every record."""
    there = np.asarray(keys.is_valid()) & np.asarray(values.is_valid())
    sides = [buffers(side.fill_null(b"")) for side in (keys, values)]
    padded = [np.concatenate((data, np.zeros(8, np.uint8))) for data, _ in sides]
    (_, key_bounds), (_, value_bounds) = sides
    version = _numbers(padded[0], np.minimum(key_bounds[:-1], len(padded[0]) - 8))
    fine = there & (np.diff(key_bounds) > 8) & (version == 1)
    at, ends = [key_bounds[:-1] + 8, value_bounds[:-1].copy()], [key_bounds[1:], value_bounds[1:]]
    found: list[tuple[Places, ...]] = []
    active = np.flatnonzero(fine)
    while len(active):
        lone = (at[1][active] == ends[1][active]) & (len(found) == 0)
        spans: list[Places] = []
        for side in (0, 1):
            starts = at[side][active] + 8
            sizes = _numbers(padded[side], np.minimum(starts, ends[side][active]) - 8)
            if side:
                starts, sizes = np.where(lone, starts - 8, starts), np.where(lone, 0, sizes)
            room = ends[side][active] - starts
            fine[active[(sizes < 0) | (sizes > room)]] = False
            at[side][active] = starts + np.clip(sizes, 0, np.maximum(room, 0))
            spans += [starts, at[side][active]]
        found.append((active, np.full(len(active), len(found)), *spans))
        active = active[fine[active]]
        fine[active[(at[0][active] == ends[0][active]) != (at[1][active] == ends[1][active])]] = False
        active = active[fine[active] & (at[0][active] < ends[0][active])]
    record, number, *spans = (
        np.concatenate(parts) if parts else np.zeros(0, np.int64) for parts in (zip(*found) if found else ((),) * 6)
    )
    keep = np.flatnonzero(fine[record]) if len(record) else record
    keep = keep[np.lexsort((number[keep], record[keep]))]
    heads = _spans(padded[0], spans[0][keep], spans[1][keep])
    bodies, whole = _decompress(_spans(padded[1], spans[2][keep], spans[3][keep]))
    texts = pc.binary_join_element_wise(heads, bodies, NEW_LINE)
    if not whole.all():
        whole = ~np.isin(record[keep], record[keep[~whole]])
    keep = keep[whole]
    return EventTexts(record[keep], number[keep], texts.filter(pa.array(whole)))


def open_values(strings: JsonStrings) -> tuple[Mask, Mask]:
    """The members `v` of columns; in the key, the numbers except its type."""
    data, opens, behind, size = strings.data, strings.opens, strings.behind, strings.closes - strings.opens - 1
    breaks = np.flatnonzero(data == NEW_LINE[0])
    rows = int(strings.row[-1]) + 1 if len(opens) else 0
    first = np.searchsorted(strings.row, np.arange(rows + 1))
    region = np.full(rows, len(data), np.int64)
    begins = np.append(opens, len(data))[first[:-1]]
    at = np.searchsorted(breaks, begins)
    region[at < len(breaks)] = breaks[at[at < len(breaks)]]
    inside = opens > region[strings.row]
    keys = np.flatnonzero(strings.is_key & (behind != OBJECT) & (behind != QUOTE))
    some = np.where(
        inside[keys], (size[keys] == 1) & (data[opens[keys] + 1] == ord("v")), _digit(behind[keys]) & (size[keys] > 1)
    )
    loose = np.zeros(len(opens), np.bool_)
    loose[keys[some]] = True
    return ~strings.is_key & inside, loose


def open_message(text: bytes) -> tuple[bytes | None, bytes]:
    """Return key and value with their length prefixes."""
    head, _, body = text.partition(NEW_LINE)
    framed = len(body).to_bytes(8, "big") + body if body else b""
    return open_protocol.VERSION + len(head).to_bytes(8, "big") + head, framed


def possible_statements(records: pa.RecordBatch, protocol: str) -> pa.RecordBatch:
    """Drop records that cannot be statements, by a simple text search."""
    if protocol not in COLUMNS or not len(records):
        return records
    name, marks = COLUMNS[protocol].rows
    column = records.column(name)
    for mark in marks:
        left = pc.invert(pc.fill_null(pc.match_substring(column, mark), False))
        records, column = records.filter(left), column.filter(left)
    return records


COLUMNS = {
    "canal-json": ColumnarProtocol(canal_events, canal_values, canal_message, 0, ("value", ('"isDdl":false',))),
    "open-protocol": ColumnarProtocol(
        open_events, open_values, open_message, 1, ("key", ('"t":1}', '"t":1,', '"t":3}'))
    ),
}
"""By TiCDC's name of the protocol."""


def _digit(first: Bytes) -> Mask:
    found: Mask = (first == ord("-")) | (first >= ord("0")) & (first <= ord("9"))
    return found


def _bytes_at(data: Bytes, places: Places, count: int) -> Bytes:
    return data[np.add.outer(places, np.arange(count))]


def _numbers(data: Bytes, places: Places) -> Places:
    """Read big-endian integers of eight bytes."""
    return np.ascontiguousarray(_bytes_at(data, places, 8)).view(">i8")[:, 0].astype(np.int64)


def _spans(data: Bytes, starts: Places, ends: Places) -> pa.Array:
    """Return the bytes between places, which must ascend."""
    edges = np.empty(2 * len(starts) + 1, np.int32)
    edges[:-1:2], edges[1::2], edges[-1] = starts, ends, len(data)
    pieces = pa.Array.from_buffers(pa.binary(), len(edges) - 1, [None, pa.py_buffer(edges), pa.py_buffer(data)])
    return pieces.take(pa.array(np.arange(0, 2 * len(starts), 2)))


def _decompress(values: pa.Array) -> tuple[pa.Array, Mask]:
    """Decompress values; return them and whether each could be decompressed."""
    fine = np.ones(len(values), np.bool_)
    data, bounds = buffers(values)
    padded = np.concatenate((data, np.zeros(2, np.uint8)))
    heads = _bytes_at(padded, bounds[:-1], 2)
    odd = np.flatnonzero(((heads[:, 0] != ord("{")) | (heads[:, 1] != ord('"'))) & (np.diff(bounds) > 0))
    if not len(odd):
        return values, fine
    decompressed: list[bytes] = []
    for place, value in zip(odd.tolist(), values.take(pa.array(odd)).to_pylist(), strict=True):
        try:
            decompressed.append(decompress_value(value))
        except ValueError:
            fine[place] = False
            decompressed.append(b"")
    where = np.arange(len(values))
    where[odd] = len(values) + np.arange(len(odd))
    return pa.concat_arrays([values, pa.array(decompressed, pa.binary())]).take(pa.array(where)), fine
