"""DDL, WATERMARK and BOOTSTRAP of Simple in JSON, and table schemas: the columns and indexes of a table.

`TableSchema` has the values that both encodings write (tiflow v8.0.0: pkg/sink/codec/simple/message.go newTableSchema).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.row_changes import DdlEvent, TableInfo
from simulator.ticdc.codecs.wire_text import quoted
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.defaults import stored_expression, stored_value
from simulator.tidb.ddl.expressions import VarString, hidden_columns
from simulator.tidb.model import types
from simulator.tidb.model.table import Column, Table, places_of, row_id_column
from simulator.tidb.model.types import ColumnType
from simulator.tso import physical

UNSPECIFIED = "unspecified"
"""The type of a view's columns, of which TiDB stores the names alone."""


@dataclass(frozen=True)
class ColumnSchema:
    name: str
    type: ColumnType | None
    """None for a column of a view."""

    nullable: bool
    default: str | int | None
    """A number for BIT; lone surrogates stand for bytes that are no UTF-8."""


@dataclass(frozen=True)
class IndexSchema:
    name: str
    unique: bool
    primary: bool
    nullable: bool
    columns: tuple[str, ...]


@dataclass(frozen=True)
class TableSchema:
    schema: str
    table: str
    table_id: int
    version: int
    columns: tuple[ColumnSchema, ...]
    indexes: tuple[IndexSchema, ...]


def table_schema(info: TableInfo, release: Release) -> TableSchema:
    """Return the schema of a table or view. A BOOTSTRAP has sorted the columns of the table before a statement by their
    ids already (`rows`)."""
    table = info.table
    if not isinstance(table, Table):
        columns = tuple(ColumnSchema(name, None, True, None) for name in table.columns)
        return TableSchema(table.schema, table.name, info.table_id, info.version, columns, ())
    ordered = _columns_by_id(table) if release.simple_sorts_columns else table.columns
    hidden = _hidden(table, release)
    columns = tuple(_column(column, release) for column in (*ordered, *hidden))
    is_sorted = release.simple_first_form or bool(release.simple_sorted) and info.told
    placed = _columns_by_id(table) if is_sorted else table.columns
    return TableSchema(
        table.schema, table.name, info.table_id, info.version, columns, tuple(_indexes(table, placed, hidden, release))
    )


def _hidden(table: Table, release: Release) -> tuple[Column, ...]:
    """Return the hidden columns; raise EncodeError if their types are not known."""
    found = hidden_columns(table)
    if found is None:
        raise EncodeError(
            f"TiCDC {release.name} tells the hidden columns of functional indexes in Simple's table schemas; the types of "
            f"those of {table.schema}.{table.name} are not simulated"
        )
    return found


def _indexes(table: Table, placed: Sequence[Column], hidden: Sequence[Column], release: Release) -> list[IndexSchema]:
    """Return the indexes; TiCDC takes each column for the one that has its place among those `placed`."""
    certain = {column.name for column, at in zip(table.columns, placed, strict=True) if at.not_null}
    certain |= {column.name for column in hidden if column.not_null}
    indexes = [
        IndexSchema(
            index.name,
            index.unique or index.primary,
            index.primary,
            any(column.name not in certain for column in index.columns),
            tuple(column.name for column in index.columns),
        )
        for index in table.indexes
    ]
    if not any(index.primary for index in indexes) and (names := _primary_columns(table, placed, release)):
        indexes.append(IndexSchema("primary", True, True, False, names))
    return indexes


def _columns_by_id(table: Table) -> list[Column]:
    return sorted(table.columns, key=lambda column: column.id)


def _primary_columns(table: Table, placed: Sequence[Column], release: Release) -> tuple[str, ...]:
    """Return the primary key of a table that has no index for it (tiflow: GetPrimaryKeyColumnNames)."""
    row_id = row_id_column(table)
    if not release.simple_implicit_primary:
        return _marked_columns(table, placed) if row_id is not None else ()
    if row_id is not None:
        return (row_id,)
    certain = {column.name for column in table.columns if column.not_null}
    names = (tuple(column.name for column in index.columns) for index in table.indexes if index.unique)
    return next((each for each in names if certain.issuperset(each)), ())


