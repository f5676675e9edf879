"""What rows a load comes to: that all of them are possible is checked before the first one is sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import Ints
from simulator.errors import UserError
from simulator.generate.model import TableRows
from simulator.generate.values.table_values import TableValues, require_unique
from simulator.load.epochs import PreparedLoad, plan_states
from simulator.load.epochs.states import PlanState
from simulator.load.load_plan import TRUNCATE
from simulator.sources.snapshots.pieces import PlacedTable, locate_rows
from simulator.tidb.model.table import visible_columns

FIRST, AMONG, LAST = 2048, 1024, 64
"""How many rows of an altered table are tried: the first ones, some of all, and the last ones. Of others the last."""

ACCEPTED = "; accepted: "

UNITS = (86_400_000, 1 << 62, "d"), (3_600_000, 24, "h"), (60_000, 60, "m"), (1000, 60, "s")

MOST_STATES = 1000
"""How many DDL statements are followed to find out whether TRUNCATE comes in time."""


@dataclass(frozen=True)
class TableSpan:
    """A part of the run in which a table has one definition and is not emptied."""

    number: int
    """The index in `Model.tables`."""

    values: TableValues
    place: PlacedTable
    since: int
    end_ms: int
    timed: str
    """The prefix of messages about the timed statement that altered the table; empty before."""


def require_possible(prepared: PreparedLoad, until_ms: int) -> None:
    """Raise UserError if a row up to that millisecond is not possible: a key has no further value, or a timed statement
    leaves no room for it.
    """
    for each in _impossible(prepared, until_ms):
        raise UserError(each.message)


def first_impossible(prepared: PreparedLoad, until_ms: int) -> Iterator[str]:
    """Yield how long each table lasts that has no further rows at some time before that millisecond; raise UserError for
    a timed statement that leaves no room for rows.
    """
    for each in _impossible(prepared, until_ms):
        if each.first_ms is None:
            raise UserError(each.message)
        yield f"{each.why}; the load lasts {_duration(each.first_ms)} of simulated time until then"


@dataclass(frozen=True)
class ImpossibleRow:
    """The first row of a table that is not possible."""

    why: str
    message: str
    first_ms: int | None = None
    """When it is inserted; None for a row that a timed statement excludes."""


def _impossible(prepared: PreparedLoad, until_ms: int) -> list[ImpossibleRow]:
    """Return the first row of each table that is not possible."""
    load = prepared.load
    still = replace(prepared, load=replace(load, statements=()))
    found = _check(still, until_ms, plan_states(still))
    if found and any(TRUNCATE in each.kinds for each in load.statements):
        return _check(prepared, until_ms, islice(plan_states(prepared), MOST_STATES))
    return found


def _check(
    prepared: PreparedLoad, until_ms: int, states: Iterable[tuple[PlanState, int, int | None]]
) -> list[ImpossibleRow]:
    found: dict[int, ImpossibleRow] = {}
    for span in _spans(until_ms, states):
        if span.number not in found and (mistake := _mistake(prepared, span)) is not None:
            found[span.number] = mistake
    return [*found.values()]


def _spans(until_ms: int, states: Iterable[tuple[PlanState, int, int | None]]) -> Iterator[TableSpan]:
    open_spans: dict[int, TableSpan] = {}
    for state, first_ms, end_ms in states:
        if first_ms >= until_ms:
            break
        for number, (name, values, since) in enumerate(zip(state.names, state.values, state.since, strict=True)):
            if name not in state.position.versions:
                continue
            place = state.context.versions.places[state.position.versions[name]]
            before = open_spans.get(number)
            if before is not None and (before.values is not values or before.since != since):
                yield before
            timed = state.timed if before and before.values is not values else before.timed if before else ""
            until = min(until_ms, until_ms if end_ms is None else end_ms)
            open_spans[number] = TableSpan(number, values, place, since, until, timed)
    yield from open_spans.values()


def _mistake(prepared: PreparedLoad, span: TableSpan) -> ImpossibleRow | None:
    stream = prepared.stream
    end = stream.timetable.transactions_before(span.end_ms)
    count = int(stream.inserted(span.number, np.array([end]), span.since)[0])
    error = _error(prepared, span, _tried(count, bool(span.timed))) if count else None
    if error is None:
        return None
    if timed := span.timed:
        span = replace(span, values=prepared.state.values[span.number], timed="")
        if _error(prepared, span, np.array([count - 1])) is None:
            return ImpossibleRow(f"{timed}{error}", f"{timed}{error}")
    possible, wrong = 0, count
    while wrong - possible > 1:
        middle = (possible + wrong) // 2
        if _error(prepared, span, np.array([middle - 1])) is None:
            possible = middle
        else:
            wrong = middle
    error = _error(prepared, span, np.array([wrong - 1]))
    born = stream.born(span.number, np.array([wrong - 1]), span.since)
    ms = max(0, int(stream.milliseconds(born)[0]))
    wrong_now, _, accepted = str(error).partition(ACCEPTED)
    needed = f"the load comes to {count:,} rows, to that one after {_duration(ms)}"
    return ImpossibleRow(wrong_now, f"{wrong_now}; {needed}{accepted and ACCEPTED}{accepted}", ms)


def _duration(ms: int) -> str:
    """Return `2d 11h` or `1.3s`: two units of a long time, and tenths of a short one."""
    if ms < 60_000:
        return f"{ms / 1000:.1f}s"
    parts = [(ms // unit % of, name) for unit, of, name in UNITS]
    first = next(place for place, (number, _) in enumerate(parts) if number)
    return " ".join(f"{number}{name}" for number, name in parts[first : first + 2])


def _tried(count: int, altered: bool) -> Ints:
    """Return the keys of rows to try, ascending."""
    last = np.arange(max(0, count - LAST), count)
    if not altered:
        return last
    among = np.linspace(0, count - 1, min(AMONG, count)).astype(np.int64)
    return np.unique(np.concatenate([np.arange(min(FIRST, count)), among, last]))


def _error(prepared: PreparedLoad, span: TableSpan, keys: Ints) -> UserError | None:
    """Return why rows are not possible; None if they are."""
    stream, values = prepared.stream, span.values
    rows = TableRows(keys, stream.arrived(span.number, keys, span.since), span.since, stream, span.number)
    try:
        texts = values.texts([column.name for column in visible_columns(values.table)], rows)
        if span.timed:
            _require_values(values, texts)
            require_unique(values, texts)
            _require_partition(span, texts, len(keys))
    except UserError as error:
        return error
    return None


def _require_values(values: TableValues, texts: dict[str, pa.Array]) -> None:
    for column in visible_columns(values.table):
        if column.not_null and texts[column.name].null_count:
            raise UserError(f"column {column.name!r}: NOT NULL, and generated rows have NULL in it")


def _require_partition(span: TableSpan, texts: dict[str, pa.Array], count: int) -> None:
    if span.place.table.partitioning is not None and locate_rows(span.place, texts, count).null_count:
        raise UserError("no partition takes some of the generated rows")
