"""What the commands send and read: small streams whose whole content is known beforehand, from a run without Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.cut_short import DDL, OPTIONS, Told, of
from support.databases import Table, write
from support.loads import PLAN
from support.playing import BY_KEY

from cluster.machines import BROKERS
from simulator.reader.records import Record, read_records
from simulator.sinks.kafka import KafkaSettings, library
from simulator.sinks.kafka.admin import admin_client

SECONDS = 8
"""Of real time in which `load` and `diff` send."""

LONGEST = 3 * SECONDS
"""What a load sends at most that is resumed twice."""

ROWS = 1500
"""A second, of `load`; of each table of `diff`, that many in all."""

INTERVAL = "500ms"
BANK = ("load", "--preset", "bank", "--rate", 20000, "--duration", "4s")

MISSING = 5000
"""The place of the record that one of the two streams of `verify` lacks."""

PROGRAM = [sys.executable, "-c", "from simulator.cli import main; main()"]


class Sent:
    """A stream that a command sends to a topic of its own."""

    def __init__(self, command: Sequence[object], more: Sequence[object], home: Path, address: str) -> None:
        config = home / "changefeed.toml"
        config.write_text(BY_KEY)
        self._address, self._more = address, more
        self._command = (*command, "--config", config, "--resolved-interval", INTERVAL)
        fixtures = home / f"whole-{command[0]}"
        lasts = ("--duration", f"{LONGEST}s") if command[0] == "load" else ()  # again so long when it is resumed
        uri = ("--sink-uri", self._uri("whole"))
        call(*self._command, *lasts, *uri, "--fixtures", fixtures, "--master", "none")
        self.expected: list[Told] = of(str(fixtures))

    def command(self, topic: str, directory: Path, number: int) -> tuple[object, ...]:
        return (*self._command, *self._more, "--sink-uri", self._uri(topic), "--truth", directory / "truth")

    def _uri(self, topic: str) -> str:
        return f"kafka://{self._address}/{topic}?{OPTIONS}&replication-factor={BROKERS}"


def loaded(home: Path, address: str) -> Sent:
    """Rows of two tables and, every second, a statement; some transactions write both."""
    plan = home / "plan.toml"
    plan.write_text(PLAN + DDL.replace("700ms", "1s"))
    return Sent(("load", plan, "--rate", ROWS, "--duration", f"{SECONDS}s"), (), home, address)


def compared(home: Path, address: str) -> Sent:
    """Two snapshots of two tables: a third of the rows each inserted, updated, deleted."""
    tables = [
        Table(
            f"CREATE TABLE `{name}` (`id` int PRIMARY KEY, `v` varchar(99))",
            [[key, f"before {key}"] for key in range(2 * ROWS // 3)],
            [[key, f"after {key}"] for key in range(ROWS // 3, ROWS)],
        )
        for name in "st"
    ]
    before, after = (write(home / name, tables, state, "csv") for state, name in enumerate(("before", "after")))
    return Sent(("diff", before, after, "--over", f"{2 * SECONDS}s"), ("--speed", 2), home, address)


class Read:
    """Two topics with a stream that `verify` reads; the second one lacks a row change."""

    def __init__(self, home: Path, address: str) -> None:
        self._home, self._address = home, address
        config = home / "changefeed.toml"
        config.write_text(BY_KEY)
        for topic in ("right", "wrong"):
            uri = f"kafka://{address}/{topic}?{OPTIONS}&replication-factor={BROKERS}"
            command = *BANK, "--config", config, "--master", "none", "--sink-uri", uri
            if topic == "right":
                call(*command, "--checkpoint", home / "read", "--truth", home / "right")
            else:
                lasted = self._copy_without(MISSING)
                call(*command, "--truth", home / "wrong", "--at", lasted)
        self.expected = [
            verdict(call(*self.command("", home, number), "--master", "none", codes=(number,))) for number in (0, 1)
        ]
        assert [each["verdict"] for each in self.expected] == ["right", "wrong"]

    def command(self, topic: str, directory: Path, number: int) -> tuple[object, ...]:
        name = ("right", "wrong")[number % 2]
        return "verify", f"kafka://{self._address}/{name}", "--truth", self._home / name, "--json"

    def _copy_without(self, place: int) -> int:
        """Write the right stream's records, but for one, to the other topic; the last watermark."""
        records: list[Record] = list(read_records(f"kafka://{self._address}/right"))
        admin = admin_client(KafkaSettings(tuple(self._address.split(","))))
        partitions = 1 + max(record.partition for record in records)
        admin.create_topics({"wrong": {"num_partitions": partitions, "replication_factor": BROKERS}})
        admin.close()
        producer = library.KafkaProducer(bootstrap_servers=self._address.split(","), acks="all")
        for record in (*records[:place], *records[place + 1 :]):
            producer.send("wrong", record.value, record.key, partition=record.partition)
        producer.flush()
        producer.close()
        return int(json.loads((self._home / "right" / "truth.json").read_text())["watermark"])


def verdict(text: str) -> dict[str, Any]:
    """What a verification found, without how it was done."""
    found: dict[str, Any] = json.loads(text)
    return {name: value for name, value in found.items() if name not in ("engine", "started", "seconds")}


def call(*arguments: object, codes: Sequence[int] = (0,)) -> str:
    """What the command prints; it has to end with one of those codes."""
    done = subprocess.run([*PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode in codes, f"{' '.join(map(str, arguments))} ended with {done.returncode}:\n{done.stderr}"
    return done.stdout
