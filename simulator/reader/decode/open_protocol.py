"""TiCDC's Open Protocol (docs: open-protocol; tiflow v8.5 pkg/sink/codec/open).

A key has version 1 and length-prefixed JSON objects, a value as many; the value of a resolved event is empty.

With only-output-updated-columns the new architecture writes a column that becomes NULL into `p` as `"t":15,"f":64,
"v":"…"` beside the named ones (ticdc up to v8.5.7 and v26.3.4: pkg/sink/codec/open/codec.go). Such a value gets a name
only if it can belong to no other column.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask, Places, buffers, pieces_between, spans, stored_buffers
from simulator.limits import counted
from simulator.reader.decode import message_bytes
from simulator.reader.decode.decoder import (
    ComparableText,
    Decoder,
    JsonColumns,
    Numbers,
    Outline,
    surrogate_text,
    without_ids,
    zero,
)
from simulator.reader.decode.json_cuts import CutEvents, FramedEvents, Number, Shared, bytes_at, cut_numbers, words
from simulator.reader.decode.message_bytes import (
    Cell,
    decompress_cells,
    decompress_value,
    integer,
    members,
    pairs,
    parse,
    text,
    unquote,
)
from simulator.reader.events import ColumnInfo, DdlEvent, Event, Image, RowEvent, Value, Watermark
from simulator.ticdc.table_info import BINARY, UNSIGNED

VERSION = (1).to_bytes(8, "big")
ROW, DDL, RESOLVED = 1, 2, 3

STRINGS = frozenset((15, 253, 254))
"""Type codes of CHAR and VARCHAR, BINARY and VARBINARY."""

LONG_STRINGS = frozenset((249, 250, 251, 252))
"""Type codes of the TEXT and BLOB families."""

ANY_STRINGS = STRINGS | LONG_STRINGS

INVALID = "surrogateescape"
"""The new architecture copies bytes that are not UTF-8 (ticdc pkg/util/json_writer.go)."""


def looks_like(key: bytes | None, value: bytes | None) -> bool:
    if key is None or key[:8] != VERSION:
        return False
    return len(key) > len(VERSION) or (value or b"")[:1] != b"{"  # that is Maxwell


def decode(key: bytes | None, value: bytes | None) -> tuple[Event, ...]:
    """Return the events of one message; raises ValueError or KeyError if it is no Open Protocol."""
    pairs = (pair for pair in texts(key, value) if not is_empty(*pair))
    return tuple(_event(parse(head), decompress_value(body)) for head, body in pairs)


def is_empty(head: bytes, body: bytes) -> bool:
    """Return whether an event is a row that a transaction inserts and deletes (`releases` empty_changes)."""
    if body != b"{}" or not head.startswith(b'{"ts":'):
        return False
    key = parse(head)
    return integer(key["t"]) == ROW and "ohk" not in key and "ccl" not in key


def texts(key: bytes | None, value: bytes | None) -> tuple[tuple[bytes, bytes], ...]:
    """Return key and value of each event of one message; raises ValueError if it is no Open Protocol."""
    if key is None or value is None:
        raise ValueError(f"the {'key' if key is None else 'value'} is null")
    if key[:8] != VERSION:
        raise ValueError(f"the key begins with {key[:8].hex() or 'nothing'}, not with version 1")
    keys, values = _frames(key[8:], "key"), _frames(value, "value")
    if not values and len(keys) == 1:
        values = [b""]
    if len(keys) != len(values) or not keys:
        raise ValueError(f"{counted(len(keys), 'event')} in the key, {len(values)} in the value")
    return tuple(zip(keys, values, strict=True))


def _frames(data: bytes, where: str) -> list[bytes]:
    frames, at = [], 0
    while at < len(data):
        end = at + 8 + int.from_bytes(data[at : at + 8], "big")
        if at + 8 > len(data) or end > len(data):
            raise ValueError(f"the {where} ends inside the event that begins at byte {at} of {len(data)}")
        frames.append(data[at + 8 : end])
        at = end
    return frames


def _event(key: dict[str, Any], body: bytes) -> Event:
    kind, commit_ts = integer(key["t"]), integer(key["ts"])
    if kind == RESOLVED:
        if body:
            raise ValueError(f"a resolved event with a value of {counted(len(body), 'byte')}")
        return Watermark(commit_ts)
    value, schema, table = parse(body, INVALID), text(key.get("scm", "")), text(key.get("tbl", ""))
    if kind == DDL:
        return DdlEvent(commit_ts, schema, table, text(value["q"]), integer(value["t"]))
    if kind != ROW:
        raise ValueError(f"event type {kind}: 1 (row), 2 (DDL) and 3 (resolved) are known")
    return _row(key, value, body)


def _row(key: dict[str, Any], value: dict[str, Any], body: bytes) -> RowEvent:
    deleted, updated, previous = (members(value[name]) if name in value else None for name in "dup")
    if not value:
        raise ValueError("nothing is left of the row but {}: its table has no handle key that it could be cut down to")
    if (deleted is None) == (updated is None):
        raise ValueError("a row event has exactly one of the members u and d")
    columns = deleted if updated is None else updated
    assert columns is not None
    infos = {name: _info(members(column)) for name, column in columns.items()}
    nameless: list[dict[str, Any]] = []
    if previous is not None and not all(isinstance(column, dict) for column in previous.values()):
        previous, nameless = match_nameless(pairs(body, INVALID), columns)
    return RowEvent(
        commit_ts=integer(key["ts"]),
        schema=text(key.get("scm", "")),
        table=text(key.get("tbl", "")),
        op="DELETE" if updated is None else "INSERT" if previous is None else "UPDATE",
        before=_image(deleted if updated is None else previous, infos),
        after=_image(updated, infos),
        columns=infos,
        rid=integer(key["rid"]) if "rid" in key else None,
        ptn=integer(key["ptn"]) if "ptn" in key else None,
        unnamed=tuple(_value(column, _info(column)) for column in nameless),
        only_handle=key.get("ohk") is True or "ccl" in key,
        stored_at=text(key.get("ccl", "")),
    )


def _info(column: Mapping[str, Any]) -> ColumnInfo:
    flags = integer(column["f"]) if "f" in column else None
    code = integer(column["t"])
    binary = bool((flags or 0) & BINARY) and code in ANY_STRINGS
    return ColumnInfo(code, flags, column.get("h") is True, binary=binary)


def _image(columns: dict[str, Any] | None, infos: Mapping[str, ColumnInfo]) -> Image | None:
    """Return values by column. In `p` of the new architecture's 8.5.4 and 8.5.5 `f` is TiDB's own flag word, so that
    the flags of `u` and `d` are used."""
    if columns is None:
        return None
    return {
        name: _value(members(column), infos[name] if name in infos else _info(column))
        for name, column in columns.items()
    }


def _early(value: str) -> Value:
    """Return a string of 4.0.0 to 4.0.4: base64, or plain text if the row was in TiKV's second format."""
    try:
        data = base64.b64decode(value, validate=True)
    except ValueError:
        return value
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data


