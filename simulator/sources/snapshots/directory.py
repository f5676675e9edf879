"""The content of a snapshot, without reading its rows: of a Dumpling export, of plain CSV and Parquet files, of a dump.

File names decide: `<db>.<table>-schema.sql` declares a table, `<db>.<table>[.<index>].<format>` holds its rows. Sizes
are those of the content after decompression, so that a small file of many rows does not pass for a small snapshot.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from simulator import files, tso
from simulator.errors import SchemaError, SnapshotError, UserError
from simulator.files import FileInfo
from simulator.sources.snapshots import dump_file, key_order, parquet, streams
from simulator.sources.snapshots.csv_text import CsvDialect
from simulator.sources.snapshots.quoting import ACCEPTED, UTF8, as_utf8
from simulator.sources.snapshots.streams import COMPRESSIONS, FilePart
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.ddl.derive import show_create
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.model.table import Table

FORMATS = ("sql", "csv", "parquet")
_SCHEMA, _CREATE, _VIEW = "-schema.sql", "-schema-create.sql", "-schema-view.sql"
_OTHER = re.compile(r"(-schema-(create|view|sequence|triggers|post)|-placement-policy-create)\.sql$", re.IGNORECASE)
_HEX = re.compile(r"%([0-9A-Fa-f]{2})")


@dataclass(frozen=True)
class DataFile:
    """A file with rows of a table."""

    path: str
    indexed: bool
    """Whether it has Dumpling's form of name, `<db>.<table>.<index>.<format>`."""

    size: int = -1
    stamp: str = ""
    """A value that changes when the file changes."""

    charset: str = UTF8
    area: tuple[int, int] | None = None
    """Start and end of the table's rows in a file with several tables."""

    @property
    def bytes(self) -> int:
        return self.size if self.area is None else self.area[1] - self.area[0]

    def part(self, root: str = "") -> FilePart:
        """Return the rows as a part of the file; `root` is the directory of a relative path."""
        start, end = self.area or (0, -1)
        return FilePart(self.path, start, end, root, self.size, self.stamp, self.charset)


@dataclass(frozen=True)
class SnapshotTable:
    """A table of a snapshot."""

    table: Table
    files: Mapping[str, tuple[DataFile, ...]]
    """Files by format (`sql`, `csv`, `parquet`), sorted by name; an empty table has none."""

    rows: pa.Table | None = None
    """Rows in memory instead of files: TiDB text (binary) of each visible column, by name, and of `_tidb_rowid`."""

    csv: CsvDialect = CsvDialect()

    @cached_property
    def row_ids(self) -> bool | None:
        """Whether files tell the `_tidb_rowid` of rows; None if there are none. All files have to be as the first one is.

        Raise SnapshotError for an unreadable file.
        """
        told = (
            key_order.are_told(file.part(), format, self.table, self.csv, self.escapes(file))
            for format, files in self.files.items()
            for file in files
        )
        return next((each for each in told if each is not None), None)

    def escapes(self, file: DataFile) -> bool:
        """Return whether a backslash escapes in a CSV file."""
        return file.indexed if self.csv.backslash_escapes is None else self.csv.backslash_escapes


@dataclass(frozen=True)
class Snapshot:
    """The state of any number of tables."""

    path: str
    """Path or URI of the directory."""

    tables: tuple[SnapshotTable, ...]
    """Sorted by schema and name."""

    databases: frozenset[str]
    """Existing databases: those of tables, and those with a `<db>-schema-create.sql`, which may have no tables."""

    start_ts: int | None
    """TSO of the export (`Pos` in Dumpling's `metadata`), if known."""

    csv: CsvDialect = field(default=CsvDialect())

    @cached_property
    def size(self) -> int:
        """Bytes of all data files, decompressed as far as `sizes` looks, and of the rows in memory; raise
        SnapshotError."""
        in_memory: int = sum(table.rows.nbytes for table in self.tables if table.rows is not None)
        held = [file for table in self.tables for files in table.files.values() for file in files]
        areas = sum(file.bytes for file in held if file.area is not None)
        return in_memory + areas + decompressed((file.path, file.size) for file in held if file.area is None)


