"""TiDB's errors for a stored value that ALTER TABLE cannot convert.

Sources: tidb v8.0 pkg/ddl/column.go, reformatErrors; pkg/types/datum.go, ConvertTo; pkg/types/convert.go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType

import pyarrow as pa

from simulator.columns import cells
from simulator.errors import SqlError
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType, family, is_binary, mysql_type
from simulator.tidb.sql_engine.errors import sql_error, sql_error_with_text
from simulator.tidb.values.changed_types import COUNTED, TIMED, number_text, widened
from simulator.tidb.values.numbers import bounds, positional

_FLOAT = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*\Z")
_PREFIX = re.compile(r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_LEADING = re.compile(r"\s*([+-]?[0-9]+)")
_KINDS = {"float": "float", "double": "double", "decimal": "decimal", "enum": "enum", "set": "set", "bit": "bit"}
"""TiDB's names of kinds of values (KindStr)."""

ConversionErrorFactory = Callable[[Column, ColumnType, str], SqlError]


def conversion_error(column: Column, type: ColumnType, text: str) -> SqlError:
    """Return the error of a value (its TiDB text) that the type does not accept."""
    return CONVERSION_ERRORS.get(family(type), _truncated_text)(column, type, text)


def _integer(column: Column, type: ColumnType, text: str) -> SqlError:
    before = column.type
    if family(before) in ("string", "text", "json"):
        read = _text_value(column, text)
        if read is None:
            return _truncated("INTEGER", text)
        if not _FLOAT.match(read):
            if (prefix := _PREFIX.match(read)) and not prefix[1].lstrip("+-").isdigit():
                return _out_of_range("BIGINT UNSIGNED" if type.unsigned else "BIGINT", prefix[1])
            number = _LEADING.match(read)
            if type.unsigned and number and family(before) != "json" and not 0 <= int(number[1]) <= bounds(type)[1]:
                return _overflow(number[1], type)
            return _truncated("DOUBLE", read)
        return _overflow(read, type)
    return _overflow(_numeric_text(column, type, text), type)


def _bit(column: Column, type: ColumnType, text: str) -> SqlError:
    """Return the error for BIT. Out of range are negative numbers that are not integers, and in BIT(64) all larger
    numbers; other values are too long."""
    number = Decimal(_numeric_text(column, type, text))
    if family(column.type) != "integer" and (number < 0 or type.length == 64):
        return _overflow(_numeric_text(column, type, text), type)
    return _truncated_text(column, type, text)


def _decimal(column: Column, type: ColumnType, text: str) -> SqlError:
    if _is_text(column) and ((read := _text_value(column, text)) is None or not _FLOAT.match(read)):
        begins = family(column.type) != "json" and _PREFIX.match(text)
        named = mysql_type(replace(type, unsigned=False, zerofill=False), full=True) if begins else "DECIMAL"
        return _truncated(named, text)
    return _out_of_range("DECIMAL", f"({type.length}, {max(type.decimal, 0)})")


def _float(column: Column, type: ColumnType, text: str) -> SqlError:
    if _is_text(column):
        read = _text_value(column, text)
        if read is None or not _FLOAT.match(read) or abs(Decimal(read)) > Decimal(1.7976931348623157e308):
            return _truncated("FLOAT" if read is None else "DOUBLE", text)
    number = float(_numeric_text(column, type, text))
    if type.decimal >= 0:
        most = 10.0 ** (type.length - type.decimal) - 10.0**-type.decimal
        if not type.unsigned or number >= 0:
            return _out_of_range("DOUBLE", "")
        number = max(round(number, type.decimal), -most)
    return _overflow(go_float(number), type)


def _year(column: Column, type: ColumnType, text: str) -> SqlError:
    if _is_text(column):
        read = _text_value(column, text)
        if read is None or not _FLOAT.match(read):
            if read and (prefix := _PREFIX.match(read)) and not prefix[1].lstrip("+-").isdigit():
                return _out_of_range("BIGINT", prefix[1])
            return _truncated("INTEGER" if read is None else "DOUBLE", text)
        if not _is_bigint(read):
            return _out_of_range("BIGINT", read)
    elif family(column.type) in COUNTED and not _is_bigint(_numeric_text(column, type, text)):
        return sql_error_with_text(1105, f"cannot convert datum from {_type_kind(column)} to type year")
    return sql_error_with_text(
        1264, f"Out of range value for column '{column.name}', the value is '{_value_text(column, text)}'"
    )


