"""What TiDB refuses of a CREATE TABLE.

One law: TiDB's own words as far as they are known; the builder of tables has the last word (TiDB:
pkg/ddl/create_table.go, pkg/planner/core/preprocess.go).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from simulator.tidb.ddl.build import build_column
from simulator.tidb.ddl.build_keys import INDEXED
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.evolve_definitions import check_definition
from simulator.tidb.ddl.evolve_errors import refused, tidb
from simulator.tidb.ddl.evolve_expressions import generated_from
from simulator.tidb.ddl.evolve_foreign import check_foreign_key
from simulator.tidb.ddl.evolve_key_parts import check_parts
from simulator.tidb.ddl.evolve_options import check_ttl
from simulator.tidb.ddl.evolve_partitioning import check_partitioned_table
from simulator.tidb.ddl.evolve_steps import KnownTable, column_named
from simulator.tidb.model.charsets import resolve
from simulator.tidb.model.table import Column, Table
from simulator.tidb.syntax.definitions import KeySyntax
from simulator.tidb.syntax.tables import TableSyntax


def check_syntax(syntax: TableSyntax, default: tuple[str, str]) -> None:
    """What TiDB words itself of a definition that makes no table; `default` are its database's charset and collation.
    """
    names: set[str] = set()
    for column in syntax.columns:
        if column.name.lower() in names:
            raise tidb("schema:1060", column.name)
        if len(column.name) > 64:
            raise tidb("ddl:1059", column.name)
        names.add(column.name.lower())
    if not names:
        raise tidb("ddl:1113")
    keys = [*syntax.keys, *(one for column in syntax.columns for one in column.keys)]
    if sum(one.kind == "primary" for one in keys) > 1:
        raise tidb("schema:1068")
    check_key_columns(syntax, names)
    check_auto_increment(syntax, [one.parts[0].column.lower() for one in keys if one.parts and one.kind != "foreign"])
    bare = Table("", syntax.name, tuple(check_columns(syntax, default)))
    for key in keys:
        check_key(key, bare)
    for column in syntax.columns:
        if column.null and any(key.kind == "primary" and named(key, column.name) for key in keys):
            raise tidb("ddl:1171")


def check_key(key: KeySyntax, table: Table) -> None:
    """A key that the columns can have."""
    if key.kind == "primary" and any(part.expression for part in key.parts):
        raise tidb("ddl:3756")
    if key.kind in INDEXED:
        check_parts(key, table)


def named(key: KeySyntax, column: str) -> bool:
    return column.lower() in [part.column.lower() for part in key.parts]


def check_auto_increment(syntax: TableSyntax, firsts: list[str]) -> None:
    """One column at most, and the first of a key; `firsts` are the first columns of keys."""
    columns = [column for column in syntax.columns if column.auto_increment]
    if len(columns) > 1 or any(column.name.lower() not in firsts for column in columns):
        raise tidb("autoid:1075")


def check_columns(syntax: TableSyntax, default: tuple[str, str]) -> Iterator[Column]:
    """The columns, each as its definition says; raises DdlError."""
    values = {option.name: "" if option.default else option.value for option in syntax.options}
    with refused("ddl:1115"):
        charset = resolve(values.get("CHARSET", ""), values.get("COLLATE", ""), default, f"table {syntax.name!r}")
    for column in syntax.columns:
        check_definition(column, charset)
        with refused("ddl:1105"):
            yield build_column(column, charset, "")


def check_key_columns(syntax: TableSyntax, names: set[str]) -> None:
    taken: set[str] = set()
    for one in syntax.keys:
        for part in one.parts:
            if part.column and part.column.lower() not in names:
                raise tidb("ddl:1072", part.column)
        if one.name and one.kind in ("key", "unique"):
            if one.name.lower() in taken:
                raise tidb("ddl:1061", one.name)
            taken.add(one.name.lower())


def check_table(table: Table, catalog: Catalog, text: str) -> None:
    """What TiDB asks of a new table beside its syntax."""
    for column in table.columns:
        for name in sorted(generated_from(column)):
            if column_named(table, name) is None:
                raise tidb("ddl:1054", name, "generated column function")
    check_partitioned_table(table)
    names: set[str] = set()
    for foreign in table.foreign_keys:
        if foreign.name.lower() in names:
            raise tidb("ddl:1826", foreign.name)
        names.add(foreign.name.lower())
        check_foreign_key(foreign, replace(table, foreign_keys=()), catalog)
    if table.ttl is not None:
        check_ttl(table.ttl.column, table, KnownTable(catalog, table, text, ""))