def _marked_columns(table: Table, placed: Sequence[Column]) -> tuple[str, ...]:
    """Return the primary key's column once for the key and for each unique key that has it.

    TiCDC takes places among visible columns for places among all those `placed`.
    """
    places = places_of(table)
    unique = [name for index in table.indexes if index.unique for name in (column.name for column in index.columns)]
    at = (placed[places[name]].name for name in (*table.primary_key, *unique) if name in places)
    return tuple(name for name in at if name in table.primary_key)


def _column(column: Column, release: Release) -> ColumnSchema:
    default = column.default
    if default is None and release.simple_origin_defaults:
        default = column.origin_default
    elif column.default_expression:
        default = _expression(column)
    if default is None and column.not_null and column.type.name == "year":
        default = "0000"  # as recorded of TiDB v7.5.7 and v8.0.0
    return ColumnSchema(column.name, column.type, not column.not_null, _default_value(default, column.type))


def _expression(column: Column) -> str:
    text = column.default or ""
    return "CURRENT_TIMESTAMP" if text.lower().startswith("current_timestamp") else stored_expression(text)


def _default_value(default: str | None, type: ColumnType) -> str | int | None:
    if default is None:
        return None
    family = types.family(type)
    if family == "bit":
        return int(stored_value(default, type) or 0)
    return default.encode("latin-1").decode() if types.is_binary(type) else default


def type_name(type: ColumnType | None) -> str:
    """Return TiDB's name of a type without arguments: `varbinary` (tidb: pkg/parser/types TypeToStr)."""
    if type is None:
        return UNSPECIFIED
    return "var_string" if isinstance(type, VarString) else types.bare_name(type)


def length(type: ColumnType | None) -> int:
    """Return TiDB's Flen (tidb: pkg/parser/mysql GetDefaultFieldLengthAndDecimal); -1 if there is none."""
    if type is None:
        return 0
    fraction = type.decimal + 1 if type.decimal > 0 else 0
    sizes = [len(element.encode("utf-8", "surrogatepass")) for element in type.elements]
    match types.family(type):
        case "float":
            return type.length if type.length >= 0 else 22 if type.name == "double" else 12
        case "date":
            return 10
        case "datetime":
            return 19 + fraction
        case "time":
            return 10 + fraction
        case "json":
            return type.length if type.length > 0 else 4294967295  # an array's is that of its elements
        case "enum":
            return max(sizes, default=0)
        case "set":
            return sum(sizes) + max(len(sizes) - 1, 0)
    return type.length


def scale(type: ColumnType | None, release: Release) -> int:
    """Return TiDB's Decimal: the scale of a DECIMAL, the digits of fractional seconds, in the first form the digits of a
    FLOAT or DOUBLE, too, -1 if it says none; else 0."""
    if type is None:
        return 0
    if isinstance(type, VarString):
        return -1
    if types.family(type) == "float":
        return type.decimal if release.simple_first_form else 0
    return max(type.decimal, 0) if types.family(type) in ("decimal", "datetime", "time") else 0


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
            text += b',"%s":%s' % (name, _schema_json(table_schema(info, release), release))
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
    schema = _schema_json(table_schema(info, release), release)
    return b'{"version":1,"type":"BOOTSTRAP","commitTs":0,"buildTs":%d,"tableSchema":%s}' % (
        build_ts(ts, options),
        schema,
    )


def build_ts(ts: int, options: CodecOptions) -> int:
    """Return `buildTs` in milliseconds."""
    return physical(ts) if options.build_ts is None else options.build_ts


def _schema_json(schema: TableSchema, release: Release) -> bytes:
    write = partial(quoted, short_controls=release.simple_short_escapes)
    return b'{"schema":%s,"table":%s%s,"version":%d,"columns":[%s],"indexes":[%s]}' % (
        write(schema.schema),
        write(schema.table),
        b"" if release.simple_first_form else b',"tableID":%d' % schema.table_id,
        schema.version,
        b",".join(_column_json(column, write, release) for column in schema.columns),
        b",".join(_index_json(index, write) for index in schema.indexes),
    )


def _column_json(column: ColumnSchema, write: Write, release: Release) -> bytes:
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


def _index_json(index: IndexSchema, write: Write) -> bytes:
    return b'{"name":%s,"unique":%s,"primary":%s,"nullable":%s,"columns":[%s]}' % (
        write(index.name),
        _bool(index.unique),
        _bool(index.primary),
        _bool(index.nullable),
        b",".join(map(write, index.columns)),
    )


def _bool(value: bool) -> bytes:
    return b"true" if value else b"false"