ZERO_OBJECTS: Mapping[int, tuple[str, Mapping[str, str]]] = {
    246: ("0", {}),
    10: ("0000-00-00", {}),
    **dict.fromkeys((7, 12), ("0000-00-00 00:00:00", {})),
    11: ("00:00:00", {"Duration": "0", "Fsp": "0"}),
    248: ("0", {"Name": "", "Value": "0"}),
}
"""By type code the texts of zeros that TiCDC up to 5.3.0 sends as objects (`ticdc.mounter`)."""


def _value(column: Mapping[str, Any], info: ColumnInfo) -> Value:
    """Return text, or bytes of a binary column. Without `f` (before 4.0.5) it may be either."""
    code, value = integer(column["t"]), column["v"]
    if value is None:
        return None
    binary = bool((info.flags or 0) & BINARY)
    if info.flags is None and code in ANY_STRINGS:
        return _early(text(value))
    if code in LONG_STRINGS:
        data = base64.b64decode(text(value), validate=True)
        return data if binary else data.decode("utf-8", INVALID)
    if code in STRINGS and binary:
        return unquote(text(value))
    if isinstance(value, dict) and value == ZERO_OBJECTS.get(code, ("", None))[1]:
        return ZERO_OBJECTS[code][0]
    if not isinstance(value, str):
        raise ValueError(f"a value that is neither text nor number: {value!r}")
    return str(value)


Column: TypeAlias = "dict[str, Any]"
"""`t`, `f`, `v` of one column."""


def match_nameless(
    value: list[tuple[str, Any]], updated: Mapping[str, Column]
) -> tuple[dict[str, Column], list[Column]]:
    """Return the members of `p` by name, and those without a name; `value` is the message's value as pairs."""
    columns: dict[str, Column] = {}
    nameless: list[Column] = []
    for name, column in next(content for member, content in value if member == "p"):
        if isinstance(column, list):
            columns[name] = dict(column)
            continue
        if name == "t":
            nameless.append({})
        if not nameless:
            raise ValueError(f"member {name!r} of p is no column")
        nameless[-1][name] = column
    return _matched(columns, nameless, updated)


