"""Plays a few events under a changefeed and a release, in memory. It calls the modules that a run calls, in the same
order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from simulator import tso
from simulator.columns import cells, row_image
from simulator.columns.change_frame import ROW_CHANGES
from simulator.engines import in_process
from simulator.engines.tasks.control_events import WatermarkSchedule
from simulator.engines.work import with_row_id
from simulator.errors import UserError
from simulator.explain.change import parse_row_change
from simulator.explain.row import encode_image
from simulator.explain.table import catalog_from_files
from simulator.releases import Release
from simulator.run.execute import PlannedRun
from simulator.run.open_changefeed import OpenChangefeed
from simulator.run.outputs import MemoryOutput
from simulator.run.plan import Plan
from simulator.run.plan.step import starting
from simulator.settings import DEFAULT_SINK_URI
from simulator.sinks.memory import Message
from simulator.sources.snapshots import PhysicalTable, PlacedTable, physical_tables
from simulator.ticdc import dispatch, split, table_info
from simulator.ticdc.changefeed import Changefeed, load
from simulator.ticdc.codecs import CODECS, DdlEvent
from simulator.ticdc.ddl import SEND, decide
from simulator.ticdc.ddl.sent_text import execute_text, sent_text
from simulator.ticdc.rules import ChangefeedRules, changefeed_rules, check_tables
from simulator.tidb.ddl.catalog import Catalog, DatabaseInfo
from simulator.tidb.ddl.session import Session
from simulator.tidb.model.table import visible_columns
from simulator.tidb.parser.script import split_script
from simulator.tidb.storage.tables import locate_partition

URI = f"{DEFAULT_SINK_URI.partition('?')[0]}?"
OPEN = "protocol=open-protocol&partition-num=1"
CANAL = "protocol=canal-json&partition-num=1"
AVRO = "protocol=avro&partition-num=1&registry=http://127.0.0.1:8081"
REGISTRY = '[sink]\nschema-registry = "http://127.0.0.1:8081"'
DEBEZIUM = "protocol=debezium&partition-num=1"
SIMPLE = "protocol=simple&partition-num=1"
SIMPLE_AVRO = SIMPLE + "&encoding-format=avro"
SECOND = 1000
"""Milliseconds between two events, and between watermarks."""


@dataclass(frozen=True)
class ExampleRow:
    """A row change in the form of `explain row`; missing columns are NULL."""

    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    table: str = "t"
    times: int = 1
    """Number of such rows, with `id` counting up."""


def insert(table: str = "t", times: int = 1, **after: object) -> tuple[ExampleRow, ...]:
    return (ExampleRow(None, after, table, times),)


def update(before: Mapping[str, Any], after: Mapping[str, Any], table: str = "t") -> tuple[ExampleRow, ...]:
    return (ExampleRow(before, after, table),)


def delete(table: str = "t", **before: object) -> tuple[ExampleRow, ...]:
    return (ExampleRow(before, None, table),)


ExampleEvent = str | tuple[ExampleRow, ...]
"""A statement, or the row changes of one transaction."""


@dataclass(frozen=True)
class ReleaseExample:
    """Events, one each second, on tables that exist when the changefeed starts."""

    events: tuple[ExampleEvent, ...]
    tables: str = "CREATE TABLE t (id INT PRIMARY KEY)"
    """Statements, in the database `test`."""

    uri: str = OPEN
    """Parameters of the sink-uri."""

    config: str = ""
    """Of changefeed.toml."""

    time_zone: str = ""
    """Of TiCDC's servers; empty for UTC."""

    watermarks: bool = False
    """Whether watermarks are shown."""

    script: str = ""
    """Statements that TiDB executes, a transaction each, instead of `events`."""

    database: str = "test"
    """The current database of the statements."""

    charset: str = ""
    """Of the client that sent the statements; empty means utf8mb4."""

    job_text: str = ""
    """Text of TiDB's job if it differs from the statement's, as for restoring tools."""

    warns: bool = False
    """Whether warnings about the changefeed are shown."""

    waits: bool = False
    """Whether the tables that wait for a statement are shown."""


