"""Rows of CSV, by columns: the cells of all rows of a table are joined in one call."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from simulator.columns.row_image import Image
from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.ticdc import table_info
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.csv.handles import handle_texts
from simulator.ticdc.codecs.csv.values import Piece, Quoting, column_pieces, maybe_untyped_pieces
from simulator.ticdc.codecs.json_text import decimal, join
from simulator.ticdc.codecs.row_changes import EncodedRows, OperationRows, RowChanges, encode_by_operation
from simulator.ticdc.older_rows import later_columns
from simulator.tidb.model.table import Column, Table, visible_columns

LETTERS = {"INSERT": b"I", "UPDATE": b"U", "DELETE": b"D"}
UPDATE_PARTS = (b"D", b"I")
"""An UPDATE with its old values."""


META = "ticdc-meta$"
"""The begin of the names in a header that are no columns."""


def encode(rows: RowChanges, options: CodecOptions, release: Release) -> EncodedRows:
    """Encode row changes of one table; raise EncodeError for a value on which TiCDC stops."""
    visible = visible_columns(rows.table)
    columns = rows.table.columns if release.csv_virtual_columns else visible
    return EncodedRows(
        None,
        encode_by_operation(rows, len(visible), lambda changes: _encode_operation(changes, columns, options, release)),
    )


def header(table: Table, selected: frozenset[str] | None, options: CodecOptions, release: Release) -> bytes:
    """Return the first line of a file; empty without `output-field-header`."""
    csv = options.csv
    if not csv.output_field_header:
        return b""
    columns = table.columns if release.csv_header_lists_all else visible_columns(table)
    heads = [
        "operation",
        "table",
        "schema",
        *["commit-ts"] * csv.include_commit_ts,
        *["is-update"] * csv.output_old_value,
    ]
    names = [column.name for column in columns if selected is None or column.name in selected]
    line = csv.delimiter.join([*(META + head for head in heads), *names]) + options.terminator
    return line.encode("utf-8", "surrogateescape")


def _encode_operation(
    changes: OperationRows, columns: Sequence[Column], options: CodecOptions, release: Release
) -> pa.Array:
    if changes.operation == "DELETE":
        known = None if options.enable_old_value or not release.csv_delete_by_key else _handle_columns(changes)
        return join(*_line(b"D", changes, changes.before(), columns, options, release, known), null=b"")
    if changes.operation == "UPDATE" and options.csv.output_old_value:
        images = (changes.before(), changes.after())
        lines = (
            _line(letter, changes, image, columns, options, release)
            for letter, image in zip(UPDATE_PARTS, images, strict=True)
        )
        return join(*(piece for line in lines for piece in line), null=b"")
    letter = LETTERS[changes.operation]
    if not options.enable_old_value and release.update_without_old_value:
        letter = LETTERS["INSERT"]
    return join(*_line(letter, changes, changes.after(), columns, options, release), null=b"")


def _handle_columns(changes: OperationRows) -> frozenset[str]:
    return frozenset(table_info.handle_key(changes.rows.table))


def _line(
    letter: bytes,
    changes: OperationRows,
    image: Image,
    columns: Sequence[Column],
    options: CodecOptions,
    release: Release,
    known: frozenset[str] | None = None,
) -> list[Piece]:
    """Return the pieces of a line for each row; `known` are the columns that TiCDC has of the rows, None for all."""
    table, csv = changes.rows.table, options.csv
    quoting = Quoting.of(csv)
    delimiter = csv.delimiter.encode()
    cells: list[list[Piece]] = [
        [quoting.constant(text)]
        for text in (letter, *(name.encode("utf-8", "surrogateescape") for name in (table.name, table.schema)))
    ]
    if csv.include_commit_ts:
        cells.append([decimal(changes.rows.commit_ts)])
    if csv.output_old_value:
        cells.append([b"true" if changes.operation == "UPDATE" else b"false"])
    if csv.output_handle_key:
        cells.append([quoting.strings(handle_texts(changes))])
    selected, place, later = changes.rows.selected, 0, later_columns(table, release)
    for column in columns:
        if column.generated == "virtual":
            cells.append([csv.null.encode()])  # TiKV does not have its value
            continue
        if (selected is None or column.name in selected) and (known is None or column.name in known):
            pieces_of = maybe_untyped_pieces if column.name in later else column_pieces
            cells.append(pieces_of(image.cells(place), column.type, csv, quoting, release))
        place += 1
    try:
        pieces: list[Piece] = [piece for cell in cells for piece in (*cell, delimiter)]
    except ValueError as error:
        raise EncodeError(str(error)) from error
    return [*pieces[:-1], options.terminator.encode()]
