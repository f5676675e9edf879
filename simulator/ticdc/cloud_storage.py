"""What TiCDC writes to a storage beside rows, and where: paths, schema files, the checkpoint.

A schema file has a table's columns as JSON, and a checksum of them in its name. DDL statements write one, and so do
tables that exist before a changefeed; EXCHANGE PARTITION writes those of both tables, from 6.5.3 and 7.1 on.

Sources: tiflow v8.0.0: pkg/sink/cloudstorage/table_definition.go, path.go;
cdc/sink/ddlsink/cloudstorage/cloud_storage_ddl_sink.go; tidb: pkg/parser/mysql/util.go.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from simulator.releases import Release
from simulator.ticdc.changefeed import Storage
from simulator.ticdc.codecs import DdlEvent, TableInfo
from simulator.ticdc.codecs.wire_text import quoted
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.defaults import stored_expression
from simulator.tidb.ddl.expressions import VarString, hidden_columns
from simulator.tidb.model import types
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import ColumnType

if TYPE_CHECKING:
    from simulator.tidb.ddl.catalog import ViewInfo


Member = tuple[str, bytes]
"""Name and JSON text of a member of an object."""

INDENT = b"    "
LENGTHS = {name: row.length for name, row in types.TYPES.items()} | {"float": 12, "double": 22, "varchar": 5}
"""Lengths of types that store none (GetDefaultFieldLengthAndDecimal)."""

WITHOUT_LENGTH = frozenset(("date", "time", "datetime", "enum", "set", "json", "vector"))
"""Families of types whose columns have no ColumnPrecision."""


@dataclass(frozen=True)
class TableDefinition:
    """What a schema file says."""

    schema: str
    table: Table | ViewInfo | None
    """None for a statement on a database."""

    version: int
    query: str = ""
    type_code: int = 0

    def text(self, release: Release, with_ids: bool) -> bytes:
        """Return the content of the file."""
        columns = [column for _, column in self.columns(release, with_ids)]
        return _object(
            [
                ("Table", quoted(self._name)),
                ("Schema", quoted(self.schema)),
                ("Version", b"1"),
                ("TableVersion", b"%d" % self.version),
                ("Query", quoted(self.query)),
                ("Type", b"%d" % self.type_code),
                ("TableColumns", _array(columns) if columns else b"null"),
                ("TableColumnsTotal", b"%d" % len(columns)),
            ]
        )

    def checksum(self, release: Release, with_ids: bool) -> int:
        """Return the CRC-32 of the names and columns, whatever their order."""
        return columns_checksum(quoted(self._name), quoted(self.schema), self.columns(release, with_ids))

    def path(self, directory: str, release: Release, with_ids: bool) -> str:
        """Return the path of the file below the storage's URI; `directory` is that of the table or database."""
        if not release.storage_schema_names:
            return f"{directory}/{self.version}/{SCHEMA_JSON}"
        return f"{directory}/meta/schema_{self.version}_{self.checksum(release, with_ids):010d}.json"

    @property
    def _name(self) -> str:
        return self.table.name if self.table else ""

    def columns(self, release: Release, with_ids: bool) -> Iterator[tuple[str, bytes]]:
        """Yield the name and the JSON text of each column."""
        if isinstance(self.table, Table):
            for column in (*self.table.columns, *(hidden_columns(self.table) or ())):
                members = _members(column, column.name in self.table.primary_key, release, with_ids)
                yield column.name, _object(members, 2)
        elif self.table is not None:
            for name in self.table.columns:
                yield name, _object([("ColumnName", quoted(name)), ("ColumnType", b'"UNSPECIFIED"')], 2)


def columns_checksum(table: bytes, schema: bytes, columns: Iterable[tuple[str, bytes]]) -> int:
    """Return the CRC-32 of names, as JSON texts, and of columns by name, whatever their order."""
    texts = [text for _, text in sorted(columns)]
    members = [("Table", table), ("Schema", schema), ("Version", b"0"), ("TableColumns", _array(texts))]
    return zlib.crc32(_object([*members, ("TableColumnsTotal", b"%d" % len(texts))]))


