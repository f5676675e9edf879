"""Values that TiCDC's mounter makes of TiKV's rows: TIMESTAMPs in a time zone, and columns that older rows lack.

TiDB stores UTC, and rows have their TIMESTAMPs in the zone of TiCDC's servers (`cdc server --tz`). Two instants have one
local time where a clock is put back; of these it is the one that Go's time.Date returns (tiflow: cdc/entry/codec.go
unflatten; ticdc: pkg/common/event/codec.go; Go: time/time.go Date). Zero dates, and what is no date, stay as they are.

TiKV's bytes of a row that was last written before a column was added lack the column, and TiDB reads the value that the
column had then. TiCDC's mounter fills the old values itself (tiflow: cdc/entry/mounter.go getDefaultOrZeroValue);
releases before 6.5.9 put a string there whatever the type, of which each encoder makes something else. Such a cell of a
row image begins with the byte 0xFC, which is not in UTF-8.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import stored_buffers
from simulator.releases import Release
from simulator.tidb.ddl.defaults import implicit_default, implicit_value, stored_value
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.model.types import ColumnType, family

MOMENT = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]) "
KIND = pa.timestamp("us")


def zone_of_rows(time_zone: str, release: Release) -> str:
    """Return the zone of TIMESTAMPs in rows, given that of the servers; empty for UTC."""
    return time_zone if release.rows_in_server_zone else ""


def images_in_zone(images: pa.Array, table: Table, zone: str) -> pa.Array:
    """Return row images (binary, null for no row) with TIMESTAMPs of UTC in the local time of a zone."""
    columns = visible_columns(table)
    places = [place for place, column in enumerate(columns) if has_zone(column.type)] if zone else []

    def change(cells: list[pa.Array]) -> list[pa.Array]:
        for place in places:
            cells[place] = to_local(cells[place], zone)
        return cells

    return row_image.with_columns(images, len(columns), change) if places else images


def has_zone(type: ColumnType) -> bool:
    """Return whether values of a type depend on the time zone."""
    return type.name == "timestamp"


def to_local(cells: pa.Array, zone: str) -> pa.Array:
    """Return TIMESTAMP cells (binary) of UTC in the local time of a zone; an empty one is UTC."""
    return _shifted(cells, lambda moments: _local(moments, zone)) if zone else cells


def to_instants(cells: pa.Array, zone: str) -> pa.Array:
    """Return TIMESTAMP cells (binary) in the local time of a zone as they are in UTC."""
    return _shifted(cells, lambda moments: _instants(moments, zone)) if zone else cells


def _local(moments: pa.Array, zone: str) -> pa.Array:
    return pc.local_timestamp(pc.assume_timezone(moments, "UTC").cast(pa.timestamp("us", zone)))


def _instants(local: pa.Array, zone: str) -> pa.Array:
    at_that_time_in_utc = pc.subtract(_local(local, zone), local)
    guess = pc.subtract(local, at_that_time_in_utc)
    offset = pc.subtract(_local(guess, zone), guess)
    # Go looks a second time only where the first offset is not 0
    no_offset = pc.equal(at_that_time_in_utc.cast(pa.int64()), 0)
    return pc.if_else(no_offset, local, pc.subtract(local, offset))


def _shifted(cells: pa.Array, shift: Callable[[pa.Array], pa.Array]) -> pa.Array:
    cells = cells.cast(pa.binary())
    readable = pc.fill_null(pc.match_substring_regex(cells, MOMENT), False)
    text = pc.if_else(readable, cells, pa.scalar(None, pa.binary())).cast(pa.string())
    shifted = shift(text.cast(KIND)).cast(pa.string())
    width = pc.max(pc.utf8_length(text)).as_py() or 0  # cells of a column have the same number of decimals
    return pc.if_else(readable, pc.utf8_slice_codeunits(shifted, 0, width).cast(pa.binary()), cells)


UNTYPED = b"\xfc"
"""Before the text of a cell: TiCDC has it as a string, and other values of the column not."""

OBJECT = UNTYPED + UNTYPED
"""Before the text of a cell: TiCDC has a zero of TiDB's own Go type, of which the text is what Go prints."""

STRINGS = frozenset(("decimal", "date", "datetime", "time", "json"))
"""Families of types of which TiCDC has every value as a string."""

OBJECTS = STRINGS | {"set"}
"""Families of types of which TiDB has values of a Go type of its own."""

NONE = frozenset[str]()


def later_columns(table: Table, release: Release) -> frozenset[str]:
    """Return the columns that rows may be older than, and of which cells may begin with UNTYPED."""
    if release.older_rows == "typed":
        return NONE
    return frozenset(column.name for column in table.columns if column.origin_default is not None)


