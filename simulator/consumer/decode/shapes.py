"""Shapes of texts with one skeleton, learned from one of them with `decode`.

If something does not apply to all texts with the skeleton, there is no shape, and each is decoded by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator.columns.change_frame import ROW, WATERMARK
from simulator.consumer.decode import canal_json, decode, open_protocol
from simulator.consumer.decode.go_json import parse
from simulator.consumer.decode.row_wise import OPERATIONS, event_layout
from simulator.consumer.decode.stream_events import ColumnInfo, RowEvent, Watermark, is_exact
from simulator.consumer.frame import Layout
from simulator.errors import UserError
from simulator.ticdc.table_info import BINARY

NUMBER, FIXED, ANY, TEXT, LATIN, ASCII, BASE64_BYTES, BASE64_TEXT, QUOTED = range(9)
"""Roles of tokens: an integer of the event; a fixed token; and cells with a string, number or NULL; a string or NULL;
the same in Latin-1; the same in ASCII; base64 of bytes; base64 of text; Go's quoted text."""

NO_TOKEN = -1
"""The index of a missing token."""

PLACEHOLDER = "\ufdd0#"
"""Replaces tokens to find their paths in the JSON; no message has U+FDD0."""

Path = tuple["str | int", ...]


@dataclass(frozen=True)
class TextShape:
    """The meaning of texts with one skeleton."""

    lengths: npt.NDArray[np.int32]
    """Lengths of the skeleton's pieces."""

    roles: npt.NDArray[np.int8]
    """Of each token."""

    fixed: Mapping[int, bytes]
    """Tokens that are always the same, with their quotes."""

    kind: int
    op: int
    exact: bool
    only_handle: bool
    layout: int
    commit_ts: int
    """Index of its token; in milliseconds if `exact` is false."""

    rid: int
    ptn: int
    before: npt.NDArray[np.int32] | None
    """Index of each cell's token."""

    after: npt.NDArray[np.int32] | None


@dataclass(frozen=True)
class TokenizedSample:
    """One tokenized text."""

    text: bytes
    tokens: Sequence[tuple[int, int]]
    """Start and end of each token, including quotes."""

    lengths: npt.NDArray[np.int32]


@dataclass(frozen=True)
class ProtocolMembers:
    """The JSON paths of a protocol."""

    numbers: Mapping[Path, str]
    """Path → field of TextShape, or an empty text for an integer that is only checked."""

    cell: Callable[[Path], tuple[str, str] | None]
    """Returns the side of the row (`old` or `new`) and the column at a path; None if it is no cell."""

    role: Callable[[ColumnInfo], int | None]
    parts: Callable[[bytes], Sequence[dict[str, Any]]]
    """Splits a text into its JSON objects."""


def learn_shape(
    sample: TokenizedSample, protocol: str, message: tuple[bytes | None, bytes], place: Callable[[Layout], int]
) -> TextShape | None:
    """Return the shape of all texts with the skeleton of this one; None if there is none."""
    try:
        (event,) = decode(*message, protocol)
        known = PROTOCOLS[protocol]
        found = dict(_paths(known.parts(_with_placeholders(sample)), ()))
    except (UserError, ValueError):
        return None
    if len(found) != len(sample.tokens):
        return None
    if isinstance(event, Watermark):
        return _shape(sample, known, found, {}, None, kind=WATERMARK, op=0, exact=True, only_handle=False, layout=0)
    if not isinstance(event, RowEvent) or event.unnamed or event.stored_at:
        return None
    return _shape(
        sample,
        known,
        found,
        event.columns,
        event,
        kind=ROW,
        op=OPERATIONS[event.op],
        exact=is_exact(event),
        only_handle=event.only_handle,
        layout=place(event_layout(event)),
    )


def _shape(
    sample: TokenizedSample,
    known: ProtocolMembers,
    found: Mapping[int, Path],
    infos: Mapping[str, ColumnInfo],
    event: RowEvent | None,
    **rest: Any,
) -> TextShape | None:
    roles = np.full(len(sample.tokens), FIXED, np.int8)
    fields: dict[str, int] = {}
    cells: dict[str, dict[str, int]] = {"old": {}, "new": {}}
    for token, path in found.items():
        cell = known.cell(path) if event is not None else None
        if path in known.numbers:
            roles[token] = NUMBER
            fields[known.numbers[path]] = token
        elif cell is not None and cell[1] in infos:
            side, name = cell
            role = known.role(infos[name])
            if role is None:
                return None
            roles[token] = role
            cells[side][name] = token
    sides = (None, None) if event is None else _sides(event, cells)
    fixed = {token: sample.text[slice(*sample.tokens[token])] for token in np.flatnonzero(roles == FIXED).tolist()}
    commit_ts = fields.get("commit_ts", fields.get("es", NO_TOKEN) if event is not None else NO_TOKEN)
    if sides is None or commit_ts == NO_TOKEN or rest["exact"] != ("commit_ts" in fields):
        return None
    return TextShape(
        lengths=sample.lengths,
        roles=roles,
        fixed=fixed,
        commit_ts=commit_ts,
        rid=fields.get("rid", NO_TOKEN),
        ptn=fields.get("ptn", NO_TOKEN),
        before=sides[0],
        after=sides[1],
        **rest,
    )


