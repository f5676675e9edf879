"""Directories of Dumpling exports and of plain CSV and Parquet files → what is in them; the files are not read here.

One law: names decide: `<db>.<table>-schema.sql` declares a table, `<db>.<table>[.<index>].<format>` holds its rows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from simulator import tso
from simulator.errors import SchemaError, SnapshotError
from simulator.schema import parse
from simulator.schema.table import Table
from simulator.snapshots import streams
from simulator.snapshots.csv_text import CsvDialect

FORMATS = ("sql", "csv", "parquet")
_SCHEMA, _CREATE = "-schema.sql", "-schema-create.sql"
_OTHER = re.compile(
    r"(-schema-(create|view|sequence|triggers|post)|-placement-policy-create)\.sql$", re.IGNORECASE)
_HEX = re.compile(r"%([0-9A-Fa-f]{2})")


@dataclass(frozen=True)
class DataFile:
    """A file with rows of a table."""

    path: str
    indexed: bool
    """Whether it is named as Dumpling names them, `<db>.<table>.<index>.<format>`."""


@dataclass(frozen=True)
class SnapshotTable:
    """A table of a snapshot."""

    table: Table
    schema_text: str
    """The schema file as it is."""

    files: Mapping[str, tuple[DataFile, ...]]
    """By format (`sql`, `csv`, `parquet`), sorted by name; no file is an empty table."""


@dataclass(frozen=True)
class Snapshot:
    """One state of any number of tables."""

    path: Path
    tables: tuple[SnapshotTable, ...]
    """By schema and name."""

    databases: frozenset[str]
    """Those that exist: of every table, and those with a `<db>-schema-create.sql`, which may have none."""

    start_ts: int | None
    """TSO the export was taken at (`Pos` of Dumpling's `metadata`), where it says so."""

    csv: CsvDialect = field(default=CsvDialect())

    @property
    def size(self) -> int:
        """Bytes of all data files."""
        paths = [file.path for table in self.tables for files in table.files.values() for file in files]
        return sum(os.path.getsize(path) for path in paths)


def open(path: Path, csv: CsvDialect = CsvDialect()) -> Snapshot:
    """What a snapshot directory has; raises SnapshotError and SchemaError."""
    path = Path(path)
    if not path.exists():
        raise SnapshotError(f"no such directory: {path}")
    if not path.is_dir():
        raise SnapshotError(f"not a directory: {path}; a Dumpling export or plain files beside <db>.<table>-schema.sql")
    entries = sorted(entry for entry in path.iterdir() if not entry.name.startswith((".", "_")))
    schemas = {_names(name[: -len(_SCHEMA)]): entry for entry in entries if (name := _stem(entry)).endswith(_SCHEMA)}
    if not schemas:
        raise SnapshotError(f"no schema file in {path}: every table needs its <db>.<table>-schema.sql (CREATE TABLE)")
    files = _data_files(entries, schemas)
    tables = [_table(names, schemas[names], files.get(names, [])) for names in sorted(schemas)]
    databases = {_unescaped(_stem(entry)[: -len(_CREATE)]) for entry in entries if _stem(entry).endswith(_CREATE)}
    databases |= {schema for schema, _ in schemas}
    return Snapshot(path, tuple(tables), frozenset(databases), _start_ts(path / "metadata"), csv)


def _stem(entry: Path) -> str:
    """A file's name without the suffix of its compression."""
    return entry.name[: -len(entry.suffix)] if entry.suffix in streams.COMPRESSIONS else entry.name


def _names(stem: str) -> tuple[str, str]:
    """Schema and table of `db.table`, either of which may have %XX for what a file name cannot have."""
    parts = stem.split(".", 1)
    if len(parts) < 2:
        raise SnapshotError(f"file name {stem!r} does not begin with <db>.<table>")
    return _unescaped(parts[0]), _unescaped(parts[1])


def _unescaped(name: str) -> str:
    return _HEX.sub(lambda found: chr(int(found[1], 16)), name)


def _data_files(
    entries: Iterable[Path], schemas: Mapping[tuple[str, str], Path]
) -> dict[tuple[str, str], list[tuple[str, DataFile]]]:
    files: dict[tuple[str, str], list[tuple[str, DataFile]]] = {}
    for entry in entries:
        name = _stem(entry)
        stem, _, format = name.rpartition(".")
        if format not in FORMATS or name.endswith(_SCHEMA) or _OTHER.search(name):
            continue
        names, indexed = _owner(stem, schemas)
        if names not in schemas:
            raise SnapshotError(f"{entry}: data file without schema file {stem}{_SCHEMA}")
        inner = sorted(part for part in entry.iterdir() if part.name[0] not in "._") if entry.is_dir() else [entry]
        files.setdefault(names, []).extend((format, DataFile(str(part), indexed)) for part in inner)
    return files


def _owner(stem: str, schemas: Mapping[tuple[str, str], Path]) -> tuple[tuple[str, str], bool]:
    """The table of a data file and whether an index follows its name."""
    if "." in stem and _names(stem) in schemas:
        return _names(stem), False
    if stem.count(".") >= 2:
        return _names(stem.rpartition(".")[0]), True
    return ("", stem), False


def _table(names: tuple[str, str], schema_file: Path, files: Iterable[tuple[str, DataFile]]) -> SnapshotTable:
    text = b"".join(streams.blocks(streams.Piece(str(schema_file), 0))).decode("utf-8", "replace")
    try:
        table = parse.create_table(text, names[0])
    except SchemaError as error:
        raise SchemaError(f"{schema_file}: {error}") from error
    if table.name.lower() != names[1].lower():
        raise SnapshotError(f"{schema_file}: declares table {table.name!r}, its name says {names[1]!r}")
    grouped: dict[str, tuple[DataFile, ...]] = {}
    for format, file in files:
        grouped[format] = (*grouped.get(format, ()), file)
    return SnapshotTable(table, text, grouped)


def _start_ts(metadata: Path) -> int | None:
    """`Pos` of the first block of Dumpling's metadata: for TiDB the TSO of the snapshot."""
    if not metadata.is_file():
        return None
    found = re.search(r"^\s*Pos:\s*(\d+)\s*$", metadata.read_text("utf-8", "replace"), re.MULTILINE)
    if found is None:
        return None
    ts = int(found[1]) if len(found[1]) < 20 else tso.FOREVER + 1
    if ts > tso.FOREVER:
        raise SnapshotError(f"{metadata}: Pos {found[1]} is not a TSO: at most {tso.FOREVER} is")
    return ts
