"""Compares what a run sent with the expectations of its scenario.

A failure names file and line, and shows the expected lines (-) and the actual ones (+).
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from types import MappingProxyType

import pyarrow as pa

from simulator import tso
from simulator.errors import ExpectationError, UserError, shortened
from simulator.faults.pipeline import Injection
from simulator.reader.decode import DdlEvent, Event, RowEvent, Watermark
from simulator.reader.event_lines import MessageReader, describe, kind, quote_if_needed, value_text
from simulator.reader.storage.events import FileEvent
from simulator.run.plan.statements import EmittedJob
from simulator.run.plan.step import PlannedExpectation
from simulator.sinks.memory import Message
from simulator.sources.snapshots import Snapshot
from simulator.ticdc.changefeed import Changefeed
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.engine.execution import Upstream
from simulator.tidb.model.table import Column, visible_columns
from simulator.tidb.model.types import is_binary

Read = Callable[[Message], tuple[Event, ...]]
"""Returns the events of a message."""

REST = ("…", "...")
"""The ends of an expected line that allow any further text or columns."""

QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+"')
COLUMN = re.compile(
    rf"""(?<!\S)(?:{QUOTED.pattern}|[^\s"=:]+)(?:=|:\ )
                         (?:{QUOTED.pattern}|[^"])*?(?=\s(?:{QUOTED.pattern}|[^\s"=:]+)(?:=|:\ )|\s?\Z)""",
    re.VERBOSE,
)
"""`a=1` or `a: 1→2`."""


@dataclass(frozen=True)
class SentEvent:
    """A row event or a DDL event."""

    at_ms: int
    order: int
    """The commit-ts; the first TSO of the millisecond if the message has none."""

    name: str
    """schema.table"""

    kind: str
    text: str
    """The line of `inspect`, without the time."""


@dataclass(frozen=True)
class SentEvents:
    """What a run sent."""

    events: Sequence[SentEvent] = ()
    """In the order of commit-ts."""

    message_times: Sequence[int] = ()
    """The milliseconds of the messages with rows or statements; none for files."""


def require_countable(changefeed: Changefeed, expected: Iterable[PlannedExpectation]) -> None:
    """Raise UserError for a count of messages of a changefeed that writes files."""
    if changefeed.storage is not None and any("messages" in each.expectation.counts for each in expected):
        raise UserError("a step `expect` counts messages, and this changefeed writes files to a storage")


def check(expected: Iterable[PlannedExpectation], start_ms: int, sent: SentEvents, jobs: Iterable[EmittedJob]) -> None:
    """Check all expectations; raises ExpectationError with a line and a diff for each failure."""
    failures = list(_failures(expected, start_ms, sent, tuple(jobs)))
    if failures:
        raise ExpectationError(*failures)


def of_messages(
    messages: Sequence[Message],
    reader: MessageReader,
    injections: Sequence[Injection] = (),
    schemas: Mapping[int, str] = MappingProxyType({}),
) -> SentEvents:
    """Return the events of messages. Those that are sent again because of a fault count for the fault's step.

    `injections` are the faults that began, `schemas` those that messages name, by id.
    """
    earliest, read = _earliest(len(messages), injections), partial(reader.events, schemas=schemas)
    times = [
        max(since, tso.physical(message.commit_ts))
        for since, message in zip(earliest, messages, strict=True)
        if any(isinstance(event, RowEvent | DdlEvent) for event in read(message))
    ]
    return SentEvents(_sent(messages, read, earliest), times)


def of_files(events: Iterable[FileEvent]) -> SentEvents:
    """Return the rows and statements of files on storage; what cannot be read is left out."""
    rows_and_statements = (each.event for each in events if isinstance(each.event, RowEvent | DdlEvent))
    return SentEvents(sorted((_sent_event(event, 0) for event in rows_and_statements), key=lambda event: event.order))


def _failures(
    expected: Iterable[PlannedExpectation], start_ms: int, sent: SentEvents, jobs: Sequence[EmittedJob]
) -> Iterator[str]:
    since_ms = start_ms
    for each in expected:
        wanted, where = each.expectation, each.where
        window = range(since_ms, each.until_ms)
        since_ms = each.until_ms
        events = [event for event in sent.events if event.at_ms in window]
        if wanted.events is not None:
            lines = _in_wanted_order(wanted.events, events)
            yield from _diff(f"{where}: events", wanted.events, lines)
        yield from _count_failures(where, wanted.counts, events, sum(at in window for at in sent.message_times))
        if wanted.decisions is not None:
            decisions = [_decision(job) for job in jobs if tso.physical(job.commit_ts) in window]
            yield from _diff(
                f"{where}: decision", wanted.decisions, _align(wanted.decisions, decisions, _fits_decision)
            )
        if wanted.sql and not _raises(wanted.error, each.raised):
            number, text = wanted.error
            error = " ".join(part for part in (f"error {number}" if number else "an error", text) if part)
            yield f"{where}: {shortened(wanted.sql)}: expected {error}, but {each.raised[1] if each.raised else 'it succeeds'}"
        for name, rows in wanted.rows.items():
            yield from _row_failures(f"{where}: rows of {name}", name, rows, each.state)


# -- events -------------------------------------------------------------------------------------------------------


def _earliest(count: int, injections: Sequence[Injection]) -> list[int]:
    """Return for each message the time of the last fault before it; 0 if there is none."""
    times = [0] * count
    for records, at_ms in sorted((injection.records, injection.at_ms) for injection in injections):
        times[records:] = [at_ms] * (count - records)
    return times


def _sent(messages: Iterable[Message], read: Read, earliest: Sequence[int]) -> list[SentEvent]:
    """Return the events in the order of commit-ts; a statement that is sent to several partitions counts once."""
    events: dict[object, SentEvent] = {}
    for since, message in zip(earliest, messages, strict=True):
        for number, event in enumerate(read(message)):
            if isinstance(event, Watermark):
                continue
            sent_event = _sent_event(event, since)
            place = (message.topic, message.partition, message.offset, number)
            events.setdefault(sent_event if isinstance(event, DdlEvent) else place, sent_event)
    return sorted(events.values(), key=lambda event: event.order)


def _sent_event(event: RowEvent | DdlEvent, since: int) -> SentEvent:
    """Return an event that counts for its time, or for a later one, in milliseconds."""
    at_ms = tso.physical(event.commit_ts) if event.commit_ts is not None else event.es or 0
    order = event.commit_ts if event.commit_ts is not None else tso.compose(at_ms)
    name = f"{event.schema}.{event.table}" if event.table else event.schema
    return SentEvent(max(since, at_ms), order, name, kind(event).lower(), describe(event))


def _in_wanted_order(expected: Sequence[str], events: Sequence[SentEvent]) -> list[str]:
    """Return the lines of events; those of one commit-ts, whose order is arbitrary, in the order of the wanted lines."""
    lines: list[str] = []
    for _, group in groupby(events, lambda event: event.order):
        texts = [event.text for event in group]
        lines += _align(expected[len(lines) : len(lines) + len(texts)], texts, _fits_event)
    return lines


def _align(expected: Sequence[str], texts: Sequence[str], fits: Callable[[str, str], bool]) -> list[str]:
    """Replace each text that fits a wanted one by it, at its place; the other texts fill the gaps."""
    left = list(texts)
    placed: list[str | None] = []
    for want in expected:
        match = next((text for text in left if fits(want, text)), None)
        if match is not None:
            left.remove(match)
        placed.append(None if match is None else want)
    rest = iter(left)
    aligned = [text for each in placed if (text := next(rest, None) if each is None else each) is not None]
    return [*aligned, *rest]


def _fits_event(expected: str, text: str) -> bool:
    """Return whether an event fits a line, apart from spaces, arrows, quotes, DDL type numbers and column order."""
    if expected.startswith("DDL "):
        return any(
            _begins_with(" ".join(expected.split()), " ".join(each.split())) for each in (text, _without_type(text))
        )
    return _same_columns(expected.replace("->", "→"), text)


def _begins_with(expected: str, text: str) -> bool:
    """Return whether a line equals the wanted one, or begins with it if that ends in `…`."""
    rest = next((rest for rest in REST if expected.endswith(f" {rest}")), None)
    return text == expected or rest is not None and f"{text} ".startswith(expected.removesuffix(rest))


def _same_columns(expected: str, text: str) -> bool:
    """Return whether a line has the wanted columns and values, and no others unless the wanted line ends in `…`."""
    rest = next((rest for rest in REST if expected.endswith(f" {rest}") or expected == rest), "")
    (head, columns), (other, other_columns) = (_columns(line) for line in (expected.removesuffix(rest), text))
    return head == other and (columns <= other_columns if rest else columns == other_columns)


def _columns(line: str) -> tuple[str, Counter[str]]:
    """Split a line into the text before the columns, and the columns with their values."""
    plain = " ".join(QUOTED.sub(_unquoted, line).split())
    first = COLUMN.search(plain)
    return plain[: first.start() if first else None].strip(), Counter(match[0] for match in COLUMN.finditer(plain))


def _unquoted(quoted: re.Match[str]) -> str:
    """Return text in JSON quotes as `inspect` prints it."""
    try:
        return quote_if_needed(json.loads(quoted[0]))
    except ValueError:
        return quoted[0]


def _without_type(text: str) -> str:
    """Return `DDL shop.item [3] CREATE …` without the number."""
    head, _, rest = text.partition(" [")
    return f"{head} {rest.partition('] ')[2]}" if text.startswith("DDL ") and rest else text


def _diff(what: str, expected: Sequence[str], events: Sequence[str]) -> Iterator[str]:
    if list(expected) != list(events):
        yield f"{what}: not as expected (- is wanted, + is there)"
        yield from (f"  {line.rstrip()}" for line in difflib.ndiff(expected, events) if not line.startswith("?"))


# -- counts and decisions -----------------------------------------------------------------------------------------


def _count_failures(
    where: str, wanted: Mapping[str, int | Mapping[str, int]], events: Sequence[SentEvent], messages: int
) -> Iterator[str]:
    kinds = Counter((event.name, event.kind) for event in events)
    rows = Counter(event.name for event in events if event.kind != "ddl")
    totals = {"messages": messages, "ddl": sum(event.kind == "ddl" for event in events)}
    for name, count in wanted.items():
        if isinstance(count, int):
            counts = [(name, count, totals.get(name, rows[name]))]
        else:
            counts = [(f"{name} {kind}", number, kinds[name, kind]) for kind, number in count.items()]
        for what, number, actual in counts:
            if number != actual:
                yield f"{where}: counts: {what}: expected {number}, there are {actual}"


def _decision(job: EmittedJob) -> str:
    return f"{'sent' if job.events else 'not sent'}: {job.why}".removesuffix(": ")


def _fits_decision(expected: str, decision: str) -> bool:
    head, _, why = expected.partition(":")
    return decision.partition(":")[0] == head and why.strip() in decision


def _raises(expected: tuple[int | None, str], raised: tuple[int, str] | None) -> bool:
    return raised is not None and expected[0] in (None, raised[0]) and expected[1] in raised[1]


# -- rows ---------------------------------------------------------------------------------------------------------


def _row_failures(what: str, name: str, expected: Sequence[str], state: Snapshot | Upstream | None) -> Iterator[str]:
    if not isinstance(state, Upstream):
        yield f"{what}: only SQL before it makes them known; counts and events can be expected after a snapshot"
        return
    schema, _, named = name.partition(".")
    table = state.catalog.tables.get(object_key(schema, named))
    if table is None:
        yield f"{what}: there is no such table"
        return
    events = _row_texts(visible_columns(table), state.rows(table).texts())
    yield from _diff(what, expected, _align(expected, sorted(events), _same_columns))


def _row_texts(columns: Sequence[Column], cells: Mapping[str, pa.Array]) -> list[str]:
    """Return each row as `a=1 b=NULL`."""
    texts = [
        [f"{value_text(column.name)}={_cell_text(cell, column)}" for cell in cells[column.name].to_pylist()]
        for column in columns
    ]
    return [" ".join(row) for row in zip(*texts, strict=True)]


def _cell_text(cell: bytes | None, column: Column) -> str:
    if cell is None:
        return value_text(None)
    text = cell.decode("utf-8", "backslashreplace")
    return value_text(text.encode("latin-1") if is_binary(column.type) else text)
