"""Writes decoded events again as the changefeed would: what a message is held against as a whole.

Some texts can be no value of their column.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.change_frame import UPDATE, Ints, by_table, ints
from simulator.columns.row_image import LazyCells
from simulator.errors import SchemaError
from simulator.reader.contract.destinations import ChangefeedRoutes, KnownByTable
from simulator.reader.contract.null_texts import defaults_like_null, texts_like_null, zeros_as_null
from simulator.reader.decode import DECODERS, LOST
from simulator.reader.decode.row_images import (
    is_connect,
    nearest_decimals,
    row_images,
    with_cells,
    with_nulls,
    with_values,
)
from simulator.reader.events import UNKNOWN_CELL, Layout
from simulator.releases import Release
from simulator.ticdc import table_info
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.codecs import CODECS, CodecOptions, Messages, RowChanges, TableInfo
from simulator.ticdc.codecs.schema_registry import SchemaManager, with_schema_ids
from simulator.ticdc.mounter import later_columns, untyped_cell, zone_of_rows
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.model.types import ColumnType, family
from simulator.tidb.storage.tables import locate_partition, partition_columns

DAY, CLOCK = "[0-9]{4}-(0[0-9]|1[0-2])-([0-2][0-9]|3[01])", r"[0-5][0-9]:[0-5][0-9](\.[0-9]+)?"
FORMS = {
    "integer": "-?[0-9]+",
    "bit": "[0-9]+",
    "year": "[0-9]{1,4}",
    "decimal": r"-?[0-9]+(\.[0-9]+)?",
    "date": DAY,
    "datetime": f"{DAY} [0-9]{{2}}:{CLOCK}",
    "time": f"-?[0-9]{{2,}}:{CLOCK}",
}
"""By families of types, patterns of TiDB's text."""

MOST_BYTES = 4
"""Those of a character."""


def check_values(images: pa.Array, table: Table) -> None:
    """Raise ValueError for row images of a table with a text that is no value of its column's type."""
    there = images.drop_null()
    if not len(there):
        return
    cells = row_image.split(there, len(visible_columns(table)))
    for place, column in enumerate(visible_columns(table)):
        right = possible(column.type, cells.cells(place))
        if right is not None and not pc.all(right).as_py():
            _refuse(cells.cells(place).filter(pc.invert(right)), column.name, column.type.name)


def possible(type: ColumnType, cells: pa.Array) -> pa.Array | None:
    """Return which cells are texts of the type's values, null for NULL; None for a type of which all texts are."""
    kind = family(type)
    if kind in FORMS:
        return pc.match_substring_regex(cells, f"^({FORMS[kind]})$")
    if kind == "string" and type.length > 0:
        return pc.less_equal(pc.binary_length(cells), MOST_BYTES * type.length)
    return None


def _refuse(cells: pa.Array, name: str, type: str) -> None:
    """Raise ValueError for the first text that messages tell as TiDB has it."""
    for cell in cells.to_pylist():
        text = cell.decode("utf-8", "surrogatepass")
        if cell != UNKNOWN_CELL and LOST not in text:
            raise ValueError(f"{name} is {text!r:.60}, which is no {type.upper()}")


NO_LIMIT = 1 << 40
"""Bytes of a message: which rows were too large, the messages say."""

UNKNOWN_PARTITION = -1

SOME_ID = 1
"""Stands for ids and versions, which are not compared."""

T = TypeVar("T")

Written = tuple[tuple[bytes | None, bytes], Mapping[int, str]]
"""Key and value of a message, and the schemas that it names, by id."""


@dataclass(frozen=True)
class RowForm:
    """How rows may have been written."""

    table: Table
    """Their definition."""

    nulls: Collection[str] = ()
    """Columns that had NULL where messages have what may stand for it."""

    lacking: Collection[str] = ()
    """Columns that the rows are older than."""


@dataclass(frozen=True)
class RewrittenRows:
    """Rows as messages of one row each, in the order of `at`."""

    at: Ints
    """Indexes of the rows."""

    messages: Messages
    schemas: Mapping[int, str]
    """The schemas that the messages name, by id."""

    parts: Ints | None = None
    """The ordinals of the partitions of their table, UNKNOWN_PARTITION where nothing tells; None if messages have no ids of
    partitions."""


