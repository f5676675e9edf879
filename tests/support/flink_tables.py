"""Tables of TiDB as tables of Apache Flink: types of columns, rows as canal-json should give them, and what is kept.

What is expected follows from the snapshot's texts alone, nothing of it from the encoders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from simulator.tidb.model.table import Column, Table, visible_columns
from support.flink import Flink, Row, applied

TypeOf = Callable[[Column], str]
"""Flink's type for a column."""


def only(schema: str, table: str) -> dict[str, str]:
    r"""Options that leave one table; Flink takes names as patterns, which Java quotes with \Q and \E."""
    return {"database_include": rf"\Q{schema}\E", "table_include": rf"\Q{table}\E"}


def texts(column: Column) -> str:
    return "STRING"


def typed(column: Column) -> str:
    """The type that the Flink table has for a column of TiDB, STRING where none takes all its values."""
    type = column.type
    name = f"{type.name} unsigned" if type.unsigned else type.name
    if name.startswith("decimal") and type.length <= 38:
        return f"DECIMAL({type.length}, {type.decimal})"
    if name in ("datetime", "timestamp"):
        return f"TIMESTAMP({max(type.decimal, 0)})"
    whole = type.length == 64 if name == "bit" else len(type.elements) == 64
    return "DECIMAL(20, 0)" if whole else TYPES.get(name, "STRING")


TYPES = {
    "tinyint": "TINYINT", "tinyint unsigned": "SMALLINT", "smallint": "SMALLINT", "smallint unsigned": "INT",
    "mediumint": "INT", "mediumint unsigned": "INT", "int": "INT", "int unsigned": "BIGINT", "bigint": "BIGINT",
    "bigint unsigned": "DECIMAL(20, 0)", "float": "FLOAT", "double": "DOUBLE", "bit": "BIGINT", "year": "INT",
    "date": "DATE", "enum": "INT", "set": "BIGINT",
}  # fmt: skip


def shown(column: Column, text: str | None) -> str | None:
    """What canal-json has for TiDB's text: ENUM and SET as numbers."""
    names = column.type.elements
    if text is None or not names:
        return text
    if column.type.name == "enum":
        return str(names.index(text) + 1 if text else 0)
    return str(sum(1 << names.index(name) for name in filter(None, text.split(","))))


def formed(column: Column, text: str | None) -> str | None:
    """One text for all that mean the same number or moment."""
    name = column.type.name
    if text is None or name not in ("float", "double", "datetime", "timestamp"):
        return text
    if name in ("float", "double"):
        return str(np.float32(text) if name == "float" else float(text))
    moment, _, fraction = text.partition(".")
    return f"{moment}.{fraction:0<9}"


def as_sent(table: Table, row: Mapping[str, str | None]) -> Row:
    """A row of TiDB texts as the Flink table should have it; columns that are not given are NULL."""
    return tuple(formed(column, shown(column, row.get(column.name))) for column in visible_columns(table))


def as_read(table: Table, row: Row) -> Row:
    """A row of the Flink table, in the same form."""
    return tuple(formed(column, text) for column, text in zip(visible_columns(table), row, strict=True))


def flink_contents(
    flink: Flink, table: Table, type_of: TypeOf, messages: Iterable[bytes], before: Counter[Row]
) -> Counter[Row]:
    """What the Flink table holds in the end."""
    types = {column.name: type_of(column) for column in visible_columns(table)}
    changes = flink.read(types, messages, **only(table.schema, table.name))
    return applied([(kind, as_read(table, row)) for kind, row in changes], before.elements())