@dataclass(frozen=True)
class ExampleOutput:
    messages: tuple[Message, ...]
    """Ordered by commit-ts, then by topic and partition."""

    said: tuple[str, ...]
    """Other output: errors, warnings, why a statement is not sent, what waits for it."""


def play(example: ReleaseExample, release: Release) -> ExampleOutput:
    """Play an example under a release. If TiCDC rejects something, no messages are returned."""
    try:
        return _play(example, release)
    except UserError as error:
        return ExampleOutput((), tuple(f"refused: {line}" for line in str(error).splitlines()))


@dataclass(frozen=True)
class SentStatements:
    events: tuple[DdlEvent, ...]
    topics: tuple[str, ...]
    """As long as `events`."""

    said: tuple[str, ...]


def _play(example: ReleaseExample, release: Release) -> ExampleOutput:
    changefeed = load(URI + example.uri, example.config, release, time_zone=example.time_zone)
    rules = changefeed_rules(changefeed, release)
    catalog = catalog_from_files([("the example", example.tables)], "test")
    if example.script:
        return ExampleOutput(_play_script(example, changefeed, release), ())
    tables = list(catalog.tables.values())
    dispatch.verify_tables(rules.router, tables)
    check_tables(rules, tables)
    statements = _statements(example, catalog, rules)
    messages: list[Message] = []
    plan = _plan(example, catalog, statements, rules)
    result = PlannedRun(plan, MemoryOutput(changefeed, messages).for_plan(plan), release).send(in_process.run)
    if result.stopped is not None:
        raise result.stopped[1]
    ordered = sorted(messages, key=lambda message: (message.commit_ts, message.topic, message.partition))
    warnings = [f"warning: {line}" for line in changefeed.warnings if example.warns]
    shown = ordered if example.watermarks else _without_watermarks(ordered, rules)
    return ExampleOutput(tuple(shown), (*warnings, *statements.said))


def _play_script(example: ReleaseExample, changefeed: Changefeed, release: Release) -> tuple[Message, ...]:
    """Return the messages of a script, without watermarks and what creates the tables."""
    messages: list[Message] = []
    feed = OpenChangefeed(MemoryOutput(changefeed, messages), release)
    feed.create_database(DatabaseInfo(example.database))
    for statement in split_script(f"USE `{example.database}`; {example.tables}"):
        feed.execute(statement.text)
    del messages[:]
    for statement in split_script(example.script):
        feed.execute(statement.text)
    return tuple(_without_watermarks(messages, changefeed_rules(changefeed, release)))


def _without_watermarks(messages: Iterable[Message], rules: ChangefeedRules) -> Iterator[Message]:
    options, release = rules.changefeed.codec, rules.release
    codec = CODECS[options.protocol]
    for message in messages:
        entry = codec.watermark(message.commit_ts, options, release)
        if entry is None or codec.message(entry, options, release) != (message.key, message.value):
            yield message


def _statements(example: ReleaseExample, catalog: Catalog, rules: ChangefeedRules) -> SentStatements:
    """Return the events of statements, each with the tables as the one before leaves them."""
    events: list[DdlEvent] = []
    topics: list[str] = []
    notes: list[str] = []
    for second, text in ((number, event) for number, event in enumerate(example.events) if isinstance(event, str)):
        executed = execute_text(text, Session(example.database, catalog, rules.release))
        for place, job in enumerate(executed.jobs):
            commit_ts = _commit_ts(second) + place
            decision = decide(job, catalog, executed.catalog, rules, commit_ts - tso.BEFORE_COMMIT)
            if decision.error is not None:
                raise decision.error
            for event, query in zip(decision.events, decision.queries, strict=True):
                if example.charset or example.job_text:
                    query = sent_text(example.job_text or event.query, rules.release, example.charset)
                events.append(DdlEvent(commit_ts, *event.sent_name, query, event.type_code))
                topics.append(dispatch.topic_of_ddl(rules.router, event.schema, event.table, event.old))
                if example.waits:
                    alone = event.type_code in rules.release.single_table_ddl
                    notes.append(f"later rows of {'its own table' if alone else 'all tables'} wait for it")
            if decision.outcome != SEND:
                notes.append(f"not sent: {decision.why}")
        catalog = executed.catalog or catalog
    return SentStatements(tuple(events), tuple(topics), tuple(notes))


