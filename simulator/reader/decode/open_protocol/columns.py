"""Reads Open Protocol by columns. The text of an event is its key and its value, joined by NEW_LINE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Bytes, Mask, Places, buffers, spans
from simulator.reader.decode.decoder import ColumnarDecoder, EventTexts, Path, Role
from simulator.reader.decode.go_json import parse
from simulator.reader.decode.open_protocol.messages import ANY_STRINGS, LONG_STRINGS, VERSION
from simulator.reader.decode.stream_events import ColumnInfo
from simulator.reader.decode.tokens import OBJECT, QUOTE, JsonStrings, bytes_at, is_number
from simulator.reader.decode.whole_messages import decompress_cells

NEW_LINE = b"\n"


def events(keys: pa.Array, values: pa.Array) -> EventTexts:
    """Split keys and values, in each round the next event of every record."""
    there = np.asarray(keys.is_valid()) & np.asarray(values.is_valid())
    sides = [buffers(side.fill_null(b"")) for side in (keys, values)]
    padded = [np.concatenate((data, np.zeros(8, np.uint8))) for data, _ in sides]
    (_, key_bounds), (_, value_bounds) = sides
    version = _numbers(padded[0], np.minimum(key_bounds[:-1], len(padded[0]) - 8))
    fine = there & (np.diff(key_bounds) > 8) & (version == 1)
    at, ends = [key_bounds[:-1] + 8, value_bounds[:-1].copy()], [key_bounds[1:], value_bounds[1:]]
    rounds: list[tuple[Places, ...]] = []
    active = np.flatnonzero(fine)
    while len(active):
        lone = (at[1][active] == ends[1][active]) & (len(rounds) == 0)
        bounds: list[Places] = []
        for side in (0, 1):
            starts = at[side][active] + 8
            sizes = _numbers(padded[side], np.minimum(starts, ends[side][active]) - 8)
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
    heads = spans(padded[0], bounds[0][keep], bounds[1][keep])
    bodies, whole = decompress_cells(spans(padded[1], bounds[2][keep], bounds[3][keep]))
    texts = pc.binary_join_element_wise(heads, bodies, NEW_LINE)
    if not whole.all():
        whole = ~np.isin(record[keep], record[keep[~whole]])
    keep = keep[whole]
    return EventTexts(record[keep], number[keep], texts.filter(pa.array(whole)))


def _numbers(data: Bytes, places: Places) -> Places:
    """Read big-endian integers of eight bytes."""
    return np.ascontiguousarray(bytes_at(data, places, 8)).view(">i8")[:, 0].astype(np.int64)


def tokens(strings: JsonStrings) -> tuple[Mask, Mask]:
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
    is_value = (size[keys] == 1) & (data[opens[keys] + 1] == ord("v"))
    loose = np.zeros(len(opens), np.bool_)
    loose[keys[np.where(inside[keys], is_value, is_number(behind[keys]) & (size[keys] > 1))]] = True
    return ~strings.is_key & inside, loose


def message(text: bytes) -> tuple[bytes | None, bytes]:
    """Return key and value with their length prefixes."""
    head, _, body = text.partition(NEW_LINE)
    framed = len(body).to_bytes(8, "big") + body if body else b""
    return VERSION + len(head).to_bytes(8, "big") + head, framed


def objects(text: bytes) -> Sequence[dict[str, Any]]:
    """Return key and value; nothing if an old value lacks a name, or the type of the new one."""
    head, _, body = text.partition(NEW_LINE)
    value = parse(body) if body else {}
    new = value.get("u", {})
    is_regular = all(
        isinstance(column, dict) and name in new and column.get("t") == new[name].get("t")
        for name, column in value.get("p", {}).items()
    )
    return (parse(head), value) if is_regular else ()


def cell(path: Path) -> tuple[str, str] | None:
    if len(path) == 4 and path[0] == 1 and path[1] in ("u", "p", "d") and path[3] == "v":
        return ("old" if path[1] == "p" else "new"), str(path[2])
    return None


def role(info: ColumnInfo) -> Role | None:
    if info.flags is None and info.type in ANY_STRINGS:
        return None
    if info.type in LONG_STRINGS:
        return Role.BASE64_BYTES if info.binary else Role.BASE64_TEXT
    return Role.QUOTED if info.binary else Role.ANY


COLUMNS = ColumnarDecoder(
    events=events,
    tokens=tokens,
    message=message,
    breaks=1,
    rows=("key", ('"t":1}', '"t":1,', '"t":3}')),
    numbers={(0, "ts"): "commit_ts", (0, "rid"): "rid", (0, "ptn"): "ptn"},
    cell=cell,
    role=role,
    objects=objects,
)
