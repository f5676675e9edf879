"""Input and output of codecs, as Arrow arrays: row changes, entries, messages, checksums.

A row image is the TiDB text of each visible column in table order, joined by the byte 0xFF; 0xFE alone stands for
NULL. Bytes of binary columns are Latin-1 text; invalid UTF-8 in a text column is represented as in `wire_text`.

The checksum of a row is the CRC32 over the values of all columns that are not NULL, as TiDB's of version 0. A
changefeed with `integrity-check-level = correctness` compares each row with the checksum that TiDB stored, and sends
the one of the columns in any case. The upstream is taken to have `tidb_enable_row_level_checksum` on. Sources: tidb
pkg/util/rowcodec/common.go appendDatumForChecksum; tiflow v8.5.3 cdc/entry/mounter.go verifyChecksum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import buffers, fixed, lengths
from simulator.columns.row_image import Image, split
from simulator.errors import NotSimulatedError
from simulator.releases import Release
from simulator.ticdc.codecs import wire_numbers
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.wire_text import join, scatter, sent_bytes
from simulator.ticdc.mounter import has_marks, has_zone, to_instants, without_marks
from simulator.tidb.model import types
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.model.types import ColumnType

if TYPE_CHECKING:
    from simulator.tidb.ddl.catalog import ViewInfo


@dataclass(frozen=True)
class RowChanges:
    """Row changes of one physical table, in the order of encoding."""

    table: Table
    partition_id: int | None
    """Physical table id of the partition; None if the table is not partitioned."""

    commit_ts: pa.Array
    """int64, no nulls: TSO of each change."""

    row_id: pa.Array
    """int64: integer handle or `_tidb_rowid`, null for a clustered key that is not one integer."""

    before: pa.Array
    """binary row images, null for an INSERT, and with `after` for a row that a transaction inserts and deletes."""

    after: pa.Array
    """binary row images, null for a DELETE."""

    selected: frozenset[str] | None = None
    """The columns that column selectors leave; None means all visible ones. Images have all columns in any case."""

    table_id: int = 0
    """Id of the (whole) table."""

    version: int = 0
    """The schema version of the table, as in `TableInfo.version`."""

    snapshot_version: int = 0
    """As in `TableInfo.snapshot_version`."""

    topic: str = ""
    """The topic of the rows."""

    told: int = 0
    """1 if a BOOTSTRAP of this schema version is sent at the rows' commit-ts, 2 if one was sent before, else 0."""

    large: pa.Array | None = None
    """bool: rows that are treated as too large whatever their size; None means none."""


@dataclass(frozen=True)
class StoredFile:
    """A file of claim-check with a message."""

    name: str
    """Path below the storage's URI; lone surrogates stand for bytes that are no UTF-8."""

    content: bytes
    location: str = ""
    """The file's location in messages."""


STATEMENTS = -1
"""The version of schemas of statements and watermarks."""


@dataclass(frozen=True)
class Schema:
    """A schema as it is registered."""

    subject: str
    text: str
    """Its JSON."""

    version: int = 0
    """The version of the table that TiCDC remembers with the schema; 0 if it is not known, STATEMENTS for a message of no
    table's rows."""


@dataclass(frozen=True)
class EncodedRows:
    """Keys and values of rows, one entry a row, not framed yet."""

    keys: pa.Array | None
    """binary; None if the protocol's messages have no key."""

    values: pa.Array
    """binary; null for an entry without value"""

    files: tuple[StoredFile, ...] = ()
    """Files that must be stored before these entries are sent."""

    key_schema: Schema | None = None
    """The schema of the keys, whose id is still missing in them; None if they name none."""

    value_schema: Schema | None = None


@dataclass(frozen=True)
class Messages:
    """Kafka messages; message i holds rows `first_row[i]` up to `first_row[i + 1]`."""

    keys: pa.Array | None
    values: pa.Array
    first_row: pa.Array
    """int32, one element longer than the messages."""


Frame = Callable[[EncodedRows, npt.NDArray[np.int64], CodecOptions, Release], Messages]
"""Combine rows into messages. Only neighbouring rows with equal numbers in the array may share a message."""


