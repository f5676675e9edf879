"""DDL, WATERMARK and BOOTSTRAP of Simple in JSON (tiflow v8.0.0: pkg/sink/codec/simple/message.go)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from simulator.releases import Release
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.json_text import quoted
from simulator.ticdc.codecs.row_changes import DdlEvent, TableInfo
from simulator.ticdc.codecs.simple.schemas import (
    ColumnSchema,
    IndexSchema,
    TableSchema,
    length,
    scale,
    table_schema,
    type_name,
)
from simulator.tidb.ddl.actions import Action
from simulator.tidb.model import types
from simulator.tidb.model.types import ColumnType
from simulator.tso import physical

Write = Callable[[str], bytes]
"""Writes a JSON string."""

_TYPES = {
    Action.CREATE_TABLE: "CREATE",
    Action.DROP_TABLE: "ERASE",
    Action.TRUNCATE_TABLE: "TRUNCATE",
    **dict.fromkeys((Action.RENAME_TABLE, Action.RENAME_TABLES), "RENAME"),
    **dict.fromkeys((Action.ADD_INDEX, Action.ADD_FOREIGN_KEY, Action.ADD_PRIMARY_KEY), "CINDEX"),
    **dict.fromkeys((Action.DROP_INDEX, Action.DROP_FOREIGN_KEY, Action.DROP_PRIMARY_KEY), "DINDEX"),
    **dict.fromkeys((Action.ADD_COLUMN, Action.DROP_COLUMN, Action.MODIFY_COLUMN, Action.REBASE_AUTO_ID), "ALTER"),
    **dict.fromkeys((Action.SET_DEFAULT_VALUE, Action.MODIFY_TABLE_COMMENT, Action.RENAME_INDEX), "ALTER"),
    **dict.fromkeys((Action.ADD_TABLE_PARTITION, Action.DROP_TABLE_PARTITION), "ALTER"),
    **dict.fromkeys((Action.MODIFY_TABLE_CHARSET_AND_COLLATE, Action.TRUNCATE_TABLE_PARTITION), "ALTER"),
    **dict.fromkeys((Action.ALTER_INDEX_VISIBILITY, Action.MULTI_SCHEMA_CHANGE), "ALTER"),
    **dict.fromkeys((Action.REORGANIZE_PARTITION, Action.ALTER_TABLE_PARTITIONING), "ALTER"),
    Action.REMOVE_PARTITIONING: "ALTER",
}


def ddl_type(type_code: int, release: Release) -> str:
    """Return the type of a DDL message; `QUERY` for all other actions."""
    if release.simple_first_form:
        return "DDL"
    if type_code == Action.EXCHANGE_TABLE_PARTITION and release.simple_exchange_alters:
        return "ALTER"
    return {int(code): name for code, name in _TYPES.items()}.get(type_code, "QUERY")


def ddl_message(event: DdlEvent, options: CodecOptions, release: Release) -> bytes:
    """Return the message of a DDL statement."""
    text = b'{"version":1,"type":"%s"' % ddl_type(event.type_code, release).encode()
    text += b',"sql":' + quoted(event.query, release.simple_short_escapes) if event.query else b""
    text += b',"commitTs":%d,"buildTs":%d' % (event.commit_ts, build_ts(event.commit_ts, options))
    for name, info in ((b"tableSchema", event.after), (b"preTableSchema", table_before(event, release))):
        if info is not None:
            text += b',"%s":%s' % (name, _schema(table_schema(info, release), release))
    return text + b"}"


def table_before(event: DdlEvent, release: Release) -> TableInfo | None:
    """Return the table before the job, if the message has it."""
    tells = release.simple_tells_before or event.type_code == Action.EXCHANGE_TABLE_PARTITION
    return event.before if tells else None


def watermark_message(ts: int, options: CodecOptions, release: Release) -> bytes:
    """Return the message of a watermark."""
    return b'{"version":1,"type":"WATERMARK","commitTs":%d,"buildTs":%d}' % (ts, build_ts(ts, options))


def bootstrap_message(info: TableInfo, ts: int, options: CodecOptions, release: Release) -> bytes:
    """Return the message that tells a table's schema, sent at `ts`."""
    schema = _schema(table_schema(info, release), release)
    return b'{"version":1,"type":"BOOTSTRAP","commitTs":0,"buildTs":%d,"tableSchema":%s}' % (
        build_ts(ts, options),
        schema,
    )


def build_ts(ts: int, options: CodecOptions) -> int:
    """Return `buildTs` in milliseconds."""
    return physical(ts) if options.build_ts is None else options.build_ts


def _schema(schema: TableSchema, release: Release) -> bytes:
    write = partial(quoted, short_controls=release.simple_short_escapes)
    return b'{"schema":%s,"table":%s%s,"version":%d,"columns":[%s],"indexes":[%s]}' % (
        write(schema.schema),
        write(schema.table),
        b"" if release.simple_first_form else b',"tableID":%d' % schema.table_id,
        schema.version,
        b",".join(_column(column, write, release) for column in schema.columns),
        b",".join(_index(index, write) for index in schema.indexes),
    )


def _column(column: ColumnSchema, write: Write, release: Release) -> bytes:
    default = column.default
    text = b"null" if default is None else b"%d" % default if isinstance(default, int) else write(default)
    return b'{"name":%s,"dataType":{%s},"nullable":%s,"default":%s}' % (
        write(column.name),
        _data_type(column.type, write, release),
        _bool(column.nullable),
        text,
    )


def _data_type(type: ColumnType | None, write: Write, release: Release) -> bytes:
    """Return the members of `dataType`; lengths of 0, false and empty lists are left out."""
    charset, collation = (type.charset, type.collation) if type else ("", "")
    text = b'"mysqlType":%s,"charset":%s,"collate":%s' % (write(type_name(type)), write(charset), write(collation))
    for name, number in ((b"length", length(type)), (b"decimal", scale(type, release))):
        text += b',"%s":%d' % (name, number) if number else b""
    if type is not None and type.elements:
        text += b',"elements":[%s]' % b",".join(map(write, type.elements))
    if type is not None and types.is_unsigned(type):
        text += b',"unsigned":true'
    return text + (b',"zerofill":true' if type is not None and (type.zerofill or type.name == "year") else b"")


def _index(index: IndexSchema, write: Write) -> bytes:
    return b'{"name":%s,"unique":%s,"primary":%s,"nullable":%s,"columns":[%s]}' % (
        write(index.name),
        _bool(index.unique),
        _bool(index.primary),
        _bool(index.nullable),
        b",".join(map(write, index.columns)),
    )


def _bool(value: bool) -> bytes:
    return b"true" if value else b"false"
