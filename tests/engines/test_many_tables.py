"""Many tables and topics: what a run does with each of them once, or not at all."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import releases
from simulator.run import scenario
from simulator.run.execute import rehearse
from simulator.run.plan import plan
from simulator.sources import snapshots
from simulator.ticdc.changefeed import load
from simulator.ticdc.dispatch.destinations import Destinations

URI = "kafka://127.0.0.1:9092/shop?protocol=open-protocol&partition-num="
TOPICS = '[sink]\ndispatchers = [{matcher = ["tenant.*"], topic = "{schema}_{table}"}]\n'
TABLES, PARTITIONS = 60, 40
WATERMARK = bytes(8)
"""The value of its message."""


def export(directory: Path, third: str) -> Path:
    """Three tables without rows."""
    directory.mkdir()
    for number, length in (("1", "20"), ("2", "20"), ("3", third)):
        text = f"CREATE TABLE t{number} (id INT PRIMARY KEY, name VARCHAR({length}), KEY (name))"
        (directory / f"shop.t{number}-schema.sql").write_text(text)
    return directory


def test_a_table_that_two_snapshots_define_in_the_same_words_is_one_table(tmp_path: Path) -> None:
    """Its definition is not read twice, and not compared."""
    before, after = export(tmp_path / "before", "20"), export(tmp_path / "after", "30")
    pairs = zip(snapshots.open(before).tables, snapshots.open(after).tables, strict=True)
    assert [was.table.name for was, now in pairs if was.table is not now.table] == ["t3"]
    planned = plan(scenario.diff(before, after).run_spec(), load(f"{URI}2", ""), releases.V8_5)
    assert (len(planned.tables), len(planned.statements)) == (4, 1)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=20))
def test_a_destination_is_one_partition_of_one_topic(counts: list[int]) -> None:
    to = Destinations(tuple(f"t{number}" for number in range(len(counts))), tuple(counts))
    found = [
        (topic, place - to.of_topic(f"t{topic}").start)
        for topic in range(len(counts))
        for place in to.of_topic(f"t{topic}")
    ]
    assert [to.where(destination) for destination in range(to.total)] == found
    assert found == [(topic, partition) for topic, count in enumerate(counts) for partition in range(count)]


@pytest.mark.slow
def test_a_watermark_reaches_every_partition_of_every_topic(tmp_path: Path) -> None:
    (tmp_path / "before").mkdir()
    for number in range(TABLES):
        text = f"CREATE TABLE t{number} (id INT PRIMARY KEY)"
        (tmp_path / "before" / f"tenant.t{number}-schema.sql").write_text(text)
    sql = "BEGIN; INSERT INTO tenant.t7 VALUES (1); INSERT INTO tenant.t59 VALUES (1); COMMIT"
    (tmp_path / "many.toml").write_text(f'[[step]]\nsnapshot = "before"\n[[step]]\nsql = "{sql}"\n')
    changefeed, release = load(f"{URI}{PARTITIONS}", TOPICS), releases.V8_5
    planned = plan(scenario.load(tmp_path / "many.toml").run_spec(), changefeed, release)

    messages = rehearse(planned, changefeed, release, 0)[0]

    rows = [message for message in messages if message.value != WATERMARK]
    marks = Counter(message.commit_ts for message in messages if message.value == WATERMARK)
    every = (TABLES + 1) * PARTITIONS
    assert ["tenant_t59", "tenant_t7"] == sorted(message.topic for message in rows)
    assert [every] == list(marks.values())
    assert every == len({(message.topic, message.partition) for message in messages})
