"""Decodes the messages of a run one after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from simulator.consumer.decode import DECODERS, Event, RowEvent, TableSchemas, decode
from simulator.consumer.records import TopicPartition
from simulator.sinks.memory import Message


class MessageReader:
    """Decodes messages of a protocol. It remembers the table schemas that those of each partition tell."""

    def __init__(self, protocol: str) -> None:
        self._protocol = protocol
        self._told = defaultdict[TopicPartition, TableSchemas](dict)

    def events(self, message: Message, schemas: Mapping[int, str] = MappingProxyType({})) -> tuple[Event, ...]:
        """Return the events of a message. `schemas` are those of a registry, by id.

        A row without any time has that of its message.
        """
        told = self._told[message.topic, message.partition]
        found = decode(message.key, message.value, self._protocol, schemas, told)
        return tuple(_timed(event, message) for event in found)

    def skip(self, message: Message) -> None:
        """Remember the schemas that a message tells."""
        memory = DECODERS[self._protocol].memory
        if memory is not None:
            self._told[message.topic, message.partition].update(memory.told(message.key, message.value))


def _timed(event: Event, message: Message) -> Event:
    if isinstance(event, RowEvent) and event.commit_ts is None and event.es is None:
        return replace(event, es=message.timestamp)
    return event
