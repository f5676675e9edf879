"""ALTER TABLE … RENAME COLUMN, and another default.

One law: a name changes wherever the table has it; a default changes for rows to come (TiDB: pkg/ddl/executor.go,
RenameColumn, AlterColumn).
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb.ddl import actions
from simulator.tidb.ddl.evolve_defaults import default_of
from simulator.tidb.ddl.evolve_errors import tidb
from simulator.tidb.ddl.evolve_expressions import dependent, partition_columns
from simulator.tidb.ddl.evolve_steps import Alteration, Step, Steps, Touched, column_named
from simulator.tidb.model.table import IndexColumn, Table
from simulator.tidb.syntax.alter import AlterDefault, RenameColumn

LONGEST_NAME = 64


def rename_column(spec: RenameColumn, alteration: Alteration) -> Steps:
    """A new name, in the keys, foreign keys and TTL too; raises DdlError."""
    known, old, new = alteration.known, spec.old, spec.new
    if known is not None and column_named(known.table, old) is None:
        raise tidb("schema:1054", old, known.table.name)
    if old.lower() == new.lower():
        yield "the column has that name: no job"
        return
    if known is not None:
        check_rename(old, new, known.table)
        if old.lower() in partition_columns(known.table.partitioning):
            raise tidb("ddl:3855", old.lower())
    touched = Touched(added=(new.lower(),), dropped=(old.lower(),))
    yield Step(actions.MODIFY_COLUMN, lambda before: renamed(before, old, new), touched, {old: new})


def check_rename(old: str, new: str, table: Table) -> None:
    """The new name is free, and no expression has the old one."""
    if new.lower() == "_tidb_rowid":
        raise tidb("ddl:1166", new.lower())
    check_name(new)
    if column_named(table, new):
        raise tidb("schema:1060", new)
    if needed := dependent(table, old):
        raise tidb("ddl:3108" if needed == "generated" else "ddl:3837", old)


def renamed(table: Table, old: str, new: str) -> Table:
    """The table with the column under its new name wherever it is named."""
    def name(one: str) -> str:
        return new if one.lower() == old.lower() else one

    def part(one: IndexColumn) -> IndexColumn:
        return replace(one, name=name(one.name))

    ttl = replace(table.ttl, column=name(table.ttl.column)) if table.ttl else None
    return replace(
        table,
        columns=tuple(replace(one, name=name(one.name)) for one in table.columns),
        indexes=tuple(replace(one, columns=tuple(map(part, one.columns))) for one in table.indexes),
        columnar_indexes=tuple(replace(one, columns=tuple(map(part, one.columns))) for one in table.columnar_indexes),
        primary_key=tuple(map(name, table.primary_key)),
        foreign_keys=tuple(replace(one, columns=tuple(map(name, one.columns))) for one in table.foreign_keys),
        ttl=ttl,
    )


def alter_default(spec: AlterDefault, alteration: Alteration) -> Steps:
    """Another default for rows to come; existing rows keep what they hold. Raises DdlError."""
    touched = Touched(modified=(spec.column.lower(),))
    if alteration.known is None:
        yield Step(actions.SET_DEFAULT_VALUE, touched=touched)
        return
    table = alteration.known.table
    column = column_named(table, spec.column)
    if column is None:
        raise tidb("ddl:1054", spec.column, table.name)
    if spec.default is not None and column.auto_random:
        raise tidb("ddl:8216", "auto_random is incompatible with default")
    value, is_expression = default_of(spec.default, column) if spec.default else (None, False)
    if spec.default and value is None and column.not_null:
        raise tidb("types:1067", column.name)
    name = column.name

    def apply(before: Table) -> Table:
        return replace(before, columns=tuple(
            replace(one, default=value, default_expression=is_expression) if one.name == name else one
            for one in before.columns
        ))

    yield Step(actions.SET_DEFAULT_VALUE, apply, touched)


def check_name(name: str) -> None:
    if len(name) > LONGEST_NAME:
        raise tidb("ddl:1059", name)
    if not name or name != name.rstrip() or name.lower() == "_tidb_rowid":
        raise tidb("ddl:1166", name)