def old_cells(table: Table, release: Release, zone: str) -> dict[str, bytes | None]:
    """Return the columns of which the release may have other old values than TiDB, with what it has of an older row, as
    plain text. The table has the origin defaults of TIMESTAMPs in the zone."""
    later = (column for column in visible_columns(table) if column.origin_default is not None)
    if release.older_rows == "typed":
        in_utc = release.older_timestamps_in_utc and bool(zone)
        texts = {column: stored_value(column.origin_default, column.type) for column in later if has_zone(column.type)}
        cells = {column: None if text is None else text.encode() for column, text in texts.items() if in_utc}
    else:
        cells = {column: untyped_cell(column, release) for column in later}
    moved = zone if release.older_rows != "default" else ""
    return {column.name: None if cell is None else _plain_cell(cell, column, moved) for column, cell in cells.items()}


def _plain_cell(cell: bytes, column: Column, zone: str) -> bytes:
    if not zone or not has_zone(column.type):
        return cell.lstrip(UNTYPED)
    plain: bytes = to_instants(pa.array([cell]), zone)[0].as_py()
    return plain


def filled_images(images: pa.Array, lacking: pa.Array | None, table: Table, release: Release, zone: str) -> pa.Array:
    """Return row images (binary, null for no row) with the old values of the columns that rows lack.

    `lacking` is as `TableChanges.lacking`, and `zone` that of TIMESTAMPs in rows, which images have in UTC.
    """
    if lacking is None:
        return images
    columns = visible_columns(table)
    ids = lacking.filter(images.is_valid()).dictionary_encode()
    sets = [
        frozenset() if each is None else frozenset(map(int, each.split(b","))) for each in ids.dictionary.to_pylist()
    ]

    def change(cells: list[pa.Array]) -> list[pa.Array]:
        for place, column in enumerate(columns):
            lacks = pc.fill_null(pa.array([column.id in each for each in sets], pa.bool_()).take(ids.indices), False)
            if pc.any(lacks, min_count=0).as_py():
                cells[place] = pc.if_else(lacks, _filler(cells[place], column, release, zone), cells[place])
        return cells

    return row_image.with_columns(images, len(columns), change)


def _filler(cells: pa.Array, column: Column, release: Release, zone: str) -> pa.Array | pa.Scalar:
    """Return what TiCDC has in place of cells of a column that rows lack."""
    in_utc = release.older_timestamps_in_utc and has_zone(column.type)
    if release.older_rows == "typed":
        return to_instants(cells, zone) if in_utc else cells
    text = untyped_cell(column, release)
    filler = pa.scalar(text, pa.binary())
    return to_instants(pa.repeat(filler, len(cells)), zone) if in_utc and text else filler


def untyped_cell(column: Column, release: Release) -> bytes | None:
    """Return the cell that a release before 6.5.9 has in place of a column that a row lacks; None for NULL."""
    if column.origin_default is None or release.older_rows == "default" and not column.not_null:
        return None
    stored = column.default if release.older_rows == "default" else column.origin_default
    if stored is None:
        return _zero(column)
    if release.older_rows == "default" and column.default_expression and family(column.type) == "datetime":
        return b"CURRENT_TIMESTAMP"  # without its digits (tidb v5.3.0 ddl/ddl_api.go getDefaultValue)
    mark = b"" if family(column.type) in STRINGS else UNTYPED
    return mark + stored.encode("utf-8", "surrogateescape")


def _zero(column: Column) -> bytes:
    """Return the cell of a column that has no default (tidb table/column.go GetZeroValue)."""
    kind = family(column.type)
    if kind in ("enum", "bit"):
        return UNTYPED + implicit_default(column.type).encode()
    if kind in OBJECTS:
        return OBJECT + implicit_default(column.type).encode()
    return b"" if kind == "string" else implicit_value(column.type).encode()


def is_untyped(cells: pa.Array) -> pa.Array:
    """Return which cells begin with UNTYPED; NULL does not."""
    return pc.fill_null(pc.starts_with(cells, UNTYPED), False)


def has_marks(images: pa.Array) -> bool:
    """Return whether a cell of row images begins with UNTYPED."""
    data, _ = stored_buffers(images)
    return bool((data == UNTYPED[0]).any())


def without_marks(images: pa.Array, release: Release) -> pa.Array:
    """Return row images, or cells, as their plain texts."""
    if release.older_rows == "typed" or not has_marks(images):
        return images
    return pc.replace_substring(images, UNTYPED, b"")
