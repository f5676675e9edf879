"""The charset and collation of a table, and of its columns.

One law: only CONVERT TO changes columns that are there (TiDB: pkg/ddl/executor.go, AlterTableCharsetAndCollate).
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb.ddl import actions
from simulator.tidb.ddl.evolve_errors import refused, tidb, worded
from simulator.tidb.ddl.evolve_key_parts import check_parts
from simulator.tidb.ddl.evolve_steps import Alteration, Step, Steps
from simulator.tidb.ddl.evolve_types import alike, check_charset
from simulator.tidb.model.charsets import ALIASES, CHARSETS, resolve
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import family, is_binary
from simulator.tidb.syntax.alter import ConvertCharset
from simulator.tidb.syntax.definitions import KeyPart, KeySyntax


def convert_charset(spec: ConvertCharset, alteration: Alteration) -> Steps:
    """The charset of the table and of all its columns that have one."""
    return charset_step(spec.charset, spec.collation, True, alteration)


def charset_step(name: str, collation: str, columns_too: bool, alteration: Alteration) -> Steps:
    """TiDB: AlterTableCharsetAndCollate, checkAlterTableCharset."""
    if name and ALIASES.get(name.lower(), name.lower()) not in CHARSETS:
        raise tidb("ddl:1115", name)
    if collation and collation.lower().partition("_")[0] not in (*CHARSETS, *ALIASES):
        raise tidb("ddl:1273", collation)
    known = alteration.known
    if known is None:
        yield Step(actions.MODIFY_TABLE_CHARSET_AND_COLLATE)
        return
    table = known.table
    database = known.catalog.database(table.schema)
    default = (database.charset, database.collation) if database else (table.charset, table.collation)
    with refused("ddl:1253"):
        wanted = resolve(name, collation, default, f"table {table.name!r}")
    textual = [one.type for one in table.columns if one.type.charset != "binary"]
    if (table.charset, table.collation) == wanted and all((one.charset, one.collation) == wanted for one in textual):
        what = "the table and its columns have" if columns_too else "the table has"
        yield f"{what} this character set and collation: no job"
        return
    check_charset(table.charset, table.collation, *wanted)
    if columns_too:
        check_columns(table, wanted)
    yield Step(actions.MODIFY_TABLE_CHARSET_AND_COLLATE, lambda before: with_charset(before, wanted, columns_too))


def check_columns(table: Table, wanted: tuple[str, str]) -> None:
    """Every column can have the charset, and every key is short enough with it."""
    for column in table.columns:
        type = column.type
        if type.name == "varchar" and type.length > (most := 65535 // CHARSETS[wanted[0]][1]):
            raise tidb("types:1074", column.name, most)
        if type.charset == "binary":
            continue
        indexed = any(column.name in (part.name for part in index.columns) for index in table.indexes)
        if indexed and not alike(type.collation, wanted[1]):
            raise worded("ddl:8200", f"Unsupported converting collation of column '{column.name.lower()}' from"
                                     f" '{type.collation}' to '{wanted[1]}' when index is defined on it.")
        check_charset(type.charset, type.collation, *wanted)
    changed = with_charset(table, wanted, True)
    for index in table.indexes:
        parts = (KeyPart("" if one.expression else one.name, one.length, one.expression) for one in index.columns)
        check_parts(KeySyntax("key", "", tuple(parts)), changed)


def with_charset(table: Table, wanted: tuple[str, str], columns_too: bool) -> Table:
    def converted(column: Column) -> Column:
        if not columns_too or family(column.type) not in ("string", "text", "enum", "set") or is_binary(column.type):
            return column
        return replace(column, type=replace(column.type, charset=wanted[0], collation=wanted[1]))

    return replace(table, charset=wanted[0], collation=wanted[1], columns=tuple(map(converted, table.columns)))
