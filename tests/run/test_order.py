"""On Kafka a statement is readable when every older row of every partition is, and before every younger one.

Big rows and small rows go to partitions that two tasks send; both tables are altered while they are filled.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from support.playing import error_of, play

from simulator.reader.decode import DdlEvent, Event, RowEvent, decode
from simulator.reader.records import read_records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BIG, SMALL = 4_000, 100
"""Rows of two tables."""

Appended = tuple[int, Event]
"""When Kafka appended the record of an event, in milliseconds."""


def shop(directory: Path, columns: str, more: str = "", big: int = 0, small: int = 0) -> Path:
    """A snapshot of a table of large rows and one of small rows."""
    directory.mkdir()
    for name, rows, size in (("big", big, 1000), ("small", small, 10)):
        (directory / f"shop.{name}-schema.sql").write_text(f"CREATE TABLE {name} ({columns});\n")
        lines = (f"{number},{'x' * size}{more}\n" for number in range(rows))
        (directory / f"shop.{name}.csv").write_text("".join(lines))
    return directory


def topic(kafka: str, name: str, settings: dict[str, str]) -> str:
    """Makes a topic of two partitions; the sink-uri without its options."""
    admin = KafkaAdminClient(bootstrap_servers=kafka)
    admin.create_topics([NewTopic(name, 2, 1, topic_configs=settings)])
    admin.close()
    return f"kafka://{kafka}/{name}"


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("states")
    columns = "id int primary key, note varchar(2000)"
    after = shop(folder / "after", f"{columns}, n int default 1", ",1", BIG, SMALL)
    return shop(folder / "before", columns), after


def appended(uri: str) -> list[Appended]:
    """All that can be read, with the time since when."""
    return [(record.timestamp, event) for record in read_records(uri) for event in decode(record.key, record.value)]


def test_no_statement_is_readable_before_an_older_row_or_after_a_younger_one(
    spark: SparkSession, kafka: str, states: tuple[Path, Path]
) -> None:
    """One partition has forty times the rows of the other, and both have the statements."""
    uri = topic(kafka, "ordered", {"message.timestamp.type": "LogAppendTime"})
    assert play("diff", *states, "--sink-uri", f"{uri}?protocol=open-protocol") == 0
    found = appended(uri)
    statements = [(since, event.commit_ts or 0) for since, event in found if isinstance(event, DdlEvent)]
    rows = [(since, event.commit_ts or 0) for since, event in found if isinstance(event, RowEvent)]
    assert (len(statements), len(rows)) == (4, BIG + SMALL)
    for since, commit_ts in statements:
        assert max(time for time, ts in rows if ts <= commit_ts) <= since
        assert min(time for time, ts in rows if ts > commit_ts) >= since


def test_behind_a_row_that_kafka_refuses_no_partition_has_a_statement(
    spark: SparkSession, kafka: str, states: tuple[Path, Path]
) -> None:
    """Up to 5.3.0 TiCDC does not ask how large a message the topic takes."""
    uri = topic(kafka, "refusing", {"max.message.bytes": "1000"})
    options = ("--sink-uri", f"{uri}?protocol=open-protocol", "--release", "v5.2.0")
    assert "topic refusing partition 0: not delivered from" in error_of("diff", *states, *options, code=3)
    kinds = {type(event) for _, event in appended(uri)}
    assert RowEvent in kinds
    assert DdlEvent not in kinds


def test_an_error_in_one_task_keeps_its_words_while_the_other_waits_at_a_statement(
    spark: SparkSession, kafka: str, states: tuple[Path, Path]
) -> None:
    uri = topic(kafka, "limited", {})
    message = error_of("diff", *states, "--sink-uri", f"{uri}?protocol=canal-json&max-message-bytes=1000")
    assert "shop.big" in message and "\n" not in message
