"""The Python API: a simulated TiDB with a changefeed, which turns SQL into TiCDC's messages.

`execute` returns after the statement's messages are sent; `messages` ends with a watermark above them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

from simulator import releases, tso
from simulator.api.results import PythonValue, Result, python_values, result_of
from simulator.changefeeds import Changefeeds, Retention
from simulator.changefeeds.spec import ChangefeedStream, Config, Sinks, compiled
from simulator.errors import DdlError, ExpectationError, SqlError, UserError
from simulator.reader.decode import Event
from simulator.releases import Release
from simulator.run import expectations
from simulator.run import scenario as scenarios
from simulator.run.open_changefeed import OpenChangefeed
from simulator.run.plan.step import ChangefeedStopped
from simulator.run.scenario import Scenario
from simulator.run.steps.fault import fault_step
from simulator.run.steps.kind import WaitStep
from simulator.settings import DEFAULT_RESOLVED_INTERVAL_MS, DEFAULT_SINK_URI, to_time_zone
from simulator.sinks.kafka import KafkaSettings
from simulator.sinks.memory import Message
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.codecs import Schema
from simulator.ticdc.rules import changefeed_rules
from simulator.tidb.ddl.catalog import DatabaseInfo
from simulator.tidb.engine import StatementOutcome
from simulator.tidb.engine.execution import Upstream
from simulator.tidb.errors import error_number, sql_error, sql_error_with_text
from simulator.tidb.model.table import Table
from simulator.tidb.parser.script import split_script
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.restore import quote_name
from simulator.tidb.storage.row_keys import column_cells
from simulator.tidb.syntax.definitions import CreateTable
from simulator.tidb.syntax.statements import Use
from simulator.truth import PlayedRun
from simulator.truth.directory import TruthFiles
from simulator.truth.expected_rows import about_run, expected_rows, write, write_in_process

SINK_URI = DEFAULT_SINK_URI
"""The default; no Kafka is contacted without `send`."""

UNKNOWN_DATABASE = 1049


class TiCDC:
    """A client's session with a simulated TiDB that a changefeed replicates."""

    def __init__(
        self,
        release: str = releases.DEFAULT,
        architecture: str | None = None,
        *,
        sink_uri: str | None = None,
        config: Config = None,
        tz: str | None = None,
        start_ts: int | str | None = None,
        resolved_interval: str | None = None,
        seed: int = 0,
        databases: Iterable[str] | None = None,
        fixtures: str | Path | None = None,
        fixtures_format: str = "jsonl",
        send: bool = False,
        keep_history: bool = True,
        kafka_timeout: float = KafkaSettings.silence,
        assumed_uri: str = SINK_URI,
    ) -> None:
        """Open a changefeed.

        `release` is a tag such as `v8.5.4`, which means the classic architecture if both have it, or `new:v8.5.4`.
        `config` is TiCDC's changefeed.toml: a path, its text (with a line break or `=` in it), or a mapping. `tz` is
        the time zone of TiCDC's servers (`Asia/Shanghai`).

        `databases` exist from the start, besides `test`; without it, every database that CREATE TABLE or USE names
        does. `fixtures` is a directory to which the messages are written on closing. `send` also sends them to the
        Kafka of `sink_uri` at once, which may acknowledge nothing for `kafka_timeout` seconds. Without `keep_history`
        there are no truths, and memory does not grow with what was sent, if `messages` is called again and again.
        Without `sink_uri` it is `assumed_uri`, but for parameters that `config` has.

        Raises UserError for invalid arguments, DeliveryError if Kafka does not answer.
        """
        kind, _, tag = release.rpartition(":")
        release_facts = releases.find(tag, kind or architecture)
        self._release, self.time_zone = release_facts, to_time_zone(tz or "")
        changefeed = compiled(sink_uri, config, release_facts, assumed_uri, self.time_zone)
        if fixtures is not None and send:
            raise UserError("fixtures and send exclude each other: choose one")
        self._interval_ms = (
            DEFAULT_RESOLVED_INTERVAL_MS if resolved_interval is None else tso.duration_ms(resolved_interval)
        )
        directory = None if fixtures is None else Path(fixtures)
        self.sinks, sent = Sinks(send, directory, fixtures_format, kafka_timeout), list[Message]()
        self.stream = ChangefeedStream(
            OpenChangefeed(
                self.sinks.output(changefeed, release_facts, sent),
                release_facts,
                None if start_ts is None else tso.start_ts(str(start_ts)),
                self._interval_ms,
                seed,
                keep_history,
            ),
            sent,
        )
        self._seed = seed
        self._any_database = databases is None
        self._closed = False
        for name in databases or ():
            self._add_database(name)

    def execute(self, sql: str) -> Result:
        """Execute statements as a MySQL client does, and return the result of the last one.

        Raises SqlError with TiDB's number, SQLSTATE and text; statements before the failing one stay executed. DDL at
        which TiCDC stops is executed, too: SqlError 1105 says so, and refuses each later commit. So does EncodeError after a
        row that TiCDC cannot encode.
        """
        result = Result()
        for statement in split_script(sql, self._open().upstream().settings.sql_mode):
            result = result_of(self._executed(statement.text))
        return result

    def wait(self, duration: str) -> None:
        """Let simulated time pass (`500ms`, `1m30s`), with its watermarks."""
        self._open().play(WaitStep(tso.duration_ms(duration)))

    def fault(self, name: str, **keys: Any) -> None:
        """Inject a fault with the keys of a scenario's step `fault`: `ticdc.fault("late-partition", partition=0,
        by="2s")`; the key `for` is written `for_`.

        Raises UserError for an unknown fault, and for one that the changefeed cannot show.
        """
        self._open().play(fault_step(name, {key.rstrip("_"): value for key, value in keys.items()}))

    def play(self, scenario: str | Path | Scenario) -> None:
        """Play the steps of a scenario: a file (.toml or .sql), the name of one in the package, or a `Scenario`.

        They are sent together, with the messages of a run. The settings of the scenario are ignored. Raises UserError
        for invalid steps, and ExpectationError for a failed step `expect`.
        """
        loaded = scenario if isinstance(scenario, Scenario) else scenarios.load(scenarios.file_of(Path(scenario)))
        live, sent_messages = self._open(), self.stream.sent
        before = len(sent_messages)
        sent = live.faults.records
        start_ms = live.position.now_ms
        results = live.play(*loaded.steps)
        expected = [expected for result in results for expected in result.expected]
        expectations.require_countable(self._changefeed, expected)
        if self._changefeed.storage is None:
            injections = [each for each in live.faults.injections if each.records >= sent]
            sent_events = expectations.of_messages(
                sent_messages[before:],
                self.stream.reader,
                [replace(each, records=each.records - sent) for each in injections],
                self.stream.schema_texts,
            )
        elif any(each.expectation.about_messages for each in expected):
            if self._changefeed.codec.protocol == "csv" and not self._changefeed.codec.csv.include_commit_ts:
                raise UserError("a step `expect` needs the time of each row: set include-commit-ts of [sink.csv]")
            live.resolve()
            sent_events = expectations.of_files(self.stream.file_events())
        else:
            sent_events = expectations.SentEvents()
        expectations.check(expected, start_ms, sent_events, (job for result in results for job in result.jobs))

    def messages(self, watermark: bool = True) -> list[Message]:
        """Return the messages since the last call, in the order of sending.

        They end with a watermark above everything so far in every partition, if the protocol has watermarks, unless
        `watermark` is false.
        """
        self._open()
        return self.stream.messages(watermark)

    def events(self, watermark: bool = True) -> list[Event]:
        """Return `messages` decoded: `RowEvent`, `DdlEvent` and `Watermark` of `simulator.reader.decode`.

        Of a changefeed that writes files, they are those of new files and of `metadata`, table version by table version.
        Raises UserError for a file that cannot be read.
        """
        self._open()
        return self.stream.events(watermark)

    def files(self, watermark: bool = True) -> dict[str, bytes]:
        """Return the files of the storage by their paths, sorted.

        They have all rows so far, and `metadata` is above them, unless `watermark` is false.
        Raises UserError for a changefeed that sends messages.
        """
        self._open()
        return self.stream.files(watermark)

    def rows(self, table: str) -> list[dict[str, PythonValue]]:
        """Return the rows of `db.table`, ordered by its key, with values as in `python_values`.

        The rows have all columns, as with SELECT *; messages have no virtual generated columns. Raises SqlError for a
        missing table.
        """
        upstream, definition = self._table(table)
        texts = upstream.rows(definition).texts()
        columns = {
            column.name: python_values(column.type, column_cells(definition, column, texts))
            for column in definition.columns
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def truth(self, directory: str | Path, format: str = "csv", at: int | None = None) -> Mapping[str, int]:
        """Write the rows that a correct consumer holds, as a snapshot (`csv` or `parquet`); return the rows by `db.table`.

        They are those at the last watermark, which is sent if need be, or at a TSO up to it. Raises UserError for a
        directory with other files, and for a TSO outside the stream.
        """
        live = self._open()
        live.resolve()
        last = live.watermark
        plan, decided = live.played(), changefeed_rules(self._changefeed, self._release)
        first, at = tso.compose(plan.positions[0].now_ms), last if at is None else at
        if not first <= at <= last:
            raise UserError(f"no truth at {at}: the stream so far goes from {first} to {tso.describe(last)}")
        topics = {topic: live.output.counts.get(topic, self._changefeed.kafka.partitions) for topic in self.topics}
        sums = live.sums or {} if at == last else {}
        run = PlayedRun("TiCDC", self.describe(), plan, decided, self._seed)
        files = TruthFiles(Path(directory), format)
        return write(expected_rows(run, at), about_run(run, topics, at, sums), write_in_process, files)

    def verify(self, against: str | Path) -> None:
        """Compare what a consumer wrote, a snapshot or the URL of its database, with the expected rows.

        Raises ExpectationError with all differences, and UserError for unreadable input.
        """
        from simulator.reader.verify import verify  # takes longer than a short test
        from simulator.reader.verify.options import VerifyOptions
        from simulator.reader.verify.verification import failure_lines

        with TemporaryDirectory() as directory:
            self.truth(truth := Path(directory, "truth"))
            failures = [*failure_lines(verify(VerifyOptions(truth=truth, against=str(against))))]
        if failures:
            raise ExpectationError(*failures)

    @property
    def watermark(self) -> int:
        """The last watermark that was sent to every partition, a TSO."""
        return self._live.watermark

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about settings of the sink-uri and the configuration that have no effect."""
        return self._changefeed.warnings

    @property
    def release(self) -> str:
        """The release, such as `v8.5.3`, or `new:v8.5.4` if the classic architecture also has that tag."""
        name, architecture = self._release.name, self._release.architecture
        return name if releases.find(name).architecture == architecture else f"{architecture}:{name}"

    @property
    def _live(self) -> OpenChangefeed:
        return self.stream.live

    @property
    def _changefeed(self) -> Changefeed:
        return self.stream.changefeed

    @property
    def open_changefeed(self) -> OpenChangefeed:
        """The changefeed and its upstream, for this package's own use."""
        return self._open()

    def changefeeds(self, upstream: Upstream, sinks: Sinks, retention: Retention) -> Changefeeds:
        """Return the changefeeds of a TiDB that is served, with the settings of this one; there is none yet. For this
        package's own use."""
        return Changefeeds(upstream, sinks, self.time_zone, self._interval_ms, retention)

    @property
    def release_facts(self) -> Release:
        """The behaviours of the release, for this package's own use."""
        return self._release

    def describe(self) -> str:
        """Return release, protocol and topic in one line."""
        name = f"{self._release.architecture}, {self._release.name}"
        return f"TiCDC {name}, {self._changefeed.codec.protocol}, topic {self.topic}"

    @property
    def topic(self) -> str:
        """The changefeed's default topic."""
        return self._changefeed.topic

    @property
    def topics(self) -> tuple[str, ...]:
        """All topics with messages, the default one first."""
        return tuple(self._live.output.topics) or (self.topic,)

    @property
    def schemas(self) -> dict[int, Schema]:
        """The schemas that messages name, by id; empty in protocols without a registry."""
        return self.stream.schemas

    @property
    def brokers(self) -> str:
        """`host:port[,host:port]` of the sink-uri."""
        return ",".join(self._changefeed.kafka.brokers)

    def close(self) -> None:
        """Send a last watermark and complete the fixtures; raises DeliveryError. Closing again does nothing.

        Warns about faults whose trigger never occurred.
        """
        self._close(True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close(kind is None)

    def _close(self, complete: bool) -> None:
        if not self._closed:
            self._closed = True
            try:
                if complete and self.stream.is_open:
                    self._live.resolve()
            except BaseException:
                complete = False
                raise
            finally:
                self.stream.close(complete)
            for name in self._live.faults.unmet:
                warnings.warn(f"fault {name}: nothing came that it waits for", stacklevel=3)

    def _open(self) -> OpenChangefeed:
        if self._closed:
            raise UserError("this TiCDC is closed")
        return self._live

    def _executed(self, text: str) -> StatementOutcome:
        live = self._open()
        try:
            with _as_sql_error():
                return live.execute(text)
        except SqlError as error:
            name = self._any_database and error.number == UNKNOWN_DATABASE and _database_of(text, live)
            if not name:
                raise
        self._add_database(name)
        with _as_sql_error():
            return live.execute(text)

    def _add_database(self, name: str) -> None:
        self._live.create_database(DatabaseInfo(name))

    def _table(self, name: str) -> tuple[Upstream, Table]:
        live = self._open()
        schema, dot, table = name.rpartition(".")
        schema = schema if dot else live.upstream().settings.database
        definition = live.upstream().catalog.tables.get((schema.lower(), table.lower()))
        if definition is None:
            raise sql_error(1146, schema, table)
        if live.position.unread is not None:  # a snapshot's rows are read by the first statement that needs them
            live.execute(f"SELECT 1 FROM {quote_name(definition.schema)}.{quote_name(definition.name)} LIMIT 0")
        return live.upstream(), definition


@contextmanager
def _as_sql_error() -> Iterator[None]:
    """Convert DdlError to SqlError, with MySQL's number."""
    try:
        yield
    except ChangefeedStopped as stop:
        raise sql_error_with_text(1105, f"the changefeed has stopped: {stop}") from stop
    except DdlError as error:
        raise sql_error_with_text(error_number(error), error.text) from error


def _database_of(text: str, live: OpenChangefeed) -> str:
    """Return the database that CREATE TABLE or USE names; else an empty text."""
    statement = parse_sql(text, live.upstream().settings.sql_mode)
    if isinstance(statement, CreateTable):
        return statement.schema
    return statement.database if isinstance(statement, Use) else ""
