"""What may be part of a key.

One law: parts are refused in TiDB's order: no such column, twice, a type that no key takes, a prefix, the length of
all (TiDB: pkg/ddl/index.go, buildIndexColumns, checkIndexColumn).
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb.ddl.create.keys import COLUMNAR
from simulator.tidb.ddl.expression_columns import columns_of
from simulator.tidb.ddl.steps import column_named
from simulator.tidb.ddl.tidb_errors import tidb, unsupported, worded
from simulator.tidb.model.charsets import CHARSETS
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import family
from simulator.tidb.syntax.definitions import KeyPart, KeySyntax


MOST_PARTS = 16
LONGEST_KEY = 3072
BYTES = {"integer": 8, "float": 8, "decimal": 30, "bit": 8, "year": 1, "date": 3, "time": 3, "datetime": 8, "enum": 2,
         "set": 8}


def spelled(part: KeyPart, table: Table) -> KeyPart:
    """The part with the column as the table spells it."""
    column = column_named(table, part.column) if part.column else None
    return replace(part, column=column.name) if column else part


def check_parts(key: KeySyntax, table: Table) -> None:
    """Raises DdlError for a key that the table cannot have."""
    if len(key.parts) > MOST_PARTS:
        raise tidb("schema:1070", MOST_PARTS)
    seen: set[str] = set()
    total = 0
    for part in key.parts:
        if part.expression:
            check_expression(part, table)
            continue
        column = column_named(table, part.column)
        if column is None:
            raise worded("ddl:1072", f"column does not exist: {part.column}")
        if column.name in seen:
            raise tidb("schema:1060", part.column)
        seen.add(column.name)
        if key.kind not in COLUMNAR:
            total += check_part(column, part.length)
    if total > LONGEST_KEY:
        raise tidb("ddl:1071", total, LONGEST_KEY)


def check_expression(part: KeyPart, table: Table) -> None:
    """An expression names columns that are there."""
    for name in sorted(columns_of(part.expression)):
        if column_named(table, name) is None:
            raise tidb("ddl:1054", name, "generated column function")


def check_part(column: Column, length: int) -> int:
    """Bytes that the column takes in a key; raises DdlError where it cannot be in one."""
    type, kind = column.type, family(column.type)
    if kind == "json":
        raise tidb("ddl:3152", column.name)
    if kind == "vector":
        raise unsupported("add vector index: only support vector distance function on the column")
    if kind == "text" and length < 0:
        raise tidb("ddl:1170", column.name)
    if kind not in ("string", "text"):
        if length >= 0:
            raise tidb("ddl:1089")
        return BYTES.get(kind, 8)
    if length == 0:
        raise tidb("ddl:1391", column.name)
    if length > type.length >= 0:
        raise tidb("ddl:1089")
    return (length if length > 0 else type.length) * CHARSETS[type.charset][1]