def _matched(
    columns: dict[str, Column], nameless: list[Column], updated: Mapping[str, Column]
) -> tuple[dict[str, Column], list[Column]]:
    """Name values where as many columns became NULL as there are nameless values of their type and flags, both in table
    order."""
    remaining: list[Column] = []
    for kind in dict.fromkeys(map(_kind, nameless)):
        values = [column for column in nameless if _kind(column) == kind]
        empty = [
            name
            for name, column in updated.items()
            if column["v"] is None and name not in columns and _kind(column) == kind
        ]
        if len(empty) == len(values):
            columns.update(zip(empty, values, strict=True))
        else:
            remaining += values
    return columns, remaining


def _kind(column: Column) -> tuple[Any, Any]:
    return column["t"], column.get("f")


PARTITION_ID = (re.compile(r'(?<=[,{])"(ptn)":(\d+)'),)
"""The id of a table's partition in a key of Open Protocol."""


def comparable(
    key: bytes | None, value: bytes | None, ignored: frozenset[str], schemas: Mapping[int, str]
) -> ComparableText:
    shown = surrogate_text(key)
    fields = json.loads(shown)
    ids: Numbers = ()
    if "commit-ts" in ignored:
        shown = zero(shown, "ts", fields["ts"])
    if "ids" in ignored:
        shown, ids = without_ids(shown, PARTITION_ID)
    table = f"{fields.get('scm', '')}.{fields.get('tbl', '')}"
    return ComparableText(
        fields["ts"], table, shown, surrogate_text(decompress_value(value or b"")), fields["t"] == 3, ids
    )


def events(keys: pa.Array, values: pa.Array) -> FramedEvents:
    """Split keys and values, in each round the next event of every record."""
    there = np.asarray(keys.is_valid()) & np.asarray(values.is_valid())
    sides = [buffers(side.fill_null(b"")) for side in (keys, values)]
    (_, key_bounds), (_, value_bounds) = sides
    version = _numbers(sides[0][0], key_bounds[:-1])
    fine = there & (np.diff(key_bounds) > 8) & (version == 1)
    at, ends = [key_bounds[:-1] + 8, value_bounds[:-1].copy()], [key_bounds[1:], value_bounds[1:]]
    rounds: list[tuple[Places, ...]] = []
    active = np.flatnonzero(fine)
    while len(active):
        lone = (at[1][active] == ends[1][active]) & (len(rounds) == 0)
        bounds: list[Places] = []
        for side in (0, 1):
            starts = at[side][active] + 8
            sizes = _numbers(sides[side][0], np.minimum(starts, ends[side][active]) - 8)
            if side:
                starts, sizes = np.where(lone, starts - 8, starts), np.where(lone, 0, sizes)
            room = ends[side][active] - starts
            fine[active[(sizes < 0) | (sizes > room)]] = False
            at[side][active] = starts + np.clip(sizes, 0, np.maximum(room, 0))
            bounds += [starts, at[side][active]]
        rounds.append((active, np.full(len(active), len(rounds)), *bounds))
        active = active[fine[active]]
        fine[active[(at[0][active] == ends[0][active]) != (at[1][active] == ends[1][active])]] = False
        active = active[fine[active] & (at[0][active] < ends[0][active])]
    record, number, *bounds = (
        np.concatenate(parts) if parts else np.zeros(0, np.int64) for parts in (zip(*rounds) if rounds else ((),) * 6)
    )
    keep = np.flatnonzero(fine[record]) if len(record) else record
    keep = keep[np.lexsort((number[keep], record[keep]))]
    heads = spans(sides[0][0], bounds[0][keep], bounds[1][keep])
    bodies, whole = decompress_cells(spans(sides[1][0], bounds[2][keep], bounds[3][keep]))
    if not whole.all():
        whole = ~np.isin(record[keep], record[keep[~whole]])
        heads, bodies = (side.filter(pa.array(whole)) for side in (heads, bodies))
    keep = keep[whole]
    return FramedEvents(record[keep], number[keep], heads, bodies)


def _numbers(data: npt.NDArray[np.uint8], places: Places) -> Places:
    """Read big-endian integers of eight bytes."""
    return np.ascontiguousarray(bytes_at(data, places, 8)).view(">i8")[:, 0].astype(np.int64)


NUMBERS = Number(b'{"ts":', "ts"), Number(b',"rid":', "rid", may_lack=True)


