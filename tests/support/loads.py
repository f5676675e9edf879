"""Load runs in this process, into memory: plans as text, epochs as of a run, a clock that a test turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from simulator.load.checkpoint import LoadCheckpoint, load_identity
from simulator.load.epochs import epochs
from simulator.load.epochs.epoch import SchemaEpoch
from simulator.load.epochs.epochs import PreparedLoad
from simulator.load.plan import plan_file, rates
from simulator.load.plan.load_plan import LoadPlan
from simulator.load.scheduler import PaceSegment, WindowScheduler
from simulator.releases import V8_5, Release
from simulator.run import outputs
from simulator.run.outputs import Output
from simulator.settings import Settings
from simulator.ticdc.changefeed import load

PLAN = """
seed = 7
rows-per-second = 2000
rows-per-transaction = {min = 1, max = 6}
tables-per-transaction = 2
[[table]]
definition = "CREATE TABLE shop.customer (id BIGINT PRIMARY KEY, name VARCHAR(40), points INT)"
rows = 50
mix = {inserts = 20, updates = 70, deletes = 10}
[[table]]
definition = "CREATE TABLE shop.item (id BIGINT PRIMARY KEY, title VARCHAR(40), stock INT)"
rows = 20
"""

DDL = """
[[ddl]]
every = "300ms"
kinds = ["add-column", "add-index", "truncate"]
"""

URI = "kafka://127.0.0.1:9092/load?partition-num=3&protocol="


def plan(text: str = PLAN) -> LoadPlan:
    return plan_file.read_plan(text, "plan.toml", "plan", Path("."), Settings())


class Run:
    """What a load run consists of, beside its sink."""

    def __init__(
        self, text: str = PLAN, protocol: str = "open-protocol", release: Release = V8_5, uri: str = URI, toml: str = ""
    ) -> None:
        self.load, self.changefeed = plan(text), load(uri + protocol, toml, release)
        self.rates = rates.resolve_rates(rates.parse_rate("max"), self.load.rows_per_second)
        self.prepared: PreparedLoad = epochs.prepare_load(self.load, self.rates.segments, self.changefeed, release)
        self.output: Output = outputs.to_nowhere(self.prepared.plan, self.changefeed)
        self.release = release

    @property
    def identity(self) -> Mapping[str, str]:
        return load_identity(
            self.load,
            self.rates.segments,
            self.release,
            self.changefeed,
            self.prepared.start_ms,
            dict(zip(self.output.destinations.topics, self.output.destinations.counts, strict=True)),
        )

    @property
    def begun(self) -> LoadCheckpoint:
        """Where it begins."""
        return LoadCheckpoint(self.identity, self.prepared.start_ms)

    def epochs(self, from_ms: int = 0) -> Iterator[SchemaEpoch]:
        return epochs.schema_epochs(self.prepared, self.output, from_ms)

    def control(self, seconds: float = 1.0, resolved_ms: int = 100) -> WindowScheduler:
        """Every window is as long as the resolved interval."""
        before = self.prepared.stream.timetable.rows_before
        return WindowScheduler((PaceSegment(0, False),), before, resolved_ms, seconds, fixed=True)
