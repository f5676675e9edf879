"""Foreign keys, as far as TiDB checks them: what a statement's changes ask of other tables, and do to them.

One law: they are looked at once a statement has written all its rows; what cascades is looked at in its turn (tidb
pkg/executor/foreign_key.go).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import raw
from simulator.errors import SqlError
from simulator.tidb.ddl.foreign_keys import referring
from simulator.tidb.keys import ordered
from simulator.tidb.model.table import ForeignKey, Table
from simulator.tidb.upstream.assign import assigned
from simulator.tidb.upstream.auto_ids import Counters, Ids
from simulator.tidb.upstream.duplicates import NONE, Change, Written
from simulator.tidb.upstream.moves import updated
from simulator.tidb.upstream.refusals import refused
from simulator.tidb.upstream.state import Upstream
from simulator.tidb.upstream.stored import KeyedRows, changed, columns_of, put, rows_of, taken, taken_rows, with_keys
from simulator.tidb.upstream.targets import Mask, valid, where
from simulator.tidb.upstream.unique import columns_by_name, found_in

DEEPEST = 15
"""Cascades inside of cascades that TiDB follows (tidb pkg/executor/foreign_key.go, maxForeignKeyCascadeDepth)."""


def enforced(upstream: Upstream, changes: Sequence[Change], now_ms: int) -> tuple[Upstream, list[Change]]:
    """The rows behind ON DELETE and ON UPDATE, and all changes with those that they made.

    Raises SqlError 1452 for a row without a parent, 1451 for a parent that rows still refer to, 3008 for cascades that
    are too deep.
    """
    if not upstream.session.foreign_key_checks or not upstream.release.foreign_key_checks:
        return upstream, list(changes)
    for change in changes:
        for foreign in change.table.foreign_keys:
            missing = orphans(upstream, change.table, foreign, _new_children(change, foreign))
            if missing.any():
                raise refused(1452, shown(change.table, foreign))
    done, waiting = list(changes), list(changes)
    for _ in range(DEEPEST + 1):
        further: list[Change] = []
        for change in waiting:
            upstream, made = _cascaded(upstream, change, now_ms)
            further += made
        if not further:
            return upstream, done
        done, waiting = done + further, further
    raise SqlError(3008, "HY000", f"Foreign key cascade delete/update exceeds max depth of {DEEPEST}.")


def _new_children(change: Change, foreign: ForeignKey) -> KeyedRows:
    """Rows that came, and those whose foreign key is another one."""
    asks = np.ones(len(change.fresh), np.bool_)
    if change.updates:
        asks[:change.updates] = _differ(change, foreign.columns)
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
    """Which rows refer to a parent that is not there."""
    if not len(rows):
        return np.zeros(0, np.bool_)
    values = _values(table, foreign.columns, rows.texts)
    asks = valid(values)
    parent = upstream.catalog.table(foreign.schema, foreign.table)
    if parent is None or not asks.any():
        return asks
    parents = _values(parent, foreign.references, columns_of(rows_of(upstream, parent).cells))
    return asks & (found_in(parents, values) < 0)


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


def _cascaded(upstream: Upstream, change: Change, now_ms: int) -> tuple[Upstream, list[Change]]:
    """What a change of parents does to the rows that refer to them."""
    made = []
    table = change.table
    for child, foreign in list(referring(upstream.catalog, table.schema, table.name)):
        old = _values(table, foreign.references, change.gone.texts)
        moved = valid(old)
        if change.updates:
            moved[:change.updates] &= _differ(change, foreign.references)
        paired = np.arange(len(old)) < change.updates
        for parents, rule, updates in (
            (moved & ~paired, foreign.on_delete, False), (moved & paired, foreign.on_update, True),
        ):
            if parents.any():
                upstream, more = _followed(upstream, change, child, foreign, parents, rule.upper(), updates, now_ms)
                made += more
    return upstream, made


def _followed(
    upstream: Upstream, change: Change, child: Table, foreign: ForeignKey, parents: Mask, rule: str, updates: bool,
    now_ms: int,
) -> tuple[Upstream, list[Change]]:
    """What becomes of the children of some parents that went or have another key."""
    stored = rows_of(upstream, child)
    old = _values(change.table, foreign.references, change.gone.texts).filter(pa.array(parents))
    which = found_in(old, _values(child, foreign.columns, columns_of(stored.cells)))
    places = np.flatnonzero(which >= 0)
    if not len(places):
        return upstream, []
    if rule not in ("CASCADE", "SET NULL"):
        raise refused(1451, shown(child, foreign))
    rows = taken(stored, places)
    if rule == "CASCADE" and not updates:
        nothing = taken(stored, NONE)
        return put(upstream, changed(stored, places, nothing)), [Change(child, rows, nothing)]
    names = [columns_by_name(child)[name.lower()].name for name in foreign.columns]
    if rule == "SET NULL":
        values = {name: pa.nulls(len(places), pa.binary()) for name in names}
    else:
        chosen = pa.array(np.flatnonzero(parents)[which[places]])
        known = columns_by_name(change.table)
        values = {
            name: change.fresh.texts[known[other.lower()].name].take(chosen)
            for name, other in zip(names, foreign.references, strict=True)}
    texts = assigned(child, values, len(places), upstream, now_ms, existing=rows.texts).texts
    new = with_keys(child, texts, rows.row_ids)
    counters = Counters(stored.next_auto, stored.next_row_id)
    written = updated(Written(stored, counters, no_new_rows), places, new, ignore=False)
    return put(upstream, written.stored), list(written.changes)


def no_new_rows(rows: int, counters: Counters) -> tuple[Ids, Counters]:
    raise AssertionError("an UPDATE has no new rows")


def shown(table: Table, foreign: ForeignKey) -> str:
    """A foreign key as errors 1451 and 1452 say it (tidb pkg/meta/model, FKInfo.String)."""
    columns, references = (
        ", ".join(f"`{name}`" for name in names) for names in (foreign.columns, foreign.references))
    parent = f"`{foreign.table}`" if foreign.schema.lower() == table.schema.lower() else (
        f"`{foreign.schema}`.`{foreign.table}`")
    text = (f"`{table.schema}`.`{table.name}`, CONSTRAINT `{foreign.name}` FOREIGN KEY ({columns}) REFERENCES "
            f"{parent} ({references})")
    for event, rule in (("DELETE", foreign.on_delete), ("UPDATE", foreign.on_update)):
        text += f" ON {event} {rule.upper()}" if rule else ""
    return text
