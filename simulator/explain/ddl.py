"""A statement under a changefeed: its jobs, TiCDC's decision about each, the events that are sent, and the changes of
tables; as values, as lines for people, and as JSON for programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from simulator.errors import DdlError, EncodeError
from simulator.explain.table import TableDifference, schema_changes
from simulator.limits import counted, noun
from simulator.releases import Release
from simulator.run.plan.statements import (
    IN_SCRIPT,
    AppliedStatement,
    EmittedJob,
    PendingStatement,
    TableIds,
    follow_jobs,
)
from simulator.sources.snapshots import FIRST_ID
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.codecs import CODECS, DdlEvent
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.schema_registry import SchemaManager
from simulator.ticdc.ddl import Decision, decide
from simulator.ticdc.ddl.events import JobEvent
from simulator.ticdc.ddl.sent_text import execute_text
from simulator.ticdc.dispatch import topic_of_ddl
from simulator.ticdc.rules import ChangefeedRules
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.session import Job, Session
from simulator.tso import DEFAULT_START_TS


@dataclass(frozen=True)
class MessageExplained:
    protocol: str
    chosen: bool
    """Whether this is the changefeed's protocol."""

    partitions: tuple[int, ...]
    key: bytes | None
    value: bytes


@dataclass(frozen=True)
class EventExplained:
    type_code: int
    action: str
    schema: str
    table: str
    sent_as: str
    """Full name in messages, if table routing changes it."""

    topic: str
    query: str
    holds_back: str
    """The tables whose later rows wait for it: `its own table` or `all tables`."""

    messages: tuple[MessageExplained, ...]
    """One for each protocol."""

    not_sent: str
    """Why the changefeed's own protocol has no message; empty if it has one."""


@dataclass(frozen=True)
class JobExplained:
    type_code: int
    action: str
    """TiDB's constant."""

    text: str
    """As in ADMIN SHOW DDL JOBS."""

    schema: str
    table: str
    renamed: tuple[tuple[str, str], ...]
    """Old and new full name of each table of a RENAME."""

    exchanged: str
    """Full name of the plain table of EXCHANGE PARTITION."""

    sub_jobs: tuple[str, ...]
    """Actions of the parts of a multi-schema change."""

    outcome: str
    """As `simulator.ticdc.ddl.Decision` has it."""

    why: str
    events: tuple[EventExplained, ...]


@dataclass(frozen=True)
class DdlExplained:
    statement: str
    release: str
    architecture: str
    jobs: tuple[JobExplained, ...]
    notes: tuple[str, ...]
    """Parts of the statement that are no job, and why."""

    schema_changes: tuple[TableDifference, ...]
    """Of known tables."""


def explain_statements(
    statements: Sequence[tuple[str, str]], catalog: Catalog | None, rules: ChangefeedRules
) -> Iterator[DdlExplained]:
    """Explain statements (current database and text), each with the tables as the one before leaves them.

    Raises DdlError for the first statement that TiDB rejects or that does not fit the tables, with its number if there
    are several. Without a catalog no tables are explained, and every table is assumed to have a valid index.
    """
    for number, (database, text) in enumerate(statements, 1):
        try:
            explained, catalog = _explained(text, Session(database, catalog, rules.release), rules)
        except DdlError as error:
            if len(statements) == 1:
                raise
            raise DdlError(f"statement {number} of {len(statements)}: {error.text}", error.code) from error
        yield explained


def _explained(text: str, session: Session, rules: ChangefeedRules) -> tuple[DdlExplained, Catalog | None]:
    executed, before = execute_text(text, session), session.catalog
    renamed = [pair for job in executed.jobs for pair in job.renames]
    jobs = tuple(_job(job, before, executed.catalog, rules) for job in executed.jobs)
    changes = schema_changes(before, executed.catalog, renamed, rules.release) if before and executed.catalog else ()
    release = rules.release
    return DdlExplained(text, release.name, release.architecture, jobs, executed.notes, changes), executed.catalog