@dataclass(frozen=True)
class MessageWriter:
    changefeed: Changefeed
    release: Release
    tables: tuple[Table, ...]
    """Those whose names table routing may change."""

    _likes: KnownByTable[Mapping[str, str]] = field(default_factory=KnownByTable, init=False, compare=False, repr=False)
    _zeros: KnownByTable[Mapping[str, str]] = field(default_factory=KnownByTable, init=False, compare=False, repr=False)
    _selected: KnownByTable[frozenset[str] | None] = field(
        default_factory=KnownByTable, init=False, compare=False, repr=False
    )

    @property
    def options(self) -> CodecOptions:
        options = replace(self.changefeed.codec, max_message_bytes=NO_LIMIT)
        if options.stores_rows and options.protocol in DECODERS:  # rows are read without their ends
            return replace(options, terminator="")
        return options

    def rows(self, rows: pa.RecordBatch, layout: Layout, form: RowForm) -> Iterator[RewrittenRows]:
        """Yield rows (EVENT_SCHEMA) of one layout as the changefeed writes them in a form.

        A cell that the message does not have counts as NULL. Raises SimulatorError and ValueError for rows that no message
        can have.
        """
        codec, options, table = CODECS[self.options.protocol], self.options, form.table
        before, after = self._images(rows, layout, form)
        parts = self._parts(pc.coalesce(after, before), layout, table)
        row_ids = _row_ids(rows, before, after, table)
        large = pc.or_(rows.column("only_handle"), pc.is_valid(rows.column("stored_at")))
        shortens = codec.large_message_option(options, self.release) != "none"
        for partition, at in _by_partition(rows, table):
            places, manager = pa.array(at), SchemaManager()
            changes = replace(
                RowChanges(
                    table,
                    partition,
                    *(each.take(places) for each in (rows.column("commit_ts"), row_ids, before, after)),
                ),
                selected=self._selected.of(table, self._selected_columns),
                table_id=SOME_ID,
                version=SOME_ID,
                snapshot_version=SOME_ID,
                topic=self.changefeed.topic,
                large=large.take(places) if shortens else None,
            )
            encoded = with_schema_ids(codec.encode(changes, options, self.release), manager)
            messages = codec.frame(encoded, np.arange(len(at)), options, self.release)
            yield RewrittenRows(at, messages, manager.texts, None if parts is None else parts[at])

    def watermark(self, ts: int) -> Written | None:
        """Return the message of a watermark, and the schemas that it names; None if the protocol has none."""
        codec, options, manager = CODECS[self.options.protocol], self.options, SchemaManager()
        entry = codec.watermark_entry(ts, manager, options, self.release)
        return None if entry is None else (codec.message(entry, options, self.release), manager.texts)

    def statement_schemas(self, databases: Iterable[str]) -> frozenset[tuple[str, ...]]:
        """Return the schemas of key and value that the statements of databases may name; none if they name none."""
        schemas = CODECS[self.options.protocol].control_schemas
        if schemas is None:
            return frozenset()
        found = (schemas(database, self.options, self.release) for database in {*databases})
        return frozenset(tuple(schema.text for schema in pair) for pair in found)

    def bootstrap(self, table: Table, ts: int) -> tuple[bytes | None, bytes]:
        """Return key and value of the message with a table's schema, in a protocol that has one."""
        codec, options = CODECS[self.options.protocol], self.options
        assert codec.bootstrap is not None
        return codec.message(
            codec.bootstrap(TableInfo(table, SOME_ID, SOME_ID), ts, options, self.release), options, self.release
        )

    def like_null(self, table: Table) -> Mapping[str, str]:
        """Return what messages do not distinguish from NULL, as `replay.normalize.LikeNull` does."""
        return self._likes.of(table, lambda table: texts_like_null(table, self.options, self.release))

    def defaults_like_null(self, table: Table) -> Sequence[str]:
        """Return the columns whose default messages do not distinguish from NULL."""
        columns = defaults_like_null(table, self.options, self.release)
        return [column.name for column in columns if column.name in self.like_null(table)] if columns else ()

    def _images(self, rows: pa.RecordBatch, layout: Layout, form: RowForm) -> tuple[pa.Array, pa.Array]:
        table, lacking = form.table, form.lacking
        fidelity = CODECS[self.options.protocol].fidelity(self.options, self.release)
        before, after = row_images(rows, layout, table, fidelity)
        blind = pa.array(ints(rows, "op") == UPDATE)
        before = pc.if_else(pc.and_(blind, pc.is_null(before)), after, before)
        before, after = (
            _without_unknown(image, rows.column(side), layout, table)
            for side, image in (("before", before), ("after", after))
        )
        if lacking:
            rewritten = pc.fill_null(pc.equal(before, after), False)  # by MODIFY COLUMN
            before = with_cells(before, table, dict.fromkeys(lacking))
            after = pc.if_else(rewritten, before, after)
        for image in (before, after):
            check_values(image, table)
        self._check_key(pc.coalesce(after, before), layout, table)
        if zeros := self._zeros.of(table, lambda table: zeros_as_null(table, self.options, self.release)):
            names = [column.name for column in visible_columns(table)]
            before, after = (with_values(side, names, zeros) for side in (before, after))
        if lacking:
            before = with_cells(before, table, self._older_cells(table, lacking))
            after = pc.if_else(rewritten, before, after)
        likely = (
            {name: text for name, text in self.like_null(table).items() if name in form.nulls} if form.nulls else {}
        )
        if likely:
            names = [column.name for column in visible_columns(table)]
            before, after = (with_nulls(side, names, likely) for side in (before, after))
        return before, after

    def _parts(self, images: pa.Array, layout: Layout, table: Table) -> Ints | None:
        """Return the ordinals of the partitions of rows, as `RewrittenRows` does."""
        if table.partitioning is None or not CODECS[self.options.protocol].tells_partitions(self.release):
            return None
        columns = partition_columns(table)
        zoned = zone_of_rows(self.options.time_zone, self.release) and any(
            column.type.name == "timestamp" for column in table.columns if column.name in columns
        )
        if zoned or not columns <= {*layout.names}:
            return np.full(len(images), UNKNOWN_PARTITION)
        try:
            found = locate_partition(table, LazyCells(images, [column.name for column in visible_columns(table)]))
        except SchemaError:
            return np.full(len(images), UNKNOWN_PARTITION)
        return np.asarray(found.fill_null(UNKNOWN_PARTITION), np.int64)

    def _check_key(self, images: pa.Array, layout: Layout, table: Table) -> None:
        """Raise ValueError for NULL in a column of the handle key, which is NOT NULL, unless it may stand for a value."""
        cells = LazyCells(images, [column.name for column in visible_columns(table)])
        for name in handle_key(table):
            if name in layout.names and name not in self.like_null(table):
                if pc.any(pc.and_(images.is_valid(), cells[name].is_null())).as_py():
                    raise ValueError(f"NULL in column {name!r} of the handle key")

    def _older_cells(self, table: Table, lacking: Collection[str]) -> Mapping[str, bytes | None]:
        columns = (column for column in visible_columns(table) if column.name in lacking)
        return {column.name: untyped_cell(column, self.release) for column in columns}

    def later_columns(self, table: Table) -> Sequence[str]:
        """Return the columns that rows may be older than and of which old values say so, in the order of their
        creation."""
        names = later_columns(table, self.release)
        return [column.name for column in sorted(table.columns, key=lambda each: each.id) if column.name in names]

    def _selected_columns(self, table: Table) -> frozenset[str] | None:
        return ChangefeedRoutes(self.changefeed, self.release, self.tables).selected_columns(table)


