"""The messages of a DDL event in each protocol, and where they go.

One law: a statement goes to the topic of the table's old name, and there to every partition or to the first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from simulator.releases import Release
from simulator.ticdc.changefeed.model import Changefeed
from simulator.ticdc.codecs import CODECS, DdlEvent
from simulator.ticdc.ddl.events import Event
from simulator.ticdc.dispatch.routing import Router, topic_of_ddl


@dataclass(frozen=True)
class MessageExplained:
    protocol: str
    chosen: bool
    """Whether the changefeed has this protocol."""

    partitions: tuple[int, ...]
    key: bytes | None
    value: bytes


def messages(
    event: Event, router: Router, changefeed: Changefeed, release: Release, commit_ts: int,
) -> tuple[str, tuple[MessageExplained, ...]]:
    """The topic, and a message of each protocol that the release has; the event's query is the text that is sent."""
    topic = topic_of_ddl(router, event.schema, event.table, event.old)
    said = DdlEvent(commit_ts, *event.told, event.query, event.type_code)
    there = [name for name, codec in CODECS.items() if codec.protocol.exists(release)]
    return topic, tuple(_message(protocol, said, changefeed, release) for protocol in there)


def _message(protocol: str, event: DdlEvent, changefeed: Changefeed, release: Release) -> MessageExplained:
    codec, options = CODECS[protocol], replace(changefeed.codec, protocol=protocol)
    key, value = codec.message(codec.ddl(event, options, release), options, release)
    partitions = tuple(codec.ddl_partitions(range(changefeed.kafka.partitions), release))
    return MessageExplained(protocol, protocol == changefeed.codec.protocol, partitions, key, value)
