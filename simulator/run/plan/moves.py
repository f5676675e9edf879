"""From one snapshot to the next, with every table at its place in the run's list.

One law: a table that statements touch is compared by itself, all others together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simulator.run.plan.lineage import Descent, lost_partitions, sources
from simulator.run.plan.steps import Draft
from simulator.sources.schema_change import Transition, Turn
from simulator.sources.snapshots import Places, Snapshot
from simulator.ticdc.table_info import handle_key, handle_lengths
from simulator.tidb.ddl.convert import ColumnSource, Kept
from simulator.tidb.model.table import Table, common_handle, row_id_column, visible_columns
from simulator.tso import Span

Name = tuple[str, str]


@dataclass(frozen=True)
class Changed:
    """A table that statements change within a move, with its names in the two snapshots."""

    before: Name | None
    """None for a table that they create."""

    after: Name
    transition: Transition


@dataclass(frozen=True)
class Move:
    """From one snapshot to the next."""

    before: Snapshot
    after: Snapshot
    span: Span
    turn: Turn
    places: tuple[Mapping[Name, Places], Mapping[Name, Places]]
    """The tables to compare, in each of the two snapshots; those that change stand in `changed`."""

    changed: tuple[Changed, ...]


def move(draft: Draft, places: Sequence[Places]) -> Move:
    """The move of a draft, `places` being those of each version; raises UserError for a change of type not known."""
    changed = tuple(
        Changed(descent.name, name, _transition(
            descent, places[before], places[after], (draft.sent[before], draft.sent[after])
        ))
        for descent, name, before, after in draft.changed
    )
    before, after = ({name: places[number] for name, number in side.items()} for side in draft.same)
    return Move(draft.before, draft.after, draft.span, draft.turn, (before, after), changed)


def _transition(descent: Descent, before: Places, after: Places, sent: tuple[bool, bool]) -> Transition:
    """A table that the statements create has no rows before, and none can be told before."""
    everything = range(len(before.indexes))
    lost = lost_partitions(before.table, descent.emptied) if descent.name else everything
    came = sources(before.table, after.table)
    stays = _staying(before.table, after.table, came)
    return Transition(
        before, after, came, frozenset(before.indexes[number] for number in lost), sent,
        _same_key(before.table, after.table, stays),
    )


def _staying(before: Table, after: Table, came: Sequence[ColumnSource]) -> dict[str, str]:
    """Columns whose text stays as it is: names now by names then."""
    then, now = visible_columns(before), visible_columns(after)
    return {
        then[source.index].name: column.name for column, source in zip(now, came, strict=True)
        if isinstance(source, Kept) and source.before == source.after
    }


def _same_key(before: Table, after: Table, stays: Mapping[str, str]) -> bool:
    """Whether a row's handle key and row id are made of the same values, in the same way."""
    key = tuple(stays.get(name, "") for name in handle_key(before))
    kinds = [
        (common_handle(table), row_id_column(table) is None, handle_lengths(table)) for table in (before, after)
    ]
    return bool(key) and key == handle_key(after) and kinds[0] == kinds[1]
