r"""CSV, the format of TiCDC's storage sink: one line per row, no key.

`"I","table","schema",commit-ts,is-update,handle,column,column…`

* The operation is I, U or D. commit-ts, is-update and handle are there only if `[sink.csv]` asks for them.
* With `output-old-value` an UPDATE is two lines, D and I, and is-update tells them from others.
* Numbers are bare: integers, BIT, YEAR, FLOAT and DOUBLE as Go's `%v` writes them. Everything else is a string: ENUM and
  SET by name, bytes in base64 or hex.
* A string is in quotes, with quotes doubled; without a quote character it has backslashes before CR, LF, `\` and the
  delimiter. NULL is the bare `null` text.
* The handle (`output-handle-key`) is as its String() writes it: an integer is a signed number, a common handle
  `{1, abc}`, which is what TiKV's key has, decoded without the columns' types (tidb: pkg/kv/key.go CommonHandle.String).
  Text of a collation is its sort key there, a DATE or DATETIME a packed number.
* `output-field-header` begins each file with the names of all columns, as they are.
* DDL statements and watermarks are files of their own (`simulator.ticdc.cloud_storage`).

The cells of all rows of a table are joined in one call. Sources: tiflow v8.0.0: pkg/sink/codec/csv; ticdc:
pkg/sink/codec/csv; docs: ticdc-csv.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import binary, buffers, latin1, stored_buffers, surrogate_unescaped
from simulator.columns.row_image import Image
from simulator.errors import EncodeError, NotSimulatedError
from simulator.releases import Release, option_names
from simulator.ticdc import table_info
from simulator.ticdc.codecs.codec import Codec, Fidelity, KeyValue, Protocol, SizeRules
from simulator.ticdc.codecs.codec_options import CodecOptions, CsvOptions
from simulator.ticdc.codecs.row_changes import EncodedRows, OperationRows, RowChanges, encode_by_operation
from simulator.ticdc.codecs.wire_numbers import percent_v_float, require_enum_members
from simulator.ticdc.codecs.wire_text import base64, decimal, join
from simulator.ticdc.mounter import UNTYPED, is_untyped, later_columns
from simulator.tidb.collations import has_weights, padded, pads_spaces, sort_keys
from simulator.tidb.keys import index_prefix
from simulator.tidb.model import types
from simulator.tidb.model.table import Column, IndexColumn, Table, has_common_handle, places_of, visible_columns
from simulator.tidb.model.types import ColumnType

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
    letters: tuple[bytes, ...] = (LETTERS[changes.operation],)
    if changes.operation == "UPDATE" and options.csv.output_old_value:
        letters = UPDATE_PARTS
    elif changes.operation == "UPDATE" and not options.enable_old_value and release.update_without_old_value:
        letters = (LETTERS["INSERT"],)
    sent = _sent(changes, columns, options, release)
    return join(*(piece for letter in letters for piece in _line(letter, changes, sent, options, release)), null=b"")


def _sent(
    changes: OperationRows, columns: Sequence[Column], options: CodecOptions, release: Release
) -> Sequence[Column]:
    """Return the columns that TiCDC has of the rows and column selectors leave, and all virtual ones."""
    names = changes.rows.selected
    if changes.operation == "DELETE" and not options.enable_old_value and release.csv_delete_by_key:
        handle = frozenset(table_info.handle_key(changes.rows.table))
        names = handle if names is None else handle & names
    return [column for column in columns if names is None or column.generated == "virtual" or column.name in names]


def _line(
    letter: bytes, changes: OperationRows, columns: Sequence[Column], options: CodecOptions, release: Release
) -> list[Piece]:
    """Return the pieces of a line for each row, of the old one after `D`."""
    image = changes.before() if letter == b"D" else changes.after()
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
    places, later = places_of(table), later_columns(table, release)
    for column in columns:
        if column.generated == "virtual":
            cells.append([csv.null.encode()])  # TiKV does not have its value
            continue
        pieces_of = maybe_untyped_pieces if column.name in later else column_pieces
        cells.append(pieces_of(image.cells(places[column.name]), column.type, csv, quoting, release))
    try:
        pieces: list[Piece] = [piece for cell in cells for piece in (*cell, delimiter)]
    except ValueError as error:
        raise EncodeError(str(error)) from error
    return [*pieces[:-1], options.terminator.encode()]


def _sizes(options: CodecOptions, release: Release) -> SizeRules:
    return SizeRules(options.max_message_bytes, 1, 0, large_rows=True)


def _fidelity(options: CodecOptions, release: Release) -> Fidelity:
    updates_are_inserts = not options.enable_old_value and release.update_without_old_value
    return Fidelity(
        old_values=options.csv.output_old_value, names_operations=not updates_are_inserts, member_names=True
    )


def _unknown_type(entry: KeyValue, options: CodecOptions) -> KeyValue:
    quote = len(options.csv.quote)
    return entry[0], entry[1][:quote] + b"?" + entry[1][quote + 1 :]


CSV = Codec(
    protocol=Protocol(
        name="csv",
        title="CSV",
        settings=frozenset({"sink.csv", "sink.terminator"}),
        refusals=dict.fromkeys(
            option_names.DELETE_ONLY,
            "CSV protocol always output all columns for the delete event, "
            "do not set `delete-only-output-handle-key-columns` to true",
        ),
        sinks=frozenset({"storage"}),
        old_values=lambda release: "disabled" if release.csv_disables_old_value else "optional",
    ),
    file_extension=".csv",
    file_header=header,
    encode=encode,
    sends_ddl=lambda options, release: False,
    sizes=_sizes,
    fidelity=_fidelity,
    with_unknown_type=_unknown_type,
)


NUMBERS = frozenset(("integer", "bit", "year"))
Piece: TypeAlias = "bytes | pa.Array"
"""What a line is joined of: the same bytes for all rows, or a column."""

MARK = b"\xfe"
"""Stands for a delimiter while other characters are escaped; no text has the byte."""


@dataclass(frozen=True)
class Quoting:
    """How strings are written."""

    quote: bytes
    delimiter: bytes
    escaped_delimiter: bytes
    """A backslash before each byte; TiCDC writes a byte above 0x7F as the character of that code."""

    @staticmethod
    @lru_cache
    def of(options: CsvOptions) -> Quoting:
        delimiter = options.delimiter.encode()
        return Quoting(options.quote.encode(), delimiter, "".join(f"\\{chr(byte)}" for byte in delimiter).encode())

    def constant(self, text: bytes) -> bytes:
        """Return one string as it is written."""
        written: bytes = self.strings(pa.array([text], pa.binary()))[0].as_py()
        return written

    def strings(self, cells: pa.Array) -> pa.Array:
        """Return strings, given as their bytes, as they are written; nulls stay nulls."""
        if not self.quote:
            return self._escaped(cells)
        quote = pa.scalar(self.quote, pa.binary())
        return pc.binary_join_element_wise(quote, self._doubled(cells), quote, pa.scalar(b"", pa.binary()))

    def pieces(self, cells: pa.Array) -> list[Piece]:
        """Return strings, none of them null, as pieces that are to be joined."""
        return [self.quote, self._doubled(cells), self.quote] if self.quote else [self._escaped(cells)]

    def _doubled(self, cells: pa.Array) -> pa.Array:
        return pc.replace_substring(cells, self.quote, self.quote * 2) if _holds(cells, self.quote) else cells

    def _escaped(self, cells: pa.Array) -> pa.Array:
        special = [each for each in (self.delimiter, b"\\", b"\n", b"\r") if _holds(cells, each)]
        if not special:
            return cells
        if self.delimiter in special:
            self._refuse_overlaps(cells)
            cells = pc.replace_substring(cells, self.delimiter, MARK)
        for plain, escaped in ((b"\\", b"\\\\"), (b"\n", b"\\n"), (b"\r", b"\\r"), (MARK, self.escaped_delimiter)):
            cells = pc.replace_substring(cells, plain, escaped)
        return cells

    def _refuse_overlaps(self, cells: pa.Array) -> None:
        """Raise EncodeError where a delimiter begins inside another one, or ends in a character to escape."""
        for step in range(1, len(self.delimiter)):
            inside = self.delimiter[step:]
            ends = self.delimiter + self.delimiter[len(inside) :] if self.delimiter.startswith(inside) else b""
            if inside.startswith(b"\\") or ends and pc.any(pc.match_substring(cells, ends)).as_py():
                raise EncodeError(
                    f"TiCDC panics on a value in which the delimiter {self.delimiter.decode()!r} overlaps another "
                    "character to escape (csv_message.go formatWithEscapes); set [sink.csv] quote",
                    "CDC:ErrUnexpected",
                )


def _holds(cells: pa.Array, text: bytes) -> bool:
    data, _ = stored_buffers(cells)
    return text in data.tobytes()


def column_pieces(
    cells: pa.Array, type: ColumnType, options: CsvOptions, quoting: Quoting, release: Release
) -> list[Piece]:
    """Return a column's TiDB text as pieces of CSV that are to be joined."""
    family = types.family(type)
    if family in NUMBERS:
        return [with_null(cells, options)]
    if family == "float":
        return [with_null(percent_v_float(cells, type, release.float_widened), options)]
    if family == "enum":
        require_enum_members(cells, type, "CDC:ErrCSVEncodeFailed", "csv encode failed")
    if types.is_binary(type):
        cells = _hex(latin1(cells)) if options.binary_encoding_method == "hex" else base64(latin1(cells))
    elif quoting.quote:
        cells = surrogate_unescaped(cells)
    else:
        # bytes that are no UTF-8 take their places after the escapes, so that MARK is unique
        return [with_null(surrogate_unescaped(quoting.strings(cells)), options)]
    return [with_null(quoting.strings(cells), options)] if cells.null_count else quoting.pieces(cells)


