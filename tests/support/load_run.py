"""A small load run into fixture files, by either engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from simulator import releases
from simulator.load.checkpoint import LoadCheckpoint
from simulator.load.epochs.epochs import prepare_load, schema_epochs
from simulator.load.feed import Feed
from simulator.load.plan import plan_file
from simulator.load.reports.sent_window import SentWindow
from simulator.load.scheduler import PaceSegment, WindowScheduler
from simulator.load.windows.sender import WindowSender
from simulator.run import outputs
from simulator.run.outputs import Output
from simulator.settings import Settings
from simulator.sinks import SINKS
from simulator.sinks.files import directory
from simulator.sources.generate.changes.timetable import Segment
from simulator.ticdc.changefeed import load
from simulator.ticdc.dispatch import Destinations

PLAN = """
name = "two-tables"
seed = 7
rows-per-transaction = {min = 1, max = 9}
tables-per-transaction = 2
[[table]]
definition = "CREATE TABLE d.s (id BIGINT PRIMARY KEY, v VARCHAR(20), n INT)"
rows = 50
[[table]]
definition = "CREATE TABLE d.t (id BIGINT PRIMARY KEY, v VARCHAR(20))"
rows = 50
mix = {inserts = 30, updates = 40, deletes = 30}
[[ddl]]
every = "1s"
kinds = ["add-column", "truncate"]
"""

URI = "kafka://127.0.0.1:1/load?protocol=canal-json&enable-tidb-extension=true&partition-num=4"

Engine = Callable[[Feed, Output], None]
"""Sends what the feed gives."""


def in_process(feed: Feed, output: Output) -> None:
    feed.send_all(WindowSender(SINKS[output.sink](output.settings, output.destinations.topics)))


def play(
    to: Path, engine: Engine, seconds: float = 2.5, per_second: float = 400.0, feed_kind: type[Feed] = Feed
) -> list[SentWindow]:
    """The windows of half a second, or up to a statement, that were sent; the directory is as after any run."""
    file = to.with_suffix(".toml")
    file.write_text(PLAN)
    release = releases.find(releases.DEFAULT, None)
    changefeed = load(URI, "", release)
    opened = prepare_load(
        plan_file.load_plan(file, Settings()), [Segment(0, per_second, per_second)], changefeed, release
    )
    counts = dict.fromkeys(opened.plan.topics, changefeed.kafka.partitions)
    settings = directory.begin(to, "jsonl", shared=True)
    destinations = Destinations(opened.plan.topics, tuple(counts.values()), opened.plan.active)
    output = Output("jsonl", settings, destinations, outputs.codec_options(changefeed))
    control = WindowScheduler([PaceSegment(0, False)], lambda ms: 0, 500, seconds, fixed=True)
    sink = SINKS["jsonl"](settings, destinations.topics)
    sent: list[SentWindow] = []
    begun = LoadCheckpoint({}, opened.start_ms)
    feed = feed_kind(schema_epochs(opened, output), control, sink, begun, observers=[sent.append])
    engine(feed, output)
    feed.close()
    directory.commit(settings, counts)
    return sent
