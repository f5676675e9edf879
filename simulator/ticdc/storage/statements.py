"""The schema files of DDL statements, and of tables that exist before a changefeed.

EXCHANGE PARTITION writes those of both tables (tiflow: cdc/sink/ddlsink/cloudstorage/cloud_storage_ddl_sink.go).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace

from simulator.releases import Release
from simulator.ticdc.changefeed.model import Storage
from simulator.ticdc.codecs import DdlEvent
from simulator.ticdc.storage.paths import StoredTable
from simulator.ticdc.storage.table_definition import TableDefinition
from simulator.tidb.ddl.actions import Action
from simulator.tidb.ddl.catalog import ViewInfo
from simulator.tidb.model.table import Table


def schema_events(events: Iterable[DdlEvent]) -> Iterator[DdlEvent]:
    """Yield the events, and one without a statement for the plain table of EXCHANGE PARTITION.

    The statement is in the file of the partitioned table, even where the event names the plain one (ticdc v8.5.7:
    downstreamadapter/sink/cloudstorage/sink.go writeDDLEvent).
    """
    for event in events:
        if event.type_code != Action.EXCHANGE_TABLE_PARTITION or event.before is None or event.after is None:
            yield event
            continue
        plain, partitioned = event.before.table, event.after.table
        names_plain = (event.schema, event.table) == (plain.schema, plain.name)
        yield replace(event, schema=partitioned.schema, table=partitioned.name) if names_plain else event
        yield replace(
            event, schema=plain.schema, table=plain.name, query="", type_code=0, after=event.before, before=None
        )


def schema_event_file(event: DdlEvent, storage: Storage, release: Release) -> tuple[str, bytes]:
    """Return the path and the content of the file of a statement."""
    table = None if event.after is None else _named(event.after.table, event)
    definition = TableDefinition(event.schema, table, event.commit_ts, event.query, event.type_code)
    ids = storage.output_column_id
    return definition.path(release, ids), definition.text(release, ids)


def stored_table(
    table: Table, version: int, partition_id: int | None, storage: Storage, release: Release
) -> StoredTable:
    """Return where the rows of a table or partition are stored."""
    definition = TableDefinition(table.schema, table, version)
    ids, separated = storage.output_column_id, storage.enable_partition_separator
    return StoredTable(
        table.schema,
        table.name,
        version,
        partition_id if separated else None,
        definition.path(release, ids),
        definition.text(release, ids),
        _dispatcher(table, partition_id) if storage.dispatcher_names else "",
    )


def _dispatcher(table: Table, partition_id: int | None) -> str:
    """Return a dispatcher's id, which TiCDC draws at random: two numbers of 64 bits (ticdc v8.5.7: pkg/common/types.go)."""
    name = f"{table.schema}.{table.name}.{partition_id}".encode("utf-8", "surrogateescape")
    digest = hashlib.blake2b(name, digest_size=16).digest()
    return "".join(str(int.from_bytes(half, "little")) for half in (digest[:8], digest[8:]))


def _named(table: Table | ViewInfo, event: DdlEvent) -> Table | ViewInfo:
    """Return a table or view with its name in files, which table routing may change."""
    return replace(table, schema=event.schema, name=event.table)