def maybe_untyped_pieces(
    cells: pa.Array, type: ColumnType, options: CsvOptions, quoting: Quoting, release: Release
) -> list[Piece]:
    """Return the same of a column that some rows lack, where TiCDC may have a string instead of a value (tiflow v6.5.8:
    codec/csv/csv_message.go fromColValToCsvVal)."""
    marked = is_untyped(cells)
    if not pc.any(marked, min_count=0).as_py():
        return column_pieces(cells, type, options, quoting, release)
    values = pc.if_else(marked, pa.scalar(None, pa.binary()), cells)
    strings = pc.replace_substring(cells, UNTYPED, b"")
    is_bytes = types.family(type) == "bit" or types.is_binary(type)
    texts = quoting.strings(latin1(strings) if is_bytes else surrogate_unescaped(strings))
    return [pc.if_else(marked, texts, join(*column_pieces(values, type, options, quoting, release)))]


def with_null(cells: pa.Array, options: CsvOptions) -> pa.Array:
    """Return the cells with the text for NULL."""
    return pc.fill_null(cells, options.null.encode()) if cells.null_count else cells


_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)


def _hex(cells: pa.Array) -> pa.Array:
    data, offsets = stored_buffers(cells)
    coded = np.stack((_DIGITS[data >> 4], _DIGITS[data & 15]), axis=1).reshape(-1)
    return binary(coded, offsets * 2, cells)