def _cut(events: FramedEvents) -> CutEvents:
    """The constant is the key without numbers, the first member of the value, and what describes columns."""
    keys, bounds = buffers(events.keys)
    cut = cut_numbers(keys, bounds[:-1], bounds[1:], NUMBERS)
    described, objects, paired = _without_descriptions(events.values)
    member = pc.binary_slice(events.values, 0, 3)
    parts = [(keys, cut.ends, bounds[1:])]
    for each in (member, described):
        data, places = buffers(each)
        parts.append((data, places[:-1], places[1:]))
    constants = [*cut.constants, *(Shared.between(*part) for part in parts)]
    fine = cut.fine & paired & np.asarray(pc.starts_with(events.values, '{"'))
    return CutEvents(constants, objects, cut.numbers, fine)


def _without_descriptions(rows: pa.Array) -> tuple[pa.Array, pa.Array, Mask]:
    """Return of each row what is from the `t` to the `v` of its columns, the rest, and whether each `t` has a `v`."""
    data, bounds = buffers(rows)
    starts, ends = (_members(data, word) for word in (b'"t":', b'"v":'))
    counts, others = (np.diff(np.searchsorted(places, bounds)) for places in (starts, ends))
    paired = counts == others
    starts, ends = starts[np.repeat(paired, counts)], ends[np.repeat(paired, others)]
    counts = np.where(paired, counts, 0)
    row = np.repeat(np.arange(len(counts)), counts)
    wrong = (ends < starts) | (np.append(starts, len(data))[1:] < ends)
    paired[row[wrong]] = False
    kept = ~wrong
    starts, ends, row = starts[kept], ends[kept], row[kept]
    first = np.searchsorted(row, np.arange(len(bounds)))
    edges = np.empty(2 * len(starts) + len(bounds), np.int32)
    opening = 2 * np.arange(len(starts)) + row + 1
    edges[2 * first + np.arange(len(bounds))] = bounds
    edges[opening], edges[opening + 1] = starts, ends
    inside = np.zeros(len(edges) - 1, np.bool_)
    inside[opening] = True
    pieces = pieces_between(edges, data)
    described, rest = pieces.filter(pa.array(inside)), pieces.filter(pa.array(~inside))
    return _regrouped(described, first), _regrouped(rest, first + np.arange(len(bounds))), paired


def _members(data: npt.NDArray[np.uint8], word: bytes) -> Places:
    """Return where a member begins, unless it is a column, which is an object."""
    places = words(data, word)
    found: Places = places[data[np.minimum(places + len(word), len(data) - 1)] != ord("{")]
    return found


def _regrouped(pieces: pa.Array, first: Places) -> pa.Array:
    """Return pieces joined from each of the first ones on."""
    data, offsets = stored_buffers(pieces)
    return pieces_between(np.ascontiguousarray(offsets[first]), data)


def _outline(event: RowEvent, members: Mapping[str, Any]) -> Outline:
    return Outline(
        commit_ts=("ts",),
        before={"DELETE": "d", "UPDATE": "p"}.get(event.op),
        after=None if event.op == "DELETE" else "u",
        cell=_cell,
    )


INTEGERS = frozenset((1, 2, 3, 8, 9, 13, 16, 247, 248))
"""Type codes of integers, YEAR, BIT, ENUM and SET."""

REALS = frozenset((4, 5))
NEVER_SIGNED = frozenset((16, 247, 248))


def _cell(info: ColumnInfo, column: object) -> Cell | None:
    value = _value_cell(info)
    if value is None:
        return None
    return _in_object(value)


@cache
def _in_object(value: Cell) -> Cell:
    kind = pa.struct([("v", value.type)])
    return Cell(kind, lambda columns: value.convert(pc.struct_field(columns, "v")), value.doubted)


def _value_cell(info: ColumnInfo) -> Cell | None:
    if info.type in ANY_STRINGS and info.flags is None:
        return None
    if info.type in LONG_STRINGS:
        return message_bytes.BASE64_BYTES if info.binary else message_bytes.BASE64_TEXT
    if info.binary:
        return message_bytes.QUOTED
    if info.type in INTEGERS:
        unsigned = info.type in NEVER_SIGNED or (info.flags or 0) & UNSIGNED
        return message_bytes.UNSIGNED if unsigned else message_bytes.SIGNED
    return message_bytes.REAL if info.type in REALS else message_bytes.TEXT


COLUMNS = JsonColumns(events=events, cut=_cut, outline=_outline, rows=("key", ('"t":1}', '"t":1,', '"t":3}')))

DECODER = Decoder(decode, texts, looks_like, "Open Protocol (a key that begins with version 1)", comparable, COLUMNS)