@dataclass(frozen=True)
class TableInfo:
    """A table or view as a job leaves it (tiflow: cdc/model/schema_storage.go TableInfo)."""

    table: Table | ViewInfo
    table_id: int
    version: int
    """TiDB's UpdateTS: the TSO at which the last job that changed the definition began. RENAME, TRUNCATE TABLE and
    EXCHANGE PARTITION keep it (tidb: pkg/ddl/table.go)."""

    snapshot_version: int = 0
    """TiCDC's Version: the commit-ts of the last job that touched the table; 0 if it is not known."""

    told: bool = False
    """Whether a BOOTSTRAP of this schema version was sent before."""


@dataclass(frozen=True)
class DdlEvent:
    """A DDL statement as it is sent."""

    commit_ts: int
    schema: str
    table: str
    """Empty for a statement on a database."""

    query: str
    type_code: int
    """TiDB's action type, as in `"t"` of Open Protocol."""

    after: TableInfo | None = None
    """The table after the job, a dropped one as it was; None for a statement on a database."""

    before: TableInfo | None = None
    """The table before the job, in EXCHANGE PARTITION the plain table; None for a table that the job creates."""


@dataclass(frozen=True)
class OperationRows:
    """Row changes that are all of one operation."""

    operation: str
    """`INSERT`, `UPDATE` or `DELETE`; `EMPTY` has neither image."""

    rows: RowChanges
    columns: int
    places: pa.Array | None = None
    """Positions among the rows of all operations; None if there are no other operations."""

    def own(self, column: pa.Array) -> pa.Array:
        """Return the entries of these rows from a column that has an entry for the rows of all operations."""
        return column if self.places is None else column.take(self.places)

    _images: dict[str, Image] = field(default_factory=dict, compare=False, repr=False)
    """The images that were split already, as keys and values need them."""

    def before(self) -> Image:
        return self._image("before")

    def after(self) -> Image:
        return self._image("after")

    def last(self) -> Image:
        """Return the images of the rows after the changes, or before a DELETE."""
        return self.before() if self.operation == "DELETE" else self.after()

    def _image(self, side: str) -> Image:
        if side not in self._images:
            self._images[side] = split(getattr(self.rows, side), self.columns)
        return self._images[side]


def rows_at(rows: RowChanges, places: pa.Array) -> RowChanges:
    """Return the rows at `places`, in that order."""
    columns = {name: getattr(rows, name).take(places) for name in ("commit_ts", "row_id", "before", "after")}
    return replace(rows, large=None if rows.large is None else rows.large.take(places), **columns)


def typed_rows(rows: RowChanges, release: Release) -> RowChanges:
    """Return rows with values in place of strings of the same text (`mounter`)."""
    return replace(rows, before=without_marks(rows.before, release), after=without_marks(rows.after, release))


def refuse_older_rows(rows: RowChanges, protocol: str, release: Release) -> None:
    """Raise NotSimulatedError for rows with strings in place of values."""
    if release.older_rows != "typed" and any(has_marks(images) for images in (rows.before, rows.after)):
        raise NotSimulatedError(
            f"{protocol} of TiCDC {release.name}: a row of {rows.table.schema}.{rows.table.name} that is older than a column "
            "is not simulated; accepted: --release v8.0.0 and later"
        )


EncodeOperation = Callable[[OperationRows], pa.Array]


def encode_by_operation(rows: RowChanges, columns: int, encode: EncodeOperation) -> pa.Array:
    """Encode the rows of each operation together; return the results in the order of the rows."""
    (encoded,) = encode_all_by_operation(rows, columns, encode)
    return encoded


def encode_all_by_operation(rows: RowChanges, columns: int, *encoders: EncodeOperation) -> list[pa.Array]:
    """Return the same of several encoders, which share the images of the rows."""
    inserts = pc.is_null(rows.before).to_numpy(zero_copy_only=False)
    deletes = pc.is_null(rows.after).to_numpy(zero_copy_only=False)
    empty = inserts & deletes
    masks = {"INSERT": inserts & ~empty, "DELETE": deletes & ~empty, "UPDATE": ~(inserts | deletes), "EMPTY": empty}
    present = {name: np.flatnonzero(mask) for name, mask in masks.items() if mask.any()}
    if len(present) < 2:  # none of them: an empty batch
        whole = OperationRows(next(iter(present), "INSERT"), rows, columns)
        return [_column(encode(whole), len(rows.commit_ts)) for encode in encoders]
    parts: list[list[pa.Array]] = []
    for name, positions in present.items():
        places = pa.array(positions)
        group = OperationRows(name, rows_at(rows, places), columns, places)
        parts.append([scatter(_column(encode(group), len(positions)), masks[name]) for encode in encoders])
    return [join(*columns_of) for columns_of in zip(*parts, strict=True)]


