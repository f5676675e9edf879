"""On Kafka a statement is readable when every older row of every partition is, and before every younger one."""

from __future__ import annotations

from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from playing import play
from pyspark.sql import SparkSession

from simulator.decode import DdlEvent, Event, RowEvent, decode
from simulator.records import read

BIG, SMALL = 12_000, 300
"""Rows of two tables, each in a topic of its own."""

CONFIG = '[sink]\ndispatchers = [{matcher = ["*.*"], topic = "ordered-{table}"}]\n'

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


def topics(kafka: str, *names: str, **settings: str) -> None:
    """Makes topics of one partition in which Kafka writes down when it appended each record."""
    admin = KafkaAdminClient(bootstrap_servers=kafka)
    stamped = {"message.timestamp.type": "LogAppendTime", **settings}
    admin.create_topics([NewTopic(name, 1, 1, topic_configs=stamped) for name in names])
    admin.close()


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Both tables are filled, and altered while they are."""
    folder = tmp_path_factory.mktemp("states")
    columns = "id int primary key, note varchar(2000)"
    after = shop(folder / "after", f"{columns}, n int default 1", ",1", BIG, SMALL)
    return shop(folder / "before", columns), after


def appended(kafka: str, *names: str) -> list[Appended]:
    """All that can be read, with the time since when."""
    records = (record for name in names for record in read(f"kafka://{kafka}/{name}"))
    return [(record.timestamp, event) for record in records for event in decode(record.key, record.value)]


def test_no_statement_is_readable_before_an_older_row_or_after_a_younger_one(
    spark: SparkSession, tmp_path: Path, kafka: str, states: tuple[Path, Path]
) -> None:
    """One partition has forty times the rows of the other, and another task sends them."""
    topics(kafka, "ordered-big", "ordered-small")
    (tmp_path / "feed.toml").write_text(CONFIG)
    uri = f"kafka://{kafka}/ordered?protocol=canal-json&enable-tidb-extension=true&partition-num=1"
    assert play("diff", *states, "--sink-uri", uri, "--config", tmp_path / "feed.toml") == 0
    found = appended(kafka, "ordered-big", "ordered-small")
    statements = [(since, event.commit_ts or 0) for since, event in found if isinstance(event, DdlEvent)]
    rows = [(since, event.commit_ts or 0) for since, event in found if isinstance(event, RowEvent)]
    assert (len(statements), len(rows)) == (2, BIG + SMALL)
    for since, commit_ts in statements:
        assert max(time for time, ts in rows if ts <= commit_ts) <= since
        assert min(time for time, ts in rows if ts > commit_ts) >= since
