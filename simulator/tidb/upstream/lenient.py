"""What IGNORE, and a sql_mode that is not strict, make of values that a column does not take: the nearest that it does.

One law: the warning is the error that strict mode would raise. TiDB takes no text that is no JSON and no vector, nor
bytes that are no characters, whatever the mode (tidb pkg/types/datum.go, ConvertTo; pkg/types/convert.go).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal

import pyarrow as pa

from simulator.tidb.ddl.column_definitions import zero
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType, family, is_binary
from simulator.tidb.upstream.state import SqlSession
from simulator.tidb.values import spellings
from simulator.tidb.values.conversion import tidb_text
from simulator.tidb.values.numbers import bounds
from simulator.tidb.values.strings import BYTES

_NUMBER = re.compile(r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?)")
_DIGITS = Context(prec=400)
_LARGEST = {"float": "3.4028235e38", "double": "1.7976931348623157e308"}


def is_lenient(session: SqlSession, ignore: bool) -> bool:
    return ignore or session.sql_mode.isdisjoint(("STRICT_TRANS_TABLES", "STRICT_ALL_TABLES"))


def nearest(column: Column, value: pa.Array) -> pa.Array:
    """TiDB text (binary) of values (binary) that strict mode refuses; null where TiDB refuses them in any mode."""
    read = _NEAREST.get(family(column.type))
    distinct = value.dictionary_encode()
    texts = [read(column.type, cell) if read else None for cell in distinct.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).cast(pa.binary()).take(distinct.indices)


def _leading(value: bytes) -> Decimal:
    """The number that a text begins with, else 0."""
    found = _NUMBER.match(value.decode("utf-8", "replace"))
    return Decimal(found[1]) if found else Decimal(0)


def _integer(type: ColumnType, value: bytes) -> str:
    low, high = bounds(type)
    number = min(max(_leading(value), Decimal(low)), Decimal(high))
    return str(int(number.quantize(Decimal(1), ROUND_HALF_UP, _DIGITS)))


def _decimal(type: ColumnType, value: bytes) -> str:
    scale = max(type.decimal, 0)
    most = Decimal(10) ** (type.length - scale) - Decimal(1).scaleb(-scale)
    number = min(max(_leading(value), Decimal(0) if type.unsigned else -most), most)
    number = number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _DIGITS)
    return f"{number if number else abs(number):f}"


def _float(type: ColumnType, value: bytes) -> str | None:
    number = _leading(value)
    if type.unsigned and number < 0:
        return "0"
    text = tidb_text(type, pa.array([str(number)]))[0].as_py()
    if text is not None:
        return str(text)
    largest = _LARGEST[type.name] if type.decimal < 0 else "9" * (type.length - type.decimal) + "." + "9" * type.decimal
    return ("-" if number < 0 else "") + largest.rstrip(".")


def _year(type: ColumnType, value: bytes) -> str:
    """Beside the range its nearest end (pkg/types/time.go, AdjustYear); a text that is no number is 0."""
    if not _NUMBER.fullmatch(value.decode("utf-8", "replace").strip()):
        return "0"
    number = _leading(value)
    return "0" if number < 0 else "1901" if number < 1901 else "2155"


def _bit(type: ColumnType, value: bytes) -> str:
    return str(2 ** max(type.length, 1) - 1)


def _moment(type: ColumnType, value: bytes) -> str:
    return zero(type)


def _time(type: ColumnType, value: bytes) -> str:
    """One that is too long is cut; what is no time is zero."""
    text = spellings.time(value.decode("utf-8", "replace"), max(type.decimal, 0), cut=True)
    return zero(type) if text is None else text


def _string(type: ColumnType, value: bytes) -> str | None:
    """As much of it as the column holds."""
    limit = BYTES.get(type.name, type.length)
    if is_binary(type):
        return value[:limit].decode("latin-1")
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return None
    text = value[:limit].decode(errors="ignore") if type.name in BYTES else text[:limit]
    text = text.rstrip(" ") if type.name == "char" else text
    found: str | None = tidb_text(type, pa.array([text]))[0].as_py()
    return found


def _none(type: ColumnType, value: bytes) -> str:
    return ""


_NEAREST: dict[str, Callable[[ColumnType, bytes], str | None]] = {
    "integer": _integer, "decimal": _decimal, "float": _float, "year": _year, "bit": _bit, "date": _moment,
    "datetime": _moment, "time": _time, "string": _string, "text": _string, "enum": _none, "set": _none,
}
"""By family."""