def _members(column: Column, is_primary: bool, release: Release, with_id: bool) -> Iterator[Member]:
    type = column.type
    if with_id:
        yield "ColumnId", _text(column.id)
    yield "ColumnName", quoted(column.name)
    name = "var_string" if isinstance(type, VarString) else types.bare_name(type)
    yield "ColumnType", quoted(name.upper() + " UNSIGNED" * types.is_unsigned(type))
    default = _default(column, release) if release.storage_column_defaults else None
    if default is not None:
        yield "ColumnDefault", quoted(default)
    family = types.family(type)
    if family not in WITHOUT_LENGTH:
        yield "ColumnPrecision", _text(LENGTHS[type.name] if type.length < 0 else type.length)
    if family == "decimal" or type.decimal > 0 and family in ("float", "time", "datetime"):
        yield "ColumnScale", _text(max(type.decimal, 0))
    if column.not_null:
        yield "ColumnNullable", b'"false"'
    if is_primary:
        yield "ColumnIsPk", b'"true"'
    if release.storage_elements and family in ("enum", "set"):
        yield "ColumnElems", _texts(type.elements)


def _default(column: Column, release: Release) -> str | None:
    """Return the default as TiDB stores it."""
    default = column.default
    if default is None and column.type.name == "year" and column.not_null and not column.generated:
        return "0000"  # tidb v8.0.0: pkg/ddl/ddl_api.go setYearDefaultValue
    if default is None and release.storage_origin_default:
        default = column.origin_default
        return None if default is None else _stored(default, column.type)
    if default is None or not column.default_expression:
        return None if default is None else _stored(default, column.type)
    return "CURRENT_TIMESTAMP" if default.upper().startswith("CURRENT_TIMESTAMP") else stored_expression(default)


def _stored(default: str, type: ColumnType) -> str:
    """Return a stored default as text; of bytes those that are no UTF-8 become U+FFFD."""
    is_bytes = types.family(type) == "bit" or types.is_binary(type)
    return default.encode("latin-1").decode("utf-8", "surrogateescape") if is_bytes else default


def _texts(texts: Iterable[str]) -> bytes:
    """Return the array of a column's texts."""
    return b"[\n" + b",\n".join(INDENT * 4 + quoted(text) for text in texts) + b"\n" + INDENT * 3 + b"]"


def _text(number: int) -> bytes:
    return b'"%d"' % number


def _object(members: Iterable[Member], depth: int = 0) -> bytes:
    """Return a JSON object as json.MarshalIndent writes it."""
    lines = (INDENT * (depth + 1) + b'"%s": %s' % (name.encode(), text) for name, text in members)
    return b"{\n" + b",\n".join(lines) + b"\n" + INDENT * depth + b"}"


def _array(objects: Iterable[bytes]) -> bytes:
    """Return the array of columns."""
    entries = [INDENT * 2 + text for text in objects]
    return b"[\n" + b",\n".join(entries) + b"\n" + INDENT + b"]" if entries else b"[]"


METADATA = "metadata"
DATE_FORMATS = {"none": "", "year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d", "": ""}
"""The date in a path, by `date-separator`."""

SCHEMA_JSON = "schema.json"
"""The name of a schema file in releases that have it beside the rows of its version."""

SCHEMA_FILE = re.compile(r"schema_(\d+)_(\d{10})\.json")


@dataclass(frozen=True)
class StoredTable:
    """A version of a table, or of a partition, with the schema file that its rows need."""

    schema: str
    name: str
    version: int
    partition_id: int | None
    """The directory of the partition; None without one."""

    schema_path: str
    schema_text: bytes
    table_directory: str
    """The first part of the directories of its rows: schema and name, or its id."""

    header: bytes = b""
    """The first line of a file; empty if there is none."""

    dispatcher: str = ""
    """What the names of its files have of its dispatcher; empty if they have none."""

    @property
    def keeps_version(self) -> bool:
        """Whether the schema file belongs to this version alone, and so has no checksum in its name."""
        return self.schema_path.endswith(f"/{SCHEMA_JSON}")

    @property
    def checksum(self) -> str:
        """The end of the names of schema files with the same columns."""
        return self.schema_path[-len("0123456789.json") :]


def data_directory(table: StoredTable, version: int, date: str) -> str:
    """Return the directory of a table's rows; `version` is that of the schema file in use."""
    partition = [] if table.partition_id is None else [str(table.partition_id)]
    return "/".join([table.table_directory, str(version), *partition, *([date] if date else [])])


def data_name(number: int, width: int, extension: str, dispatcher: str = "") -> str:
    """Return the name of a file of rows, which are numbered from 1 in each directory."""
    return f"CDC{f'_{dispatcher}_' if dispatcher else ''}{number:0{width}d}{extension}"


