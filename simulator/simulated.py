"""A simulated TiDB with a changefeed, for Python: SQL in, TiCDC's messages out.

One law: what a statement made has been sent when `execute` is back, and `messages` ends with a watermark above it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from simulator import releases, tso
from simulator.errors import CodedError, SqlError, UserError
from simulator.python_values import PythonValue, as_bytes, python_values
from simulator.read.decode import Event, decode
from simulator.run import scenario as scenarios
from simulator.run.live import Live
from simulator.run.open_outputs import OpenOutput, to_fixtures, to_kafka, to_memory
from simulator.run.scenario import Scenario
from simulator.run.settings import DEFAULT_RESOLVED_INTERVAL_MS
from simulator.run.steps.wait import WaitStep
from simulator.sinks.memory import Message
from simulator.ticdc.changefeed import Changefeed, load, load_file
from simulator.tidb.ddl.catalog import Database, with_database
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.parser.script import scripted
from simulator.tidb.parser.sql import read_sql
from simulator.tidb.syntax.session import Use
from simulator.tidb.syntax.statements import CreateTable, CreateTableLike
from simulator.tidb.upstream.outcome import Outcome, ResultSet
from simulator.tidb.upstream.refusals import error_number, refused, worded
from simulator.tidb.upstream.state import Upstream
from simulator.tidb.upstream.stored import rows_of

__all__ = ["Message", "Result", "SINK_URI", "TiCDC"]

SINK_URI = "kafka://127.0.0.1:9092/ticdc?protocol=open-protocol"
"""Of which nothing is contacted, unless it is asked for."""

UNKNOWN_DATABASE = 1049


@dataclass(frozen=True)
class Result:
    """What a statement answered."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str | bytes | None, ...], ...] = ()
    """Of a SELECT: TiDB text, bytes for binary strings, None for NULL."""

    affected: int = 0
    warnings: tuple[str, ...] = ()
    """As SHOW WARNINGS says them: `1265 Data truncated for column 'a' at row 1`."""


class TiCDC:
    """One client's session with a TiDB that a changefeed replicates."""

    def __init__(
        self,
        release: str = releases.DEFAULT,
        architecture: str | None = None,
        *,
        sink_uri: str = SINK_URI,
        config: str | Path | Mapping[str, Any] | None = None,
        start_ts: int | str | None = None,
        resolved_interval: str | None = None,
        seed: int = 0,
        databases: Iterable[str] | None = None,
        fixtures: str | Path | None = None,
        fixtures_format: str = "jsonl",
        send: bool = False,
    ) -> None:
        """`config` is TiCDC's changefeed.toml: a path, its text (with a line break or `=` in it), or a mapping.

        `databases` are there from the start, besides `test`; without it every one that CREATE TABLE or USE names is.
        With `fixtures` the messages are also written there when it is closed, with `send` they also go to the Kafka of
        `sink_uri` at once. Raises UserError for what cannot be, DeliveryError where Kafka does not answer.
        """
        found = releases.find(release, architecture)
        changefeed = _changefeed(sink_uri, config, found)
        if fixtures is not None and send:
            raise UserError("fixtures and send exclude each other: choose one")
        self._sent: list[Message] = []
        self._live = Live(
            _output(changefeed, self._sent, fixtures, fixtures_format, send),
            changefeed,
            found,
            None if start_ts is None else tso.start_ts(str(start_ts)),
            None,
            DEFAULT_RESOLVED_INTERVAL_MS if resolved_interval is None else tso.duration_ms(resolved_interval),
            seed,
        )
        self._any_database = databases is None
        self._closed = False
        for name in databases or ():
            self._add_database(name)

    def execute(self, sql: str) -> Result:
        """Runs the statements as a MySQL client would send them; what the last one answered.

        Raises SqlError with TiDB's number, SQLSTATE and text; what stands before the one that fails has been done.
        """
        result = Result()
        for statement in scripted(sql):
            result = _result(self._executed(statement.text))
        return result

    def wait(self, duration: str) -> None:
        """Simulated time passes (`500ms`, `1m30s`), with its watermarks."""
        self._open().play(WaitStep(tso.duration_ms(duration)))

    def play(self, scenario: str | Path | Scenario) -> None:
        """The steps of a scenario: a file (.toml or .sql) or a `Scenario`; its settings are this object's own.

        Raises UserError for what cannot be played.
        """
        found = scenario if isinstance(scenario, Scenario) else scenarios.load(Path(scenario))
        for step in found.steps:
            self._open().play(step)

    def messages(self) -> list[Message]:
        """What was sent since the last call, in the order of sending; it ends with a watermark above everything sent so
        far, in every partition, where the protocol has watermarks."""
        self._open().resolve()
        taken, bases = list(self._sent), self._first_offsets()
        self._sent.clear()
        return [
            replace(message, offset=message.offset + bases.get((message.topic, message.partition), 0))
            for message in taken
        ]

    def events(self) -> list[Event]:
        """As `messages`, decoded: `RowEvent`, `DdlEvent` and `Watermark` of `simulator.read.decode`."""
        return [event for message in self.messages() for event in decode(message.key, message.value)]

    def rows(self, table: str) -> list[dict[str, PythonValue]]:
        """The rows of `db.table`, in the order of its key: int for integers, BIT and YEAR, float for FLOAT and DOUBLE,
        bytes for binary strings, str as TiDB prints it for everything else, None for NULL.

        Virtual generated columns are left out, as messages leave them out. Raises SqlError for a table that is not
        there.
        """
        upstream, definition = self._table(table)
        cells = rows_of(upstream, definition).cells
        columns = {
            column.name: python_values(column.type, cells.column(column.name)) for column in visible_columns(definition)
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    @property
    def watermark(self) -> int:
        """The last one that was sent to every partition, a TSO."""
        return self._live.watermark

    def close(self) -> None:
        """Completes fixtures, waits for Kafka; raises DeliveryError. Closing again does nothing."""
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
            self._live.close(complete)

    def _open(self) -> Live:
        if self._closed:
            raise UserError("this TiCDC is closed")
        return self._live

    def _executed(self, text: str) -> Outcome:
        live = self._open()
        try:
            with _as_sql_error():
                return live.execute(text)
        except SqlError as error:
            name = self._any_database and error.number == UNKNOWN_DATABASE and _database_of(text)
            if not name:
                raise
        self._add_database(name)
        with _as_sql_error():
            return live.execute(text)

    def _add_database(self, name: str) -> None:
        self._live.change_upstream(
            lambda upstream: replace(upstream, catalog=with_database(upstream.catalog, Database(name))))

    def _table(self, name: str) -> tuple[Upstream, Table]:
        upstream = self._open().upstream()
        schema, dot, table = name.rpartition(".")
        schema = schema if dot else upstream.session.database
        found = upstream.catalog.tables.get((schema.lower(), table.lower()))
        if found is None:
            raise refused(1146, schema, table)
        return upstream, found

    def _first_offsets(self) -> dict[tuple[str, int], int]:
        topics = self._live.topics
        return {
            (topics[account.topic], account.partition): account.first_offset or 0 for account in self._live.accounts()
        }
