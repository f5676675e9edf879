"""The table definitions that the contract checks need, from the timeline of a replay.

A table whose final definition alone is known counts as known from the last statement about it on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from simulator.consumer.replay.table_timeline import NO_TABLE, TableHistory, TableTimeline
from simulator.tidb.ddl.catalog import Key
from simulator.tidb.model.table import Name, Table
from simulator.tso import FOREVER

Tables = Mapping[Name, Table]
"""By schema and name, as in messages."""

BEGIN = -1


def table_definitions(timeline: TableTimeline, until: int = FOREVER) -> tuple[Tables, tuple[tuple[int, Tables], ...]]:
    """Return the tables at the start of the stream, and the tables after each statement that changes them, with its
    commit-ts. `until` is the time for which inferred tables are known."""
    changes: dict[int, dict[Key, Table | None]] = {BEGIN: {}}
    for place, spans in timeline.names.items():
        for (since, number), (end, _) in zip(spans, [*spans[1:], (FOREVER, NO_TABLE)], strict=True):
            changes.setdefault(since, {})[place] = None
            if number != NO_TABLE:
                touched = timeline.touched(place)
                last = int(max(touched[touched <= until], default=BEGIN))
                for start, table in _definitions_of_name(timeline.tables[number], since, end, last):
                    changes.setdefault(start, {})[place] = table
    now: dict[Key, Table] = {}
    versions: list[tuple[int, Tables]] = []
    for ts in sorted(changes):
        now = {place: table for place, table in {**now, **changes[ts]}.items() if table is not None}
        versions.append((ts, {(table.schema, table.name): table for table in now.values()}))
    return versions[0][1], tuple(versions[1:])


def _definitions_of_name(history: TableHistory, since: int, until: int, touched: int) -> Iterator[tuple[int, Table]]:
    """Yield the definitions of a table while it has a name, each with its first commit-ts there."""
    begin = max(since, touched) if history.lenient else since
    starts = [max(begin, definition.since) for definition in history.definitions]
    for definition, start, end in zip(history.definitions, starts, [*starts[1:], FOREVER], strict=True):
        if start < min(end, until):
            yield start, definition.table
