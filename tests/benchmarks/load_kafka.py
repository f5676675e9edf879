"""What `ticdc-sim load` reaches with a Kafka of its own, beside producers that only send, as ratios taken in one run.

    python tests/benchmarks/load_kafka.py [CASE ...] [--seconds 60] [--sustained-seconds 600] [--master 'local[2]']

Prints a table in Markdown. Cases: sustained, wide-open, wide-canal, one-partition, bare, kafka-tool, generate; without
any, all of them. bare, kafka-tool and generate measure a run of six columns themselves, as long as the others, to be set
beside it.

Kafka keeps 256 MiB of a partition, and looks every 2 seconds for what is more: nothing reads it, and the disk must not
fill.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from load import SPREAD
from load_bare import generated, performance, rate
from load_runs import KINDS, Loaded, run

from simulator.broker import server as broker
from simulator.broker.processes import free_port
from simulator.sinks.kafka.admin import delete_topics, prepare_topics
from simulator.sinks.kafka.settings import KafkaSettings

SIX = Path(__file__).with_name("load_six.toml")

PARTITIONS = 4

KEPT = {
    "log.retention.bytes": str(256 << 20),
    "log.segment.bytes": str(64 << 20),
    "log.retention.check.interval.ms": "2000",
    "log.initial.task.delay.ms": "1000",
    "log.segment.delete.delay.ms": "500",
}

ONE = SPREAD.replace("index-value", "table")


@dataclass(frozen=True)
class Row:
    """Of the table."""

    what: str
    figure: str
    goal: str = ""


@dataclass
class Place:
    """A Kafka, and what has been measured with it."""

    directory: Path
    address: str
    pid: int
    master: str
    seconds: float
    sustained_seconds: float
    _topics: int = 0
    _spread: dict[str, Loaded] = field(default_factory=dict)

    def loaded(
        self,
        plan: str | Path,
        protocol: str,
        config: str = SPREAD,
        counting: bool = False,
        driver: str = "kafka-python",
        seconds: float | None = None,
    ) -> Loaded:
        """A run into a topic of its own."""
        topic, file = self.topic(), self.directory / "changefeed.toml"
        file.write_text(config, "utf-8")
        uri = f"kafka://{self.address}/{topic}?protocol={protocol}&partition-num={PARTITIONS}"
        if protocol == "canal-json":
            uri += "&enable-tidb-extension=true"
        more = ["--config", str(file), "--driver", driver]
        try:
            return run(plan, uri, seconds or self.seconds, self.master, self.pid, counting, more)
        finally:
            self.forget(topic)

    def six(self) -> Loaded:
        """The run of six columns, beside which other cases are set."""
        if "six" not in self._spread:
            self._spread["six"] = self.loaded(SIX, "canal-json")
        return self._spread["six"]

    def topic(self) -> str:
        """A new name."""
        self._topics += 1
        return f"load-{self._topics}"

    def forget(self, topic: str) -> None:
        """Its files go when Kafka comes to it."""
        delete_topics(self.address, [topic])


def sustained(place: Place) -> Iterator[Row]:
    """Six columns, for as long as is asked."""
    found = place.loaded(SIX, "canal-json", seconds=place.sustained_seconds)
    first, last = (found.minute(each) for each in (False, True))
    told = f"Canal-JSON, 6 columns, 4 partitions, {place.sustained_seconds:.0f} s"
    yield Row(f"{told}: rows/s", _rows(found.summary["rows_per_second"]), "100,000")
    change = f"{_rows(first)}, {_rows(last)} ({last / first - 1:+.1%})"
    yield Row("first minute, last minute: rows/s", change, "within 5 %")
    for kind in KINDS:
        least, most = (found.memory(kind, each) for each in (False, True))
        yield Row(f"first minute, last minute: RSS of {kind}", f"{least:,.0f} MB, {most:,.0f} MB", "flat")
    yield Row("cores busy: load, Kafka", _busy(found))


def wide_open(place: Place) -> Iterator[Row]:
    """Open Protocol, wide rows."""
    for plan in ("wide-124", "wide-62"):
        for counting, goal in ((True, "190"), (False, "as near as Kafka allows")):
            found = place.loaded(plan, "open-protocol", counting=counting)
            where = "counting sink" if counting else "Kafka"
            told = f"Open Protocol, {plan} ({found.row_bytes:,.0f} B a row), {where}: MiB/s"
            yield Row(told, f"{found.mib:.1f} ({_rows(found.rows)} rows/s; cores busy: {_busy(found)})", goal)


def wide_canal(place: Place) -> Iterator[Row]:
    """Canal-JSON, 62 columns."""
    found = place.loaded("wide-62", "canal-json")
    told = f"Canal-JSON, 62 columns ({found.row_bytes:,.0f} B a row), Kafka: rows/s"
    yield Row(told, f"{_rows(found.rows)} ({found.mib:.1f} MiB/s; cores busy: {_busy(found)})", "20,000")


def one_partition(place: Place) -> Iterator[Row]:
    """The dispatcher `table`."""
    four, one = place.six(), place.loaded(SIX, "canal-json", ONE)
    yield Row("Canal-JSON, 6 columns, 4 partitions: rows/s", f"{_rows(four.rows)} (cores busy: {_busy(four)})")
    yield Row("one partition: rows/s", f"{_rows(one.rows)} (cores busy: {_busy(one)})")
    yield Row("one partition: four", f"{one.rows / four.rows:.2f}", "0.5")


def bare(place: Place) -> Iterator[Row]:
    """Producers that only send."""
    by = {"kafka-python": place.six(), "confluent-kafka": place.loaded(SIX, "canal-json", driver="confluent")}
    size = round(by["kafka-python"].row_bytes)
    for library, found in by.items():
        yield Row(
            f"load, Canal-JSON, 6 columns ({size} B), {library}: rows/s",
            f"{_rows(found.rows)} (cores busy: {_busy(found)})",
        )
    plain = by["kafka-python"].rows
    for library, loop in (("kafka-python", "kafka-python"), ("confluent-kafka", "confluent")):
        for processes in (1, 2):
            reached = _alone(
                place, lambda settings, topic: rate(loop, processes, settings, topic, SIX, "canal-json", place.seconds)
            )
            of_same = by[library].rows / reached
            yield Row(
                f"bare loop, {library}, processes: {processes}: records/s",
                f"{_rows(reached)}; load by the same library {of_same:.2f} x, as it is {plain / reached:.2f} x",
                "0.9 x",
            )
    for processes in (1, 2):
        reached = _alone(
            place, lambda settings, topic: rate("sink", processes, settings, topic, SIX, "canal-json", place.seconds)
        )
        yield Row(
            f"our sink with ready records, processes: {processes}: records/s",
            f"{_rows(reached)}; load {plain / reached:.2f} x",
        )
    yield from kafka_tool(place)


def kafka_tool(place: Place) -> Iterator[Row]:
    """Kafka's own producer."""
    load = place.six()
    reached = _alone(place, lambda settings, topic: performance(settings, topic, round(load.row_bytes), place.seconds))
    yield Row("load, Canal-JSON, 6 columns, kafka-python: rows/s", _rows(load.rows))
    yield Row("kafka-producer-perf-test: records/s", f"{_rows(reached)}; load {load.rows / reached:.2f} x", "0.6 x")


