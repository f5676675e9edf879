"""Unique keys of replayed tables, whose values are replayed as rows are: which row has a value when.

A value has image pairs as a row has them (`replay`): its handle is the value, its table a number behind those of the tables,
and its images tell the row that has it, by the columns that identify a row and those of the key. NULL is no value. Sorted,
the pairs of a value are adjacent, which shows where two rows have it at once.

A database checks a key where a transaction commits, so that rows may hand values on to one another inside one: what
counts at a commit-ts are the rows that had a value before and those that have it afterwards. Nothing is concluded
from what is not told: a value may be left by a row of which nobody knew that it had it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Mask
from simulator.columns.change_frame import ints
from simulator.errors import UserError
from simulator.reader.replay import BEGIN, STRICT, Findings, as_mask, has_lost_bytes, image_pair_batch, keyed_pairs
from simulator.reader.replay.table_timeline import TableHistory, TableTimeline
from simulator.ticdc.codecs.codec import Fidelity
from simulator.ticdc.table_info import handle_key, other_unique_indexes
from simulator.tidb.ddl.column_definitions import FromColumn, find_column_sources
from simulator.tidb.keys import encode_index_keys
from simulator.tidb.model.table import Index, Table, visible_columns

UNTIMED = "messages do not have the commit-ts of every row change"
NO_OLD_ROWS = "messages do not tell what rows were before"
INEXACT = "messages do not have its values, or not exactly"
UNKNOWN = "value-unknown"
"""Counts new values of a unique key that messages do not tell."""

REASONS = (UNTIMED, NO_OLD_ROWS, INEXACT)
"""Why a unique key is not checked; the first that holds is told."""


@dataclass(frozen=True)
class UniqueKey:
    """A unique key of a table during definitions that leave its values as they are."""

    number: int
    """Behind those of the tables."""

    table: int
    """The number of its table."""

    first: int
    """Index of the first definition of the table that has it."""

    last: int
    since: int
    """Commit-ts of the statement behind which it is there."""

    definition: Table
    """The last of these definitions."""

    last_definition: Table
    """The last one of the table."""

    index: Index
    columns: tuple[str, ...]
    """The columns of the key in `definition`."""

    @cached_property
    def identity(self) -> tuple[str, ...]:
        """The columns that identify a row in the last definition of the table: all, without a handle key."""
        return handle_key(self.last_definition) or _columns(self.last_definition)

    @property
    def at_end(self) -> bool:
        """Whether the table has it at last."""
        return self.definition is self.last_definition

    def __str__(self) -> str:
        return f"unique key {self.index.name}"


@dataclass(frozen=True)
class KeyValues:
    """What rows have in a unique key."""

    values: pa.Array
    """Equal for rows with an equal value; null where there is no row, NULL in the key, or an unknown value."""

    images: pa.Array
    """The rows that have them (`UniqueKey.names`); null where there is no value."""

    unknown: Mask


def unique_keys(timeline: TableTimeline) -> tuple[UniqueKey, ...]:
    """Return the unique keys of all tables but those that identify a row, as far as messages have their columns."""
    found: list[UniqueKey] = []
    for table, history in enumerate(timeline.tables):
        for first, last, index, columns in () if history.odd else _spans(history):
            number, definition = len(timeline.tables) + len(found), history.definitions[last].table
            since = max(history.definitions[first].since, history.altered)
            found.append(UniqueKey(number, table, first, last, since, definition, history.table, index, columns))
    return tuple(found)


def by_number_of_table(keys: Iterable[UniqueKey]) -> dict[int, tuple[UniqueKey, ...]]:
    found: dict[int, tuple[UniqueKey, ...]] = {}
    for key in keys:
        found[key.table] = (*found.get(key.table, ()), key)
    return found


def follows_from_replay(key: UniqueKey, fidelity: Fidelity) -> bool:
    """Return whether the values that rows leave are those that earlier changes gave them, as messages do not tell old rows:
    they tell the commit-ts of every change, and whatever row it changes."""
    table = key.last_definition
    return (
        not fidelity.old_values
        and not fidelity.milliseconds
        and key.at_end
        and bool(handle_key(table))
        and (table.clustered or not fidelity.moves_rows)
    )


def _columns(table: Table) -> tuple[str, ...]:
    return tuple(column.name for column in visible_columns(table))


ToldKey = tuple[Index, tuple[str, ...]]
"""A key, and the columns of it."""


def _spans(history: TableHistory) -> Iterator[tuple[int, int, Index, tuple[str, ...]]]:
    """Yield each key with the first and the last definition of a span, and its columns in the last one."""
    definitions = [definition.table for definition in history.definitions]
    keys = [_told_keys(table) for table in definitions]
    for place, table in enumerate(definitions):
        for number, (index, columns) in keys[place].items():
            if place and _goes_on(definitions[place - 1], keys[place - 1].get(number), table, (index, columns)):
                continue
            last, key = place, (index, columns)
            while last + 1 < len(keys) and _goes_on(
                definitions[last], key, definitions[last + 1], keys[last + 1].get(number)
            ):
                last, key = last + 1, keys[last + 1][number]
            yield place, last, *key


def _told_keys(table: Table) -> dict[int, ToldKey]:
    """Return the unique keys whose columns messages have, by id, each with these columns."""
    spelled = {column.name.lower(): column.name for column in visible_columns(table)}
    return {
        index.id: (index, tuple(spelled[part.name.lower()] for part in index.columns))
        for index in other_unique_indexes(table)
        if all(part.name.lower() in spelled and not part.expression for part in index.columns)
    }


def _goes_on(before: Table, key: ToldKey | None, after: Table, later: ToldKey | None) -> bool:
    """Return whether a key is that of the definition before it, with the same values: rows do not change with the
    type of a column then."""
    if key is None or later is None or _lengths(key[0]) != _lengths(later[0]):
        return False
    if before is after:
        return True
    columns, later_columns = visible_columns(before), [column.name for column in visible_columns(after)]
    sources = find_column_sources(before, after)
    came = [sources[later_columns.index(name)] for name in later[1]]
    return len(key[1]) == len(came) and all(
        isinstance(source, FromColumn) and source.before == source.after and columns[source.index].name == name
        for name, source in zip(key[1], came)
    )


def _lengths(index: Index) -> list[int]:
    return [part.length for part in index.columns]


def key_values(key: UniqueKey, images: pa.Array, last_images: pa.Array) -> KeyValues:
    """Return what rows have in a key. `images` are the rows in the last definition of the key, and `last_images` in the
    last one of the table. Raises ValueError or UserError for what is no value of its column's type."""
    unknown, none = np.zeros(len(images), np.bool_), pa.nulls(len(images), pa.binary())
    if images.null_count == len(images):
        return KeyValues(none, none, unknown)
    cells = row_image.LazyCells(images.drop_null(), _columns(key.definition))
    texts = [cells[name] for name in key.columns]
    hidden: Mask = np.logical_or.reduce([has_lost_bytes(text) for text in texts])
    if hidden.any():
        unknown[as_mask(images.is_valid())] = hidden
        texts = [pc.if_else(pa.array(hidden), pa.scalar(None, pa.binary()), text) for text in texts]
    types = {column.name: column.type for column in key.definition.columns}
    values = encode_index_keys(
        (types[name], part.length, text.view(pa.string()))
        for name, part, text in zip(key.columns, key.index.columns, texts, strict=True)
    )
    identity = cells if key.at_end else row_image.LazyCells(last_images.drop_null(), _columns(key.last_definition))
    packed = row_image.pack([*(identity[name] for name in key.identity), *texts])
    told = pc.if_else(values.is_valid(), packed, pa.scalar(None, pa.binary()))
    made, held = (row_image.restore_nulls(each.cast(pa.binary()), images) for each in (values, told))
    return KeyValues(made, held, unknown)