def _column(encoded: pa.Array | pa.Scalar, rows: int) -> pa.Array:
    """Return what a row without columns is in all rows as a column."""
    return pa.repeat(encoded, rows) if isinstance(encoded, pa.Scalar) else encoded


def frame_one_row_each(
    encoded: EncodedRows, group: npt.NDArray[np.int64], options: CodecOptions, release: Release
) -> Messages:
    """Return one message a row, for protocols that do not batch."""
    return Messages(encoded.keys, encoded.values, pa.array(np.arange(len(encoded.values) + 1, dtype=np.int32)))


Checksums = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RowChecksums:
    """The checksums of rows before and after their changes; 0 where there is no row, or no value in it."""

    current: Checksums
    previous: Checksums

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Which changes have a checksum: where both are 0, TiCDC takes TiDB's checksums for turned off."""
        known: npt.NDArray[np.bool_] = (self.current != 0) | (self.previous != 0)
        return known


def row_checksums(changes: OperationRows, time_zone: str, release: Release) -> RowChecksums:
    """Return the checksums of rows that are all of one operation, with TIMESTAMPs in a time zone; empty for UTC."""
    table, none = changes.rows.table, np.zeros(len(changes.rows.commit_ts), np.int64)
    current = none if changes.operation == "DELETE" else image_checksums(changes.after(), table, time_zone, release)
    previous = none if changes.operation == "INSERT" else image_checksums(changes.before(), table, time_zone, release)
    return RowChecksums(current, previous)


def image_checksums(image: Image, table: Table, time_zone: str, release: Release) -> Checksums:
    """Return the checksum of each row."""
    columns = list(enumerate(visible_columns(table)))
    if release.checksum_sorts_columns:
        columns.sort(key=lambda each: each[1].id)
    if not columns:
        return np.zeros(image.rows, np.int64)
    data, offsets = buffers(
        join(
            *(_encoded(_in_utc(image.cells(place), column.type, time_zone), column.type) for place, column in columns),
            null=b"",
        )
    )
    content = memoryview(data.data)
    return np.array([crc32(content[begin:end]) for begin, end in pairwise(offsets.tolist())], np.int64)


def _in_utc(cells: pa.Array, type: ColumnType, time_zone: str) -> pa.Array:
    return to_instants(cells, time_zone) if has_zone(type) else cells


def _encoded(cells: pa.Array, type: ColumnType) -> pa.Array:
    """Return the bytes of values, with nulls."""
    match types.family(type):
        case "integer" | "year" | "bit":
            return fixed(_integers(cells), cells)
        case "enum":
            return fixed(_integers(wire_numbers.enum_number(cells, type)), cells)
        case "set":
            return fixed(_integers(wire_numbers.set_number(cells, type)), cells)
        case "float":
            numbers = wire_numbers.to_float64(cells).fill_null(0).to_numpy(zero_copy_only=False)
            return fixed(
                numbers.astype(np.float32).astype("<f8") if type.name == "float" else numbers.astype("<f8"), cells
            )
        case "vector":
            return _vectors(cells)
    content = sent_bytes(cells, type)
    sizes = fixed(lengths(content).astype("<u4"), content)
    return pc.binary_join_element_wise(sizes, content, pa.scalar(b"", pa.binary()))


def _integers(cells: pa.Array) -> npt.NDArray[np.uint64]:
    """Return decimal texts as numbers of 64 bits; 0 for nulls."""
    texts = cells.cast(pa.string()).fill_null("0")
    is_signed = pc.any(pc.starts_with(texts, "-")).as_py()
    numbers = texts.cast(pa.int64() if is_signed else pa.uint64()).to_numpy(zero_copy_only=False)
    stored: npt.NDArray[np.uint64] = numbers.astype("<i8" if is_signed else "<u8").view("<u8")
    return stored


def _vectors(cells: pa.Array) -> pa.Array:
    """Return a vector's dimensions and its numbers of 32 bits."""
    distinct = cells.dictionary_encode()
    return pa.array([_vector(cell) for cell in distinct.dictionary.to_pylist()], pa.binary()).take(distinct.indices)


def _vector(text: bytes) -> bytes:
    numbers = np.array([float(part) for part in text.strip(b"[]").split(b",") if part], "<f4")
    return len(numbers).to_bytes(4, "little") + numbers.tobytes()
