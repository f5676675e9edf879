"""Reads Debezium by columns. The text of an event is the digests of the schemas of key and value, then both payloads with
a comma between them: a schema is the same in all rows of a table, and read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Bytes, Mask, Places, buffers, spans
from simulator.reader.decode.debezium.messages import SCHEMA
from simulator.reader.decode.decoder import ColumnarDecoder, EventTexts, Path, Role
from simulator.reader.decode.go_json import parse
from simulator.reader.decode.stream_events import ColumnInfo
from simulator.reader.decode.tokens import NULL, OBJECT, JsonStrings, bytes_at, is_number
from simulator.reader.decode.whole_messages import decompress_cells

END = b"}}"
BEGIN = b',{"payload":'
"""Between key and value; a key has no comma and brace outside of texts."""

DIGEST = 32
"""Characters of a digest."""

REMEMBERED = 1 << 12
"""Maximum number of remembered schemas."""

_schemas: dict[bytes, bytes] = {}
"""The texts behind digests, from SCHEMA on; they are those of the last batches of this process."""

SOURCE, BEFORE, AFTER = (
    np.frombuffer(b"source", np.uint8),
    np.frombuffer(b'before"', np.uint8),
    np.frombuffer(b'after":', np.uint8),
)
NUMBERS = {
    (1, "payload", "source", "commit_ts"): "commit_ts",
    (1, "payload", "source", "ts_ms"): "",
    (1, "payload", "ts_ms"): "",
}
SIDES = {"before": "old", "after": "new"}


def events(keys: pa.Array, values: pa.Array) -> EventTexts:
    if len(_schemas) > REMEMBERED:
        _schemas.clear()
    places = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
    chosen = pa.array(places)
    (texts, whole), (key_texts, whole_keys) = (
        decompress_cells(side if not side.null_count and len(places) == len(side) else side.take(chosen).fill_null(b""))
        for side in (values, keys)
    )
    (heads, digests, fine), (key_heads, key_digests, fine_keys) = _cut(texts), _cut(key_texts)
    no_key = pc.equal(pc.binary_length(key_texts), 0)
    key_end = pc.if_else(no_key, pa.scalar(b"", pa.binary()), pa.scalar(END, pa.binary()))
    joined = pc.binary_join_element_wise(
        key_digests, digests, key_heads, key_end, b",", heads, END, pa.scalar(b"", pa.binary())
    )
    kept = whole & whole_keys & fine & (fine_keys | np.asarray(no_key))
    return EventTexts(places[kept], np.zeros(int(kept.sum()), np.int64), joined.filter(pa.array(kept)))


def _cut(texts: pa.Array) -> tuple[pa.Array, pa.Array, Mask]:
    """Return the payloads without their end, the digests of the schemas, and which texts have such an end."""
    data, bounds = buffers(texts)
    sizes = np.diff(bounds)
    fine: Mask = sizes > 2
    for place in (1, 2):
        fine[fine] = data[bounds[1:][fine] - place] == ord("}")
    known = _tail(texts[0].as_py()) if len(texts) else b""
    first = np.asarray(pc.ends_with(texts, known)) if known else np.zeros(len(texts), np.bool_)
    if first.all():
        ends, digests = bounds[1:] - len(known), pa.repeat(pa.scalar(_digest(known), pa.binary()), len(texts))
    else:
        found = pc.find_substring(texts, SCHEMA).to_numpy(zero_copy_only=False).astype(np.int64)
        has_schema = found >= 0
        ends = bounds[:-1] + np.where(has_schema, found, np.maximum(sizes - 2, 0))
        tails = spans(data, ends, np.where(has_schema, bounds[1:], ends)).dictionary_encode()
        digests = pa.array(map(_digest, tails.dictionary.to_pylist()), pa.binary()).take(tails.indices)
    return spans(data, bounds[:-1], ends), digests, fine


def _tail(text: bytes) -> bytes:
    """Return the schema of a text, from SCHEMA on; empty if there is none."""
    _, found, rest = text.partition(SCHEMA)
    return found + rest


def _digest(schema: bytes) -> bytes:
    """Return the digest of a schema, which is remembered."""
    digest = blake2b(schema, digest_size=DIGEST // 2).hexdigest().encode()
    _schemas[digest] = schema
    return digest


def message(text: bytes) -> tuple[bytes | None, bytes]:
    key, value = _parts(text)
    key_schema, schema = (_schemas[text[start : start + DIGEST]] for start in (0, DIGEST))
    whole_key, whole = (
        part.removesuffix(END) + (schema or END) for part, schema in ((key, key_schema), (value, schema))
    )
    return whole_key if key else None, whole


def _parts(text: bytes) -> tuple[bytes, bytes]:
    """Return the payloads of key and value; raises ValueError."""
    key, found, value = text[2 * DIGEST :].partition(BEGIN)
    if not found:
        raise ValueError("no payload")
    return key, BEGIN[1:] + value


def tokens(strings: JsonStrings) -> tuple[Mask, Mask]:
    """In the key, and in the value from `before` or `after` on, every string that is no key, every number and every NULL;
    between them the numbers of NUMBERS."""
    data, opens, behind = strings.data, strings.opens, strings.behind
    size, rows = strings.closes - opens - 1, int(strings.row[-1]) + 1 if len(opens) else 0
    named = np.flatnonzero(strings.is_key & ((behind == OBJECT) | (behind == NULL)) & ((size == 6) | (size == 5)))
    names = bytes_at(data, opens[named] + 1, len(BEFORE))
    is_source = (names[:, :6] == SOURCE).all(axis=1)
    is_image = (names == BEFORE).all(axis=1) | (names == AFTER).all(axis=1)
    source, image = (_first(strings, named[chosen], rows) for chosen in (is_source, is_image))
    inside = (opens < source[strings.row]) | (opens > image[strings.row])
    inside &= source[strings.row] < len(data)
    numbers = strings.is_key & is_number(behind)
    loose = inside & (numbers | strings.is_key & (behind == NULL))
    outside = np.flatnonzero(numbers & ~inside & ((size == len("ts_ms")) | (size == len("commit_ts"))))
    loose[outside[_are_times(data, opens[outside], size[outside])]] = True
    return ~strings.is_key & inside, loose


def _first(strings: JsonStrings, chosen: Places, rows: int) -> Places:
    """Return the position of the first of some strings in each text; the end of all texts if there is none."""
    first = np.full(rows, len(strings.data), np.int64)
    chosen = chosen[np.diff(strings.row[chosen], prepend=-1) > 0]
    first[strings.row[chosen]] = strings.opens[chosen]
    return first


def _are_times(data: Bytes, opens: Places, size: Places) -> Mask:
    found = np.zeros(len(opens), np.bool_)
    for name in (b"ts_ms", b"commit_ts"):
        same = np.flatnonzero(size == len(name))
        found[same] = (bytes_at(data, opens[same] + 1, len(name)) == np.frombuffer(name, np.uint8)).all(axis=1)
    return found


def cell(path: Path) -> tuple[str, str] | None:
    if len(path) == 4 and path[:2] == (1, "payload") and path[2] in SIDES:
        return SIDES[str(path[2])], str(path[3])
    if len(path) == 3 and path[:2] == (0, "payload"):
        return "key", str(path[2])
    return None


def objects(text: bytes) -> Sequence[dict[str, Any]]:
    key, value = _parts(text)
    return parse(key) if key else {}, parse(value)


def role(info: ColumnInfo) -> Role:
    """Values are not looked at, as decoding does not, either."""
    return Role.ANY


COLUMNS = ColumnarDecoder(
    events=events,
    tokens=tokens,
    message=message,
    breaks=0,
    rows=("value", ('"op":"',)),
    numbers=NUMBERS,
    cell=cell,
    role=role,
    objects=objects,
)
