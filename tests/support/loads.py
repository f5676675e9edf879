"""Load runs in this process, into memory: plans as text, epochs as of a run, and what their windows send."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from simulator.engines.tasks.messages import encode_flush
from simulator.engines.tasks.send import flusher
from simulator.load import epochs, plan_file, rates
from simulator.load.epochs import Pace, PreparedLoad, SchemaEpoch, Window
from simulator.load.feed import LoadCheckpoint, load_identity
from simulator.load.load_plan import STATEMENT_KINDS, LoadPlan
from simulator.load.scheduler import WindowScheduler
from simulator.load.sender import window_messages
from simulator.reader.records import Record
from simulator.releases import V8_5, Release
from simulator.run import outputs
from simulator.run.outputs import Output
from simulator.settings import Settings
from simulator.sinks.memory import MemorySink, Message
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

KINDS = [*STATEMENT_KINDS]
CUSTOMER = "CREATE TABLE shop.customer (id BIGINT PRIMARY KEY, name VARCHAR(200), score DOUBLE, since TIMESTAMP)"
ORDERS = (
    "CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, customer_id BIGINT NOT NULL, note TEXT, paid DECIMAL(9,2), "
    "FOREIGN KEY (customer_id) REFERENCES shop.customer (id))"
)
AUDIT = (
    "CREATE TABLE log.audit (region INT, name VARCHAR(20), data VARBINARY(9), state ENUM('a','b'), "
    "PRIMARY KEY (region, name)) PARTITION BY HASH (region) PARTITIONS 3"
)

URI = "kafka://127.0.0.1:9092/load?partition-num=3&protocol="
CANAL, OPEN = "canal-json&enable-tidb-extension=true", "open-protocol"


def shop_plan(ddl: str = "", rows: int = 40, *definitions: str, more: str = "seed = 7") -> str:
    """The text of a plan of such tables, at a thousand rows a second."""
    head = "rows-per-second = 1000\nrows-per-transaction = {min = 1, max = 9}\ntables-per-transaction = 2\n"
    table = '[[table]]\ndefinition = "{}"\nrows = {}\nmix = {{inserts = 30, updates = 50, deletes = 20}}\n'
    tables = "".join(table.format(definition, rows) for definition in definitions or (CUSTOMER, ORDERS, AUDIT))
    return f"{more}\n{head}{tables}{ddl}"


def plan(text: str = PLAN) -> LoadPlan:
    return plan_file.read_plan(text, "plan.toml", "plan", Path("."), Settings())


class Run:
    """What a load run consists of, beside its sink."""

    def __init__(
        self, text: str = PLAN, protocol: str = OPEN, release: Release = V8_5, uri: str = URI, toml: str = ""
    ) -> None:
        self.load, self.changefeed = plan(text), load(uri + protocol, toml, release)
        self.rates = rates.resolve_rates(rates.parse_rate("max"), self.load.rows_per_second)
        self.prepared: PreparedLoad = epochs.prepare_load(self.load, self.rates.segments, self.changefeed, release)
        self.output: Output = outputs.Output(self.changefeed).for_plan(self.prepared.plan)
        self.release = release

    @property
    def identity(self) -> Mapping[str, str]:
        return load_identity(self.prepared, self.output.destinations)

    @property
    def begun(self) -> LoadCheckpoint:
        """Where it begins."""
        return LoadCheckpoint(self.identity, self.prepared.start_ms)

    def epochs(self, from_ms: int = 0) -> Iterator[SchemaEpoch]:
        return epochs.schema_epochs(self.prepared, self.output, from_ms)

    def at(self, ms: int) -> SchemaEpoch:
        """The epoch of a millisecond."""
        return next(self.epochs(ms))

    def control(self, seconds: float = 1.0, resolved_ms: int = 100) -> WindowScheduler:
        """Every window is as long as the resolved interval."""
        before = self.prepared.stream.timetable.rows_before
        return WindowScheduler(self.rates, before, resolved_ms, seconds, fixed=True)

    def sent(self, first_ms: int, end_ms: int, step_ms: int = 400) -> list[Record]:
        """All records behind the watermark of the first millisecond, up to that of the last."""
        messages: list[Message] = []
        sink = MemorySink(messages, self.output.destinations.topics)
        while first_ms < end_ms:
            epoch = self.at(first_ms)
            until = min(ms for ms in (first_ms + step_ms, epoch.end_ms, end_ms) if ms is not None)
            for made in window_messages(window(epoch, first_ms, until), range(self.output.destinations.total)):
                sink.write(made.records)
            behind, first_ms = self.at(until), until
            for flush in flusher(behind.spec, eager=False)([epochs.epoch_control_events(behind, until)]):
                sink.write(encode_flush(flush, behind.spec).records)
        return [
            Record(each.topic, each.partition, each.offset, each.timestamp, each.key, each.value) for each in messages
        ]


def window(epoch: SchemaEpoch, first_ms: int, end_ms: int, pace: Pace = Pace(0.0, 0.0)) -> Window:
    return Window(epoch, first_ms, end_ms, pace)