def _job(job: Job, before: Catalog | None, after: Catalog | None, rules: ChangefeedRules) -> JobExplained:
    decision = decide(job, before, after, rules)
    action = Action(job.code)
    return JobExplained(
        job.code,
        action.constant,
        action.text,
        job.schema,
        job.table,
        tuple((".".join(old), ".".join(new)) for old, new in job.renames),
        ".".join(job.exchanged_table) if job.exchanged_table else "",
        tuple(Action(code).constant for code in job.sub_jobs),
        decision.outcome,
        decision.why,
        tuple(
            _event(replace(event, query=sent.query), sent, rules)
            for event, sent in zip(decision.events, _sent(job, decision, before, after), strict=True)
        ),
    )


def _sent(job: Job, decision: Decision, before: Catalog | None, after: Catalog | None) -> tuple[DdlEvent, ...]:
    """Return the events with the infos of their tables, as far as these are known."""
    commit_ts = DEFAULT_START_TS + 1
    events = tuple(
        DdlEvent(commit_ts, *event.sent_name, query, event.type_code)
        for event, query in zip(decision.events, decision.queries, strict=True)
    )
    if before is None or after is None or job.statement is None:
        return events
    applied = AppliedStatement(
        PendingStatement(job.query, job.database, IN_SCRIPT), job.statement, (job,), before, after
    )
    emitted = EmittedJob(applied, job, commit_ts, events, (), decision.why)
    ids = TableIds(*(dict.fromkeys(catalog.tables, FIRST_ID) for catalog in (before, after)))
    (followed,), _ = follow_jobs([emitted], {}, ids, DEFAULT_START_TS - 1)
    return followed.events


def _event(event: JobEvent, sent: DdlEvent, rules: ChangefeedRules) -> EventExplained:
    """Explain an event whose query is the text that is sent, with a message of each protocol of the release."""
    release = rules.release
    reasons = {name: _not_sent(name, sent, rules) for name, codec in CODECS.items() if codec.protocol.exists(release)}
    return EventExplained(
        event.type_code,
        Action(event.type_code).constant,
        event.schema,
        event.table,
        ".".join(name for name in event.sent_as or () if name),
        topic_of_ddl(rules.router, event.schema, event.table, event.old),
        event.query,
        "its own table" if event.type_code in release.single_table_ddl else "all tables",
        tuple(_messages((name for name, reason in reasons.items() if not reason), sent, rules.changefeed, release)),
        reasons.get(rules.changefeed.codec.protocol, ""),
    )


def _not_sent(protocol: str, event: DdlEvent, rules: ChangefeedRules) -> str:
    """Return why a protocol has no message of an event; empty if it has one."""
    codec, release = CODECS[protocol], rules.release
    if missing := codec.not_simulated(release):
        return f"not simulated: {missing}"
    if not codec.sends_ddl(rules.changefeed.codec, release):
        return f"TiCDC {release.name} sends no statements"
    if codec.skips_ddl(event.type_code):
        return f"TiCDC skips {Action(event.type_code).constant}"
    if codec.ddl_needs_table and event.table and event.after is None:
        return "its message describes the table, which is not known here"
    return ""


def _messages(
    protocols: Iterable[str], event: DdlEvent, changefeed: Changefeed, release: Release
) -> Iterator[MessageExplained]:
    """Yield the event's message in each protocol; one that stops at it has none, unless it is the changefeed's own."""
    for protocol in protocols:
        try:
            yield _message(protocol, event, changefeed, release)
        except EncodeError:
            if protocol == changefeed.codec.protocol:
                raise


def _message(protocol: str, event: DdlEvent, changefeed: Changefeed, release: Release) -> MessageExplained:
    """Return the event's message; max-message-bytes holds for the changefeed's own protocol alone."""
    codec, options = CODECS[protocol], changefeed.codec
    if protocol != options.protocol:
        options = replace(options, protocol=protocol, max_message_bytes=CodecOptions.max_message_bytes)
    entry = codec.statement_entry(event, SchemaManager(), options, release)
    key, value = codec.message(entry, options, release)
    partitions = tuple(codec.ddl_partitions(event, range(changefeed.kafka.partitions), options, release))
    return MessageExplained(protocol, protocol == changefeed.codec.protocol, partitions, key, value)


