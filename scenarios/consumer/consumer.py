"""A consumer of TiCDC's Open Protocol: what it has read is applied as soon as every partition is past it."""

from __future__ import annotations

import json
import re
import shutil
import struct
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROW, DDL, RESOLVED = 1, 2, 3
DROP_DATABASE, DROP_TABLE, ADD_COLUMN, DROP_COLUMN, TRUNCATE_TABLE, RENAME_TABLE = 2, 4, 5, 6, 11, 14
RENAMED = re.compile(r"(?:RENAME|ALTER) TABLE (?:`(.*?)`\.)?`(.*?)` (?:TO|RENAME)", re.IGNORECASE)
"""The name before; the message has the new one."""

ADDED = re.compile(r"ADD COLUMN `(.*?)`((?:(?! ADD COLUMN ).)*)", re.IGNORECASE)
DEFAULT = re.compile(r"\bDEFAULT (?:'(.*?)'|(\d+)\b)", re.IGNORECASE)
DROPPED = re.compile(r"DROP COLUMN `(.*?)`", re.IGNORECASE)

Row = dict[str, Any]


class Event(NamedTuple):
    """A row change or a statement that waits to be applied."""

    ts: int
    kind: int
    table: str
    what: dict[str, Any]

    @property
    def is_delete(self) -> bool:
        return "d" in self.what


class Consumer:
    """Keeps tables as {key: row}; `partitions` is how many the topic has."""

    def __init__(self, partitions: int) -> None:
        self.tables: dict[str, dict[tuple[Any, ...], Row]] = {}
        self.statements: list[str] = []
        self._watermarks = dict.fromkeys(range(partitions), 0)
        self._pending: dict[Hashable, Event] = {}
        self._executed: set[Hashable] = set()
        self.applied = 0

    def handle(self, partition: int, key: bytes, value: bytes) -> None:
        """Takes a message; what is at or below the watermarks of all partitions is applied."""
        for where, what in events(key, value):
            if where["t"] == RESOLVED:
                self._watermarks[partition] = max(self._watermarks[partition], where["ts"])
                continue
            event = Event(where["ts"], where["t"], f"{where['scm']}.{where.get('tbl', '')}", what)
            if self.is_new(event):
                self._pending.setdefault(self.identity(event), event)
        self._apply(min(self._watermarks.values()))

    def is_new(self, event: Event) -> bool:
        """What is below the watermark has been applied; at the watermark a statement may come again after a restart of
        TiCDC, and one that was not sent before it ended comes for the first time."""
        if event.kind == DDL:
            return event.ts >= self.applied and self.identity(event) not in self._executed
        return event.ts > self.applied

    def identity(self, event: Event) -> Hashable:
        """What is equal is one event: every partition has a statement, and rows come again after a restart."""
        return event.ts, event.table, json.dumps(event.what, sort_keys=True)

    def order(self, event: Event) -> tuple[int, ...]:
        """By commit-ts, whatever partition it is from; of one commit-ts statements come last, and a DELETE before an
        INSERT: an UPDATE of a key is both, and its halves may lie in two partitions."""
        return event.ts, event.kind == DDL, not event.is_delete

    def _apply(self, watermark: int) -> None:
        ready = [key for key, event in self._pending.items() if event.ts <= watermark]
        for event in sorted(map(self._pending.pop, ready), key=self.order):
            if event.kind == DDL:
                self._execute(event)
            else:
                self._change(event)
        self.applied = max(self.applied, watermark)

    def _execute(self, event: Event) -> None:
        """The statements that take rows with them."""
        query, kind = event.what["q"], event.what["t"]
        self.statements.append(query)
        self._executed.add(self.identity(event))
        if kind in (DROP_TABLE, TRUNCATE_TABLE):
            self.tables.pop(event.table, None)
        elif kind == DROP_DATABASE:
            for name in [name for name in self.tables if name.startswith(event.table)]:
                del self.tables[name]
        elif kind == RENAME_TABLE and (old := RENAMED.search(query)):
            schema = old[1] or event.table.partition(".")[0]
            self.tables[event.table] = self.tables.pop(f"{schema}.{old[2]}", {})

        elif kind == ADD_COLUMN:  # rows that are there have the default, and no message says so
            for column, rest in ADDED.findall(query):
                for row in self.tables.get(event.table, {}).values():
                    row.setdefault(column, default_of(rest))
        elif kind == DROP_COLUMN:
            for column in DROPPED.findall(query):
                for row in self.tables.get(event.table, {}).values():
                    row.pop(column, None)

    def _change(self, event: Event) -> None:
        rows, what = self.tables.setdefault(event.table, {}), event.what
        if "d" in what or "p" in what:
            rows.pop(key_of(what.get("d") or {**what["u"], **what["p"]}), None)
        if "u" in what:
            rows[key_of(what["u"])] = {column: cell["v"] for column, cell in what["u"].items()}

    def rows(self, table: str) -> list[Row]:
        """The rows of a table, in the order of the key."""
        return [row for _, row in sorted(self.tables.get(table, {}).items())]

    def write(self, directory: Path, definitions: Path) -> None:
        """Writes the tables down as a snapshot at the watermark; `definitions` has their CREATE TABLE, as Dumpling
        exports it."""
        directory.mkdir(parents=True)
        for schema in sorted(definitions.glob("*-schema.sql")):
            shutil.copy(schema, directory)
            table = schema.name.removesuffix("-schema.sql")
            if rows := self.rows(table):
                lines = [list(rows[0]), *([row[column] for column in rows[0]] for row in rows)]
                text = "".join(",".join(map(csv_cell, line)) + "\n" for line in lines)
                (directory / f"{table}.csv").write_text(text, "utf-8")
        (directory / "metadata").write_text(f"SHOW MASTER STATUS:\n\tLog: tidb-binlog\n\tPos: {self.applied}\n")


def default_of(definition: str) -> str | int | None:
    """What stands behind DEFAULT in a column's definition."""
    found = DEFAULT.search(definition)
    return None if found is None else int(found[2]) if found[2] else found[1]


def csv_cell(value: object) -> str:
    """As Dumpling writes it: `\\N` is NULL, and text stands in quotes."""
    if value is None:
        return r"\N"
    return '"' + value.replace('"', '""') + '"' if isinstance(value, str) else str(value)


def key_of(columns: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(cell["v"] for cell in columns.values() if cell.get("h"))


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