def handle_texts(changes: OperationRows) -> pa.Array:
    """Return the handle of each row as text; raise EncodeError for a key column that is not written here."""
    table = changes.rows.table
    if not has_common_handle(table):
        return decimal(changes.rows.row_id)
    image = changes.last()
    parts = next(index.columns for index in table.indexes if index.primary)
    listed = [piece for part in parts for piece in (b", ", _part(table, part, image))]
    return join(b"{", *listed[1:], b"}")


def _part(table: Table, part: IndexColumn, image: Image) -> pa.Array:
    """Return the text of a column of the clustered key."""
    visible = visible_columns(table)
    place = next(place for place, column in enumerate(visible) if column.name == part.name)
    column, cells = visible[place], image.cells(place)
    family = types.family(column.type)
    if family in ("integer", "year", "decimal", "bit"):
        return cells
    if family in ("date", "datetime"):
        return decimal(_packed(cells))
    if family == "string":
        return _sorted_by(cells if part.length < 0 else index_prefix(cells, part.length), column)
    raise NotSimulatedError(
        f"output-handle-key: the clustered key of {table.schema}.{table.name} has the column {column.name}, which this "
        "simulator cannot write; accepted: integers, DECIMAL, BIT, YEAR, DATE, DATETIME, TIMESTAMP, CHAR and VARCHAR, "
        "binary or not"
    )


def _sorted_by(cells: pa.Array, column: Column) -> pa.Array:
    """Return the bytes by which the collation sorts."""
    collation = column.type.collation
    if types.is_binary(column.type):
        return latin1(cells)
    if collation.endswith("_general_ci"):
        # the simulator's weights are one higher, and end with zeros
        data, offsets = buffers(pc.binary_slice(sort_keys(collation, cells), 0, -2))
        return binary((data.view(">u2") - 1).astype(">u2").view(np.uint8), offsets, cells)
    if has_weights(collation):
        raise NotSimulatedError(f"output-handle-key: keys of the collation {collation} are not written yet")
    return surrogate_unescaped(padded(cells) if pads_spaces(collation) else cells)


def _packed(cells: pa.Array) -> pa.Array:
    """Return times as tidb packs them: year and month, day, hour, minute, second, microseconds (pkg/types/time.go)."""
    texts = pc.utf8_rpad(cells.cast(pa.string()), 26, "0")
    year, month, day, hour, minute, second, micro = (
        pc.utf8_slice_codeunits(texts, start, stop).cast(pa.int64()).to_numpy()
        for start, stop in ((0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19), (20, 26))
    )
    days = (year * 13 + month) << 5 | day
    return pa.array(((days << 17 | hour << 12 | minute << 6 | second) << 24 | micro).astype(np.uint64))
