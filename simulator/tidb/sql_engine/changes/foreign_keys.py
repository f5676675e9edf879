"""Foreign keys, as far as TiDB checks them: what a statement's changes ask of other tables, and do to them.

One law: they are looked at once a statement has written all its rows; what cascades is looked at in its turn (tidb
pkg/executor/foreign_key.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Places, raw
from simulator.errors import SqlError
from simulator.tidb.ddl.constraints.foreign_keys import referring
from simulator.tidb.keys import ordered
from simulator.tidb.model.table import ForeignKey, Table
from simulator.tidb.sql_engine.changes.assign import assigned
from simulator.tidb.sql_engine.changes.checks import checked
from simulator.tidb.sql_engine.changes.update_rows import updated
from simulator.tidb.sql_engine.errors import refused
from simulator.tidb.sql_engine.storage.names import Mask, valid, where
from simulator.tidb.sql_engine.storage.row_keys import columns_by_name, found_in
from simulator.tidb.sql_engine.storage.rows import KeyedRows, columns_of, put, rows_of, taken, taken_rows, with_keys
from simulator.tidb.sql_engine.storage.state import Upstream
from simulator.tidb.sql_engine.storage.table_writes import NONE, Change, Failed, nothing_written

CASCADES = ("CASCADE", "SET NULL")

DEEPEST = 15
"""Cascades inside of cascades that TiDB follows (tidb pkg/executor/foreign_key.go, maxForeignKeyCascadeDepth)."""


def enforced(upstream: Upstream, changes: Sequence[Change], now_ms: int) -> tuple[Upstream, list[Change]]:
    """The rows behind ON DELETE and ON UPDATE, and all changes with those that they made.

    Raises SqlError 1452 for a row without a parent, 1451 for a parent that rows still refer to, 3008 for cascades that
    are too deep.
    """
    if not looks_at(upstream):
        return upstream, list(changes)
    return _triggered(upstream, changes, now_ms, 1)


def looks_at(upstream: Upstream) -> bool:
    """Whether foreign keys are minded."""
    return upstream.session.foreign_key_checks and upstream.release.foreign_key_checks


def _triggered(upstream: Upstream, changes: Sequence[Change], now_ms: int, depth: int) -> tuple[Upstream, list[Change]]:
    """What changes lead to: first what they must not, then one cascade after another, each with what it leads to (tidb
    pkg/executor/adapter.go, handleForeignKeyTrigger)."""
    for change in changes:
        for foreign in change.table.foreign_keys:
            missing = orphans(upstream, change.table, foreign, _new_children(change, foreign))
            if missing.any():
                raise refused(1452, shown(change.table, foreign))
    done, cascades = list(changes), []
    for change in changes:
        for child, foreign in list(referring(upstream.catalog, change.table.schema, change.table.name)):
            for event in _events(change, foreign):
                if event.rule in CASCADES:
                    cascades.append((event, child, foreign))
                elif len(_children(upstream, event, child, foreign)[0]):
                    raise refused(1451, shown(child, foreign))
    for event, child, foreign in cascades:
        if depth > DEEPEST:
            raise SqlError(3008, "HY000", f"Foreign key cascade delete/update exceeds max depth of {DEEPEST}.")
        upstream, made = _followed(upstream, event, child, foreign, now_ms)
        upstream, more = _triggered(upstream, made, now_ms, depth + 1)
        done += more
    return upstream, done


def ignored_orphans(upstream: Upstream, table: Table, fresh: KeyedRows) -> tuple[KeyedRows, list[SqlError]]:
    """New rows of INSERT IGNORE without those that have no parent, whose errors are warnings (tidb
    pkg/executor/foreign_key.go, checkRows)."""
    errors: list[SqlError] = []
    if not looks_at(upstream):
        return fresh, errors
    for foreign in table.foreign_keys:
        missing = orphans(upstream, table, foreign, fresh)
        if missing.any():
            errors += [refused(1452, shown(table, foreign))] * int(missing.sum())
            fresh = taken_rows(fresh, where(~missing))
    return fresh, errors


def _new_children(change: Change, foreign: ForeignKey) -> KeyedRows:
    """Rows that came, and those whose foreign key is another one."""
    asks = np.ones(len(change.fresh), np.bool_)
    if change.updates:
        asks[: change.updates] = _differ(change, foreign.columns)
    return change.fresh if asks.all() else taken_rows(change.fresh, where(asks))


def _differ(change: Change, columns: Sequence[str]) -> Mask:
    """In which updated rows a key has another value."""
    old = _values(change.table, columns, change.gone.texts).slice(0, change.updates)
    new = _values(change.table, columns, change.fresh.texts).slice(0, change.updates)
    equal = pc.fill_null(pc.equal(old, new), pc.and_(old.is_null(), new.is_null()))
    found: Mask = ~np.asarray(equal, bool)
    return found


def _values(table: Table, columns: Sequence[str], texts: Mapping[str, pa.Array]) -> pa.Array:
    """The values of some columns as bytes that are equal where they are; null where one is NULL."""
    known = [columns_by_name(table)[name.lower()] for name in columns]
    parts = [raw(ordered(column.type, texts[column.name])) for column in known]
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, b"")


def orphans(upstream: Upstream, table: Table, foreign: ForeignKey, rows: KeyedRows) -> Mask:
    """Which rows refer to a parent that is not there; none where the whole table of parents is not there (tidb
    pkg/planner/core/foreign_key.go, buildFKCheckOnModifyChildTable)."""
    if not len(rows):
        return np.zeros(0, np.bool_)
    values = _values(table, foreign.columns, rows.texts)
    asks = valid(values)
    parent = upstream.catalog.table(foreign.schema, foreign.table)
    if parent is None or not asks.any():
        return np.zeros(len(rows), np.bool_)
    if not _is_indexed(parent, foreign.references):
        return np.ones(len(rows), np.bool_)
    parents = _values(parent, foreign.references, columns_of(rows_of(upstream, parent).cells))
    return asks & (found_in(parents, values) < 0)


def _is_indexed(table: Table, columns: Sequence[str]) -> bool:
    """Whether an index begins with some columns: a table of that name may have come in place of the parents'."""
    wanted = [name.lower() for name in columns]
    begun = [[part.name.lower() for part in index.columns][: len(wanted)] for index in table.indexes]
    return sorted(wanted) in [sorted(names) for names in (*begun, [name.lower() for name in table.primary_key])]