Cells = npt.NDArray[np.int32]


def _sides(event: RowEvent, cells: Mapping[str, Mapping[str, int]]) -> tuple[Cells | None, Cells | None] | None:
    """Return the tokens of both rows; None if a value of the event is in no token."""
    new, old = cells["new"], cells["old"]
    if event.after is None:
        new, old = {}, {**new, **old}
    names = event_layout(event).names
    is_complete = (event.after or {}).keys() == new.keys() and (event.before or {}).keys() == old.keys()
    if not is_complete:
        return None
    before = {**new, **old}
    return (
        None if event.before is None else np.array([before.get(name, NO_TOKEN) for name in names], np.int32),
        None if event.after is None else np.array([new.get(name, NO_TOKEN) for name in names], np.int32),
    )


def _with_placeholders(sample: TokenizedSample) -> bytes:
    """Return the text with placeholders for its tokens."""
    parts, at = [], 0
    for number, (start, end) in enumerate(sample.tokens):
        parts += [sample.text[at:start], b'"%s%d"' % (PLACEHOLDER.encode(), number)]
        at = end
    return b"".join([*parts, sample.text[at:]])


def _paths(value: object, path: Path) -> Iterator[tuple[int, Path]]:
    """Yield the number and path of each placeholder."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _paths(member, (*path, name))
    elif isinstance(value, list | tuple):
        for place, member in enumerate(value):
            yield from _paths(member, (*path, place))
    elif isinstance(value, str) and value.startswith(PLACEHOLDER):
        yield int(value[len(PLACEHOLDER) :]), path


def _canal_parts(text: bytes) -> Sequence[dict[str, Any]]:
    return (parse(text),)


def _canal_cell(path: Path) -> tuple[str, str] | None:
    if len(path) == 4 and path[:3] in ((0, "data", 0), (0, "old", 0)):
        return ("old" if path[1] == "old" else "new"), str(path[3])
    return None


def _canal_role(info: ColumnInfo) -> int:
    if str(info.type).split("(")[0].split(" ")[0] not in canal_json.BINARY:
        return TEXT
    return LATIN if info.sql_type == canal_json.BLOB else ASCII


def _open_parts(text: bytes) -> Sequence[dict[str, Any]]:
    head, _, body = text.partition(b"\n")
    parts = [parse(head), *([parse(body)] if body else [])]
    return parts if all(map(_regular, parts[1:])) else []


def _regular(body: Mapping[str, Any]) -> bool:
    """Return whether every old value has a name and the type of the new one."""
    new = body.get("u", {})
    return all(
        isinstance(column, dict) and name in new and column.get("t") == new[name].get("t")
        for name, column in body.get("p", {}).items()
    )


def _open_cell(path: Path) -> tuple[str, str] | None:
    if len(path) == 4 and path[0] == 1 and path[1] in ("u", "p", "d") and path[3] == "v":
        return ("old" if path[1] == "p" else "new"), str(path[2])
    return None


def _open_role(info: ColumnInfo) -> int | None:
    binary = info.flags is not None and bool(info.flags & BINARY)
    if info.flags is None and info.type in open_protocol.LONG_STRINGS | open_protocol.STRINGS:
        return None
    if info.type in open_protocol.LONG_STRINGS:
        return BASE64_BYTES if binary else BASE64_TEXT
    return QUOTED if info.type in open_protocol.STRINGS and binary else ANY


PROTOCOLS = {
    "canal-json": ProtocolMembers(
        {
            (0, "es"): "es",
            (0, "ts"): "",
            (0, "_tidb", "commitTs"): "commit_ts",
            (0, "_tidb", "watermarkTs"): "commit_ts",
        },
        _canal_cell,
        _canal_role,
        _canal_parts,
    ),
    "open-protocol": ProtocolMembers(
        {(0, "ts"): "commit_ts", (0, "rid"): "rid", (0, "ptn"): "ptn"}, _open_cell, _open_role, _open_parts
    ),
}
