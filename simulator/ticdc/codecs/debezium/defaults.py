"""Defaults of columns: in schemas, and in place of NULL, which releases from 8.5.1 on take for the default.

`schema_default` is the JSON of `default` in a column's schema, `null_text` what stands for NULL.
"""

from __future__ import annotations

import pyarrow as pa

from simulator.errors import EncodeError
from simulator.releases import Release
from simulator.ticdc.codecs.debezium.values import is_string, value_format
from simulator.ticdc.codecs.json_text import raw_escape, raw_quoted
from simulator.ticdc.codecs.wire_numbers import padded_float
from simulator.tidb.ddl.definitions.defaults import row_default, stored_value
from simulator.tidb.model import types
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType

EPOCH = b"1970-01-01T00:00:00Z"
NOW = "CURRENT_TIMESTAMP"
DOUBLE = ColumnType("double")


def schema_default(column: Column, release: Release) -> bytes | None:
    """Return the JSON of a column's default in its schema; None if it has none there."""
    if column.default is None or release.debezium_defaults == "none":
        return None
    if release.debezium_defaults == "texts":
        return _as_text(column, column.default)
    return _as_value(column, column.default, release)


def _as_text(column: Column, default: str) -> bytes | None:
    """As 8.5.0 has it: every number is parsed as a float, which no date and time is."""
    match types.family(column.type):
        case "bit":
            return raw_quoted(default.encode("latin-1").decode("utf-8", "surrogateescape"))
        case "date" | "time":
            return None
        case "datetime":
            if column.default_expression or default.startswith("0000-00-00"):
                return b"0" if column.not_null or column.default_expression else None
            return raw_quoted(default)
        case "integer" | "float" | "decimal" | "year":
            return _float(default)
    return _string(column, default)


def _float(text: str) -> bytes:
    written: bytes = padded_float(_cells(text), DOUBLE)[0].as_py()
    return written


def _string(column: Column, default: str) -> bytes:
    """Return the text of a default, even if it stands for bytes."""
    if not types.is_binary(column.type):
        return raw_quoted(default)
    return raw_quoted(default.encode("latin-1").decode())


def _as_value(column: Column, default: str, release: Release) -> bytes | None:
    match types.family(column.type):
        case "datetime" if column.default_expression and column.type.name == "timestamp":
            return b'"' + EPOCH + b'"' if column.not_null else None
        case "datetime" if column.default_expression:
            return b"0"
        case "datetime" if default.startswith("0000-00-00") and column.type.name == "timestamp":
            return b'"' + EPOCH + b'"' if column.not_null else None
        case "date" if column.default_expression:
            return b"0" if column.not_null else None
        case "year":
            year = float(default)
            return _float(str(year + (2000 if year < 70 else 1900 if year < 100 else 0)))
        case "integer" | "float" | "decimal":
            return _float(default)
        case "bit" | "date" | "time" | "datetime":
            return _written(column, default, release)
    return _string(column, default)


def _written(column: Column, default: str, release: Release) -> bytes | None:
    """Return a default in the form of values."""
    value = stored_value(default, column.type) or ""
    text = value_format(column, release)(_cells(value), column.type)[0].as_py()
    if text is None:
        return None
    return b'"%s"' % text if is_string(column.type) else bytes(text)


def null_text(column: Column, release: Release, time_zone: str) -> bytes | None:
    """Return what stands for NULL between the quotes of a string, or as it is; None for NULL.

    Raise EncodeError if the release stops at NULL.
    """
    default, type = column.default, column.type
    if default is None or not release.debezium_null_is_default:
        return None
    if types.family(type) in ("enum", "set") and release.debezium_null_enum == "empty":
        return b""
    return (_null_by_type if release.debezium_null_by_type else _null_as_text)(column, default, release, time_zone)


def _null_by_type(column: Column, default: str, release: Release, time_zone: str) -> bytes | None:
    cell = null_cell(column, release)
    return None if cell is None else _member(column, cell, release, time_zone)


def null_cell(column: Column, release: Release) -> str | None:
    """Return the TiDB text that stands for NULL, as the types of TiDB's Datum hold a default; None for NULL.

    Raise EncodeError for a DATE, whose text is none.
    """
    default, type = column.default if column.default_expression else row_default(column), column.type
    if default is None:
        return None
    match types.family(type):
        case "date":
            raise EncodeError(
                f"panic: interface conversion: interface {{}} is nil, not types.Time: NULL in column {column.name}, a "
                f"DATE with a default; TiCDC {release.name} crashes on it in debezium"
            )
        case "time":
            return "00:00:00" + fraction(type)
        case "integer" if type.name == "bigint" and default.isdecimal() and int(default) >= 1 << 63:
            return "0"
        case "datetime" if type.name == "timestamp":
            return None if column.default_expression or default.startswith("0000-00-00") else default
        case "datetime" if column.default_expression:
            return "1970-01-01 00:00:00" + fraction(type)
    return default


def fraction(type: ColumnType) -> str:
    """Return the fraction of a whole second as the type has it."""
    return "." + "0" * type.decimal if type.decimal > 0 else ""


def _null_moment(column: Column, default: str, release: Release, time_zone: str) -> bytes | None:
    """Return what stands for NULL in a DATETIME or TIMESTAMP."""
    is_timestamp = column.type.name == "timestamp"
    if column.default_expression:
        return None if is_timestamp else b"0"
    return None if is_timestamp and default.startswith("0000-00-00") else _member(column, default, release, time_zone)


def _null_as_text(column: Column, default: str, release: Release, time_zone: str) -> bytes | None:
    type = column.type
    match types.family(type):
        case "enum" | "set" if release.debezium_null_enum == "stops":
            kind = types.family(type)
            text = f"unexpected column value type string for {kind} column {column.name}"
            raise EncodeError(text, "CDC:ErrDebeziumEncodeFailed")
        case "datetime":
            return _null_moment(column, default, release, time_zone)
        case "year":
            return raw_quoted(default)  # the value is a string there, which TiCDC writes as one
        case "float":
            return _float(default)
        case "date" if column.default_expression:
            return None
        case "bit":
            return _member(column, row_default(column) or "", release, time_zone)
        case "string" | "text" if types.is_binary(type):
            again = raw_escape(pa.array([default.encode("latin-1")], pa.binary()))[0].as_py()
            # TiCDC writes the member once as bytes and once as text
            return b'%s",%s:"%s' % (_member(column, default, release, time_zone), raw_quoted(column.name), again)
    return _member(column, default, release, time_zone)


def _member(column: Column, default: str, release: Release, time_zone: str) -> bytes:
    written: bytes = value_format(column, release, time_zone)(_cells(default), column.type)[0].as_py()
    return written


def _cells(text: str) -> pa.Array:
    return pa.array([text.encode("utf-8", "surrogatepass")], pa.binary())
