"""How each database's columns are read so that their values are exact, as cells of row images.

A cell is TiDB text where the value is one of the column's type. A value that the type cannot hold exactly is shown as
it is, and so differs from every expected one. Columns that cannot be compared are named with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from simulator.reader.events import UNKNOWN_CELL
from simulator.tidb.datums.cast import tidb_text
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import TYPES, ColumnType, family
from simulator.tidb.values.conversion import insert_text, tagged

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.types import TypeEngine

SINGLE, DOUBLE = 7, 15
"""Decimal digits that floating-point numbers hold."""

Expression = Callable[[str, "TypeEngine[Any]"], str]
"""Returns the SQL that reads a column, of its quoted name and its type in the database."""


def _postgresql(name: str, type: TypeEngine[Any]) -> str:
    from sqlalchemy import types

    if isinstance(type, types.LargeBinary):
        return name
    if isinstance(type, types.Boolean):
        return f"{name}::int::text"
    if _is_zoned(type):
        return f"({name} AT TIME ZONE 'UTC')::text"
    if isinstance(type, types.Interval):
        return f"round(extract(epoch FROM {name}) * 1000000)::bigint"
    if _kind(type) in ("BIT", "VARBIT"):
        return (
            f"mod(lpad({name}::text, 64, '0')::bit(64)::bigint::numeric + 18446744073709551616, 18446744073709551616)"
            "::text"
        )
    return f"{name}::text"


def _mysql(name: str, type: TypeEngine[Any]) -> str:
    if _kind(type) == "BIT":
        return f"{name} + 0"  # as a number, not as bytes
    # MySQL shows six digits of a FLOAT, and all of a DOUBLE.
    return f"{name} + 0e0" if _kind(type) == "FLOAT" else name


EXPRESSIONS: Mapping[str, Expression] = MappingProxyType(
    {"sqlite": lambda name, type: name, "postgresql": _postgresql, "mysql": _mysql, "mariadb": _mysql}
)


def why_not_compared(dialect: str, type: TypeEngine[Any], column: Column) -> str:
    """Return why a column's type in the database cannot tell TiDB's values apart; empty if it can. SQLite's types are
    those of single values."""
    if dialect == "sqlite":
        return ""
    held = FLOATS.get(dialect, {}).get(_kind(type))
    if held is not None and not _holds(held, column.type):
        return f"it is {_kind(type).replace('_', ' ')} there, which does not hold {shown(column.type)} exactly"
    zoned = _is_zoned(type) if dialect == "postgresql" else _kind(type) == "TIMESTAMP"
    if zoned and column.type.name in ("datetime", "date"):
        title = "TIMESTAMP WITH TIME ZONE" if dialect == "postgresql" else "TIMESTAMP"
        return f"it is {title} there, and {shown(column.type)} has no time zone"
    return ""


FLOATS: Mapping[str, Mapping[str, int]] = {
    "postgresql": {"REAL": SINGLE, "FLOAT": DOUBLE, "DOUBLE_PRECISION": DOUBLE, "DOUBLE": DOUBLE},
    "mysql": {"FLOAT": SINGLE, "DOUBLE": DOUBLE, "REAL": DOUBLE},
    "mariadb": {"FLOAT": SINGLE, "DOUBLE": DOUBLE, "REAL": DOUBLE},
}
"""Digits that the database's floating-point types hold."""


def _holds(held: int, type: ColumnType) -> bool:
    if held == SINGLE and type.name != "float":
        return 0 < digits(type) < SINGLE
    return 0 < digits(type) <= DOUBLE


def _kind(type: TypeEngine[Any]) -> str:
    return str(type.__visit_name__).upper()


def _is_zoned(type: TypeEngine[Any]) -> bool:
    from sqlalchemy import types

    return isinstance(type, types.DateTime) and bool(type.timezone)


def shown(type: ColumnType) -> str:
    """Return TiDB's name of a type."""
    sizes = [str(size) for size in (type.length, type.decimal) if family(type) == "decimal" and size >= 0]
    return type.name.upper() + (f"({','.join(sizes)})" if sizes else "") + (" UNSIGNED" if type.unsigned else "")


def vague_classes(type: ColumnType) -> tuple[str, ...]:
    """Return the storage classes of SQLite that do not tell which value of that type they stand for."""
    if family(type) in ("integer", "decimal", "float", "year"):
        return () if _holds(DOUBLE, type) else ("real",)
    return ("real",) if type.name == "bit" else ("integer", "real")


