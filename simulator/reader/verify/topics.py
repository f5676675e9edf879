"""When topics have tables, and so watermarks.

TiCDC sends watermarks to the default topic and to those of the tables that there are then. A statement that takes the last
table of a topic may be in another one: DROP DATABASE is in the default topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from simulator.errors import UserError
from simulator.reader.contract.destinations import ChangefeedRoutes, Span
from simulator.reader.replay.table_timeline import NO_TABLE, TableHistory, TableTimeline
from simulator.reader.verify import untold
from simulator.reader.verify.origin import StreamOrigin
from simulator.ticdc.rules import replication
from simulator.tidb.ddl.catalog import Key, object_key
from simulator.tidb.model.table import Table
from simulator.tso import FOREVER


def topic_spans(timeline: TableTimeline, origin: StreamOrigin) -> Mapping[str, tuple[Span, ...]]:
    """Return when each topic of a changefeed had tables: after the first commit-ts of a span, up to the second.

    Topics of tables of which event filters may hold back statements are left out, and all if a table may be in any topic.
    """
    changefeed, release = origin.changefeed, origin.release
    held_back, doubtful = untold.statements_held_back(origin), set[str]()
    routes = ChangefeedRoutes(changefeed, release, timeline.definitions)
    filtered = replication(changefeed.rules, changefeed.case_sensitive, (), release)
    found: dict[str, list[Span]] = {changefeed.topic: [(-1, FOREVER)]}
    for name, spans in timeline.names.items():
        for (since, number), (until, _) in pairwise((*spans, (FOREVER, NO_TABLE))):
            if number == NO_TABLE:
                continue
            table = _called(timeline.tables[number], name)
            upstream = routes.upstream_table(table)
            if upstream is None:
                return {}
            if filtered.table(upstream.schema, upstream.name):
                try:
                    topic = routes.topic(table)
                except UserError:
                    continue  # the dispatchers refuse it
                found.setdefault(topic, []).append((since, until))
                if held_back(f"{table.schema}.{table.name}"):
                    doubtful.add(topic)
    known = found.keys() - doubtful | {changefeed.topic}
    return {topic: _joined(spans) for topic, spans in found.items() if topic in known}


def _called(history: TableHistory, name: Key) -> Table:
    """Return the definition of a table that has that name in lower case."""
    every = (each.table for each in history.definitions)
    return next((table for table in every if object_key(table.schema, table.name) == name), history.table)


def _joined(spans: list[Span]) -> tuple[Span, ...]:
    """Return spans without those that overlap, in order."""
    joined = list[Span]()
    for since, until in sorted(spans):
        if joined and since <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], until)
        else:
            joined.append((since, until))
    return tuple(joined)


def left_topics(spans: Mapping[str, tuple[Span, ...]], until: int) -> frozenset[str]:
    """Return the topics that all their tables left by then."""
    return frozenset(topic for topic, each in spans.items() if each[-1][1] <= until)