def _datetime(column: Column, type: ColumnType, text: str) -> SqlError:
    if family(column.type) in ("integer", "year"):
        if type.name == "timestamp" and column.type.unsigned:
            return sql_error_with_text(1105, "cannot convert datum from unsigned bigint to type timestamp")
        return _truncated(type.name, text) if text == "0" else incorrect_value("time", text)
    if family(column.type) in TIMED:
        return incorrect_value("timestamp", f"{text} 00:00:00" if column.type.name == "date" else text)
    read = _text_value(column, text) or text
    return incorrect_value("time" if read.strip().isdigit() else "datetime", read)


def _time(column: Column, type: ColumnType, text: str) -> SqlError:
    if family(column.type) in COUNTED:
        text_of_value = _value_text(column, text)
        if not _is_bigint(text_of_value):
            return _overflow(text_of_value, ColumnType("bigint"))
        return incorrect_value("time", text_of_value)
    return _truncated("time", _text_value(column, text) or text)


def _json(column: Column, type: ColumnType, text: str) -> SqlError:
    return sql_error_with_text(3140, "Invalid JSON text: The document root must not be followed by other values.")


def _truncated_text(column: Column, type: ColumnType, text: str) -> SqlError:
    if is_binary(column.type) and not is_binary(type) and family(type) in ("string", "text"):
        bytes = cells.latin1(pa.array([text]))[0].as_py()
        try:
            bytes.decode()
        except UnicodeDecodeError as error:
            return sql_error_with_text(
                1366, f"Incorrect string value '\\x{bytes[error.start]:02X}' for column '{column.name}'"
            )
    return sql_error_with_text(
        1265, f"Data truncated for column '{column.name}', value is '{_value_text(column, text)}'"
    )


CONVERSION_ERRORS: Mapping[str, ConversionErrorFactory] = MappingProxyType(
    {
        "integer": _integer,
        "bit": _bit,
        "decimal": _decimal,
        "float": _float,
        "year": _year,
        "date": _datetime,
        "datetime": _datetime,
        "time": _time,
        "json": _json,
    }
)
"""Functions by the family of the new type."""


def _is_bigint(number: str) -> bool:
    return -(2**63) <= Decimal(number) < 2**63


def _is_text(column: Column) -> bool:
    return family(column.type) in ("string", "text", "json")


def _text_value(column: Column, text: str) -> str | None:
    """Return the text of a value; None for JSON that is neither a number nor a text."""
    if family(column.type) != "json":
        return text
    value = json.loads(text)
    return value if isinstance(value, str) else None if value is None or isinstance(value, (dict, list)) else text


def _value_text(column: Column, text: str) -> str:
    """A value as TiDB prints it in an error."""
    if family(column.type) == "float":
        return str(positional(pa.array([text], pa.string()))[0].as_py())
    if family(column.type) == "bit":
        size = (max(column.type.length, 1) + 7) // 8
        return int(text).to_bytes(size, "big").decode("utf-8", "replace")
    return text


def _numeric_text(column: Column, type: ColumnType, text: str) -> str:
    """Return the number that a value stands for, floats as Go prints them."""
    if family(column.type) == "integer":
        return text
    if family(column.type) == "float":
        number = float(widened(column.type, pa.array([text]))[0].as_py())
        return go_float(round(number) if family(type) in ("integer", "bit") else number)
    return str(number_text(column.type, type, pa.array([text], pa.string()))[0].as_py())


def go_float(number: float) -> str:
    """Return a float64 as Go's %v prints it: with an exponent of two digits below 1e-4 and from 1e21 on."""
    size = abs(float(number))
    if size and not 1e-4 <= size < 1e21:
        mantissa, exponent = f"{float(number)!r}".split("e") if "e" in repr(float(number)) else f"{number:e}".split("e")
        return f"{mantissa}e{int(exponent):+03d}"
    digits = format(Decimal(repr(float(number))), "f")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _type_kind(column: Column) -> str:
    name = column.type.name
    return _KINDS.get(name, "unsigned bigint" if column.type.unsigned else "bigint")


def _overflow(value: str, type: ColumnType) -> SqlError:
    return sql_error_with_text(1690, f"constant {value} overflows {type.name}")


def _out_of_range(kind: str, value: str) -> SqlError:
    return sql_error(1690, kind, value)


def _truncated(kind: str, text: str) -> SqlError:
    return sql_error_with_text(1292, f"Truncated incorrect {kind} value: '{text}'")


def incorrect_value(kind: str, text: str) -> SqlError:
    return sql_error_with_text(1292, f"Incorrect {kind} value: '{text}'")


def null_conversion_error(column: Column) -> SqlError:
    """Return the error of NULL in a column that becomes NOT NULL (checkForNullValue, which looks at one row)."""
    return sql_error(1265, column.name.lower(), 1)
