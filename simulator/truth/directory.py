"""The directory of a truth: a snapshot that is written beside its place and moved there when it is complete.

Only an empty directory or an earlier truth is replaced. Rows go to one file per table, with one batch in memory and
one open file at a time. What is written is read again, without options, as the same texts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from simulator import tso
from simulator.columns import row_image
from simulator.columns.cells import latin1, stored_buffers, surrogate_unescaped
from simulator.columns.change_frame import by_table, ints
from simulator.columns.hashing import BOOTSTRAPS, CHANGES, DELETES, ChangeSums, sums_by_kind
from simulator.errors import UserError, mask_secrets
from simulator.files import disk_errors, read_bytes
from simulator.reader import truth_metadata as truth_about
from simulator.reader.truth_metadata import TruthMetadata, hide_secrets, tag_and_architecture
from simulator.signals import defer_signals
from simulator.sinks import staging
from simulator.ticdc.rules import ChangefeedRules
from simulator.tidb.ddl.derive import show_create
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.model.types import family, is_binary

OURS = "Written by: ticdc-sim"
"""The beginning of the line in `metadata` that marks a truth."""


@dataclass(frozen=True)
class TruthFiles:
    """The directory of a truth, and the format of the files of its rows."""

    directory: Path
    format: str = "csv"

    def check(self) -> None:
        """Check format and directory; raises UserError for an unknown format, or other files in the directory."""
        if self.format not in FORMATS:
            raise UserError(f"unknown format of a snapshot {self.format!r}: {' or '.join(FORMATS)}")
        if self.directory.exists() and not self.directory.is_dir():
            raise UserError(f"--truth {self.directory} is a file: give a new or empty directory")
        if self.directory.exists() and any(self.directory.iterdir()) and not _is_ours(self.directory):
            raise UserError(
                f"--truth {self.directory} holds something else: give a new or empty directory, or one with a truth, "
                "which is replaced"
            )

    @contextmanager
    def staged(self) -> Iterator[TruthFiles]:
        """Yield the files in a staging directory, which replaces this one only if the block succeeds.

        Raises UserError as `check` does, and DeliveryError for errors of the disk.
        """
        final = self.directory.absolute()
        self.check()
        with disk_errors(final), ExitStack() as undo:
            with defer_signals():
                made = staging.make(final)
                undo.callback(defer_signals()(staging.discard), made)
            yield replace(self, directory=made)
            with defer_signals():
                staging.put_in_place(final, made)

    def of_table(self, table: Table, part: int | None = None) -> TableFile:
        """Return a new file for the table's rows: its only one, or one of several, which have numbers."""
        name = file_name(table, f".{self.format}" if part is None else f".{part:09d}.{self.format}")
        return FORMATS[self.format](self.directory / name, table, part is not None)


def _is_ours(directory: Path) -> bool:
    try:
        lines = read_bytes(directory / "metadata").decode().splitlines()
    except (OSError, UnicodeDecodeError, UserError):
        return False
    return any(line.startswith(OURS) for line in lines)


def write_definitions(directory: Path, tables: Iterable[Table]) -> None:
    """Write the schema files of the tables and their databases."""
    tables = list(tables)
    for name in sorted({table.schema for table in tables}):
        write_database(directory, name)
    for table in tables:
        write_schema(directory, table)


def about(rules: ChangefeedRules, tables: Iterable[Table], sums: ChangeSums, **told: Any) -> TruthMetadata:
    """Return the metadata of a truth, without the counts of its rows; `tables` are those at the start, under their names
    in messages, and `told` are the other fields."""
    named, at_start = sums_by_kind(sums), {f"{table.schema}.{table.name}": table for table in tables}
    added = {
        name: {each.name: each.origin_default for each in table.columns if each.origin_default is not None}
        for name, table in at_start.items()
    }
    changefeed, (tag, architecture) = rules.changefeed, tag_and_architecture(rules.release)
    return TruthMetadata(
        release=tag,
        architecture=architecture,
        sink_uri=mask_secrets(changefeed.sink_uri),
        config=hide_secrets(changefeed.config),
        definitions={name: show_create(table) for name, table in at_start.items()},
        added_columns={name: columns for name, columns in added.items() if columns},
        changes=named[CHANGES],
        deletes=named[DELETES],
        bootstraps=named[BOOTSTRAPS],
        time_zone=changefeed.codec.time_zone,
        **told,
    )


def write_about(directory: Path, about: TruthMetadata, lines: Sequence[str] = ()) -> None:
    """Write `metadata`, in Dumpling's format, and `truth.json`."""
    truth_about.write(directory, about)
    write_metadata(
        directory,
        about.watermark,
        (f"{OURS} {about.command}", *lines, f"Seed: {about.seed}", f"Watermark: {tso.describe(about.watermark)}"),
    )


LEFT_OUT = -1
"""The number of a table whose rows are not written."""

ROWS = pa.schema([("table", pa.int32()), ("image", pa.binary())])
"""Rows of a truth: the table's index, and the row image."""


def write_rows(
    batches: Iterable[pa.RecordBatch], tables: Sequence[Table], files: TruthFiles, part: Callable[[int], int | None]
) -> Counter[int]:
    """Write rows (ROWS, grouped by table) and return their counts by table.

    `part` returns the number of a table's file; None if it has only one.
    """
    counts: Counter[int] = Counter()
    with ExitStack() as opened:
        current = LEFT_OUT
        file: TableFile | None = None
        for number, images in _by_table(batches):
            if number == LEFT_OUT:
                continue
            if file is None or number != current:
                opened.close()
                file = files.of_table(tables[number], part(number))
                opened.push(file)
                current = number
            file.write(row_image.named(images, [column.name for column in visible_columns(tables[number])]))
            counts[number] += len(images)
    return counts


def _by_table(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.Array]]:
    for batch in batches:
        for number, places in by_table(ints(batch, "table")):
            images = batch["image"]
            yield number, images if len(places) == batch.num_rows else images.take(pa.array(places))


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