def open(
    path: Path | str, csv: CsvDialect = CsvDialect(), tables: Iterable[Table] = (), charset: str = UTF8
) -> Snapshot:
    """Return the content of a snapshot directory, of a dump file, or of the URI of one; raise SnapshotError and
    SchemaError.

    `tables` exist, too, without a file that declares them. SQL and CSV files have that character set.
    """
    location = files.location_text(path)
    try:
        info = files.file_info(location)
        if not info.directory and _stem(info).lower().endswith(".sql") and files.is_regular(location):
            return _dumped(info, csv, charset)
        entries = [entry for entry in _listed(info) if entry.name[0] not in "._"]
    except (FileNotFoundError, ValueError) as error:  # a NUL is in no name of a file
        raise SnapshotError(f"no such directory: {location}") from error
    except OSError as error:
        raise SnapshotError(f"{location}: cannot be read: {str(error).splitlines()[0]}") from error
    views = {_names(name[: -len(_VIEW)]) for entry in entries if (name := _stem(entry)).endswith(_VIEW)}
    declared = ((name, entry) for entry in entries if (name := _stem(entry)).endswith(_SCHEMA))
    # Dumpling and mydumper write a table in the place of a view, which the restored view replaces.
    schemas = {names: entry for name, entry in declared if (names := _names(name[: -len(_SCHEMA)])) not in views}
    metadata = next((entry.path for entry in entries if entry.name == "metadata" and not entry.directory), None)
    known = {(table.schema, table.name): table for table in tables}
    if not schemas and not known and metadata is None:
        raise SnapshotError(
            f"no schema file in {location}: every table needs its <db>.<table>-schema.sql (CREATE TABLE)"
        )
    data = _data_files(entries, schemas.keys() | known.keys(), charset)
    snapshot_tables = [
        SnapshotTable(
            _declared(names, schemas[names].path, charset) if names in schemas else known[names],
            _by_format(data.get(names, [])),
            csv=csv,
        )
        for names in sorted(schemas.keys() | known.keys())
    ]
    databases = {_unescaped(_stem(entry)[: -len(_CREATE)]) for entry in entries if _stem(entry).endswith(_CREATE)}
    databases |= {schema for schema, _ in schemas}
    return Snapshot(location, tuple(snapshot_tables), frozenset(databases), _start_ts(metadata), csv)


def _dumped(info: FileInfo, csv: CsvDialect, charset: str) -> Snapshot:
    dump = dump_file.read(FilePart(info.path, size=info.size, stamp=info.stamp, charset=charset))
    snapshot_tables = []
    for table in sorted(dump.catalog.tables.values(), key=lambda table: (table.schema, table.name)):
        areas = dump.areas.get(object_key(table.schema, table.name), [])
        held = tuple(DataFile(info.path, False, info.size, info.stamp, charset, area) for area in areas)
        declared = create_table(show_create(table), table.schema)  # as one statement, as other snapshots have it
        snapshot_tables.append(SnapshotTable(declared, {"sql": held} if held else {}, csv=csv))
    databases = frozenset(database.name for database in dump.catalog.databases.values())
    return Snapshot(info.path, tuple(snapshot_tables), databases, None, csv)


def _listed(info: FileInfo) -> list[FileInfo]:
    if not info.directory:
        text = "a Dumpling export, plain files beside <db>.<table>-schema.sql, or a dump in one file.sql"
        raise SnapshotError(f"not a directory: {info.path}; {text}")
    return files.list_directory(info.path)


def _stem(entry: FileInfo) -> str:
    """Return a file's name without the suffix of its compression."""
    stem, suffix = posixpath.splitext(entry.name)
    return stem if suffix in streams.COMPRESSIONS else entry.name


def _names(stem: str) -> tuple[str, str]:
    """Return schema and table of `db.table`; %XX stands for characters that file names cannot have."""
    parts = stem.split(".", 1)
    if len(parts) < 2:
        raise SnapshotError(f"file name {stem!r} does not begin with <db>.<table>")
    return _unescaped(parts[0]), _unescaped(parts[1])


def _unescaped(name: str) -> str:
    return _HEX.sub(lambda match: chr(int(match[1], 16)), name)


