"""The tables of a stream over time, as its rules need them, from the timeline of a replay.

One law: a table that is known by its end alone is known from the last statement about it on, and not before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from simulator.consumer.replay.table_timeline import NO_TABLE, TableHistory, TableTimeline
from simulator.tidb.ddl.catalog import Key
from simulator.tidb.model.table import Name, Table
from simulator.tso import FOREVER

Tables = Mapping[Name, Table]
"""By schema and name, as messages have them."""

BEGIN = -1


def table_definitions(found: TableTimeline, until: int = FOREVER) -> tuple[Tables, tuple[tuple[int, Tables], ...]]:
    """The tables where the stream begins, and behind each statement that changes them, with its commit-ts; `until` is
    the time of which tables that are known by their end are known."""
    changes: dict[int, dict[Key, Table | None]] = {BEGIN: {}}
    for place, spans in found.names.items():
        for (since, number), (end, _) in zip(spans, [*spans[1:], (FOREVER, NO_TABLE)], strict=True):
            changes.setdefault(since, {})[place] = None
            if number != NO_TABLE:
                touched = found.touched(place)
                last = int(max(touched[touched <= until], default=BEGIN))
                for start, table in _within(found.tables[number], since, end, last):
                    changes.setdefault(start, {})[place] = table
    now: dict[Key, Table] = {}
    versions: list[tuple[int, Tables]] = []
    for ts in sorted(changes):
        now = {place: table for place, table in {**now, **changes[ts]}.items() if table is not None}
        versions.append((ts, {(table.schema, table.name): table for table in now.values()}))
    return versions[0][1], tuple(versions[1:])


def _within(history: TableHistory, since: int, until: int, touched: int) -> Iterator[tuple[int, Table]]:
    """The definitions of a table while it has a name, each with when it begins there."""
    begin = max(since, touched) if history.lenient else since
    starts = [max(begin, definition.since) for definition in history.definitions]
    for definition, start, end in zip(history.definitions, starts, [*starts[1:], FOREVER], strict=True):
        if start < min(end, until):
            yield start, definition.table
