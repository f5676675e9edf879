"""What a run sent, held against what its scenario expects.

One law: a failure is read without knowing the simulator: where it stands, what was wanted (-), what there was (+).
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa

from simulator import tso
from simulator.consumer.decode import DdlEvent, RowEvent, Watermark, decode
from simulator.consumer.event_lines import describe, kind, quote_if_needed, value_text
from simulator.errors import ExpectationError
from simulator.faults.pipeline import Injection
from simulator.run.plan.expectation import PlannedExpectation
from simulator.run.plan.statements import EmittedJob
from simulator.sinks.memory import Message
from simulator.sources.snapshots import Snapshot
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.model.table import Column, visible_columns
from simulator.tidb.model.types import is_binary
from simulator.tidb.sql_engine.storage.state import Upstream

REST = ("…", "...")
"""At the end of an expected line: whatever follows, and whatever other columns."""

QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+"')
COLUMN = re.compile(
    rf"""(?<!\S)(?:{QUOTED.pattern}|[^\s"=:]+)(?:=|:\ )
                         (?:{QUOTED.pattern}|[^"])*?(?=\s(?:{QUOTED.pattern}|[^\s"=:]+)(?:=|:\ )|\s?\Z)""",
    re.VERBOSE,
)
"""`a=1` or `a: 1→2`."""


@dataclass(frozen=True)
class SentEvent:
    """An event of rows or a statement."""

    at_ms: int
    order: int
    """The TSO; the millisecond's first where the message has none."""

    name: str
    """schema.table"""

    kind: str
    text: str
    """As `inspect` writes it behind the time."""


def check(
    expected: Iterable[PlannedExpectation],
    start_ms: int,
    messages: Sequence[Message],
    jobs: Iterable[EmittedJob],
    protocol: str,
    injections: Sequence[Injection] = (),
) -> None:
    """Raises ExpectationError with a line for each thing that is otherwise than expected, and a diff behind it.

    What is sent again behind a fault counts for the fault's step; `injections` says when faults began.
    """
    found = list(_failures(expected, start_ms, messages, tuple(jobs), protocol, injections))
    if found:
        raise ExpectationError(*found)


def _failures(
    expected: Iterable[PlannedExpectation],
    start_ms: int,
    messages: Sequence[Message],
    jobs: Sequence[EmittedJob],
    protocol: str,
    injections: Sequence[Injection],
) -> Iterator[str]:
    earliest = _earliest(len(messages), injections)
    sent = _sent(messages, protocol, earliest)
    carried = [
        max(since, tso.physical(message.commit_ts))
        for since, message in zip(earliest, messages, strict=True)
        if _carries(message, protocol)
    ]
    since_ms = start_ms
    for each in expected:
        wanted, where = each.expectation, each.where
        window = range(since_ms, each.until_ms)
        since_ms = each.until_ms
        there = [event for event in sent if event.at_ms in window]
        if wanted.events is not None:
            lines = _in_order_of(wanted.events, there)
            yield from _differing(f"{where}: events", wanted.events, lines)
        yield from _miscounted(where, wanted.counts, there, sum(at in window for at in carried))
        if wanted.decisions is not None:
            told = [_decision(job) for job in jobs if tso.physical(job.commit_ts) in window]
            yield from _differing(f"{where}: decision", wanted.decisions, _aligned(wanted.decisions, told, _decided))
        if wanted.sql and not _raises(wanted.error, each.raised):
            number, text = wanted.error
            error = " ".join(part for part in (f"error {number}" if number else "an error", text) if part)
            yield f"{where}: {wanted.sql}: expected {error}, but {each.raised[1] if each.raised else 'it succeeds'}"
        for name, rows in wanted.rows.items():
            yield from _other_rows(f"{where}: rows of {name}", name, rows, each.state)


# -- events -------------------------------------------------------------------------------------------------------


def _earliest(count: int, injections: Sequence[Injection]) -> list[int]:
    """For each message the time of the last fault before it; 0 before any."""
    begins = sorted((injection.records, injection.at_ms) for injection in injections)
    found = [0] * count
    for records, at_ms in begins:
        found[records:] = [at_ms] * (count - records)
    return found


def _sent(messages: Iterable[Message], protocol: str, earliest: Sequence[int]) -> list[SentEvent]:
    """In the order of commit-ts; a statement that several partitions have counts once."""
    found: dict[object, SentEvent] = {}
    for since, message in zip(earliest, messages, strict=True):
        for number, event in enumerate(decode(message.key, message.value, protocol)):
            if isinstance(event, Watermark):
                continue
            at_ms = tso.physical(event.commit_ts) if event.commit_ts is not None else event.es or 0
            order = event.commit_ts if event.commit_ts is not None else tso.compose(at_ms)
            name = f"{event.schema}.{event.table}" if event.table else event.schema
            told = SentEvent(max(since, at_ms), order, name, kind(event).lower(), describe(event))
            place = (message.topic, message.partition, message.offset, number)
            found.setdefault(told if isinstance(event, DdlEvent) else place, told)
    return sorted(found.values(), key=lambda event: event.order)


def _carries(message: Message, protocol: str) -> bool:
    return any(isinstance(event, RowEvent | DdlEvent) for event in decode(message.key, message.value, protocol))


def _in_order_of(wanted: Sequence[str], there: Sequence[SentEvent]) -> list[str]:
    """The lines; those of one commit-ts, which lie in any order, in that of the lines wanted there."""
    lines: list[str] = []
    for _, group in groupby(there, lambda event: event.order):
        texts = [event.text for event in group]
        lines += _aligned(wanted[len(lines) : len(lines) + len(texts)], texts, _is)
    return lines


def _aligned(wanted: Sequence[str], texts: Sequence[str], fits: Callable[[str, str], bool]) -> list[str]:
    """The texts, each at the place of a wanted one that it fits, which it then is; the others where there is room."""
    left = list(texts)
    placed: list[str | None] = []
    for want in wanted:
        match = next((text for text in left if fits(want, text)), None)
        if match is not None:
            left.remove(match)
        placed.append(None if match is None else want)
    rest = iter(left)
    found = [text for each in placed if (text := next(rest, None) if each is None else each) is not None]
    return [*found, *rest]


def _is(wanted: str, text: str) -> bool:
    """Whether an event is as wanted, whatever spaces, arrows, quotes and numbers of DDL types there are, and in
    whatever order columns."""
    if wanted.startswith("DDL "):
        return any(_begins(" ".join(wanted.split()), " ".join(each.split())) for each in (text, _without_type(text)))
    return _same_columns(wanted.replace("->", "→"), text)


def _begins(wanted: str, text: str) -> bool:
    """Whether a line is as wanted, or begins so where anything may follow."""
    rest = next((rest for rest in REST if wanted.endswith(f" {rest}")), None)
    return text == wanted or rest is not None and f"{text} ".startswith(wanted.removesuffix(rest))


def _same_columns(wanted: str, text: str) -> bool:
    """Whether a line names the same columns with the same values, or some of them where it says so."""
    rest = next((rest for rest in REST if wanted.endswith(f" {rest}") or wanted == rest), "")
    (head, columns), (other, found) = (_columns(line) for line in (wanted.removesuffix(rest), text))
    return head == other and (columns <= found if rest else columns == found)


def _columns(line: str) -> tuple[str, Counter[str]]:
    """What stands before the columns, and each column with its value."""
    plain = " ".join(QUOTED.sub(_unquoted, line).split())
    first = COLUMN.search(plain)
    return plain[: first.start() if first else None].strip(), Counter(found[0] for found in COLUMN.finditer(plain))


def _unquoted(quoted: re.Match[str]) -> str:
    """Text in JSON quotes as `inspect` would write it."""
    try:
        return quote_if_needed(json.loads(quoted[0]))
    except ValueError:
        return quoted[0]


def _without_type(text: str) -> str:
    """`DDL shop.item [3] CREATE …` without its number."""
    head, _, rest = text.partition(" [")
    return f"{head} {rest.partition('] ')[2]}" if text.startswith("DDL ") and rest else text


def _differing(what: str, wanted: Sequence[str], there: Sequence[str]) -> Iterator[str]:
    if list(wanted) != list(there):
        yield f"{what}: not as expected (- is wanted, + is there)"
        yield from (f"  {line.rstrip()}" for line in difflib.ndiff(wanted, there) if not line.startswith("?"))


# -- counts and decisions -----------------------------------------------------------------------------------------


def _miscounted(
    where: str, wanted: Mapping[str, int | Mapping[str, int]], there: Sequence[SentEvent], messages: int
) -> Iterator[str]:
    kinds = Counter((event.name, event.kind) for event in there)
    rows = Counter(event.name for event in there if event.kind != "ddl")
    totals = {"messages": messages, "ddl": sum(event.kind == "ddl" for event in there)}
    for name, count in wanted.items():
        if isinstance(count, int):
            counts = [(name, count, totals.get(name, rows[name]))]
        else:
            counts = [(f"{name} {kind}", number, kinds[name, kind]) for kind, number in count.items()]
        for what, number, found in counts:
            if number != found:
                yield f"{where}: counts: {what}: expected {number}, there are {found}"


def _decision(job: EmittedJob) -> str:
    return f"{'sent' if job.events else 'not sent'}: {job.why}".removesuffix(": ")


def _decided(wanted: str, told: str) -> bool:
    head, _, why = wanted.partition(":")
    return told.partition(":")[0] == head and why.strip() in told


def _raises(wanted: tuple[int | None, str], raised: tuple[int, str] | None) -> bool:
    return raised is not None and wanted[0] in (None, raised[0]) and wanted[1] in raised[1]


# -- rows ---------------------------------------------------------------------------------------------------------


def _other_rows(what: str, name: str, wanted: Sequence[str], state: Snapshot | Upstream | None) -> Iterator[str]:
    if not isinstance(state, Upstream):
        yield f"{what}: only SQL before it makes them known; counts and events can be expected behind a snapshot"
        return
    schema, _, table = name.partition(".")
    place = object_key(schema, table)
    if place not in state.catalog.tables:
        yield f"{what}: there is no such table"
        return
    stored = state.rows.get(place)
    there = _row_texts(visible_columns(state.catalog.tables[place]), stored.cells) if stored else []
    yield from _differing(what, wanted, _aligned(wanted, sorted(there), _same_columns))


def _row_texts(columns: Sequence[Column], cells: pa.Table) -> list[str]:
    """`a=1 b=NULL` of each row."""
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
