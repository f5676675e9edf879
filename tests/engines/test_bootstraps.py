"""BOOTSTRAP of Simple: each partition gets the same whichever task sends it, and whatever is sent at once."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from simulator import TiCDC
from simulator.columns.change_frame import ints
from simulator.engines import in_process
from simulator.engines.tasks.progress import Reporter
from simulator.releases import Release, find
from simulator.run import outputs, scenario
from simulator.run.execute import PlannedRun
from simulator.run.plan import Plan, plan
from simulator.sinks.memory import Message
from simulator.ticdc.changefeed import Changefeed, load

URI = "kafka://127.0.0.1:9/shop?protocol=simple&partition-num=3"
SETTINGS = (
    "[sink]\nsend-bootstrap-interval-in-sec = 7\nsend-bootstrap-in-msg-count = 3\n"
    "dispatchers = [{matcher = ['test.a'], partition = 'index-value'}]"
)
STEPS = (
    ("sql", "CREATE TABLE a (id INT PRIMARY KEY)"),
    ("sql", "CREATE TABLE p (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 3"),
    ("sql", "BEGIN; INSERT INTO p VALUES (1), (2), (3); INSERT INTO a VALUES (1), (2), (3), (4); COMMIT"),
    ("wait", "4s"),
    ("sql", "ALTER TABLE a ADD c INT; BEGIN; UPDATE a SET c = 1; DELETE FROM p WHERE id = 2; COMMIT"),
    ("wait", "17s"),
    ("sql", "RENAME TABLE a TO b; INSERT INTO b VALUES (9, 9)"),
    ("wait", "25s"),
    ("sql", "INSERT INTO b VALUES (10, 9)"),
    ("wait", "9s"),
)

Values = dict[int, list[bytes | None]]


def by_partition(messages: list[Message]) -> Values:
    found: Values = defaultdict(list)
    for message in messages:
        found[message.partition].append(message.value)
    return found


def planned(path: Path, changefeed: Changefeed, release: Release) -> Plan:
    path.write_text("".join(f"[[step]]\n{kind} = '{text}'\n" for kind, text in STEPS))
    return plan(scenario.load(path).run_spec(), changefeed, release)


def sent(story: Plan, changefeed: Changefeed, release: Release, owned: tuple[int, ...], rows_at_once: int) -> Values:
    """What a task sends that owns some partitions."""
    messages: list[Message] = []
    output = outputs.MemoryOutput(changefeed, messages)
    task = in_process.ordered_task(PlannedRun(story, output.for_plan(story), release).work(), True)
    every = pa.Table.from_batches(list(task.rows))
    mine = every.filter(pa.array(np.isin(ints(every.combine_chunks().to_batches()[0], "destination"), owned)))
    replace(task, rows=mine.to_batches(rows_at_once), owned=owned).into(output.sink, Reporter(None))
    output.close()
    return by_partition(messages)


@pytest.mark.slow
@pytest.mark.parametrize("release", ["v7.5.7", "v8.5.3", "new:v8.5.5"])
def test_every_task_sends_the_bootstraps_of_its_partitions(release: str, tmp_path: Path) -> None:
    """And a changefeed that plays the steps one by one the same ones as a run of all."""
    tag, architecture = release.removeprefix("new:"), "new" if release.startswith("new") else "classic"
    simulated = find(tag, architecture)
    changefeed = load(URI, SETTINGS, simulated)
    story = planned(tmp_path / "story.toml", changefeed, simulated)
    whole = sent(story, changefeed, simulated, (0, 1, 2), 1000)
    told = [value for value in whole[0] if value and b"BOOTSTRAP" in value]
    assert len(told) > 10
    assert {**sent(story, changefeed, simulated, (0, 2), 2), **sent(story, changefeed, simulated, (1,), 1)} == whole
    with TiCDC(release, sink_uri=URI, config=SETTINGS) as ticdc:
        for kind, text in STEPS:
            ticdc.execute(text) if kind == "sql" else ticdc.wait(text)
        assert without_watermarks(by_partition(ticdc.messages())) == without_watermarks(whole)


def test_tables_are_present_from_their_creation_on_until_they_are_dropped(tmp_path: Path) -> None:
    """By the name that they have at a checkpoint, whatever came later."""
    statements = "CREATE TABLE a (id INT PRIMARY KEY)", "RENAME TABLE a TO b", "ALTER TABLE b ADD c INT", "DROP TABLE b"
    text = "; ".join((*statements, "CREATE TABLE a (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2"))
    (tmp_path / "story.toml").write_text(f"[[step]]\nsql = '{text}'\n")
    simulated = find("v8.5.3")
    story = plan(scenario.load(tmp_path / "story.toml").run_spec(), load(URI, SETTINGS, simulated), simulated)
    found = []
    for since in (0, *(job.commit_ts for job in story.jobs)):
        tables = [story.tables[number].table for number in story.present_tables(since)]
        found.append([(table.name, len(table.columns)) for table in tables])
    assert found == [[], [("a", 1)], [("b", 1)], [("b", 2)], [], [("a", 1), ("a", 1)]]


def without_watermarks(values: Values) -> Values:
    return {place: [value for value in each if b"WATERMARK" not in (value or b"")] for place, each in values.items()}
