"""Reads Canal-JSON by columns. A message is one event, and its text is the value."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask, buffers, spans
from simulator.reader.decode.canal_json.heads import KnownHeads
from simulator.reader.decode.canal_json.messages import BLOB
from simulator.reader.decode.decoder import ColumnarDecoder, EventTexts, Path, Role
from simulator.reader.decode.go_json import parse
from simulator.reader.decode.stream_events import ColumnInfo
from simulator.reader.decode.tokens import LIST, NULL, OBJECT, JsonStrings, bytes_at, is_number
from simulator.reader.decode.whole_messages import decompress_cells

LINE_END = b"\r\n"
DATA, OLD = np.frombuffer(b"data", np.uint8), np.frombuffer(b'old"', np.uint8)

_heads = KnownHeads()


def events(keys: pa.Array, values: pa.Array) -> EventTexts:
    places = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
    texts, fine = decompress_cells(_without_line_end(values.take(pa.array(places)) if values.null_count else values))
    fine = fine & ~np.asarray(pc.starts_with(texts, b"#"))  # as a mark does
    if not fine.all():
        places, texts = places[fine], texts.filter(pa.array(fine))
    return EventTexts(places, np.zeros(len(places), np.int64), texts)


def _without_line_end(values: pa.Array) -> pa.Array:
    """Remove the CR LF that rows of 6.5.0 to 6.5.11, 6.6 and 7.0 end with."""
    data, bounds = buffers(values)
    if not len(data) or not (data[bounds[1:] - 1] == LINE_END[1]).any():
        return values
    lasts = bytes_at(data, np.maximum(bounds[1:] - 2, 0), 2)
    ended = (np.diff(bounds) > 2) & (lasts == np.frombuffer(LINE_END, np.uint8)).all(axis=1)
    return spans(data, bounds[:-1], bounds[1:] - 2 * ended)


def tokens(strings: JsonStrings) -> tuple[Mask, Mask]:
    """From `data` or `old` on, every string that is no key, every NULL, and commitTs; before them `es` and `ts`.

    Only these two members have a list with an object as value. `data` with another value is that of a statement or
    watermark.
    """
    data, opens, behind = strings.data, strings.opens, strings.behind
    size = strings.closes - opens - 1
    listed = np.flatnonzero(strings.is_key & (size <= 4) & ((behind == LIST) | (behind == NULL)))
    names = bytes_at(data, opens[listed] + 1, 4)
    is_object = (behind[listed] == LIST) & (data[strings.closes[listed] + 3] == OBJECT)
    is_data = (names == DATA).all(axis=1) & (is_object | (behind[listed] == NULL))
    begins = listed[is_data | (names == OLD).all(axis=1) & is_object]
    begins = begins[np.diff(strings.row[begins], prepend=-1) > 0]
    region = np.full(int(strings.row[-1]) + 1 if len(opens) else 0, len(data), np.int64)
    region[strings.row[begins]] = opens[begins]
    inside = opens > region[strings.row]
    number = is_number(behind) & strings.is_key
    short = np.flatnonzero(number & ~inside & (size == 2))
    short = short[(data[opens[short] + 2] == ord("s")) & np.isin(data[opens[short] + 1], (ord("e"), ord("t")))]
    loose = inside & (number | (behind == NULL) & strings.is_key)
    loose[short] = True
    return ~strings.is_key & inside, loose


def cell(path: Path) -> tuple[str, str] | None:
    if len(path) == 4 and path[:3] in ((0, "data", 0), (0, "old", 0)):
        return ("old" if path[1] == "old" else "new"), str(path[3])
    return None


def role(info: ColumnInfo) -> Role:
    return Role.TEXT if not info.binary else Role.LATIN if info.sql_type == BLOB else Role.ASCII


COLUMNS = ColumnarDecoder(
    events=events,
    without_build_time=lambda texts: pc.replace_substring_regex(texts, r'"ts":\d+', '"ts":0', max_replacements=1),
    shortened=_heads.marked,
    tokens=tokens,
    message=lambda text: (None, _heads.restored(text)),
    breaks=0,
    rows=("value", ('"isDdl":false',)),
    numbers={
        (0, "es"): "es",
        (0, "ts"): "",
        (0, "_tidb", "commitTs"): "commit_ts",
        (0, "_tidb", "watermarkTs"): "commit_ts",
    },
    cell=cell,
    role=role,
    objects=lambda text: (parse(_heads.restored(text)),),
)
