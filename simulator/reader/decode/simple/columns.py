"""Reads Simple's messages in JSON by columns. A message is one event, and its text is the value."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Bytes, Mask, Places, buffers
from simulator.reader.decode.decoder import ColumnarDecoder, EventTexts, Path, Role
from simulator.reader.decode.go_json import parse
from simulator.reader.decode.tokens import NULL, OBJECT, JsonStrings, bytes_at, is_number
from simulator.reader.decode.whole_messages import decompress_cells

ROWS = b'{"version":1,"database":', b'{"version":1,"schema":'
"""The beginnings of rows in JSON; the second one is that of the first form (7.6)."""

WATERMARK = b'{"version":1,"type":"WATERMARK",'

DATA, OLD = np.frombuffer(b'data"', np.uint8), np.frombuffer(b'old":', np.uint8)
MEMBERS = frozenset(("data", "old"))
NUMBERS = {
    (0, "commitTs"): "commit_ts",
    (0, "buildTs"): "",
    (0, "checksum", "current"): "",
    (0, "checksum", "previous"): "",
}
SIZES = tuple({len(str(path[-1])) for path in NUMBERS})


def may_tell(values: pa.Array) -> Mask:
    """Return which values are no rows or watermarks."""
    heads = [pc.starts_with(values, head) for head in (*ROWS, WATERMARK)]
    data, bounds = buffers(values)
    begins = bytes_at(np.concatenate((data, np.zeros(2, np.uint8))), bounds[:-1], 2)
    is_avro = [(begins == np.frombuffer(head, np.uint8)).all(axis=1) for head in AVRO_HEADS]
    told: Mask = ~np.logical_or.reduce([*is_avro, *(np.asarray(head) for head in heads)])
    return told


AVRO_HEADS = b"\x16\0", b"\x16\6", b"\x0a\2", b"\x10\2"
"""The beginnings of watermarks and rows in Avro; the last two are those of the first form."""


def events(keys: pa.Array, values: pa.Array) -> EventTexts:
    """Return the texts of messages in JSON."""
    places = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
    texts, fine = decompress_cells(values.take(pa.array(places)) if values.null_count else values)
    fine &= np.asarray(pc.starts_with(texts, b'{"'))
    return EventTexts(places[fine], np.zeros(int(fine.sum()), np.int64), texts.filter(pa.array(fine)))


def tokens(strings: JsonStrings) -> tuple[Mask, Mask]:
    """From `data` or `old` on, every string that is no key, and every NULL; before them the numbers of `NUMBERS`."""
    data, opens, behind = strings.data, strings.opens, strings.behind
    size = strings.closes - opens - 1
    named = np.flatnonzero(strings.is_key & (behind == OBJECT) & ((size == len("data")) | (size == len("old"))))
    names = bytes_at(data, opens[named] + 1, len(DATA))
    begins = named[(names == DATA).all(axis=1) | (names == OLD).all(axis=1)]
    begins = begins[np.diff(strings.row[begins], prepend=-1) > 0]
    region = np.full(int(strings.row[-1]) + 1 if len(opens) else 0, len(data), np.int64)
    region[strings.row[begins]] = opens[begins]
    inside = opens > region[strings.row]
    loose = inside & strings.is_key & (is_number(behind) | (behind == NULL))
    numbers = np.flatnonzero(strings.is_key & is_number(behind) & ~inside & np.isin(size, SIZES))
    loose[numbers[_are_numbers(data, opens[numbers], size[numbers])]] = True
    return ~strings.is_key & inside, loose


def _are_numbers(data: Bytes, opens: Places, size: Places) -> Mask:
    found = np.zeros(len(opens), np.bool_)
    for path in NUMBERS:
        name = np.frombuffer(str(path[-1]).encode(), np.uint8)
        same = np.flatnonzero(size == len(name))
        found[same] |= (bytes_at(data, opens[same] + 1, len(name)) == name).all(axis=1)
    return found


def cell(path: Path) -> tuple[str, str] | None:
    """Return the column of a value, which in a TIMESTAMP is one level deeper."""
    if len(path) in (3, 4) and path[1] in MEMBERS and path[3:] in ((), ("value",)):
        return ("old" if path[1] == "old" else "new"), str(path[2])
    return None


COLUMNS = ColumnarDecoder(
    events=events,
    tokens=tokens,
    message=lambda text: (None, text),
    breaks=0,
    rows=("value", tuple(head.decode() for head in ROWS)),
    numbers=NUMBERS,
    cell=cell,
    role=lambda info: Role.BASE64_BYTES if info.binary else Role.TEXT,
    objects=lambda text: (parse(text),),
)
