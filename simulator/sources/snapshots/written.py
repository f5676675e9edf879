"""Writer of snapshots: rows of one table, a batch at a time, and the snapshot's metadata.

A written snapshot is read again, without options, as the same texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from simulator.columns.cells import latin1, stored_buffers, surrogate_unescaped
from simulator.errors import UserError
from simulator.tidb.ddl.derive import show_create
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.model.types import family, is_binary

UNSAFE = re.compile(r'^_|[\x00-\x1f%"*./:<>?\\|]|-(?=schema)', re.IGNORECASE)
"""Characters that Dumpling escapes in file names, and those that would hide a file."""

NUMBERS = ("integer", "decimal", "float", "year", "bit")
"""Families of types whose values are not quoted."""


def file_name(table: Table, rest: str) -> str:
    """Return `db.table` and the rest, with %XX for characters that file names cannot have."""
    return ".".join(map(_safe, (table.schema, table.name))) + rest


def _safe(name: str) -> str:
    return UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", name)


def write_schema(directory: Path, table: Table) -> None:
    """`<db>.<table>-schema.sql`"""
    (directory / file_name(table, "-schema.sql")).write_text(show_create(table).rstrip(";") + ";\n", "utf-8")


def write_database(directory: Path, name: str) -> None:
    """`<db>-schema-create.sql`"""
    text = f"CREATE DATABASE `{name.replace('`', '``')}`;\n"
    (directory / f"{_safe(name)}-schema-create.sql").write_text(text, "utf-8")


def write_metadata(directory: Path, ts: int, about: Sequence[str]) -> None:
    """Write `metadata` as Dumpling does for a snapshot at that TSO, followed by the lines `about`."""
    text = "\n".join(("SHOW MASTER STATUS:", "\tLog: tidb-binlog", f"\tPos: {ts}", "\tGTID:", "", *about, ""))
    (directory / "metadata").write_text(text, "utf-8")


class CsvFile(AbstractContextManager["CsvFile"]):
    r"""A CSV file of a table's rows: a line of names, then a line a row; numbers without quotes, NULL as `\N`.

    In one of several files of a table a backslash is doubled, as Dumpling does and as files with such names are read.
    """

    def __init__(self, path: Path, table: Table, one_of_several: bool = False) -> None:
        self._columns = visible_columns(table)
        self._escape = one_of_several
        self._file: BinaryIO = path.open("wb")
        names = [column.name.replace('"', '""') for column in self._columns]
        if self._escape:
            names = [name.replace("\\", "\\\\") for name in names]
        self._file.write(",".join(f'"{name}"' for name in names).encode() + b"\n")

    def write(self, texts: Mapping[str, pa.Array]) -> None:
        """Write rows, given as the TiDB text of each visible column."""
        parts: list[pa.Array | bytes] = []
        for column in self._columns:
            parts += (*_cells(column, texts[column.name], self._escape), b",")
        lines = pc.binary_join_element_wise(*parts[:-1], b"\n", b"")
        self._file.write(pa.py_buffer(stored_buffers(lines)[0]))

    def __exit__(self, *error: object) -> None:
        self._file.close()


def _cells(column: Column, text: pa.Array, escape: bool) -> tuple[pa.Array | bytes, ...]:
    """Return the cells of a column, or the pieces to join."""
    cells = latin1(text) if is_binary(column.type) else surrogate_unescaped(text)
    if family(column.type) in NUMBERS:
        return (pc.fill_null(cells, b"\\N"),)
    if escape and pc.any(pc.match_substring(cells, "\\")).as_py():
        cells = pc.replace_substring(cells, "\\", "\\\\")
    if pc.any(pc.match_substring(cells, '"')).as_py():
        cells = pc.replace_substring(cells, '"', '""')
    if not cells.null_count:
        return b'"', cells, b'"'
    return (pc.fill_null(pc.binary_join_element_wise(b'"', cells, b'"', b""), b"\\N"),)


class ParquetFile(AbstractContextManager["ParquetFile"]):
    """A Parquet file of a table's rows: integers and floats as numbers, binary strings as bytes, everything else as
    text."""

    def __init__(self, path: Path, table: Table, one_of_several: bool = False) -> None:
        self._columns = visible_columns(table)
        self._schema = pa.schema([(column.name, _arrow_type(column)) for column in self._columns])
        self._opened = ExitStack()
        self._writer = self._opened.enter_context(pq.ParquetWriter(path, self._schema))

    def write(self, texts: Mapping[str, pa.Array]) -> None:
        """Write rows, given as the TiDB text of each visible column; raise UserError for text that is no UTF-8."""
        arrays = [_shown_values(texts[name], type) for name, type in zip(self._schema.names, self._schema.types)]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def __exit__(self, *error: object) -> None:
        self._opened.close()


def _arrow_type(column: Column) -> pa.DataType:
    type = column.type
    if is_binary(type):
        return pa.binary()
    if family(type) == "integer":
        return pa.uint64() if type.unsigned else pa.int64()
    if family(type) == "float":
        return pa.float64() if type.name == "double" else pa.float32()
    return pa.string()


def _shown_values(text: pa.Array, type: pa.DataType) -> pa.Array:
    if pa.types.is_binary(type):
        return latin1(text)
    try:
        return text.cast(pa.string()).cast(type)
    except pa.ArrowInvalid:
        raise UserError("Parquet's strings have no room for bytes that are no UTF-8; csv has") from None


TableFile = CsvFile | ParquetFile

FORMATS: Mapping[str, Callable[[Path, Table, bool], TableFile]] = MappingProxyType(
    {"csv": CsvFile, "parquet": ParquetFile}
)


def table_file(directory: Path, table: Table, format: str, part: int | None = None) -> TableFile:
    """Return a new file for the table's rows: its only one, or one of several, which have numbers."""
    name = file_name(table, f".{format}" if part is None else f".{part:09d}.{format}")
    return FORMATS[format](directory / name, table, part is not None)