def generate(place: Place) -> Iterator[Row]:
    """Rows that are not sent."""
    sent = place.six().rows
    for encoded, goal in ((False, "3 x"), (True, "")):
        found = generated(SIX, "canal-json", encoded, 2, place.seconds)
        told = "rows made and encoded" if encoded else "rows made"
        figure = f"{_rows(found)}; {found / sent:.2f} x what is sent"
        yield Row(f"6 columns, two processes, {told}: rows/s", figure, goal)


CASES: dict[str, Callable[[Place], Iterator[Row]]] = {
    "bare": bare,
    "kafka-tool": kafka_tool,
    "generate": generate,
    "one-partition": one_partition,
    "wide-canal": wide_canal,
    "wide-open": wide_open,
    "sustained": sustained,
}


def _alone(place: Place, measure: Callable[[KafkaSettings, str], float]) -> float:
    topic = place.topic()
    settings = prepare_topics(KafkaSettings((place.address,)), {topic: PARTITIONS}).settings
    try:
        return measure(settings, topic)
    finally:
        place.forget(topic)


def _rows(number: float) -> str:
    return f"{number:,.0f}"


def _busy(found: Loaded) -> str:
    return f"{found.busy:.2f} + {found.broker_busy:.2f}"


def main() -> None:
    """Prints one line as soon as it is known."""
    options = argparse.ArgumentParser()
    options.add_argument("cases", nargs="*", choices=[[], *CASES], metavar="CASE")
    options.add_argument("--seconds", type=float, default=60.0, help="of each run, and of each loop")
    options.add_argument("--sustained-seconds", type=float, default=600.0)
    options.add_argument("--master", default="local[2]")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-kafka-") as name:
        directory = Path(name)
        address = broker.start(free_port(), directory, KEPT)
        served = broker.status(directory)
        assert served is not None, "it has just been started"
        place = Place(directory, address, served.pid, chosen.master, chosen.seconds, chosen.sustained_seconds)
        try:
            print("| | figure | goal |\n|---|---|---|")
            for case in chosen.cases or CASES:
                began = time.monotonic()
                for row in CASES[case](place):
                    print(f"| {row.what} | {row.figure} | {row.goal} |", flush=True)
                print(f"| *{case}* | *{time.monotonic() - began:.0f} s* | |", flush=True)
        finally:
            broker.stop(directory)


if __name__ == "__main__":
    main()