def _commit_ts(second: int) -> int:
    return tso.compose(tso.physical(tso.DEFAULT_START_TS) + 1 + second * SECOND, tso.ROW_LOGICAL)


def _plan(example: ReleaseExample, catalog: Catalog, sent: SentStatements, rules: ChangefeedRules) -> Plan:
    """Return the plan of an example whose tables exist from the start, with a watermark at its end."""
    changefeed, tables = rules.changefeed, catalog.tables.values()
    physical = physical_tables(tables)
    active = dispatch.active_topics(rules.router, ((table.schema, table.name) for table in tables))
    topics = tuple(dict.fromkeys([changefeed.topic, *active, *sent.topics]))
    start_ms = tso.physical(tso.DEFAULT_START_TS)
    lasts_ms = max(1, len(example.events)) * SECOND
    rows = [
        _changes_of_row(row, _commit_ts(second), physical)
        for second, event in enumerate(example.events)
        if not isinstance(event, str)
        for row in event
    ]
    return Plan(
        tables=physical,
        routes=tuple(dispatch.route(rules.router, place.table) for place in physical),
        places=tuple(
            PlacedTable(table, tuple(index for index, each in enumerate(physical) if each.table is table))
            for table in tables
        ),
        snapshot_pairs=(),
        statements=sent.events,
        statement_topics=sent.topics,
        topics=topics,
        active=((0, tso.FOREVER),) * len(topics),
        timeline=WatermarkSchedule(start_ms, start_ms + lasts_ms, 2 * lasts_ms),
        left_out=(),
        notes=(),
        event_filters=rules.event_filters,
        ignored_start_ts=rules.replication.ignored_start_ts,
        split=split.split_rule(
            rules.release,
            changefeed.output_raw_change_event,
            changefeed.codec.enable_old_value,
            changefeed.active_active,
        ),
        rows=with_row_id(pa.concat_batches([in_process.NO_CHANGES, *rows])),
        positions=(replace(starting(tso.DEFAULT_START_TS), catalog=catalog),),
    )


def _changes_of_row(row: ExampleRow, commit_ts: int, tables: Sequence[PhysicalTable]) -> pa.RecordBatch:
    places = [number for number, place in enumerate(tables) if place.table.name == row.table]
    table = tables[places[0]].table
    change = parse_row_change(
        table, {side: image for side, image in (("before", row.before), ("after", row.after)) if image is not None}
    )
    images = [_images(image, row.times) for image in (change.before, change.after)]
    shown = row_image.named(images[row.after is not None], [column.name for column in visible_columns(table)])
    ordinal = np.asarray(locate_partition(table, shown)) if table.partitioning else np.zeros(row.times, np.int64)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(np.full(row.times, commit_ts)),
            pa.array(np.array(places)[ordinal].astype(np.int32)),
            table_info.handles_of_rows(table, shown),
            *images,
        ],
        schema=ROW_CHANGES,
    )


def _images(image: Mapping[str, str | None] | None, times: int) -> pa.Array:
    if times == 1 or image is None:
        return pa.array([encode_image(image)] * times, pa.binary())
    texts = cells.columns([image])
    repeated = {name: pa.concat_arrays([text] * times) for name, text in texts.items()}
    numbered = pa.array(np.arange(1, times + 1).astype(str), pa.string()).cast(next(iter(texts.values())).type)
    return row_image.pack(list((repeated | {"id": numbered}).values()))
