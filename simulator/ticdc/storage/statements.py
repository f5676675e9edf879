"""The schema files of DDL statements, and of tables that exist before a changefeed.

EXCHANGE PARTITION writes those of both tables, from 6.5.3 and 7.1 on (tiflow:
cdc/sink/ddlsink/cloudstorage/cloud_storage_ddl_sink.go).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from simulator.releases import Release
from simulator.ticdc.changefeed.model import Storage
from simulator.ticdc.codecs import DdlEvent, TableInfo
from simulator.ticdc.storage.paths import StoredTable
from simulator.ticdc.storage.table_definition import TableDefinition
from simulator.tidb.ddl.actions import Action
from simulator.tidb.model.table import Table

if TYPE_CHECKING:
    from simulator.tidb.ddl.catalog import ViewInfo


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
