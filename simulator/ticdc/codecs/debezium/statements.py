"""DDL statements and watermarks of Debezium, which the new architecture sends (ticdc v8.5.7: codec.go EncodeDDLEvent)."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.releases import Release
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.compression import compress
from simulator.ticdc.codecs.debezium.encoder import has_extension, source_pieces
from simulator.ticdc.codecs.debezium.schemas import CLUSTER, EVENT_FIELDS, Json, clean_name, json_text, source
from simulator.ticdc.codecs.debezium.statement_schemas import CHANGE_KEY, change_value
from simulator.ticdc.codecs.debezium.table_changes import described_table
from simulator.ticdc.codecs.json_text import raw_quoted
from simulator.ticdc.codecs.row_changes import DdlEvent
from simulator.tidb.ddl.actions import Action
from simulator.tso import physical

_CREATING = {Action.CREATE_SCHEMA, Action.CREATE_TABLE, Action.CREATE_TABLES, Action.CREATE_VIEW}
_ALTERING = {
    *(Action.ADD_COLUMN, Action.MODIFY_COLUMN, Action.DROP_COLUMN, Action.MULTI_SCHEMA_CHANGE),
    *(Action.ADD_TABLE_PARTITION, Action.REMOVE_PARTITIONING, Action.REORGANIZE_PARTITION),
    *(Action.EXCHANGE_TABLE_PARTITION, Action.ALTER_TABLE_PARTITIONING, Action.TRUNCATE_TABLE_PARTITION),
    *(Action.DROP_TABLE_PARTITION, Action.REBASE_AUTO_ID, Action.SET_DEFAULT_VALUE, Action.MODIFY_TABLE_COMMENT),
    *(Action.MODIFY_TABLE_CHARSET_AND_COLLATE, Action.MODIFY_SCHEMA_CHARSET_AND_COLLATE, Action.ADD_INDEX),
    *(Action.ALTER_INDEX_VISIBILITY, Action.RENAME_INDEX, Action.RENAME_TABLE, Action.RENAME_TABLES),
    *(Action.ADD_PRIMARY_KEY, Action.DROP_PRIMARY_KEY),
}
_DROPPING = {Action.DROP_SCHEMA, Action.DROP_TABLE, Action.DROP_INDEX, Action.DROP_VIEW, Action.TRUNCATE_TABLE}
CHANGES: Mapping[int, str] = {
    **{int(action): "CREATE" for action in _CREATING},
    **{int(action): "ALTER" for action in _ALTERING},
    **{int(action): "DROP" for action in _DROPPING},
}
"""TiDB's action type → the type of the change. Other statements are not sent."""


def ddl(event: DdlEvent, options: CodecOptions, release: Release) -> tuple[bytes, bytes]:
    """Return key and value of a DDL statement."""
    key, value = ddl_payloads(event, options)
    described = change_value(source(has_extension(options, release), release))
    return _finished(key, CHANGE_KEY, options), _finished(value, described, options)


def ddl_payloads(event: DdlEvent, options: CodecOptions) -> tuple[bytes, bytes]:
    """Return the JSON of a statement's key and value."""
    build = physical(event.commit_ts) if options.build_ts is None else options.build_ts
    value = _source(event.schema, event.table, event.commit_ts) + b',"ts_ms":%d,' % build
    value += b'"databaseName":%s,"schemaName":null,"ddl":%s,"tableChanges":%s}' % (
        raw_quoted(event.schema),
        raw_quoted(event.query),
        json_text(_table_changes(event)),
    )
    return b'{"databaseName":%s}' % raw_quoted(event.schema), value


def watermark(ts: int, options: CodecOptions, release: Release) -> tuple[bytes, bytes] | None:
    """Return key and value of a watermark, or None without enable-tidb-extension."""
    if not has_extension(options, release):
        return None
    key, value = watermark_payloads(ts, options)
    key_schema, value_schema = watermark_schemas(source(True, release))
    return _finished(key, key_schema, options), _finished(value, value_schema, options)


def watermark_payloads(ts: int, options: CodecOptions) -> tuple[bytes, bytes]:
    """Return the JSON of a watermark's key and value."""
    build = physical(ts) if options.build_ts is None else options.build_ts
    return b"{}", _source("", "", ts) + b',"ts_ms":%d,"transaction":null,"op":"m"}' % build


def watermark_schemas(source: Json) -> tuple[dict[str, Json], dict[str, Json]]:
    """Return the schemas of a watermark's key and value, given that of `source`."""
    name = f"{clean_name(CLUSTER)}.watermark"
    return {"type": "struct", "name": f"{name}.Key", "optional": False, "fields": []}, {
        "type": "struct",
        "optional": False,
        "name": f"{name}.Envelope",
        "version": 1,
        "fields": [source, *EVENT_FIELDS],
    }


def _source(schema: str, table: str, ts: int) -> bytes:
    """Return the beginning of a payload, up to the end of `source`."""
    pieces = source_pieces(schema, table, b"%d" % physical(ts), b"%d" % ts)
    return b"".join(piece for piece in pieces if isinstance(piece, bytes))


def _finished(payload: bytes, schema: Json, options: CodecOptions) -> bytes:
    described = b"" if options.debezium_disable_schema else b',"schema":' + json_text(schema)
    return compress(b'{"payload":' + payload + described + b"}", options.large_message_handle_compression)


def _table_changes(event: DdlEvent) -> list[Json]:
    if not event.table or event.type_code == Action.TRUNCATE_TABLE or event.after is None:
        return []
    is_dropped = event.type_code == Action.DROP_TABLE
    described: Json = None if is_dropped else described_table(event.after.table, event.query)
    return [{"type": CHANGES[event.type_code], "id": _table_id(event), "table": described}]


def _table_id(event: DdlEvent) -> str:
    """Return the names of the table: the old and the new one of RENAME, the partitioned one of EXCHANGE PARTITION."""
    name = _quoted(event.schema, event.table)
    if event.type_code == Action.RENAME_TABLE and event.before is not None:
        return f"{_quoted(event.before.table.schema, event.before.table.name)},{name}"
    if event.type_code == Action.EXCHANGE_TABLE_PARTITION and event.after is not None:
        return _quoted(event.after.table.schema, event.after.table.name)
    return name


def _quoted(schema: str, table: str) -> str:
    return f'"{schema}"."{table}"'