def check_new(upstream: Upstream, before: Table | None, table: Table) -> None:
    """Raises SqlError 1452 where a row has no parent by a foreign key that ALTER TABLE adds (tidb v8.5
    pkg/ddl/foreign_key.go, checkForeignKeyConstrain)."""
    if before is None or before is table or before.foreign_keys == table.foreign_keys:
        return
    stored = rows_of(upstream, table)
    rows = taken(stored, np.arange(len(stored.row_ids)))
    had = {foreign.id for foreign in before.foreign_keys}
    for foreign in table.foreign_keys:
        if foreign.id not in had and orphans(upstream, table, foreign, rows).any():
            raise refused(1452, shown(table, foreign))


class Event(NamedTuple):
    """Parents that went, or that have another key."""

    change: Change
    parents: Mask
    """Which of the rows that went."""

    rule: str
    updates: bool


def _events(change: Change, foreign: ForeignKey) -> Iterator[Event]:
    """What a foreign key asks of a change of its parents."""
    old = _values(change.table, foreign.references, change.gone.texts)
    moved = valid(old)
    if change.updates:
        moved[: change.updates] &= _differ(change, foreign.references)
    paired = np.arange(len(old)) < change.updates
    for parents, rule, updates in (
        (moved & ~paired, foreign.on_delete, False),
        (moved & paired, foreign.on_update, True),
    ):
        if parents.any():
            yield Event(change, parents, rule.upper(), updates)


def _children(upstream: Upstream, event: Event, child: Table, foreign: ForeignKey) -> tuple[Places, Places]:
    """The places of the rows that refer to parents, and which parent each refers to."""
    old = _values(event.change.table, foreign.references, event.change.gone.texts).filter(pa.array(event.parents))
    which = found_in(old, _values(child, foreign.columns, columns_of(rows_of(upstream, child).cells)))
    places = np.flatnonzero(which >= 0)
    return places, np.flatnonzero(event.parents)[which[places]]


def _followed(
    upstream: Upstream, event: Event, child: Table, foreign: ForeignKey, now_ms: int
) -> tuple[Upstream, list[Change]]:
    """What becomes of the children of some parents that went or have another key."""
    places, parents = _children(upstream, event, child, foreign)
    if not len(places):
        return upstream, []
    start = nothing_written(upstream, child, now_ms)
    rows = taken(start.stored, places)
    if event.rule == "CASCADE" and not event.updates:
        written = start.with_change(places, taken(start.stored, NONE), 0, len(places))
        return put(upstream, written.stored), list(written.changes)
    names = [columns_by_name(child)[name.lower()].name for name in foreign.columns]
    if event.rule == "SET NULL":
        values = {name: pa.nulls(len(places), pa.binary()) for name in names}
    else:
        known = columns_by_name(event.change.table)
        values = {
            name: event.change.fresh.texts[known[other.lower()].name].take(pa.array(parents))
            for name, other in zip(names, foreign.references, strict=True)
        }
    texts = assigned(child, values, len(places), upstream, now_ms, existing=rows.texts).texts
    new = checked(with_keys(child, texts, rows.row_ids), child, upstream, now_ms)
    try:
        written = updated(start, places, new, ignore=False)
    except Failed as failure:
        raise failure.error from None
    return put(upstream, replace(written.stored, counters=written.counters)), list(written.changes)


def shown(table: Table, foreign: ForeignKey) -> str:
    """A foreign key as errors 1451 and 1452 say it (tidb pkg/meta/model, FKInfo.String)."""
    columns, references = (", ".join(f"`{name}`" for name in names) for names in (foreign.columns, foreign.references))
    parent = (
        f"`{foreign.table}`"
        if foreign.schema.lower() == table.schema.lower()
        else (f"`{foreign.schema}`.`{foreign.table}`")
    )
    text = (
        f"`{table.schema}`.`{table.name}`, CONSTRAINT `{foreign.name}` FOREIGN KEY ({columns}) REFERENCES "
        f"{parent} ({references})"
    )
    for event, rule in (("DELETE", foreign.on_delete), ("UPDATE", foreign.on_update)):
        text += f" ON {event} {rule.upper()}" if rule else ""
    return text
