"""From when to when each topic has tables, and so watermarks.

One law: the default topic always has (tiflow v8.5.3: cdc/sink/ddlsink/mq/mq_ddl_sink.go, WriteCheckpointTs).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from simulator import tso
from simulator.run.plan.events import Sender, Told
from simulator.run.plan.lineage import named, pairs
from simulator.ticdc import dispatch

Name = tuple[str, str]


def active_spans(
    topics: Sequence[str], default: str, first: Iterable[Name], last: Iterable[Name], said: Iterable[Told],
    sender: Sender,
) -> tuple[tuple[int, int], ...]:
    """As long as `topics`: the statement that gives a topic its first table, and the one that takes its last."""
    since = {default: 0, **{dispatch.topic_of(sender.router, *name): 0 for name in first}}
    until = {default: tso.FOREVER, **{dispatch.topic_of(sender.router, *name): tso.FOREVER for name in last}}
    for one in said:
        for name in _moved(one):
            if sender.replication.table(*name):
                topic = dispatch.topic_of(sender.router, *name)
                since[topic] = min(since.get(topic, one.commit_ts), one.commit_ts)
                until[topic] = max(until.get(topic, one.commit_ts), one.commit_ts)
    return tuple((since.get(topic, 0), until.get(topic, tso.FOREVER)) for topic in topics)


def _moved(one: Told) -> Iterator[Name]:
    """The tables that come or go with a job."""
    for old, new in pairs([one.job]).items():
        there, then = named(one.played.before, old), named(one.played.after, new)
        yield from (name for name in (there, then) if name and there != then)
