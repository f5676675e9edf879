"""The rows that the changes lead to, as the old definition of their table tells them, if it can.

One law: it can exactly if the statements make of what it tells what the row is in the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image as images
from simulator.sources.schema_change.forms import (
    OCCURRENCE_BYTES,
    converted,
    halves,
    repeated,
    same,
    split_was,
    texts_of,
    true,
)
from simulator.sources.schema_change.model import Transition
from simulator.sources.snapshots import located
from simulator.ticdc import key_bytes
from simulator.ticdc.table_info import handle_key, handle_lengths
from simulator.tidb.ddl.convert import Filled, Kept
from simulator.tidb.model.table import visible_columns
from simulator.tidb.model.types import family
from simulator.tidb.values import text_as

FIRST = (1).to_bytes(OCCURRENCE_BYTES, "big")


@dataclass(frozen=True)
class Told:
    """Rows in the definition of their table before the statements."""

    table: pa.Array
    handle: pa.Array
    image: pa.Array

    def filter(self, mask: npt.NDArray[np.bool_]) -> Told:
        kept = pa.array(mask)
        return Told(self.table.filter(kept), self.handle.filter(kept), self.image.filter(kept))


def told_old(change: Transition, handle: pa.Array, was: pa.Array) -> Told:
    """What rows were; `handle` is theirs in the definition after."""
    number, image = split_was(was)
    return Told(number, _handle(change, handle, image), image)


def told_new(
    change: Transition, handle: pa.Array, after: pa.Array, old: Told | None
) -> tuple[npt.NDArray[np.bool_], Told]:
    """Which of the rows the old definition can tell as they become, and these as it tells them.

    `old` is what they were, None for rows that are new; a row keeps its handle and its partition.
    """
    new = list(texts_of(change.after.table, after).values())
    names = [column.name for column in visible_columns(change.before.table)]
    taken = dict(zip(names, _taken_back(change, new, old), strict=True))
    place = located(change.before, taken, len(after))
    said = true(pc.is_valid(place)) if old is None else same(place, old.table)
    for condition in (*_allowed(change, taken.values()), *_reached(change, list(taken.values()), new)):
        said = said & condition
    kept = pa.array(said)
    image = images.pack([text.filter(kept) for text in taken.values()])
    told = Told(place.filter(kept), _handle(change, handle.filter(kept), image), image)
    if old is None or change.key_stays:
        return said, told
    stays = same(told.handle, old.handle.filter(kept))
    said = said.copy()
    said[said] = stays
    return said, told.filter(stays)


def tells_deletes(change: Transition) -> bool:
    """Whether rows go before the statements."""
    return change.sent[0]


def tells_updates(change: Transition) -> bool:
    """Whether the old definition can tell what becomes of rows: it has a key by which they are the same."""
    return change.sent[0] and bool(handle_key(change.before.table)) and _computable(change)


def tells_inserts(change: Transition) -> bool:
    """Whether the old definition can tell rows that are new: its keys are the new ones, and no rows get lost."""
    names = [column.name for column in visible_columns(change.before.table)]
    came = {
        names[source.index]: (column.name, source)
        for source, column in zip(change.sources, visible_columns(change.after.table), strict=True)
        if isinstance(source, Kept)
    }
    unique = (index for index in change.before.table.indexes if index.unique)
    kept = all(part.name in came for index in unique for part in index.columns)
    return change.sent[0] and kept and _same_key(change, came) and not change.lost and _computable(change)


def _same_key(change: Transition, came: Mapping[str, tuple[str, Kept]]) -> bool:
    """Whether the handle key is of the same columns, as much of each, and of texts in the same collation."""
    before, after = change.before.table, change.after.table
    parts = [came.get(name) for name in handle_key(before)]
    types = [(source.before, source.after) for _, source in filter(None, parts)]
    texts = [pair for pair in types if all(family(type) in ("string", "text") for type in pair)]
    return (
        tuple(part and part[0] for part in parts) == handle_key(after)
        and handle_lengths(before) == handle_lengths(after)
        and all(then.collation == now.collation for then, now in texts)
    )


def _computable(change: Transition) -> bool:
    """Whether no stored generated column is dropped, whose value in the old definition would have to be computed."""
    kept = {source.index for source in change.sources if isinstance(source, Kept)}
    columns = visible_columns(change.before.table)
    return all(index in kept or not column.generated for index, column in enumerate(columns))


def _taken_back(change: Transition, new: Sequence[pa.Array], old: Told | None) -> Iterator[pa.Array]:
    """The texts of the table before: what its columns become, taken back; dropped ones as they were, or the default."""
    table, rows = change.before.table, len(new[0])
    back = {source.index: (index, source) for index, source in enumerate(change.sources) if isinstance(source, Kept)}
    columns = visible_columns(table)
    were = list(texts_of(table, old.image).values()) if old and len(back) < len(columns) else []
    for place, column in enumerate(columns):
        if place in back:
            index, source = back[place]
            yield text_as(source.after, source.before, new[index]) if source.cast_back else new[index]
        else:
            default = None if column.default_expression else column.default
            yield were[place] if were else repeated(default, rows)


def _allowed(change: Transition, taken: Iterable[pa.Array]) -> Iterator[npt.NDArray[np.bool_]]:
    """Whether the table before takes the row: no NULL where it has NOT NULL."""
    for column, text in zip(visible_columns(change.before.table), taken, strict=True):
        if column.not_null:
            yield true(pc.is_valid(text))


def _reached(
    change: Transition, taken: Sequence[pa.Array], new: Sequence[pa.Array]
) -> Iterator[npt.NDArray[np.bool_]]:
    """Whether the statements make of the row told before them what it is in the end; one column each."""
    for source, text in zip(change.sources, new, strict=True):
        match source:
            case Filled() | Kept(cast=True) | Kept(cast_back=True):
                yield same(converted(source, taken, len(text)), text)


def _handle(change: Transition, handle: pa.Array, image: pa.Array) -> pa.Array:
    """The handle in the definition before of rows that have this one in the definition after, from their images."""
    table = change.before.table
    if change.key_stays:
        return handle
    if handle_key(table):
        return key_bytes.handle(table, texts_of(table, image))
    numbered = not handle_key(change.after.table)
    occurrence = halves(handle, -OCCURRENCE_BYTES)[1] if numbered else FIRST
    return pc.binary_join_element_wise(image, occurrence, b"")
