"""Statements on views and sequences.

One law: a name is free for a table, a view or a sequence, whichever comes first (TiDB: pkg/ddl/executor.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from simulator.tidb.ddl import actions
from simulator.tidb.ddl.catalog import Catalog, Key, Sequence, View, key as place_of
from simulator.tidb.ddl.session import Executed, Job, Session
from simulator.tidb.ddl.tidb_errors import tidb
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.objects import (
    AlterSequence,
    CreateSequence,
    CreateView,
    DropSequence,
    DropView,
    SequenceOption,
)

T = TypeVar("T")


def create_view(statement: CreateView, text: str, session: Session) -> Executed:
    """OR REPLACE takes the place of a view, not of a table."""
    name = session.written(statement.view)

    def change(catalog: Catalog) -> Catalog:
        place = _placed(catalog, name)
        if catalog.has(*name) and not (statement.or_replace and place in catalog.views):
            if statement.or_replace:
                raise tidb("ddl:1347", *name, "VIEW")
            raise tidb("schema:1050", ".".join(name))
        view = View(name.schema, name.name, statement.query.text, statement.columns)
        return replace(catalog, views={**catalog.views, place: view})

    return session.done([Job(actions.CREATE_VIEW, text, statement, *session.new(statement.view))], change)


def _placed(catalog: Catalog, name: TableName) -> Key:
    """Where a name belongs; raises DdlError for an unknown database."""
    if catalog.database(name.schema) is None:
        raise tidb("schema:1049", name.schema)
    return place_of(*name)


def drop_view(statement: DropView, text: str, session: Session) -> Executed:
    """A job for each view that is there; raises DdlError for another object, and naming those that are not there,
    unless IF EXISTS."""
    catalog = session.catalog
    there, missing, left = _parted(statement.views, catalog.views if catalog else {}, session, "VIEW")
    if missing and not statement.if_exists:
        raise tidb("schema:1051", ",".join(map(".".join, missing)))
    jobs = tuple(Job(actions.DROP_VIEW, text, statement, *session.named(name)) for name in there)
    notes = tuple(f"Unknown table '{'.'.join(name)}': no job" for name in missing)
    return Executed(jobs, notes, replace(catalog, views=left) if catalog else None)


def _parted(
    names: Iterable[TableName], known: Mapping[Key, T], session: Session, kind: str
) -> tuple[list[TableName], list[TableName], Mapping[Key, T]]:
    """The names that are there (all where nothing is known), those that are not, and what is left without the former;
    raises DdlError for another object, unless `kind` is empty."""
    there: list[TableName] = []
    missing: list[TableName] = []
    left = dict(known)
    for name in map(session.written, names):
        place = place_of(*name)
        if session.catalog is None or left.pop(place, None) is not None:
            there.append(name)
        elif kind and session.catalog.has(*name) and place not in known:
            raise tidb("ddl:1347", *name, kind)
        else:
            missing.append(name)
    return there, missing, left


def create_sequence(statement: CreateSequence, text: str, session: Session) -> Executed:
    name, catalog = session.written(statement.sequence), session.catalog
    if catalog is not None:
        place = _placed(catalog, name)
        if catalog.has(*name):
            if statement.if_not_exists:
                return session.nothing(f"Table '{'.'.join(session.named(name))}' already exists: no job")
            raise tidb("schema:1050", ".".join(name))
        sequence = Sequence(*name, _settings(statement.options))
        catalog = replace(catalog, sequences={**catalog.sequences, place: sequence})
    return Executed((Job(actions.CREATE_SEQUENCE, text, statement, *session.new(name)),), (), catalog)


def alter_sequence(statement: AlterSequence, text: str, session: Session) -> Executed:
    name, catalog = session.written(statement.sequence), session.catalog
    if catalog is not None:
        old = catalog.sequences.get(place_of(*name))
        if old is None:
            if catalog.has(*name):
                raise tidb("ddl:1347", *name, "SEQUENCE")
            if statement.if_exists:
                return session.nothing(_unknown(name))
            raise tidb("schema:1146", *name)
        new = replace(old, options=(*old.options, *_settings(statement.options)))
        catalog = replace(catalog, sequences={**catalog.sequences, place_of(*name): new})
    return Executed((Job(actions.ALTER_SEQUENCE, text, statement, *session.named(name)),), (), catalog)


def drop_sequence(statement: DropSequence, text: str, session: Session) -> Executed:
    """As DROP VIEW, but that IF EXISTS passes over other objects too."""
    catalog, kind = session.catalog, "" if statement.if_exists else "SEQUENCE"
    there, missing, left = _parted(statement.sequences, catalog.sequences if catalog else {}, session, kind)
    if missing and not statement.if_exists:
        raise tidb("schema:4139", ",".join(map(".".join, missing)))
    jobs = tuple(Job(actions.DROP_SEQUENCE, text, statement, *session.named(name)) for name in there)
    return Executed(jobs, tuple(map(_unknown, missing)), replace(catalog, sequences=left) if catalog else None)


def _unknown(name: TableName) -> str:
    return f"Unknown SEQUENCE: '{'.'.join(name)}': no job"


def _settings(options: Iterable[SequenceOption]) -> tuple[tuple[str, int | None], ...]:
    return tuple((option.name, option.value) for option in options)
