"""Columns as SHOW COLUMNS and information_schema.COLUMNS describe them.

Source: tidb pkg/table/column.go (NewColDesc), pkg/executor/infoschema_reader.go (dataForColumnsInTable).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from simulator.releases import Release
from simulator.tidb.ddl.create_table_text import current_time, has_charset
from simulator.tidb.ddl.definitions.defaults import row_default
from simulator.tidb.ddl.expressions.stored_text import stored_expression
from simulator.tidb.engine.sessions.clock import local_timestamp
from simulator.tidb.engine.sessions.result_columns import PRIMARY, UNIQUE, key_flags
from simulator.tidb.engine.sessions.settings import SqlSession
from simulator.tidb.engine.system_tables.definitions import Row
from simulator.tidb.model.charsets import CHARSETS
from simulator.tidb.model.table import Column, Table, shown_columns
from simulator.tidb.model.types import bare_name, family, is_text, mysql_type, type_arguments

PRIVILEGES = "select,insert,update,references"

DEFAULT_SIZES = {
    **{"bit": (1, 0), "tinyint": (4, 0), "smallint": (6, 0), "mediumint": (9, 0), "int": (11, 0), "bigint": (20, 0)},
    **{"float": (12, -1), "double": (22, -1), "decimal": (10, 0), "time": (10, 0), "datetime": (19, 0)},
    **{"timestamp": (19, 0), "char": (1, 0), "varchar": (5, 0), "tinytext": (255, 0), "text": (65535, 0)},
    **{"mediumtext": (16777215, 0), "longtext": (4294967295, 0)},
}
"""Length and scale of types whose declaration has none (tidb pkg/parser/mysql/util.go)."""


class DescribedColumn(NamedTuple):
    name: str
    type: str
    collation: str | None
    null: str
    key: str
    default: str | None
    extra: str
    comment: str


def describe_column(column: Column, table: Table, session: SqlSession, release: Release) -> DescribedColumn:
    flags = key_flags(column, table)
    key = "PRI" if flags & PRIMARY else "UNI" if flags & UNIQUE else "MUL" if flags else ""
    collation = column.type.collation if has_charset(column.type) else None
    null = "NO" if column.not_null else "YES"
    default = default_shown(column, session)
    type = mysql_type(column.type, full=True)
    return DescribedColumn(column.name, type, collation, null, key, default, _extra(column, release), column.comment)


def default_shown(column: Column, session: SqlSession) -> str | None:
    """Return the default of a column, in the session's time zone."""
    if column.default is None or column.default_dropped or column.generated:
        return None
    if column.default_expression:
        return current_time(column) or stored_expression(column.default)
    if column.type.name == "bit":
        return f"b'{int(row_default(column) or 0):b}'"
    return local_timestamp(column.default, session) if column.type.name == "timestamp" else column.default


def _extra(column: Column, release: Release) -> str:
    if column.auto_increment:
        return "auto_increment"
    if column.on_update:
        digits = f"({column.type.decimal})" if column.type.decimal > 0 else ""
        return f"DEFAULT_GENERATED on update CURRENT_TIMESTAMP{digits}"
    if column.generated:
        return f"{column.generated.upper()} GENERATED"
    is_marked = column.default_expression and not current_time(column) and release.default_parentheses
    return "DEFAULT_GENERATED" if is_marked else ""


def column_rows(table: Table, schema: str, session: SqlSession, release: Release) -> Iterator[Row]:
    """Yield the rows of information_schema.COLUMNS."""
    for place, column in enumerate(shown_columns(table), 1):
        shown, type = describe_column(column, table, session, release), column.type
        characters, octets, precision, scale, moment = _sizes(column)
        unsigned = " unsigned" * (type.unsigned and type.name not in ("bit", "year"))
        yield (
            *("def", schema, table.name, column.name, place, shown.default, shown.null, bare_name(type)),
            *(characters, octets, precision, scale, moment),
            *(type.charset if has_charset(type) else None, shown.collation),
            *(bare_name(type) + type_arguments(type) + unsigned, shown.key, shown.extra, PRIVILEGES, column.comment),
            *(stored_expression(column.generated_expression) if column.generated else "", None),
        )


def _sizes(column: Column) -> tuple[int | None, int | None, int | None, int | None, int | None]:
    """Return length in characters and bytes, precision and scale of a number, digits of a second."""
    type, kind = column.type, family(column.type)
    length, decimal = DEFAULT_SIZES.get(type.name, (-1, -1))
    length = type.length if type.length >= 0 else length
    decimal = type.decimal if type.decimal >= 0 else decimal
    if kind in ("enum", "set"):
        sizes = [len(member.encode()) for member in type.elements]
        length = max(sizes, default=0) if kind == "enum" else sum(sizes) + len(sizes) - 1
    if kind in ("enum", "set") or is_text(type):
        return length, length * CHARSETS[type.charset][1], None, None, None
    if kind in ("time", "datetime"):
        return None, None, None, None, decimal
    if kind in ("integer", "bit", "decimal", "float"):
        return None, None, length, decimal if decimal >= 0 else None, None
    return None, None, None, None, None
