"""Statements on databases, views and sequences.

One law: a name is free for a table, a view or a sequence, whichever comes first (TiDB: pkg/ddl/executor.go).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from simulator.tidb.ddl.build import DEFAULT_CHARSET
from simulator.tidb.ddl.catalog import (
    Catalog,
    Database,
    Key,
    Sequence,
    View,
    key as place_of,
    with_database,
    without_database,
)
from simulator.tidb.ddl.evolve_errors import refused, tidb, worded
from simulator.tidb.ddl.evolve_tables import qualified, selected
from simulator.tidb.model.charsets import resolve
from simulator.tidb.syntax.objects import (
    AlterSequence,
    CreateSequence,
    CreateView,
    DropSequence,
    DropView,
    SequenceOption,
)
from simulator.tidb.syntax.statements import AlterDatabase, CreateDatabase, DropDatabase, FlashbackDatabase
from simulator.tidb.syntax.tables import TableOption


def create_database(catalog: Catalog, statement: CreateDatabase) -> Catalog:
    if catalog.database(statement.name):
        if statement.if_not_exists:
            return catalog
        raise tidb("schema:1007", statement.name)
    return with_database(catalog, Database(statement.name, *charset(statement.options, DEFAULT_CHARSET)))


def alter_database(catalog: Catalog, statement: AlterDatabase, database: str) -> Catalog:
    """Another default for later tables."""
    name = statement.name or selected(database)
    old = catalog.database(name)
    if old is None:
        raise tidb("schema:1049", name)
    return with_database(catalog, Database(old.name, *charset(statement.options, (old.charset, old.collation))))


def charset(options: Iterable[TableOption], default: tuple[str, str]) -> tuple[str, str]:
    """The charset and collation that the options say, else the default; raises DdlError."""
    values = {option.name: "" if option.default else option.value for option in options}
    with refused("ddl:1115"):
        return resolve(values.get("CHARSET", ""), values.get("COLLATE", ""), default, "database")


def drop_database(catalog: Catalog, statement: DropDatabase) -> Catalog:
    """Without all that it holds; raises DdlError where a table elsewhere refers into it."""
    if catalog.database(statement.name) is None:
        if statement.if_exists:
            return catalog
        raise tidb("schema:1008", statement.name)
    gone = statement.name.lower()
    for table in catalog.tables.values():
        for foreign in table.foreign_keys:
            if foreign.schema.lower() == gone != table.schema.lower() and catalog.table(foreign.schema, foreign.table):
                raise tidb("ddl:3730", foreign.table, foreign.name, table.name)
    return without_database(catalog, statement.name)


def flashback_database(catalog: Catalog, statement: FlashbackDatabase) -> Catalog:
    """A dropped database with its tables; raises DdlError."""
    old = catalog.dropped_databases.get(statement.name.lower())
    if old is None:
        raise worded("ddl:1105", f"Can't find dropped database: {statement.name} in DDL history jobs")
    name = statement.new_name or old.name
    if catalog.database(name):
        raise tidb("schema:1007", name)
    tables = {
        (name.lower(), place[1]): replace(table, schema=name)
        for place, table in catalog.dropped.items() if place[0] == statement.name.lower()
    }
    return with_database(replace(catalog, tables={**catalog.tables, **tables}), replace(old, name=name))


def create_view(catalog: Catalog, statement: CreateView, database: str) -> Catalog:
    """OR REPLACE takes the place of a view, not of a table."""
    name = qualified(statement.view, database)
    place = placed(catalog, *name)
    if catalog.has(*name) and not (statement.or_replace and place in catalog.views):
        if statement.or_replace:
            raise tidb("ddl:1347", *name, "VIEW")
        raise tidb("schema:1050", f"{name.schema}.{name.name}")
    view = View(name.schema, name.name, statement.query.text, statement.columns)
    return replace(catalog, views={**catalog.views, place: view})


def placed(catalog: Catalog, schema: str, name: str) -> Key:
    """Where a name belongs; raises DdlError for an unknown database."""
    if catalog.database(schema) is None:
        raise tidb("schema:1049", schema)
    return place_of(schema, name)


def drop_view(catalog: Catalog, statement: DropView, database: str) -> Catalog:
    views, missing = dict(catalog.views), []
    for name in (qualified(view, database) for view in statement.views):
        if place_of(*name) in views:
            del views[place_of(*name)]
        elif catalog.has(*name):
            raise tidb("ddl:1347", *name, "VIEW")
        else:
            missing.append(f"{name.schema}.{name.name}")
    if missing and not statement.if_exists:
        raise tidb("schema:1051", ",".join(missing))
    return replace(catalog, views=views)


def create_sequence(catalog: Catalog, statement: CreateSequence, database: str) -> Catalog:
    name = qualified(statement.sequence, database)
    place = placed(catalog, *name)
    if catalog.has(*name):
        if statement.if_not_exists:
            return catalog
        raise tidb("schema:1050", f"{name.schema}.{name.name}")
    sequence = Sequence(name.schema, name.name, settings(statement.options))
    return replace(catalog, sequences={**catalog.sequences, place: sequence})


def alter_sequence(catalog: Catalog, statement: AlterSequence, database: str) -> Catalog:
    name = qualified(statement.sequence, database)
    old = catalog.sequences.get(place_of(*name))
    if old is None:
        if catalog.has(*name):
            raise tidb("ddl:1347", *name, "SEQUENCE")
        if statement.if_exists:
            return catalog
        raise tidb("schema:1146", *name)
    new = replace(old, options=(*old.options, *settings(statement.options)))
    return replace(catalog, sequences={**catalog.sequences, place_of(*name): new})


def drop_sequence(catalog: Catalog, statement: DropSequence, database: str) -> Catalog:
    sequences, missing = dict(catalog.sequences), []
    for name in (qualified(sequence, database) for sequence in statement.sequences):
        if place_of(*name) in sequences:
            del sequences[place_of(*name)]
        elif catalog.has(*name) and not statement.if_exists:
            raise tidb("ddl:1347", *name, "SEQUENCE")
        else:
            missing.append(f"{name.schema}.{name.name}")
    if missing and not statement.if_exists:
        raise tidb("schema:4139", ",".join(missing))
    return replace(catalog, sequences=sequences)


def settings(options: Iterable[SequenceOption]) -> tuple[tuple[str, int | None], ...]:
    return tuple((option.name, option.value) for option in options)
