"""A topic for each of 400 tables, with 100 partitions each."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from simulator import releases
from simulator.run import scenario
from simulator.run.execute import rehearse
from simulator.run.plan import plan
from simulator.ticdc.changefeed import load

TABLES, PARTITIONS = 400, 100
URI = f"kafka://127.0.0.1:9092/default?protocol=open-protocol&partition-num={PARTITIONS}"
TOPICS = '[sink]\ndispatchers = [{matcher = ["tenant.*"], topic = "{schema}_{table}"}]\n'
MARK = bytes(8)
"""The value of a watermark."""


@pytest.mark.slow
def test_a_watermark_reaches_every_partition_of_every_topic(tmp_path: Path) -> None:
    (tmp_path / "before").mkdir()
    for number in range(TABLES):
        text = f"CREATE TABLE t{number} (id INT PRIMARY KEY)"
        (tmp_path / "before" / f"tenant.t{number}-schema.sql").write_text(text, "utf-8")
    file = tmp_path / "many.toml"
    file.write_text(
        """
[[step]]
snapshot = "before"
[[step]]
sql = "BEGIN; INSERT INTO tenant.t7 VALUES (1); INSERT INTO tenant.t399 VALUES (1); COMMIT"
""",
        "utf-8",
    )
    changefeed, release = load(URI, TOPICS), releases.V8_5

    messages = rehearse(plan(scenario.load(file).run_spec(), changefeed, release), changefeed, release, 0)[0]

    rows = [message for message in messages if message.value != MARK]
    marks = Counter(message.commit_ts for message in messages if message.value == MARK)
    every = (TABLES + 1) * PARTITIONS
    assert ["tenant_t399", "tenant_t7"] == sorted(message.topic for message in rows)
    assert [every] == list(marks.values())
    assert every == len({(message.topic, message.partition) for message in messages})