@dataclass(frozen=True)
class LikeNullOfAny:
    """What messages of one of several releases do not distinguish from NULL, as `replay.normalize.LikeNull` does."""

    writers: tuple[MessageWriter, ...]

    def __call__(self, table: Table) -> Mapping[str, str]:
        likes: dict[str, dict[str, None]] = {}
        for writer in self.writers:
            for name, pattern in writer.like_null(table).items():
                likes.setdefault(name, {})[pattern] = None
        return {name: "|".join(patterns) for name, patterns in likes.items()}


def _by_partition(rows: pa.RecordBatch, table: Table) -> Iterable[tuple[int | None, Ints]]:
    """Yield the places of the rows of each partition, by its id; None for a table without partitions."""
    if table.partitioning is None:
        return [(None, np.arange(len(rows)))]
    return by_table(np.asarray(rows.column("ptn").fill_null(SOME_ID)))


def _row_ids(rows: pa.RecordBatch, before: pa.Array, after: pa.Array, table: Table) -> pa.Array:
    """Return the row ids of rows; which one a `_tidb_rowid` is, only the message tells."""
    columns = [column.name for column in visible_columns(table)]
    known = table_info.row_ids_from_column(table, LazyCells(pc.coalesce(after, before), columns))
    return pc.fill_null(rows.column("rid"), SOME_ID) if known is None else known


def _without_unknown(images: pa.Array, sent: pa.Array, layout: Layout, table: Table) -> pa.Array:
    """Return images with the text of the message in place of unknown cells, which stand for values that it does not
    tell exactly, for a float of a DECIMAL with one that it may stand for, and with NULL where it has none."""
    if images.null_count == len(images) or not pc.any(pc.match_substring(images, UNKNOWN_CELL)).as_py():
        return images
    if sent.null_count > images.null_count:  # an old row that the message does not have
        sent = pc.coalesce(sent, pa.scalar(row_image.image_of([UNKNOWN_CELL] * len(layout.names))))
    there = row_image.split(images.drop_null(), len(visible_columns(table)))
    texts = row_image.named(sent.filter(images.is_valid()), layout.names)
    kinds = dict(zip(layout.names, layout.types, strict=True))
    none, cells = pa.scalar(None, pa.binary()), []
    for place, column in enumerate(visible_columns(table)):
        text = texts.get(column.name)
        if text is not None and is_connect(kinds[column.name]) and family(column.type) == "decimal":
            text = nearest_decimals(text, column)
        cells.append(_known(there.cells(place), none if text is None else _known(text, none)))
    return row_image.restore_nulls(row_image.pack(cells), images)


def _known(cells: pa.Array, other: pa.Array | pa.Scalar) -> pa.Array:
    return pc.if_else(pc.fill_null(pc.equal(cells, UNKNOWN_CELL), False), other, cells)