def _data_files(
    entries: Iterable[FileInfo], schemas: Collection[tuple[str, str]], charset: str
) -> dict[tuple[str, str], list[tuple[str, DataFile]]]:
    files: dict[tuple[str, str], list[tuple[str, DataFile]]] = {}
    for entry in entries:
        name = _stem(entry)
        stem, _, format = name.rpartition(".")
        if format not in FORMATS or name.endswith(_SCHEMA) or _OTHER.search(name):
            continue
        names, indexed = _owner(stem, schemas)
        if names not in schemas:
            raise SnapshotError(f"{entry.path}: data file without schema file {stem}{_SCHEMA}")
        files.setdefault(names, []).extend(
            (format, DataFile(part.path, indexed, part.size, part.stamp, charset)) for part in _inside(entry)
        )
    return files


def _inside(entry: FileInfo) -> Iterator[FileInfo]:
    """Yield the file, or the files of a directory as Spark writes it."""
    if not entry.directory:
        yield entry
        return
    for part in files.list_directory(entry.path):
        if part.name[0] not in "._":
            yield from _inside(part)


def _owner(stem: str, schemas: Collection[tuple[str, str]]) -> tuple[tuple[str, str], bool]:
    """Return the table of a data file, and whether indexes follow its name; mydumper writes two for a part of a chunk."""
    if "." in stem and _names(stem) in schemas:
        return _names(stem), False
    if stem.count(".") >= 2:
        shorter, _, index = stem.rpartition(".")
        if _names(shorter) not in schemas and shorter.count(".") >= 2 and index.isdigit():
            return _owner(shorter, schemas)[0], True
        return _names(shorter), True
    return ("", stem), False


def _declared(names: tuple[str, str], schema_file: str, charset: str) -> Table:
    data = streams.whole(schema_file)
    try:
        text = files.decode_text(data, schema_file, ACCEPTED)  # whatever the rows are in
    except UserError as error:
        if charset == UTF8:
            raise SnapshotError(str(error)) from None
        text = b"".join(as_utf8(iter((data,)), charset, schema_file)).decode("utf-8", "replace")
    try:
        table = create_table(text, names[0])
    except SchemaError as error:
        raise SchemaError(f"{schema_file}: {error}") from error
    if table.name.lower() != names[1].lower():
        raise SnapshotError(f"{schema_file}: declares table {table.name!r}, its name says {names[1]!r}")
    return table


def _by_format(files: Iterable[tuple[str, DataFile]]) -> dict[str, tuple[DataFile, ...]]:
    grouped: dict[str, list[DataFile]] = {}
    for format, file in files:
        grouped.setdefault(format, []).append(file)
    return {format: tuple(files) for format, files in grouped.items()}


def _start_ts(metadata: str | None) -> int | None:
    """Return `Pos` of the first block of Dumpling's metadata: with TiDB the TSO of the snapshot."""
    if metadata is None:
        return None
    text = streams.whole(metadata).decode("utf-8", "replace")
    match = re.search(r"^\s*Pos:\s*(\d+)\s*$", text, re.MULTILINE)
    log = re.search(r"^\s*Log:\s*(\S+)\s*$", text, re.MULTILINE)
    if match is None or log is not None and log[1] != "tidb-binlog":  # of MySQL, it is a place in a binlog
        return None
    ts = int(match[1]) if len(match[1]) < 20 else tso.FOREVER + 1
    if ts > tso.FOREVER:
        raise SnapshotError(f"{metadata}: Pos {match[1]} is not a TSO: at most {tso.FOREVER} is")
    return ts


ENOUGH = 1 << 29
"""Bytes from which on a snapshot is large, and no further file is looked into."""


def decompressed(files: Iterable[tuple[str, int]]) -> int:
    """Return the bytes of files, given with their sizes on disk: at least as many as they have there, and exact below
    ENOUGH. Raise SnapshotError.
    """
    total = 0
    for path, size in files:
        total += max(size, _size(path, ENOUGH - total) if total < ENOUGH else 0)
    return total


def _size(path: str, most: int) -> int:
    """Return the bytes of a file that a reader sees, or somewhat more than `most`; 0 for a plain one."""
    suffix = os.path.splitext(path)[1]
    if suffix == ".parquet":
        return parquet.size_in_memory(FilePart(path))
    if suffix not in COMPRESSIONS:
        return 0
    size = 0
    for block in streams.blocks(FilePart(path)):
        size += len(block)
        if size > most:
            break
    return size
