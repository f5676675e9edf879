"""Old values of rows that were last written before a column was added: what TiCDC puts in its place.

TiKV's bytes of such a row lack the column, and TiDB reads the value that the column had when it was added. TiCDC's
mounter fills the old values itself (tiflow: cdc/entry/mounter.go getDefaultOrZeroValue); releases before 6.5.9 put a
string there whatever the type, of which each encoder makes something else. Such a cell of a row image begins with the
byte 0xFC, which is not in UTF-8.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import stored_buffers
from simulator.releases import Release
from simulator.ticdc.time_zone import has_zone, to_instants
from simulator.tidb.ddl.defaults import implicit_default, implicit_value, stored_value
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.model.types import family

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
