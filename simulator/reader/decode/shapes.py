"""Shapes of texts with one skeleton, learned from one of them with `decode`.

If something does not apply to all texts with the skeleton, there is no shape, and each is decoded by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator.columns.cells import Bytes, Mask, Places
from simulator.columns.change_frame import ROW, WATERMARK
from simulator.errors import UserError
from simulator.reader.decode.decoder import ColumnarDecoder, Path, Role
from simulator.reader.decode.row_wise import OPERATIONS, event_layout
from simulator.reader.decode.stream_events import Event, RowEvent, Watermark, is_exact
from simulator.reader.frame import Layout

NO_TOKEN = -1
"""The index of a missing token."""

PLACEHOLDER = "\ufdd0#"
"""Replaces tokens to find their paths in the JSON; no message has U+FDD0."""


@dataclass(frozen=True)
class TextShape:
    """The meaning of texts with one skeleton."""

    lengths: npt.NDArray[np.int32]
    """Lengths of the skeleton's pieces."""

    roles: npt.NDArray[np.int8]
    """Of each token."""

    fixed: Mapping[int, bytes]
    """Tokens that are always the same, with their quotes."""

    commit_ts: int
    """Index of its token; in milliseconds if `exact` is false."""

    rid: int
    ptn: int
    before: npt.NDArray[np.int32] | None
    """Index of each cell's token."""

    after: npt.NDArray[np.int32] | None
    kind: int
    op: int
    exact: bool
    only_handle: bool
    layout: int


@dataclass(frozen=True)
class ShapedTexts:
    """Texts of known shapes, and their tokens, text by text."""

    data: Bytes
    shapes: Sequence[TextShape]
    rows: Places
    """Ascending indexes of the texts."""

    shape: Places
    """Index of each text's shape."""

    counts: Places
    """Number of each text's tokens."""

    starts: Places
    ends: Places
    quoted: Mask
    escaped: Mask
    """Of all tokens, as in TokenizedTexts."""


@dataclass(frozen=True)
class TokenizedSample:
    text: bytes
    tokens: Sequence[tuple[int, int]]
    """Start and end of each token, including quotes."""

    lengths: npt.NDArray[np.int32]


def learn_shape(
    sample: TokenizedSample,
    decode: Callable[[bytes | None, bytes], tuple[Event, ...]],
    columns: ColumnarDecoder,
    place: Callable[[Layout], int],
) -> TextShape | None:
    try:
        (event,) = decode(*columns.message(sample.text))
        paths = dict(_paths(columns.objects(_with_placeholders(sample)), ()))
    except (UserError, ValueError):
        return None
    if len(paths) != len(sample.tokens):
        return None
    if isinstance(event, Watermark):
        return _shape(sample, columns, paths, None, kind=WATERMARK, op=0, exact=True, only_handle=False, layout=0)
    if not isinstance(event, RowEvent) or event.unnamed or event.stored_at or event.untold:
        return None
    return _shape(
        sample,
        columns,
        paths,
        event,
        kind=ROW,
        op=OPERATIONS[event.op],
        exact=is_exact(event),
        only_handle=event.only_handle,
        layout=place(event_layout(event)),
    )


def _shape(
    sample: TokenizedSample, columns: ColumnarDecoder, paths: Mapping[int, Path], event: RowEvent | None, **rest: Any
) -> TextShape | None:
    roles = np.full(len(sample.tokens), Role.FIXED, np.int8)
    fields: dict[str, int] = {}
    cells: dict[str, dict[str, int]] = {"old": {}, "new": {}, "key": {}}
    for token, path in paths.items():
        cell = columns.cell(path) if event is not None else None
        if path in columns.numbers:
            roles[token] = Role.NUMBER
            fields[columns.numbers[path]] = token
        elif event is not None and cell is not None and cell[1] in event.columns:
            side, name = cell
            role = columns.role(event.columns[name])
            if role is None:
                return None
            roles[token] = role
            cells[side][name] = token
    sides = (None, None) if event is None else _sides(event, cells)
    fixed = {token: sample.text[slice(*sample.tokens[token])] for token in np.flatnonzero(roles == Role.FIXED).tolist()}
    commit_ts = fields.get("commit_ts", fields.get("es", NO_TOKEN) if event is not None else NO_TOKEN)
    if sides is None or commit_ts == NO_TOKEN or rest["exact"] != ("commit_ts" in fields):
        return None
    rid, ptn = (fields.get(name, NO_TOKEN) for name in ("rid", "ptn"))
    return TextShape(sample.lengths, roles, fixed, commit_ts, rid, ptn, *sides, **rest)


Cells = npt.NDArray[np.int32]


def _sides(event: RowEvent, cells: Mapping[str, Mapping[str, int]]) -> tuple[Cells | None, Cells | None] | None:
    """Return the tokens of both rows; None if a value of the event is in no token."""
    new, old = cells["new"], cells["old"]
    if event.after is None:
        new, old = {}, {**new, **old}
    if (event.after or {}).keys() != new.keys() or (event.before or {}).keys() != old.keys():
        return None
    names = event_layout(event).names
    before, after = (
        None if image is None else np.array([tokens.get(name, NO_TOKEN) for name in names], np.int32)
        for image, tokens in ((event.before, {**new, **old}), (event.after, new))
    )
    return before, after


def _with_placeholders(sample: TokenizedSample) -> bytes:
    """Return the text with placeholders for its tokens."""
    parts, at = [], 0
    for number, (start, end) in enumerate(sample.tokens):
        parts += [sample.text[at:start], b'"%s%d"' % (PLACEHOLDER.encode(), number)]
        at = end
    return b"".join([*parts, sample.text[at:]])


def _paths(value: object, path: Path) -> Iterator[tuple[int, Path]]:
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _paths(member, (*path, name))
    elif isinstance(value, list | tuple):
        for place, member in enumerate(value):
            yield from _paths(member, (*path, place))
    elif isinstance(value, str) and value.startswith(PLACEHOLDER):
        yield int(value[len(PLACEHOLDER) :]), path
