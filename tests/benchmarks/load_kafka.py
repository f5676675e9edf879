"""What `ticdc-sim load` reaches with a Kafka of its own, beside producers that only send, as ratios taken in one run.

    python tests/benchmarks/load_kafka.py [--case CASE ...] [--seconds 60] [--master 'local[2]']

Prints a table in Markdown. bare and kafka-tool measure a run of six columns themselves, as long as the others, to be set
beside it; `load_hours.py --duration 10m --rate max` is a longer one. Figures of a run are without its first quarter, in which processes start and windows grow.
"""

from __future__ import annotations

import itertools
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from load_bare import performance, rate
from measuring import COUNTING, KEPT, PARTITIONS, PROGRAM, SIX, SPREAD, Look, kafka, options, ran, uri

from simulator.sinks.kafka import KafkaSettings
from simulator.sinks.kafka.admin import delete_topics, prepare_topics

SETTLING = 0.25
"""Of a run, before its rate is taken."""

SHORTEST = 4
"""Looks of which the first and the last but one are taken; in the last one processes may have ended."""


class Row(NamedTuple):
    """Of the table."""

    what: str
    figure: str
    goal: str = ""


@dataclass(frozen=True)
class Loaded:
    """A run that has ended."""

    summary: dict[str, Any]
    looks: list[Look]

    def settled(self, name: str) -> float:
        """The mean of a series, once settled."""
        values = self.summary["series"][name][:-1]
        return fmean(values[round(SETTLING * len(values)) :])

    @property
    def rows(self) -> float:
        """A second."""
        return self.settled("rows_per_second")

    @property
    def mib(self) -> float:
        """A second."""
        return self.settled("bytes_per_second") / (1 << 20)

    @property
    def row_bytes(self) -> float:
        """Of keys and values."""
        return float(self.summary["bytes"] / self.summary["rows"])

    @property
    def busy(self) -> str:
        """Cores that its processes kept busy, and Kafka's."""
        working = [look for look in self.looks if look.rss("largest Python worker")]
        whole = working if len(working) >= SHORTEST else self.looks
        first, last = whole[int(SETTLING * len(whole))], whole[-2]
        seconds = last.second - first.second
        return f"{(last.cpu - first.cpu) / seconds:.2f} + {(last.broker - first.broker) / seconds:.2f}"


@dataclass
class Place:
    """A Kafka, and what has been measured with it."""

    address: str
    pid: int
    master: str
    seconds: float
    numbers: Iterator[int] = field(default_factory=itertools.count)
    _six: list[Loaded] = field(default_factory=list)

    def loaded(
        self, plan: str | Path, protocol: str = "canal-json", config: str = SPREAD, counting: bool = False
    ) -> Loaded:
        """A run of a plan's file or a preset into a topic of its own."""
        topic = f"load-{next(self.numbers)}"
        with tempfile.TemporaryDirectory(prefix="bench-load-") as name:
            here = Path(name)
            (here / "changefeed.toml").write_text(config, "utf-8")
            command: list[object] = [*(COUNTING if counting else PROGRAM), "load"]
            command += [plan] if isinstance(plan, Path) else ["--preset", plan]
            command += ["--sink-uri", uri(self.address, topic, protocol), "--config", here / "changefeed.toml"]
            command += ["--rate", "max", "--duration", f"{self.seconds:.0f}s", "--master", self.master]
            command += ["--checkpoint", here / "checkpoint", "--summary", here / "summary.json"]
            try:
                looks = ran(*command, broker=self.pid).looks
            finally:
                delete_topics(self.address, [topic])
            return Loaded(json.loads((here / "summary.json").read_text("utf-8")), list(looks))

    def six(self) -> Loaded:
        """The run of six columns, beside which other cases are set."""
        self._six = self._six or [self.loaded(SIX)]
        return self._six[0]

    def alone(self, measure: Callable[[KafkaSettings, str], float]) -> float:
        """What a producer reaches with a topic of its own."""
        topic = f"load-{next(self.numbers)}"
        settings = prepare_topics(KafkaSettings((self.address,)), {topic: PARTITIONS}).settings
        try:
            return measure(settings, topic)
        finally:
            delete_topics(self.address, [topic])

    def looped(self, loop: str, processes: int) -> float:
        """What one of `load_bare.LOOPS` reaches."""
        return self.alone(lambda to, topic: rate(loop, processes, self.seconds, to, topic))


