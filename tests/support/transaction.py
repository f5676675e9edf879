"""One transaction on one table, row by row: what TiDB writes, and the events that TiCDC makes of it. The split
of UPDATEs by whole batches (`ticdc.split`) is held to it.

A transaction is a list; whatever a release does to its order is done by one stable sort.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from simulator.columns.cells import columns
from simulator.columns.change_frame import DELETE, INSERT, UPDATE
from simulator.ticdc.split import SplitRule, changed_key_columns
from simulator.ticdc.table_info import HANDLE_KEY, flags, handles_of_rows
from simulator.tidb.model.table import Table

Row = Mapping[str, str | None]
"""TiDB text by visible column."""

HALVES = {DELETE: 3, INSERT: 4}
"""The places of the halves of an UPDATE in `SplitRule.ranks`."""


@dataclass(frozen=True)
class RowEvent:
    """One row change."""

    op: int
    """DELETE, UPDATE or INSERT."""

    before: Row | None
    after: Row | None
    half: bool = False
    """Whether it is half of an UPDATE."""


def net(table: Table, rows: Sequence[tuple[Row | None, Row | None]]) -> list[RowEvent]:
    """What TiDB writes where each row becomes another one (None: is not there), in the order of TiKV's keys.

    The rows are those that the transaction wrote: one that it changed and changed back is an UPDATE with equal images,
    one that it inserted and deleted again is nothing (tiflow: cdc/processor/sinkmanager/table_sink_wrapper.go).
    Rows of a clustered table lie under their primary key: what leaves a key and what comes under it are one UPDATE.
    Those of others lie under `_tidb_rowid`, which is taken to grow in the order they are given.
    """
    pairs = list(rows)
    if table.clustered:
        old, new = (_by_key(table, side) for side in zip(*rows, strict=True)) if rows else ({}, {})
        pairs = [(old.get(key), new.get(key)) for key in sorted(old.keys() | new.keys())]
    return [RowEvent(_op(before, after), before, after) for before, after in pairs if before or after]


def sent(table: Table, events: Sequence[RowEvent], rule: SplitRule) -> list[RowEvent]:
    """The events of one transaction as TiCDC sends them.

    The sort is stable, as Go's is up to 12 events; of longer transactions TiCDC does not keep the order of equals
    (classic: sort.Sort in cdc/model/sink.go).
    """
    alone = rule.several and len(events) < 2
    found = [part for event in events for part in ([event] if alone else _halves(table, event, rule))]
    ordered = sorted(found, key=lambda event: rule.ranks[HALVES[event.op] if event.half else event.op])
    return ordered if rule.old_value else [_without_old_value(table, event, rule) for event in ordered]


def _halves(table: Table, event: RowEvent, rule: SplitRule) -> Iterator[RowEvent]:
    if event.before is None or event.after is None or not changed_key_columns(table, event.before, event.after, rule):
        yield event
        return
    yield RowEvent(DELETE, event.before, None, half=True)
    yield RowEvent(INSERT, None, event.after, half=True)


def _without_old_value(table: Table, event: RowEvent, rule: SplitRule) -> RowEvent:
    """An UPDATE without its old row, and of a DELETE the handle key alone."""
    if event.op == UPDATE:
        return replace(event, before=None)
    if event.before is None:
        return event
    bits = flags(table, rule.release)
    return replace(event, before={name: text for name, text in event.before.items() if bits[name] & HANDLE_KEY})


def _op(before: Row | None, after: Row | None) -> int:
    return INSERT if before is None else DELETE if after is None else UPDATE


def _by_key(table: Table, rows: Iterable[Row | None]) -> dict[bytes, Row]:
    """Rows by their handles; those that are none are left out."""
    found = [row for row in rows if row is not None]
    handles = handles_of_rows(table, columns(found)).to_pylist() if found else []
    return dict(zip(handles, found, strict=True))
