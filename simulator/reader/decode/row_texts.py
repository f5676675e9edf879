"""Values and columns of messages as TiDB has them.

The table provides only what messages lack: the names of ENUM and SET members. A table whose definition is unknown is
derived from its layout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simulator.errors import UserError
from simulator.reader.decode.stream_events import LOST, Value
from simulator.reader.frame import Layout
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import TYPES, ColumnType, is_binary


def value_text(value: Value, column: Column) -> str | None:
    """Return the TiDB text of a value; bytes as Latin-1 text.

    A binary column whose text has U+FFFD, which is not in Latin-1, has lost bytes: Canal-JSON before 5.4 writes such
    columns as text. Raises UserError for a number that is no member of the ENUM or SET.
    """
    if value is None:
        return None
    if isinstance(value, bytes):
        return value.decode("latin-1") if is_binary(column.type) else value.decode("utf-8", "surrogateescape")
    if is_binary(column.type):
        return value if LOST in value else value.encode("utf-8").decode("latin-1")
    read = MEMBERS.get(column.type.name)
    return value if read is None else read(value, column)


def _enum(value: str, column: Column) -> str:
    names = ("", *column.type.elements)
    if not value.isdecimal() and value in names:
        return value  # of an older row (`ticdc.older_rows`)
    if not value.isdecimal() or int(value) >= len(names):
        raise UserError(f"column {column.name!r}: {value!r} is no member of its ENUM, 0 to {len(names) - 1} are")
    return names[int(value)]


def _set(value: str, column: Column) -> str:
    names = column.type.elements
    if not value.removeprefix("-").isdecimal() and {*value.split(",")} <= {"", *names}:
        return value  # of an older row
    is_number = value.removeprefix("-" if len(names) == MOST_MEMBERS else "").isdecimal()
    number = int(value) if is_number else -1
    if not is_number or number < -1 << MOST_MEMBERS - 1 or number > 0 and number >> len(names):
        raise UserError(f"column {column.name!r}: {value!r} is no value of its SET, 0 to {(1 << len(names)) - 1} are")
    return ",".join(name for bit, name in enumerate(names) if number >> bit & 1)


MOST_MEMBERS = 64
"""Of a SET; its last one is the sign where a message has a signed integer (Simple in Avro)."""


MEMBERS: Mapping[str, Callable[[str, Column], str]] = {"enum": _enum, "set": _set}

CODES = {row.code: row.name for row in TYPES.values()} | {253: "varchar"}
"""Open Protocol's type codes; 253 is VARBINARY's in some releases."""

BINARY_NAMES = {row.binary_name: row.name for row in TYPES.values() if row.binary_name}


def table_from_layout(layout: Layout) -> Table:
    """Return the table. The layout's key becomes its primary key, and ENUM and SET values stay numbers."""
    columns = tuple(
        Column(name, _type(kind, binary), not_null=name in layout.keys)
        for name, kind, binary in zip(layout.names, layout.types, layout.binary, strict=True)
    )
    return Table(layout.schema, layout.table, columns, primary_key=layout.keys, clustered=True)


def _type(kind: int | str, binary: bool) -> ColumnType:
    """Return the type of an Open Protocol code or a canal mysqlType."""
    if isinstance(kind, int):
        name = CODES.get(kind, "varchar")
    else:
        bare = kind.split("(")[0].split(" ")[0].lower()
        name = BINARY_NAMES.get(bare, bare)
    if name not in TYPES or name in MEMBERS:
        name, binary = "bigint", True
    text = TYPES[name].family in ("string", "text") and not binary
    return ColumnType(name, charset="utf8mb4" if text else "binary", collation="utf8mb4_bin" if text else "binary")
