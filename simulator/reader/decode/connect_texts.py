"""Values of Kafka Connect's types, as Debezium has them, in TiDB text.

Messages alone do not say which type of TiDB a value has, so the column of the table decides. Some values stand for
several texts of TiDB: a DECIMAL of more than 15 digits, which is a float, and 1970 in a column without NULL, which is
also written for dates that do not exist. These are unknown cells.
"""

from __future__ import annotations

import base64
from decimal import Decimal

import numpy as np
import pyarrow as pa

from simulator.reader.frame import UNKNOWN_CELL
from simulator.ticdc.time_zone import has_zone, to_local
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType, exceeds_int64, family, is_binary

CONNECT = "connect "
"""What the types of such columns begin with in a layout."""

EXACT_DECIMALS = (f"{CONNECT}org.apache.kafka.connect.data.Decimal", f"{CONNECT}string")
"""Types whose values are TiDB's text of a DECIMAL."""

EXACT_DIGITS = 15
"""Any decimal number of so many digits can be read back from a float of 64 bits."""

MILLISECOND_DECIMALS = 3
MICROS = 1_000_000


def is_connect(kind: int | str) -> bool:
    """Whether a column's type in messages is one of Kafka Connect."""
    return str(kind).startswith(CONNECT)


def connect_cells(cells: pa.Array, column: Column, kind: int | str, time_zone: str) -> pa.Array:
    """Return the TiDB texts of a column's texts in messages, each different text converted once; `kind` is the column's
    type there, and TIMESTAMPs are in a zone, UTC if it is empty."""
    if family(column.type) == "decimal" and kind in EXACT_DECIMALS:
        return cells
    encoded = cells.dictionary_encode()
    texts = pa.array([_cell(cell, column) for cell in encoded.dictionary.to_pylist()], pa.binary())
    return (to_local(texts, time_zone) if has_zone(column.type) else texts).take(encoded.indices)


def _cell(cell: bytes, column: Column) -> bytes:
    if cell == UNKNOWN_CELL:
        return cell
    text = connect_text(cell.decode("utf-8", "surrogatepass"), column)
    return UNKNOWN_CELL if text is None else text.encode("utf-8", "surrogatepass")


def connect_text(text: str, column: Column) -> str | None:
    """Return the TiDB text of a value; None if several have it."""
    type, zero = column.type, column.not_null
    match family(type):
        case "bit":
            return _bits(text, type)
        case "string" | "text":
            return base64.b64decode(text).decode("latin-1") if is_binary(type) else text
        case "date":
            return None if zero and text == "0" else str(np.datetime64(int(text), "D"))
        case "datetime" if type.name == "timestamp":
            return None if zero and text.startswith("1970-01-01T00:00:00") else text.replace("T", " ").removesuffix("Z")
        case "datetime":
            return None if zero and text == "0" else _datetime(int(text), type)
        case "time":
            return _time(int(text), type)
        case "decimal":
            return _decimal(text, type)
        case "integer" if exceeds_int64(type):
            return str(int(text) % (1 << 64))
    return text


def _bits(text: str, type: ColumnType) -> str:
    if type.length == 1:
        return str(int(text == "true"))
    return str(int.from_bytes(base64.b64decode(text), "little"))


def _datetime(number: int, type: ColumnType) -> str:
    micros = number if type.decimal > MILLISECOND_DECIMALS else number * 1000
    moment = str(np.datetime64(micros, "us")).replace("T", " ")
    return moment[: 20 + type.decimal] if type.decimal > 0 else moment[:19]


def _time(micros: int, type: ColumnType) -> str:
    seconds, fraction = divmod(abs(micros), MICROS)
    digits = f".{fraction:06d}"[: 1 + type.decimal] if type.decimal > 0 else ""
    sign = "-" if micros < 0 else ""
    return f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{digits}"


def _decimal(text: str, type: ColumnType) -> str | None:
    if type.length > EXACT_DIGITS:
        return None
    return format(Decimal(text).quantize(Decimal(1).scaleb(-max(type.decimal, 0))), "f")
