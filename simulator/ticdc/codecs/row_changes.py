"""What a codec is given and what it gives back: row changes, entries, messages. Arrow arrays, no Spark and no Kafka.

A row image is the TiDB text of each visible column in table order, joined by the byte 0xFF, 0xFE alone standing for
NULL. Bytes of binary columns are Latin-1 text; invalid UTF-8 in a text column travels as `json_text` says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.row_image import Image, split
from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.json_text import join, scattered
from simulator.tidb.model.table import Table


@dataclass(frozen=True)
class Rows:
    """Row changes of one physical table, in the order they are to be encoded."""

    table: Table
    partition_id: int | None
    """Physical table id of the partition, None where the table is not partitioned."""

    commit_ts: pa.Array
    """int64, no nulls: TSO of each change."""

    row_id: pa.Array
    """int64: integer handle or `_tidb_rowid`, null for a clustered key that is not one integer."""

    before: pa.Array
    """binary row images, null for an INSERT."""

    after: pa.Array
    """binary row images, null for a DELETE."""

    selected: frozenset[str] | None = None
    """The columns that column selectors leave; None: all visible ones. Images hold all of them in any case."""

    table_id: int = 0
    """Physical table id where the table is not partitioned."""

    large: pa.Array | None = None
    """bool: which of them are taken for too large, whatever their size; None: none."""


@dataclass(frozen=True)
class StoredFile:
    """A message that claim-check put beside Kafka."""

    name: str
    """Below the storage's URI; bytes that are no UTF-8 as lone surrogates."""

    content: bytes
    location: str = ""
    """Where messages say that it is."""


@dataclass(frozen=True)
class Encoded:
    """One entry per row, not framed yet."""

    keys: pa.Array | None
    """binary; None for a protocol whose messages have no key."""

    values: pa.Array
    """binary"""

    files: tuple[StoredFile, ...] = ()
    """What is to be stored before these entries are sent."""


@dataclass(frozen=True)
class Messages:
    """Kafka messages; message i holds rows `first_row[i]` up to `first_row[i + 1]`."""

    keys: pa.Array | None
    values: pa.Array
    first_row: pa.Array
    """int32, one longer than the messages."""


Frame = Callable[[Encoded, npt.NDArray[np.int64], CodecOptions, Release], Messages]
"""Rows → messages; only rows next to each other whose numbers in the array are equal may share one."""


@dataclass(frozen=True)
class DdlEvent:
    """A DDL statement as it goes on the wire."""

    commit_ts: int
    schema: str
    table: str
    """Empty for a statement on a database."""

    query: str
    type_code: int
    """TiDB's action type, as in `"t"` of Open Protocol."""


@dataclass(frozen=True)
class Changes:
    """Rows that are all of one operation."""

    operation: str
    """`INSERT`, `UPDATE` or `DELETE`."""

    rows: Rows
    columns: int
    places: pa.Array | None = None
    """Where they stand among the rows of all operations; None: there are no others."""

    def own(self, column: pa.Array) -> pa.Array:
        """What belongs to these rows in a column with an entry for the rows of all operations."""
        return column if self.places is None else column.take(self.places)

    def before(self) -> Image:
        return split(self.rows.before, self.columns)

    def after(self) -> Image:
        return split(self.rows.after, self.columns)


def rows_at(rows: Rows, places: pa.Array) -> Rows:
    """Some of the rows, in the order of `places`."""
    return Rows(
        rows.table,
        rows.partition_id,
        rows.commit_ts.take(places),
        rows.row_id.take(places),
        rows.before.take(places),
        rows.after.take(places),
        rows.selected,
        rows.table_id,
        None if rows.large is None else rows.large.take(places),
    )


def by_operation(rows: Rows, columns: int, encode: Callable[[Changes], pa.Array]) -> pa.Array:
    """Encodes the rows of each operation together, and gives the results in the order of the rows."""
    inserts = pc.is_null(rows.before).to_numpy(zero_copy_only=False)
    deletes = pc.is_null(rows.after).to_numpy(zero_copy_only=False)
    if (inserts & deletes).any():
        raise EncodeError(f"row {int(np.argmax(inserts & deletes))} has neither an image before nor one after")
    masks = {"INSERT": inserts, "DELETE": deletes, "UPDATE": ~(inserts | deletes)}
    present = {name: np.flatnonzero(mask) for name, mask in masks.items() if mask.any()}
    if len(present) < 2:  # none of them: an empty batch
        return encode(Changes(next(iter(present), "INSERT"), rows, columns))
    return join(
        *(
            scattered(encode(Changes(name, rows_at(rows, pa.array(places)), columns, pa.array(places))), masks[name])
            for name, places in present.items()
        )
    )


def frame_single(encoded: Encoded, group: npt.NDArray[np.int64], options: CodecOptions, release: Release) -> Messages:
    """One message a row, for protocols that do not batch."""
    return Messages(encoded.keys, encoded.values, pa.array(np.arange(len(encoded.values) + 1, dtype=np.int32)))