OUTCOMES = {
    "send": "sent",
    "ignore": "not sent, TiCDC's schema changes (an event filter ignores it)",
    "discard": "not sent, TiCDC's schema stays as it was",
    "ineligible": "not sent, the table is not eligible",
    "error": "TiCDC stops the changefeed",
}


def ddl_as_dict(explanation: DdlExplained) -> dict[str, Any]:
    """Return everything as JSON members, message bytes in hex and as text."""
    result = asdict(explanation)
    for job in result["jobs"]:
        for event in job["events"]:
            event["messages"] = [
                {**message, "key": _bytes(message["key"]), "value": _bytes(message["value"])}
                for message in event["messages"]
            ]
    return result


def statements_lines(explanation: Sequence[DdlExplained], total: int) -> Iterator[str]:
    """Yield each statement under its number and text."""
    for number, explained in enumerate(explanation, 1):
        if number > 1:
            yield ""
        yield f"statement {number} of {total}: {explained.statement}"
        yield from ddl_lines(explained)


def ddl_lines(explanation: DdlExplained) -> Iterator[str]:
    """Yield each job with its decision and messages, then the changes of tables."""
    many = counted(len(explanation.jobs), "job") if len(explanation.jobs) != 1 else "one job"
    yield f"{many} of TiDB, under TiCDC {explanation.release} ({explanation.architecture})"
    for note in explanation.notes:
        yield f"note         {note}"
    for job in explanation.jobs:
        yield ""
        yield from _job_lines(job)
    for change in explanation.schema_changes:
        yield ""
        yield from _change_lines(change)


def _job_lines(job: JobExplained) -> Iterator[str]:
    yield f"action       {job.action}, type code {job.type_code} ({job.text})"
    if job.sub_jobs:
        yield f"parts        {', '.join(job.sub_jobs)}"
    if job.renamed:
        yield f"tables       {', '.join(f'{old} → {new}' for old, new in job.renamed)}"
    elif job.table:
        other = f" with {job.exchanged}" if job.exchanged else ""
        yield f"table        {job.schema}.{job.table}{other}"
    elif job.schema:
        yield f"database     {job.schema}"
    yield f"decision     {OUTCOMES[job.outcome]}"
    yield f"why          {job.why}"
    for event in job.events:
        yield from _event_lines(event)


def _event_lines(event: EventExplained) -> Iterator[str]:
    name = f"{event.schema}.{event.table}" if event.table else event.schema
    yield f"event        {event.action}, type code {event.type_code}, of {name}"
    yield f"text         {event.query or '(nothing is left of it)'}"
    if event.sent_as:
        yield f"sent as      {event.sent_as}"
    yield f"topic        {event.topic}"
    yield f"holds back   later rows of {event.holds_back}"
    for message in event.messages:
        yield from _message_lines(message)
    if event.not_sent:
        yield f"no message   {event.not_sent}"


def _message_lines(message: MessageExplained) -> Iterator[str]:
    where = f"{noun(len(message.partitions), 'partition')} {', '.join(map(str, message.partitions))}"
    yield f"{message.protocol:<13} {where}{'' if message.chosen else ' (not the protocol of this changefeed)'}"
    for name, data in (("key", message.key), ("value", message.value)):
        if data is not None:
            yield f"  {name:<11} {counted(len(data), 'byte')}: {data.decode('utf-8', 'backslashreplace')}"


def _change_lines(change: TableDifference) -> Iterator[str]:
    table = change.after or change.before
    assert table is not None
    yield f"schema       {table.schema}.{table.table}"
    for line in change.lines or ("nothing that rows or keys show",):
        yield f"  {line}"


def _bytes(data: bytes | None) -> dict[str, str] | None:
    return None if data is None else {"hex": data.hex(), "text": data.decode("utf-8", "backslashreplace")}
