"""The tables of a stream over time, as its rules need them, from the timeline of a replay.

One law: a table that is known by its end alone is known from the last statement about it on, and not before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from simulator.errors import DdlError
from simulator.read.replay.timeline import History, NOWHERE, Sent, Timeline
from simulator.releases import V8_5
from simulator.tidb.ddl.catalog import Key, key
from simulator.tidb.ddl.execute import execute
from simulator.tidb.ddl.session import Session
from simulator.tidb.model.table import Name, Table
from simulator.tidb.parser.read import read_statement
from simulator.tso import FOREVER

Tables = Mapping[Name, Table]
"""By schema and name, as messages have them."""

BEGIN = -1


def defined(found: Timeline, touched: Mapping[Key, int]) -> tuple[Tables, tuple[tuple[int, Tables], ...]]:
    """The tables where the stream begins, and behind each statement that changes them, with its commit-ts; `touched`
    says when a statement was last about a table, at most at the time from which it is known."""
    changes: dict[int, dict[Key, Table | None]] = {BEGIN: {}}
    for place, spans in found.names.items():
        for (since, number), (until, _) in zip(spans, [*spans[1:], (FOREVER, NOWHERE)], strict=True):
            changes.setdefault(since, {})[place] = None
            if number != NOWHERE:
                for start, table in _within(found.tables[number], since, until, touched.get(place, BEGIN)):
                    changes.setdefault(start, {})[place] = table
    now: dict[Key, Table] = {}
    versions: list[tuple[int, Tables]] = []
    for ts in sorted(changes):
        now = {place: table for place, table in {**now, **changes[ts]}.items() if table is not None}
        versions.append((ts, {(table.schema, table.name): table for table in now.values()}))
    return versions[0][1], tuple(versions[1:])


def _within(history: History, since: int, until: int, touched: int) -> Iterator[tuple[int, Table]]:
    """The definitions of a table while it has a name, each with when it begins there."""
    begin = max(since, touched) if history.lenient else since
    starts = [max(begin, definition.since) for definition in history.definitions]
    for definition, start, end in zip(history.definitions, starts, [*starts[1:], FOREVER], strict=True):
        if start < min(end, until):
            yield start, definition.table


def last_touched(statements: Iterable[Sent], tables: Iterable[Table]) -> dict[Key, int]:
    """When one of the statements was last about each of these tables."""
    found: dict[Key, int] = {}
    for sent in statements:
        for name in _about(sent):
            found[key(*name)] = max(sent.ts, found.get(key(*name), BEGIN))
    whole = {place: ts for place, ts in found.items() if not place[1]}
    every = (key(table.schema, table.name) for table in tables)
    return {place: max(found.get(place, BEGIN), whole.get((place[0], ""), BEGIN)) for place in every}


def _about(sent: Sent) -> Iterator[Name]:
    try:
        statement = read_statement(sent.query)
        jobs = execute(statement, sent.query, Session(sent.schema, None, V8_5)).jobs if statement else ()
    except DdlError:
        return
    for job in jobs:
        yield job.schema, job.table
        for pair in job.pairs:
            yield from ((name.schema, name.name) for name in pair)