def pairs_of_changes(
    key: UniqueKey, before: KeyValues, after: KeyValues, columns: Mapping[str, pa.Array]
) -> Iterator[pa.RecordBatch]:
    """Yield the image pairs of values that row changes leave, keep or take, but those before the key was there."""
    early: Mask = np.asarray(columns["commit_ts"]) <= key.since
    yield from keyed_pairs(key.number, (before.values, after.values), columns, (before.images, after.images), early)


def pairs_of_replayed(
    keys: Iterable[UniqueKey], rows: pa.RecordBatch, was: pa.Array, findings: Findings
) -> Iterator[pa.RecordBatch]:
    """Yield the image pairs of values that changes of rows (IMAGE_PAIR_SCHEMA) of one table leave, keep or take, where
    `was` has the rows before, null for none. A new value that is not known is counted."""
    columns = {name: rows.column(name) for name in ("commit_ts", "offset", "exact", "partition_index", "dropped_at")}
    columns |= {"sequence": rows.column("offset"), "old_check": pa.repeat(pa.scalar(STRICT, pa.int8()), len(rows))}
    for key in keys:
        early = ints(rows, "commit_ts") <= key.since
        try:
            had, has = (key_values(key, side, side) for side in (was, rows.column("new")))
        except (UserError, ValueError):  # a text that is no value of its column's type
            findings.counts[UNKNOWN, key.number] += len(rows)
            continue
        findings.counts[UNKNOWN, key.number] += int((has.unknown & ~early).sum())
        yield from pairs_of_changes(key, had, has, columns)


def pairs_at_begin(key: UniqueKey, rows: KeyValues, dropped_at: pa.Array | None) -> pa.RecordBatch:
    """Return the image pairs of the values that rows have before the stream."""
    there = rows.values.is_valid()
    values, images = (each.filter(there) for each in (rows.values, rows.images))
    columns = {} if dropped_at is None else {"dropped_at": dropped_at.filter(there)}
    begin, none = pa.repeat(pa.scalar(BEGIN, pa.int64()), len(values)), pa.nulls(len(values), pa.binary())
    return image_pair_batch(key.number, values, commit_ts=begin, old=none, new=images, **columns)


def without(rows: KeyValues, where: Mask) -> KeyValues:
    """Return the values without those of some rows."""
    none = pa.scalar(None, pa.binary())
    values, images = (pc.if_else(pa.array(where), none, each) for each in (rows.values, rows.images))
    return KeyValues(values, images, rows.unknown)
