"""DDL statements of Maxwell, with names and kinds of the columns before and after."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.json_text import quoted
from simulator.ticdc.codecs.open_protocol.encoder import ddl as open_ddl
from simulator.ticdc.codecs.row_changes import DdlEvent, TableInfo
from simulator.tidb.ddl.actions import Action
from simulator.tidb.model.table import Table
from simulator.tidb.model.types import ColumnType, family

_KINDS: Mapping[int, str] = {
    **dict.fromkeys((*range(Action.ADD_COLUMN, Action.DROP_TABLE_PARTITION + 1), 22, 23, 27, 28, 29), "table-alter"),
    **dict.fromkeys((33, 37, 38, 41, 42), "table-alter"),
    Action.CREATE_TABLE: "table-create",
    Action.DROP_TABLE: "table-drop",
    Action.CREATE_SCHEMA: "database-create",
    Action.DROP_SCHEMA: "database-drop",
    Action.MODIFY_SCHEMA_CHARSET_AND_COLLATE: "database-alter",
}
"""TiDB's action type → Maxwell's kind; others have TiDB's own text (ddlToMaxwellType)."""

_TYPES: Mapping[str, str] = {
    "integer": "int",
    "text": "string",
    "float": "float",
    "vector": "string",
    **{kind: kind for kind in ("string", "decimal", "date", "datetime", "time", "year", "enum", "set", "bit", "json")},
}
"""Families of types → Maxwell's types (columnToMaxwellType)."""


def ddl(event: DdlEvent, options: CodecOptions, release: Release) -> tuple[bytes, bytes]:
    """Return key and value of a DDL statement; raise EncodeError for one on a database where TiCDC crashes."""
    if not event.table and release.maxwell_crashes_on_databases:
        raise EncodeError(
            "panic: runtime error: invalid memory address or nil pointer dereference: TiCDC crashes in maxwell at a "
            f"statement on a database: {event.query}"
        )
    kind = _KINDS.get(event.type_code) or Action(event.type_code).text
    value = b'{"type":"%s","database":%s,"table":%s,"old":%s,"def":%s,"ts":%d,"sql":%s}' % (
        kind.encode(),
        _text(event.schema, release),
        _text(event.table, release),
        _structure(event.before, "", "", release),
        _structure(event.after if event.table else None, event.schema, event.table, release),
        event.commit_ts,
        _text(event.query, release),
    )
    return open_ddl(event, options, release)[0], value


def _structure(info: TableInfo | None, schema: str, name: str, release: Release) -> bytes:
    table = info.table if info is not None else None
    columns = b"null"
    if isinstance(table, Table):
        schema, name = schema or table.schema, name or table.name
        columns = b"[%s]" % b",".join(
            b'{"type":"%s","name":%s}' % (_type(column.type).encode(), _text(column.name, release))
            for column in table.columns
        )
    return b'{"database":%s,"table":%s,"columns":%s,"primary-key":null}' % (
        _text(schema, release),
        _text(name, release),
        columns,
    )


def _type(type: ColumnType) -> str:
    return "bigint" if type.name == "bigint" else _TYPES[family(type)]


def _text(text: str, release: Release) -> bytes:
    return quoted(text, release.short_control_escapes)