def data_number(name: str, extension: str) -> int:
    """Return the number in the name of a file of rows; raise ValueError for another name."""
    match = re.fullmatch(rf"CDC(?:_\w+_)?(\d+){re.escape(extension)}", name)
    if match is None:
        raise ValueError(f"'{name}' is a invalid file name")
    return int(match[1])


def index_path(directory: str, release: Release, dispatcher: str = "") -> str:
    """Return the path of the file that names the last file of a directory, in a release that has it."""
    place = directory if release.storage_index == "beside" else f"{directory}/meta"
    return f"{place}/CDC{f'_{dispatcher}' if dispatcher else ''}.index"


def date_text(separator: str, physical_ms: int) -> str:
    """Return the date of a flush at that time, in UTC."""
    return datetime.fromtimestamp(physical_ms / 1000, UTC).strftime(DATE_FORMATS[separator])


def schema_events(events: Iterable[DdlEvent], storage: Storage, release: Release) -> Iterator[DdlEvent]:
    """Yield the events that have files, and one without a statement for the other table of EXCHANGE PARTITION.

    The statement is in the file of the partitioned table, even where the event names the plain one (ticdc v8.5.7:
    downstreamadapter/sink/cloudstorage/sink.go writeDDLEvent), or in that of the plain table.
    """
    for event in events:
        if not event.table and (storage.use_table_id_as_path or not release.storage_schema_names):
            continue
        if event.type_code != Action.EXCHANGE_TABLE_PARTITION or event.before is None or event.after is None:
            yield event
            continue
        both = [event.before, event.after] if release.storage_exchange_of_plain else [event.after, event.before]
        first, second = (
            replace(event, schema=each.table.schema, table=each.table.name, after=each, before=None) for each in both
        )
        yield first
        if release.storage_schema_names:
            yield replace(second, query="", type_code=0)


def schema_event_file(event: DdlEvent, storage: Storage, release: Release) -> tuple[str, bytes]:
    """Return the path and the content of the file of a statement."""
    table = None if event.after is None else _named(event.after.table, event)
    definition = TableDefinition(event.schema, table, event.commit_ts, event.query, event.type_code)
    directory = _table_directory(event.schema, event.table, 0 if event.after is None else event.after.table_id, storage)
    ids = storage.output_column_id
    return definition.path(directory, release, ids), definition.text(release, ids)


def stored_table(
    info: TableInfo, partition_id: int | None, storage: Storage, release: Release, header: bytes = b""
) -> StoredTable:
    """Return where the rows of a table or partition are stored."""
    table = info.table
    assert isinstance(table, Table)
    version = info.version if release.storage_version_is_update_ts else info.snapshot_version
    definition = TableDefinition(table.schema, table, version)
    directory = _table_directory(table.schema, table.name, partition_id or info.table_id, storage)
    ids, separated = storage.output_column_id, storage.enable_partition_separator and not storage.use_table_id_as_path
    of_partition = info.table_id if release.storage_one_partition and partition_id is not None else partition_id
    return StoredTable(
        table.schema,
        table.name,
        version,
        of_partition if separated else None,
        definition.path(directory, release, ids),
        definition.text(release, ids),
        directory,
        header,
        _dispatcher(table, partition_id) if storage.dispatcher_names else "",
    )


def _table_directory(schema: str, name: str, physical_id: int, storage: Storage) -> str:
    """Return the directory of a table or a partition; without a name that of a database."""
    if storage.use_table_id_as_path and name:
        return str(physical_id)
    return f"{schema}/{name}" if name else schema


def _dispatcher(table: Table, partition_id: int | None) -> str:
    """Return a dispatcher's id, which TiCDC draws at random: two numbers of 64 bits (ticdc v8.5.7: pkg/common/types.go)."""
    name = f"{table.schema}.{table.name}.{partition_id}".encode("utf-8", "surrogateescape")
    digest = hashlib.blake2b(name, digest_size=16).digest()
    return "".join(str(int.from_bytes(half, "little")) for half in (digest[:8], digest[8:]))


def _named(table: Table | ViewInfo, event: DdlEvent) -> Table | ViewInfo:
    """Return a table or view with its name in files, which table routing may change."""
    return replace(table, schema=event.schema, name=event.table)