def wide_open(place: Place) -> Iterator[Row]:
    """Open Protocol, wide rows."""
    for plan in ("wide-124", "wide-62"):
        for counting, goal in ((True, "190"), (False, "as near as Kafka allows")):
            found = place.loaded(plan, "open-protocol", counting=counting)
            where = "counting sink" if counting else "Kafka"
            told = f"Open Protocol, {plan} ({found.row_bytes:,.0f} B a row), {where}: MiB/s"
            yield Row(told, f"{found.mib:.1f} ({found.rows:,.0f} rows/s; cores busy: {found.busy})", goal)


def wide_canal(place: Place) -> Iterator[Row]:
    """Canal-JSON, 62 columns."""
    found = place.loaded("wide-62")
    told = f"Canal-JSON, 62 columns ({found.row_bytes:,.0f} B a row), Kafka: rows/s"
    yield Row(told, f"{found.rows:,.0f} ({found.mib:.1f} MiB/s; cores busy: {found.busy})", "20,000")


def one_partition(place: Place) -> Iterator[Row]:
    """The dispatcher `table`."""
    four, one = place.six(), place.loaded(SIX, config=SPREAD.replace("index-value", "table"))
    yield Row("Canal-JSON, 6 columns, 4 partitions: rows/s", f"{four.rows:,.0f} (cores busy: {four.busy})")
    yield Row("one partition: rows/s", f"{one.rows:,.0f} (cores busy: {one.busy})")
    yield Row("one partition: four", f"{one.rows / four.rows:.2f}", "0.5")


def bare(place: Place) -> Iterator[Row]:
    """Producers that only send."""
    plain = place.six()
    told = f"load, Canal-JSON, 6 columns ({plain.row_bytes:.0f} B): rows/s"
    yield Row(told, f"{plain.rows:,.0f} (cores busy: {plain.busy})")
    for processes in (1, 2):
        reached = place.looped("kafka-python", processes)
        told = f"bare loop, kafka-python, processes: {processes}: records/s"
        yield Row(told, f"{reached:,.0f}; load {plain.rows / reached:.2f} x", "0.9 x")
    for processes in (1, 2):
        reached = place.looped("sink", processes)
        told = f"our sink with ready records, processes: {processes}: records/s"
        yield Row(told, f"{reached:,.0f}; load {plain.rows / reached:.2f} x")
    yield from kafka_tool(place)


def kafka_tool(place: Place) -> Iterator[Row]:
    """Kafka's own producer."""
    load = place.six()
    reached = place.alone(lambda to, topic: performance(to, topic, round(load.row_bytes), place.seconds))
    yield Row("load, Canal-JSON, 6 columns, kafka-python: rows/s", f"{load.rows:,.0f}")
    yield Row("kafka-producer-perf-test: records/s", f"{reached:,.0f}; load {load.rows / reached:.2f} x", "0.6 x")


CASES: dict[str, Callable[[Place], Iterator[Row]]] = {
    "bare": bare,
    "kafka-tool": kafka_tool,
    "one-partition": one_partition,
    "wide-canal": wide_canal,
    "wide-open": wide_open,
}


def main() -> None:
    """Prints one line as soon as it is known."""
    chosen = options(__doc__, {"case": CASES}, case=tuple(CASES), seconds=60.0, master="local[2]")
    with kafka(KEPT) as broker:
        place = Place(broker.address, broker.pid, chosen.master, chosen.seconds)
        print("| | figure | goal |\n|---|---|---|")
        for case in chosen.case:
            began = time.monotonic()
            for row in CASES[case](place):
                print(f"| {row.what} | {row.figure} | {row.goal} |", flush=True)
            print(f"| *{case}* | *{time.monotonic() - began:.0f} s* | |", flush=True)


if __name__ == "__main__":
    main()
