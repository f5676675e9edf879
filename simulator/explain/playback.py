"""Plays a few statements on a TiDB whose changefeed writes into memory, under a release."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from simulator import tso
from simulator.errors import UserError
from simulator.releases import Release
from simulator.run.open_changefeed import OpenChangefeed
from simulator.run.outputs import MemoryOutput
from simulator.run.plan.step import PlanContext, starting
from simulator.run.steps.execution import execute_statement, with_upstream
from simulator.settings import DEFAULT_SINK_URI
from simulator.sinks.memory import Message
from simulator.ticdc import dispatch
from simulator.ticdc.changefeed import load
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.ddl.sent_text import execute_text, parse_job_text
from simulator.ticdc.rules import ChangefeedRules, changefeed_rules, check_tables
from simulator.tidb.ddl.catalog import DatabaseInfo, with_database
from simulator.tidb.ddl.session import Session
from simulator.tidb.engine import CompletedDdl
from simulator.tidb.engine.execution import Upstream
from simulator.tidb.parser.script import split_script

URI = f"{DEFAULT_SINK_URI.partition('?')[0]}?"
OPEN = "protocol=open-protocol&partition-num=1"
CANAL = "protocol=canal-json&partition-num=1"
AVRO = "protocol=avro&partition-num=1&registry=http://127.0.0.1:8081"
REGISTRY = '[sink]\nschema-registry = "http://127.0.0.1:8081"'
DEBEZIUM = "protocol=debezium&partition-num=1"
SIMPLE = "protocol=simple&partition-num=1"
SIMPLE_AVRO = SIMPLE + "&encoding-format=avro"
DATABASE = "test"


@dataclass(frozen=True)
class ReleaseExample:
    """Statements that a TiDB executes, and a changefeed that begins before them."""

    script: str = ""
    given: str = "CREATE TABLE t (id INT PRIMARY KEY)"
    """Statements that were executed before it begins."""

    uri: str = OPEN
    """Parameters of the sink-uri."""

    config: str = ""
    """Of changefeed.toml."""

    time_zone: str = ""
    """Of TiCDC's servers; empty for UTC."""

    watermarks: bool = False
    """Whether watermarks are shown."""

    job_text: str = ""
    """Text of TiDB's job, which the script is then, if it differs from the statement's, as for restoring tools."""

    warns: bool = False
    """Whether warnings about the changefeed are shown."""

    waits: bool = False
    """Whether the tables that wait for a statement are shown."""


@dataclass(frozen=True)
class ExampleOutput:
    messages: tuple[Message, ...]
    """In the order in which they are sent."""

    said: tuple[str, ...]
    """Other output: errors, warnings, why a statement is not sent, what waits for it."""


def play(example: ReleaseExample, release: Release) -> ExampleOutput:
    """Play an example under a release. If TiCDC rejects something, no messages are returned."""
    try:
        return _play(example, release)
    except UserError as error:
        return ExampleOutput((), tuple(f"refused: {line}" for line in str(error).splitlines()))


def _play(example: ReleaseExample, release: Release) -> ExampleOutput:
    messages: list[Message] = []
    output = MemoryOutput(load(URI + example.uri, example.config, release, time_zone=example.time_zone), messages)
    feed = _opened(output, example.given, release)
    begin_ms = feed.position.now_ms
    if example.job_text:
        _execute_job(feed, example, release)
    else:
        for statement in split_script(example.script):
            feed.execute(statement.text)
    if example.watermarks:
        feed.resolve()
    ordered = sorted(messages, key=lambda message: (message.commit_ts, message.topic, message.partition))
    shown = ordered if example.watermarks else _without_watermarks(ordered, feed.rules)
    warnings = [f"warning: {line}" for line in output.changefeed.warnings if example.warns]
    return ExampleOutput(tuple(shown), (*warnings, *_said(feed, tso.compose(begin_ms), example.waits)))


def _opened(output: MemoryOutput, given: str, release: Release) -> OpenChangefeed:
    """Return a changefeed that begins on a TiDB which has executed statements."""
    context = PlanContext(changefeed_rules(load(URI + OPEN, "", release), release), None, None, 0)
    earlier = starting(tso.DEFAULT_START_TS)
    earlier = with_upstream(replace(earlier, catalog=with_database(earlier.catalog, DatabaseInfo(DATABASE))), context)
    executed = []
    for statement in split_script(f"USE {DATABASE}; {given}"):
        now_ms = earlier.now_ms
        earlier, _, outcome = execute_statement(statement.text, earlier, context)
        executed.append((outcome.events, now_ms))
    begin_ms = earlier.now_ms + 1
    feed = OpenChangefeed(output, release, tso.compose(begin_ms))
    tables = list(earlier.catalog.tables.values())
    dispatch.verify_tables(feed.rules.router, tables)
    check_tables(feed.rules, tables)
    assert isinstance(earlier.state, Upstream)
    feed.replace_upstream(earlier.state)
    feed.begin_at(tso.compose(begin_ms), begin_ms, executed)
    return feed


def _execute_job(feed: OpenChangefeed, example: ReleaseExample, release: Release) -> None:
    """Execute a script as one job with another text."""
    text, catalog = example.script, feed.position.catalog
    executed = execute_text(text, Session(DATABASE, catalog, release))
    jobs = tuple(replace(job, query=example.job_text) for job in executed.jobs)
    event = CompletedDdl(parse_job_text(text, release)[0], text, DATABASE, jobs, catalog, executed.catalog or catalog)
    feed.send_events((event,), feed.position.now_ms)
    if feed.stopped is not None:
        raise feed.stopped


def _without_watermarks(messages: Iterable[Message], rules: ChangefeedRules) -> Iterator[Message]:
    options, release = rules.changefeed.codec, rules.release
    codec = CODECS[options.protocol]
    for message in messages:
        entry = codec.watermark(message.commit_ts, options, release)
        if entry is None or codec.message(entry, options, release) != (message.key, message.value):
            yield message


def _said(feed: OpenChangefeed, since: int, waits: bool) -> Iterator[str]:
    """Yield what is known of the statements since a TSO besides their messages."""
    for emitted in (job for job in feed.played().jobs if job.commit_ts >= since):
        for event in emitted.events if waits else ():
            alone = event.type_code in feed.rules.release.single_table_ddl
            yield f"later rows of {'its own table' if alone else 'all tables'} wait for it"
        if not emitted.events:
            yield f"not sent: {emitted.why}"
