"""A consumer of TiCDC's Open Protocol: what it has read is applied as soon as every partition is past it."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

ROW, DDL, RESOLVED = 1, 2, 3


class Consumer:
    """Keeps tables as {key: row}; `partitions` is how many the topic has."""

    def __init__(self, partitions: int) -> None:
        self.tables: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = {}
        self.statements: list[str] = []
        self._watermarks = dict.fromkeys(range(partitions), 0)
        self._pending: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.applied = 0

    def handle(self, partition: int, key: bytes, value: bytes) -> None:
        """Takes a message; what is at or below the watermarks of all partitions is applied."""
        for where, what in events(key, value):
            if where["t"] == RESOLVED:
                self._watermarks[partition] = max(self._watermarks[partition], where["ts"])
            elif where["ts"] > self.applied:  # what comes again after a restart of TiCDC has been applied
                kind = DDL if where["t"] == DDL else 0 if "d" in what else 1  # of one commit-ts DELETE goes first
                name = f"{where['scm']}.{where['tbl']}"
                self._pending[where["ts"], kind == DDL, kind, name, json.dumps(what, sort_keys=True)] = what
        self._apply(min(self._watermarks.values()))

    def _apply(self, watermark: int) -> None:
        for place in sorted(place for place in self._pending if place[0] <= watermark):
            what, (_, is_ddl, _, name, _) = self._pending.pop(place), place
            if is_ddl:
                self.statements.append(what["q"])  # each partition has it: being equal, it is pending once
                if what["t"] in (4, 11):  # DROP TABLE, TRUNCATE TABLE
                    self.tables.pop(name, None)
                continue
            columns = what.get("u") or what["d"]
            row = {column: cell["v"] for column, cell in columns.items()}
            key = tuple(cell["v"] for cell in columns.values() if cell.get("h"))
            if "u" in what:
                self.tables.setdefault(name, {})[key] = row
            else:
                self.tables.get(name, {}).pop(key, None)
        self.applied = max(self.applied, watermark)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """The rows of a table, in the order of the key."""
        return [row for _, row in sorted(self.tables.get(table, {}).items())]


def events(key: bytes, value: bytes) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The events of a message: key and value, each behind its length of eight bytes; the key begins with a version."""
    keys, values = 8, 0
    while keys < len(key):
        parts = []
        for data, at in ((key, keys), (value, values)):
            (length,) = struct.unpack_from(">Q", data, at)
            parts.append(json.loads(data[at + 8 : at + 8 + length] or b"{}"))
            at += 8 + length
            keys, values = (at, values) if data is key else (keys, at)
        yield parts[0], parts[1]


def run(brokers: str, topic: str, consumer: Consumer, until: int) -> None:
    """Reads a topic until everything up to that TSO has been applied."""
    from kafka import KafkaConsumer, TopicPartition

    reader = KafkaConsumer(bootstrap_servers=brokers, enable_auto_commit=False, auto_offset_reset="earliest")
    reader.assign([TopicPartition(topic, partition) for partition in reader.partitions_for_topic(topic) or ()])
    for message in reader:
        consumer.handle(message.partition, message.key, message.value)
        if consumer.applied >= until:
            break
    reader.close()
