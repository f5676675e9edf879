"""Row changes for tests, from plain values, and a reading of the messages that shares nothing with the encoders."""

from __future__ import annotations

import ast
import json
import struct
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa

from simulator.releases import RELEASES, V8_5, Release, option_names
from simulator.ticdc.codecs import CODECS, CodecOptions, RowChanges
from simulator.tidb.model.table import Table, visible_columns

Values = Mapping[str, str | bytes | None]
"""TiDB text, or bytes for binary columns and for text that is not UTF-8."""

Change = tuple[Values | None, Values | None]

LIMITED = [name for name, codec in CODECS.items() if not codec.sizes(CodecOptions(name), V8_5).large_rows]
"""Protocols that do not send rows above max-message-bytes as they are."""

SHORTENED = [name for name in LIMITED if option_names.LARGE_MESSAGES <= CODECS[name].protocol.settings]
"""Protocols with large-message-handle-option."""


def cell(value: str | bytes | None, is_binary: bool) -> bytes:
    """A cell of a row image."""
    if value is None:
        return b"\xfe"
    if is_binary:
        assert isinstance(value, bytes)
        return value.decode("latin-1").encode()
    text = value if isinstance(value, str) else value.decode("utf-8", "surrogateescape")
    return text.encode("utf-8", "surrogatepass")


def image(values: Values | None, table: Table, binary: frozenset[str]) -> bytes | None:
    """A row image."""
    columns = visible_columns(table)
    if values is None:
        return None
    return b"\xff".join(cell(values[column.name], column.name in binary) for column in columns)


def rows(
    table: Table, changes: Sequence[Change], binary: frozenset[str] = frozenset(), first_ts: int = 1 << 40
) -> RowChanges:
    """Changes of one table, commit-ts rising by one."""
    before, after = ([image(change[side], table, binary) for change in changes] for side in (0, 1))
    return RowChanges(
        table,
        None,
        pa.array(range(first_ts, first_ts + len(changes)), pa.int64()),
        pa.array(range(1, len(changes) + 1), pa.int64()),
        pa.array(before, pa.binary()),
        pa.array(after, pa.binary()),
    )


def unframed(data: bytes) -> list[bytes]:
    """Entries of an Open Protocol key (after the version) or value."""
    found = []
    while data:
        (length,) = struct.unpack(">Q", data[:8])
        found.append(data[8 : 8 + length])
        data = data[8 + length :]
    return found


def unquoted(text: str) -> bytes:
    """strconv.Unquote: the bytes of a text that strconv.Quote wrote, by way of a Python literal of the same meaning."""
    out, at = b"", 0
    while at < len(text):
        if text[at] != "\\":
            out, at = out + text[at].encode(), at + 1
            continue
        width = {"x": 4, "u": 6, "U": 10}.get(text[at + 1], 2)
        part = text[at : at + width]
        is_byte = part[1] == "x"
        out += bytes([int(part[2:], 16)]) if is_byte else str(ast.literal_eval(f"'{part}'")).encode()
        at += width
    return out


def parsed(text: bytes) -> Any:
    """JSON with its numbers as they are written."""
    return json.loads(text, parse_int=str, parse_float=str)


EVERY = tuple(release for releases in RELEASES.values() for release in releases.values())


LAST = "v8.5.8, new:v8.5.4 – v9.0.0-beta.2.pre"
"""How the range of `by_answer` ends that has every later release."""


def releases_of(protocol: str) -> list[Release]:
    """The releases of which the protocol is simulated; Open Protocol is the default before it has a name."""
    having = [release for release in EVERY if protocol == "open-protocol" or protocol in release.protocols]
    return [release for release in having if not CODECS[protocol].not_simulated(release)]


def by_answer(ask: Callable[[Release], Hashable], releases: Sequence[Release] = EVERY) -> dict[Any, str]:
    """What releases answer, and which ones do: `v6.5.0 – v6.5.11, v7.0.0`, those of the new architecture as `new:…`."""
    answers = [ask(release) for release in releases]
    found: dict[Any, list[str]] = {}
    for (answer, _), run in groupby(zip(answers, releases), lambda each: (each[0], each[1].architecture)):
        first, *_, last = [release for _, release in run] * 2
        name = first.name if first.architecture == "classic" else f"new:{first.name}"
        found.setdefault(answer, []).append(name if first is last else f"{name} – {last.name}")
    return {answer: ", ".join(ranges) for answer, ranges in found.items()}