def vague_values(connection: Connection, table: str, columns: Sequence[tuple[Column, str]]) -> dict[str, str]:
    """Return the columns of a table of SQLite with values that do not tell which one of TiDB's they are, and why;
    columns come with their quoted names."""
    asked = [(column, name, kind) for column, name in columns for kind in vague_classes(column.type)]
    if not asked:
        return {}
    counts = ", ".join(f"sum(typeof({name}) = '{kind}')" for _, name, kind in asked)
    found = connection.exec_driver_sql(f"SELECT {counts} FROM {table}").one()
    return {
        column.name: f"values that are {kind.upper()} there ({count:,}) do not tell which {shown(column.type)} they are"
        for (column, _, kind), count in zip(asked, found)
        if count
    }


KINDS: Mapping[type, tuple[str, pa.DataType]] = {
    int: ("integer", pa.int64()),
    float: ("real", pa.float64()),
    str: ("text", pa.string()),
    bytes: ("blob", pa.binary()),
}
"""Classes of values in Python: SQLite's storage class, and the type of an array of them."""


def cells(column: Column, values: Sequence[object], dialect: str) -> pa.Array:
    """Return the values of a column in a batch of rows as cells."""
    vague = vague_classes(column.type) if dialect == "sqlite" else ()
    kinds = {type(value) for value in values} - {type(None)}
    made = pa.nulls(len(values), pa.binary())
    for kind in sorted(kinds, key=lambda kind: kind.__name__):
        storage, arrow = KINDS[kind]
        those = values if len(kinds) == 1 else [value if type(value) is kind else None for value in values]
        array = pa.array(those, arrow)
        if storage in vague:
            texts = pc.if_else(array.is_valid(), pa.scalar(UNKNOWN_CELL), pa.scalar(None, pa.binary()))
        elif kind is int and family(column.type) == "time":
            texts = tidb_cells(column.type, array.cast(pa.duration("us")))
        else:
            texts = tidb_cells(column.type, array)
        made = pc.coalesce(made, texts)
    return made


WIDE = {
    "integer": ColumnType("decimal", 65, 30),
    "decimal": ColumnType("decimal", 65, 30),
    "year": ColumnType("decimal", 65, 30),
    "date": ColumnType("datetime", decimal=6),
    "datetime": ColumnType("datetime", decimal=6),
    "time": ColumnType("time", decimal=6),
}
"""By family: a type that holds what is cut off or rounded when a column of the family takes a value."""

UTC = r"(:\d\d(?:\.\d*)?)(?:Z|[+-]00(?::?00)?)$"
"""A time of day that says that it is UTC."""


def tidb_cells(type: ColumnType, values: pa.Array) -> pa.Array:
    """Return values of a database's column as cells of a column of that type."""
    if family(type) == "time" and pa.types.is_timestamp(values.type):
        values = pc.cast(values, pa.time64("us"))
    if family(type) == "datetime" and pa.types.is_string(values.type):
        values = pc.replace_substring_regex(values, UTC, r"\1")
    if type.name == "bit":
        return _or_shown(tidb_text(type, tagged(values)), values)
    text = tidb_text(type, values)
    if family(type) in WIDE:
        text = pc.if_else(pc.fill_null(_is_exact(type, values, text), False), text, pa.scalar(None, text.type))
    return _or_shown(text, values)


def _is_exact(type: ColumnType, values: pa.Array, text: pa.Array) -> pa.Array:
    """Return which values are those of the texts, and were not rounded to them."""
    raw = insert_text(values)
    same = pc.equal(raw, text.cast(raw.type))
    if pc.all(pc.fill_null(same, True)).as_py():
        return same
    wide = WIDE[family(type)]
    return pc.or_(same, pc.equal(tidb_text(wide, values), tidb_text(wide, text)))


def _or_shown(text: pa.Array, values: pa.Array) -> pa.Array:
    """Return the texts; for those without one the values as people read them."""
    cells = text.cast(pa.binary())
    if cells.null_count == values.null_count:
        return cells
    shown = insert_text(values).cast(pa.binary())
    if shown.null_count > values.null_count:
        shown = pa.array([_hexadecimal(value) for value in values.to_pylist()], pa.binary())
    return pc.if_else(cells.is_valid(), cells, shown)


def _hexadecimal(value: object) -> bytes | None:
    if value is None:
        return None
    return b"0x" + value.hex().encode() if isinstance(value, bytes) else str(value).encode()


def digits(type: ColumnType) -> int:
    """Return how many decimal digits a floating-point number must hold to tell the values of a type apart; 0 for a
    type that has no such number."""
    if family(type) == "decimal":
        return max(type.length, 1)
    if family(type) == "float":
        return 7 if type.name == "float" else 15
    if family(type) == "integer":
        return TYPES[type.name].unsigned_length
    return 4 if type.name == "year" else 0
