"""A load run in one process, to a real Kafka."""

from __future__ import annotations

import pytest
from support.loads import DDL, PLAN, Run

from simulator.consumer.records import read_records
from simulator.load.checkpoint import LoadCheckpoint
from simulator.load.feed import Feed
from simulator.load.reports.sent_window import SentWindow
from simulator.load.windows.sender import WindowSender
from simulator.run import outputs
from simulator.sinks import SINKS
from simulator.sinks.memory import MemorySink, Message


@pytest.mark.parametrize("driver", ["kafka-python", "confluent"])
def test_kafka_gets_what_memory_gets(driver: str, kafka: str) -> None:
    """Rows, statements and watermarks have the same order, and each acknowledgement is measured."""
    topic, seen = f"in-one-process-{driver}", list[SentWindow]()
    uri = f"kafka://{kafka}/{topic}?partition-num=3&protocol="
    expected, run = Run(PLAN + DDL), Run(PLAN + DDL, uri=uri)
    run.output = outputs.to_kafka(run.prepared.plan, run.changefeed, driver=driver)
    messages: list[Message] = []
    for one, sink, observers in (
        (expected, MemorySink(messages, ["load"]), []),
        (run, SINKS["kafka"](run.output.settings, [topic]), [seen.append]),
    ):
        start = LoadCheckpoint(one.identity, one.prepared.start_ms)
        feed = Feed(one.epochs(), one.control(), sink, start, None, observers)
        feed.send_all(WindowSender(sink))
        feed.close()

    found = [(record.partition, record.key, record.value) for record in read_records(f"{uri}open-protocol")]
    for partition in range(3):
        assert [each[1:] for each in found if each[0] == partition] == [
            (each.key, each.value) for each in messages if each.partition == partition
        ]
    assert sum(window.latencies.records for window in seen) == sum(
        count for window in seen for _, count, _ in window.partitions.values()
    )
    assert 0 < max(window.latencies.longest for window in seen) < 60
