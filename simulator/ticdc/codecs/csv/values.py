"""Values of CSV columns: numbers as Go's `%v` writes them, strings in quotes or escaped."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import binary, latin1, stored_buffers, surrogate_unescaped
from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.ticdc.codecs.binary import base64
from simulator.ticdc.codecs.codec_options import CsvOptions
from simulator.ticdc.codecs.json_text import join
from simulator.ticdc.codecs.wire_numbers import percent_v_float, require_enum_members
from simulator.ticdc.older_rows import UNTYPED, is_untyped
from simulator.tidb.model import types
from simulator.tidb.model.types import ColumnType

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
