"""ALTER TABLE … MODIFY and CHANGE COLUMN.

One law: the new definition says everything but the keys: what it leaves out is gone (TiDB v8.5:
pkg/ddl/modify_column.go, GetModifiableColumnJob).
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb.ddl import actions
from simulator.tidb.ddl.evolve_column_names import check_rename, renamed
from simulator.tidb.ddl.evolve_defaults import default_of
from simulator.tidb.ddl.evolve_definitions import MOST_ROOM, built_column, check_definition
from simulator.tidb.ddl.evolve_errors import tidb, worded
from simulator.tidb.ddl.evolve_modify_checks import (
    check_auto_increment,
    check_auto_random,
    check_foreign_keys,
    check_generation,
    check_keys,
    check_partitioning,
    check_rewritten,
    has_part,
)
from simulator.tidb.ddl.evolve_steps import Alteration, KnownTable, Step, Steps, Touched, column_named
from simulator.tidb.ddl.evolve_types import check_change, needs_reorganization
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import family
from simulator.tidb.syntax.alter import ChangeColumn, ModifyColumn, Place
from simulator.tidb.syntax.definitions import ColumnSyntax, TableName

REFUSED_OPTIONS = {
    "primary": "can't change column constraint (PRIMARY KEY)",
    "unique": "can't change column constraint (UNIQUE KEY)",
    "references": "Unsupported modify column: can't modify with references",
    "check": "Unsupported modify column: can't modify with check",
}


def modify_column(spec: ModifyColumn, alteration: Alteration) -> Steps:
    check_qualifier(spec.column.qualifier, alteration.name)
    return changed_column(spec.column.name, spec.column, spec.place, spec.if_exists, alteration)


def change_column(spec: ChangeColumn, alteration: Alteration) -> Steps:
    check_qualifier(spec.column.qualifier, alteration.name)
    check_qualifier(spec.qualifier, alteration.name)
    return changed_column(spec.old, spec.column, spec.place, spec.if_exists, alteration)


def check_qualifier(qualifier: str, table: TableName) -> None:
    """`database.table` or `table` before a column's name is the table's own."""
    schema, _, name = qualifier.rpartition(".")
    if schema and schema.lower() != table.schema.lower():
        raise tidb("ddl:1102", schema)
    if name and name.lower() != table.name.lower():
        raise tidb("ddl:1103", name)


def changed_column(
    name: str, syntax: ColumnSyntax, place: Place | None, if_exists: bool, alteration: Alteration,
) -> Steps:
    """The column under another definition, in another place, by another name; raises DdlError."""
    known, touched = alteration.known, touched_by(name, syntax.name, place)
    if known is None:
        check_options(syntax)
        check_definition(syntax, MOST_ROOM)
        yield Step(actions.MODIFY_COLUMN, touched=touched)
        return
    table = known.table
    old = column_named(table, name)
    if old is None:
        if if_exists:
            yield f"Unknown column '{name}' in '{table.name}': no job"
            return
        raise tidb("schema:1054", name, table.name)
    if syntax.name.lower() != name.lower():
        check_rename(name, syntax.name, table)
    new = redefined(old, syntax, known)
    check_modified(old, new, known)
    check_moved(old, place, table)
    names = {old.name: new.name} if old.name != new.name else {}
    rewritten = needs_reorganization(old.type, new.type)
    yield Step(actions.MODIFY_COLUMN, lambda before: modified(before, old.name, new, place, rewritten), touched, names)


def touched_by(old: str, new: str, place: Place | None) -> Touched:
    placed = (place.after.lower(),) if place and place.after else ()
    if old.lower() == new.lower():
        return Touched(modified=(old.lower(),), placed=placed)
    return Touched(added=(new.lower(),), dropped=(old.lower(),), placed=placed)


def check_options(syntax: ColumnSyntax) -> None:
    """A new definition says nothing of keys (TiDB: ProcessModifyColumnOptions)."""
    for option in syntax.options:
        if option.kind in REFUSED_OPTIONS:
            raise worded("ddl:8200", REFUSED_OPTIONS[option.kind])


def redefined(old: Column, syntax: ColumnSyntax, known: KnownTable) -> Column:
    """The column as its new definition says, NOT NULL where the primary key has it."""
    table = known.table
    check_options(syntax)
    primary = old.name in table.primary_key
    if primary and syntax.null:
        raise tidb("ddl:1171")
    new = built_column(syntax, known, (table.charset, table.collation))
    if syntax.default and (primary or syntax.null is False) and default_of(syntax.default, new)[0] is None:
        raise tidb("types:1067", new.name)
    rewritten = needs_reorganization(old.type, new.type)
    return replace(
        new,
        id=old.id,
        not_null=primary or syntax.null is False,
        origin_default=new.default if rewritten and not new.default_expression else old.origin_default,
    )


def check_modified(old: Column, new: Column, known: KnownTable) -> None:
    """Everything that TiDB refuses of a new definition, in its order."""
    table = known.table
    primary = old.name in table.primary_key
    check_foreign_keys(old, new, known)
    check_change(old, new, primary, any(has_part(index, old) for index in table.indexes))
    if needs_reorganization(old.type, new.type):
        check_rewritten(old, new, table)
    check_partitioning(old, new, table)
    check_auto_increment(old, new)
    check_keys(old, new, table)
    check_generation(old, new, table)
    if table.ttl and table.ttl.column.lower() == old.name.lower() and family(new.type) not in ("date", "datetime"):
        raise tidb("ddl:8148", new.name)
    check_auto_random(old, new, primary and table.clustered)


def check_moved(old: Column, place: Place | None, table: Table) -> None:
    """The column that it goes behind is there, and is another."""
    if place is None or not place.after:
        return
    if place.after.lower() == old.name.lower() or column_named(table, place.after) is None:
        raise tidb("schema:1054", old.name if place.after.lower() == old.name.lower() else place.after, table.name)


def modified(table: Table, old: str, new: Column, place: Place | None, rewritten: bool) -> Table:
    """The table with the column so redefined, renamed and moved; where rows are written anew, its keys are new too."""
    changed = renamed(table, old, new.name) if old != new.name else table
    if rewritten:
        changed = with_new_keys(changed, new.name)
    columns = [new if one.name == new.name else one for one in changed.columns]
    if place is not None:
        columns.remove(new)
        names = [one.name.lower() for one in columns]
        columns.insert(names.index(place.after.lower()) + 1 if place.after else 0, new)
    return replace(changed, columns=tuple(columns))


def with_new_keys(table: Table, column: str) -> Table:
    """The table with the keys of the column under the next ids, each in its place (TiDB: onModifyColumn)."""
    last = max(table.last_ids.index, *(index.id for index in table.indexes), 0)
    having = [index.id for index in table.indexes if column in (part.name for part in index.columns)]
    ids = {id: last + number for number, id in enumerate(having, 1)}
    indexes = tuple(replace(index, id=ids.get(index.id, index.id)) for index in table.indexes)
    return replace(table, indexes=indexes, last_ids=replace(table.last_ids, index=last + len(ids)))
