"""Statements on views and sequences, which share one namespace with tables (TiDB: pkg/ddl/executor.go)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeVar

from simulator.tidb import syntax
from simulator.tidb.ddl.actions import Action
from simulator.tidb.ddl.catalog import Catalog, Key, SequenceInfo, ViewInfo
from simulator.tidb.ddl.catalog import object_key as place_of
from simulator.tidb.ddl.session import ExecutionResult, Job, Session, drop_each
from simulator.tidb.errors import tidb_error
from simulator.tidb.model.table import shown_columns
from simulator.tidb.parser.select import field_names

T = TypeVar("T")


def create_view(statement: syntax.CreateView, text: str, session: Session) -> ExecutionResult:
    """Execute CREATE VIEW. OR REPLACE can replace a view only."""
    name = session.qualified_name(statement.view)

    def change(catalog: Catalog) -> Catalog:
        place = _checked_key(catalog, name)
        if catalog.has(*name) and not (statement.or_replace and place in catalog.views):
            if statement.or_replace:
                raise tidb_error("ddl:1347", *name, "VIEW")
            raise tidb_error("schema:1050", ".".join(name))
        stars: dict[Key, tuple[str, ...]] = {}
        names = _field_names(statement, catalog, session, stars)
        view = ViewInfo(
            name.schema, name.name, statement.query.restored, statement.columns or names, tuple(stars.items())
        )
        return replace(catalog, views={**catalog.views, place: view})

    return session.with_jobs([Job(Action.CREATE_VIEW, text, statement, *session.new_name(statement.view))], change)


def _checked_key(catalog: Catalog, name: syntax.TableName) -> Key:
    """Return the key of a name. Raises DdlError for an unknown database."""
    catalog.existing_database(name.schema)
    return place_of(*name)


def _field_names(
    statement: syntax.CreateView, catalog: Catalog, session: Session, stars: dict[Key, tuple[str, ...]]
) -> tuple[str, ...]:
    """Return the names of the columns of a view that does not name them; note the columns of tables that `*` means."""

    def columns_of(schema: str, name: str) -> tuple[str, ...]:
        place = place_of(schema or session.database, name)
        view = catalog.views.get(place)
        stars[place] = view.columns if view else tuple(column.name for column in shown_columns(catalog.tables[place]))
        return stars[place]

    tree = statement.query.tree
    return () if tree is None else field_names(tree, columns_of)


def drop_view(statement: syntax.DropView, text: str, session: Session) -> ExecutionResult:
    def without(catalog: Catalog, name: syntax.TableName) -> Catalog | None:
        if catalog.has(*name) and place_of(*name) not in catalog.views:
            raise tidb_error("ddl:1347", *name, "VIEW")
        return replace(catalog, views=_without(catalog.views, name)) if catalog.has(*name) else None

    job = Job(Action.DROP_VIEW, text, statement)
    return drop_each(statement.views, without, job, "schema:1051", statement.if_exists, session)


def _without(objects: Mapping[Key, T], name: syntax.TableName) -> dict[Key, T]:
    return {place: each for place, each in objects.items() if place != place_of(*name)}


def create_sequence(statement: syntax.CreateSequence, text: str, session: Session) -> ExecutionResult:
    name, catalog = session.qualified_name(statement.sequence), session.catalog
    if catalog is not None:
        place = _checked_key(catalog, name)
        if catalog.has(*name):
            if statement.if_not_exists:
                return session.without_jobs(f"Table '{'.'.join(session.existing_name(name))}' already exists: no job")
            raise tidb_error("schema:1050", ".".join(name))
        sequence = _checked(SequenceInfo(*name, _option_pairs(statement.options)))
        catalog = replace(catalog, sequences={**catalog.sequences, place: sequence})
    return ExecutionResult((Job(Action.CREATE_SEQUENCE, text, statement, *session.new_name(name)),), (), catalog)


def alter_sequence(statement: syntax.AlterSequence, text: str, session: Session) -> ExecutionResult:
    name, catalog = session.qualified_name(statement.sequence), session.catalog
    if catalog is not None:
        old = catalog.sequences.get(place_of(*name))
        if old is None:
            if catalog.has(*name):
                raise tidb_error("ddl:1347", *name, "SEQUENCE")
            if statement.if_exists:
                return session.without_jobs(f"Unknown SEQUENCE: '{'.'.join(name)}': no job")
            raise tidb_error("schema:1146", *name)
        new = _checked(replace(old, options=(*old.options, *_option_pairs(statement.options))))
        catalog = replace(catalog, sequences={**catalog.sequences, place_of(*name): new})
    return ExecutionResult((Job(Action.ALTER_SEQUENCE, text, statement, *session.existing_name(name)),), (), catalog)


def drop_sequence(statement: syntax.DropSequence, text: str, session: Session) -> ExecutionResult:
    """Execute DROP SEQUENCE. Unlike DROP VIEW, IF EXISTS skips objects of other kinds."""

    def without(catalog: Catalog, name: syntax.TableName) -> Catalog | None:
        if place_of(*name) in catalog.sequences:
            return replace(catalog, sequences=_without(catalog.sequences, name))
        if catalog.has(*name) and not statement.if_exists:
            raise tidb_error("ddl:1347", *name, "SEQUENCE")
        return None

    job = Job(Action.DROP_SEQUENCE, text, statement)
    return drop_each(statement.sequences, without, job, "schema:4139", statement.if_exists, session)


def _checked(sequence: SequenceInfo) -> SequenceInfo:
    """Return a sequence. Raises DdlError 4136 for options that do not go together."""
    if not is_valid(sequence):
        raise tidb_error("schema:4136", sequence.schema, sequence.name)
    return sequence


def _option_pairs(options: Iterable[syntax.SequenceOption]) -> tuple[tuple[str, int | None], ...]:
    return tuple((option.name, option.value) for option in options)


# -- options of sequences -------------------------------------------------------------------------------------------------


CACHE = 1000


class SequenceLimits(NamedTuple):
    start: int
    least: int
    most: int
    increment: int
    cache: int
    """0 for NOCACHE."""

    cycle: bool


def sequence_limits(sequence: SequenceInfo) -> SequenceLimits:
    """Return the options of a sequence. Of two that exclude each other the last one counts."""
    given = dict(sequence.options)
    increment = given.get("INCREMENT BY") or 1
    least = _limit(sequence, "MINVALUE", 1 if increment > 0 else -(2**63) + 1)
    most = _limit(sequence, "MAXVALUE", 2**63 - 2 if increment > 0 else -1)
    start = given.get("START WITH")
    start = (least if increment > 0 else most) if start is None else start
    cached = _last(sequence, "CACHE", "NOCACHE") != "NOCACHE"
    cache = (given.get("CACHE") or CACHE) if cached else 0
    return SequenceLimits(start, least, most, increment, cache, _last(sequence, "CYCLE", "NOCYCLE") == "CYCLE")


def is_valid(sequence: SequenceInfo) -> bool:
    """Return whether the options go together (tidb pkg/ddl/sequence.go, validateSequenceOptions)."""
    given, limits = dict(sequence.options), sequence_limits(sequence)
    if given.get("INCREMENT BY") == 0 or limits.cache <= 0 and _last(sequence, "CACHE", "NOCACHE") == "CACHE":
        return False
    step = abs(limits.increment)
    return (
        limits.least <= limits.start <= limits.most
        and limits.least < limits.most < 2**63 - 1
        and limits.least > -(2**63)
        and limits.cache < (2**63 - 1 - step) // step
    )


def _limit(sequence: SequenceInfo, name: str, usual: int) -> int:
    value = dict(sequence.options).get(name) if _last(sequence, name, f"NO {name}") == name else None
    return usual if value is None else value


def _last(sequence: SequenceInfo, *names: str) -> str:
    """Return the last of these options, or an empty text without any."""
    return next((name for name, _ in reversed(sequence.options) if name in names), "")
