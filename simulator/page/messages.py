"""What a page shows of messages and of answers.

A message is a line in its lane, and by itself its bytes, what they say, and why it looks so: what `ticdc-sim explain` says
of the row or the statement that it is about, taken from the history of the served TiDB, as a message may not have all of a
row. Two streams of one protocol are compared as `ticdc-sim compare` does, those of two protocols by what their messages
say: the kind of each event, its table, its rows, its statement.
"""

from __future__ import annotations

import json
import zlib
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from simulator import tso
from simulator.api.server import TiCDCServer
from simulator.changefeeds.history import Commit
from simulator.changefeeds.served import ServedChangefeed
from simulator.columns.row_image import cells_of
from simulator.errors import DdlError, SimulatorError, SqlError, UserError, printable, shortened
from simulator.explain.change import RowChange
from simulator.explain.ddl import ddl_lines, explain_statements
from simulator.explain.row import explain_row, filter_decision, row_lines
from simulator.limits import counted, noun
from simulator.reader.compared_events import EVERYTHING, ComparedEvent, Identities, differences, events_of
from simulator.reader.decode import DdlEvent, Event, RowEvent, Watermark, before_image, told_schemas
from simulator.reader.event_lines import MessageReader, as_dict, as_text, describe, kind
from simulator.sinks.memory import Message
from simulator.ticdc.rules import ChangefeedRules, changefeed_rules
from simulator.tidb.engine import CommittedTransaction, CompletedDdl, ResultSet, StatementOutcome, TableChanges
from simulator.tidb.errors import error_number, sqlstate
from simulator.tidb.model.table import Table, visible_columns

MOST_TEXT = 160
"""Characters of a line."""

FIRST_EVENTS = 3
"""Events of a batch that its line shows."""

MOST_MESSAGES = 20_000
"""Messages whose events are kept."""

MOST_AT_ONCE = 250
"""Messages that are decoded before other requests are answered."""

Place = tuple[str, int]
"""A topic, empty if there is only one, and a partition."""

MOST_SHOWN = 500
"""Differences that are told."""


@dataclass(frozen=True)
class Decoded:
    """A message with its events, or with the reason why it has none."""

    number: int
    message: Message
    events: tuple[Event, ...]
    unreadable: str = ""


class Feed:
    """The messages of a changefeed, decoded in their order."""

    def __init__(self, changefeed: ServedChangefeed) -> None:
        self.changefeed = changefeed
        self.protocol = changefeed.changefeed.codec.protocol
        self.messages: deque[Decoded] = deque(maxlen=MOST_MESSAGES)
        self.next_number = 0
        """The number of the first message that is not decoded."""

        self._reader = MessageReader(self.protocol)

    @property
    def schemas(self) -> Mapping[int, str]:
        """The schemas of a registry, by id."""
        return self.changefeed.stream.schema_texts

    def add(self, messages: Iterable[tuple[int, Message]]) -> None:
        """Decode messages with their numbers, but for those that are there."""
        for number, message in messages:
            if number < self.next_number:
                continue
            self.next_number = number + 1
            try:
                decoded = Decoded(number, message, self._reader.events(message, self.schemas))
            except UserError as error:
                decoded = Decoded(number, message, (), str(error))
            self.messages.append(decoded)

    def since(self, number: int) -> list[Decoded]:
        """Return at most MOST_AT_ONCE messages from that number on."""
        first = max(0, number - self.messages[0].number) if self.messages else 0
        return list(islice(self.messages, first, first + MOST_AT_ONCE))

    def get(self, number: int) -> Decoded:
        """Return a message; raises UserError if it is not kept."""
        found = self.since(number)[:1]
        if not found or found[0].number != number:
            raise UserError(f"message {number} is not kept: it has been replaced by newer ones")
        return found[0]

    def line(self, decoded: Decoded) -> dict[str, Any]:
        """Return the members of a message's line. A TSO is a text, as JavaScript has no such numbers."""
        message, events = decoded.message, decoded.events
        kinds = {kind(event) for event in events}
        texts = [_text(event) if len(kinds) == 1 else describe(event) for event in events[:FIRST_EVENTS]]
        if decoded.unreadable:
            kinds, texts = {"UNREADABLE"}, [decoded.unreadable]
        elif not events:
            told = told_schemas(message.key, message.value, self.protocol)
            kinds, texts = {"BOOTSTRAP"}, [f"{schema}.{table} version {version}" for schema, table, version in told]
        return {
            "n": decoded.number,
            "t": message.topic,
            "p": message.partition,
            "o": message.offset,
            "ts": str(message.commit_ts),
            "k": kinds.pop() if len(kinds) == 1 else "BATCH",
            "events": len(events),
            "text": shortened("; ".join(texts), MOST_TEXT),
            "d": zlib.crc32(message.value or b"", zlib.crc32(message.key or b"")),
        }


def _text(event: Event) -> str:
    """Return what an event is about: the statement, or the row."""
    return event.query if isinstance(event, DdlEvent) else describe(event).partition(" ")[2]


def message_members(decoded: Decoded) -> dict[str, Any]:
    """Return the bytes of a message and its events."""
    message = decoded.message
    return {
        "key": _bytes(message.key),
        "value": _bytes(message.value),
        "events": [_event(event) for event in decoded.events],
        "unreadable": decoded.unreadable,
    }


def _event(event: Event) -> dict[str, Any]:
    members = as_dict(event)
    return {**members, "commit_ts": str(members["commit_ts"] or "")}


def _bytes(data: bytes | None) -> dict[str, Any] | None:
    if data is None:
        return None
    return {"size": len(data), "text": as_text(data), "hex": data.hex()}


def compare_feeds(a: Feed, b: Feed) -> dict[str, Any]:
    """Return the differences of two feeds: the numbers of the messages, null where one is missing, and what differs."""
    alike = a.protocol == b.protocol
    sides = [_by_place(feed, alike) for feed in (a, b)]
    identities, found, events = Identities(), list[dict[str, Any]](), 0
    for place in sorted(sides[0].keys() | sides[1].keys()):
        one, other = (side.get(place, []) for side in sides)
        events += max(len(one), len(other))
        for difference in differences(one, other, identities):
            numbers = [event and event.offset for event in (difference.a, difference.b)]
            found.append({"a": numbers[0], "b": numbers[1], "what": printable(difference.what)})
    what = "in bytes, but for times and ids" if alike else "in what the messages say"
    return {"differences": found[:MOST_SHOWN], "count": len(found), "events": events, "what": what}


def _by_place(feed: Feed, alike: bool) -> dict[Place, list[ComparedEvent]]:
    """Return the events of each partition; their offsets are the numbers of their messages."""
    messages = list(feed.messages)
    single = len({decoded.message.topic for decoded in messages}) <= 1
    places = defaultdict[Place, list[ComparedEvent]](list)
    for decoded in messages:
        message = decoded.message
        place = ("" if single else message.topic, message.partition)
        if decoded.unreadable:
            places[place].append(ComparedEvent(*place, decoded.number, message.commit_ts, "", "", decoded.unreadable))
        elif alike:
            numbered = replace(message, topic=place[0], offset=decoded.number)
            places[place] += events_of(numbered, feed.protocol, EVERYTHING, feed.schemas)
        else:
            places[place] += _said(decoded, place)
    return places


def _said(decoded: Decoded, place: Place) -> Iterator[ComparedEvent]:
    """Yield events as what any protocol can say of them."""
    for event in decoded.events:
        if not isinstance(event, Watermark):
            table = f"{event.schema}.{event.table}"
            text = json.dumps(_compared_members(event), ensure_ascii=False)
            yield ComparedEvent(*place, decoded.number, decoded.message.commit_ts, table, "", text)


def _compared_members(event: RowEvent | DdlEvent) -> dict[str, Any]:
    """Return what is compared: a row in full, with its columns in one order, or the statement."""
    if isinstance(event, DdlEvent):
        return {"event": "DDL", "query": event.query}
    members = as_dict(replace(event, before=before_image(event)))
    images = (members[side] and dict(sorted(members[side].items())) for side in ("before", "after"))
    return {"event": members["event"], **dict(zip(("before", "after"), images, strict=True))}


FIRST_ROWS = 8
"""Rows of a batch that are explained."""

MOST_SEARCHED = 2000
"""Rows of a transaction among which that of a message is looked for."""

WATERMARK = """watermark    every change with this commit-ts or a lower one was sent before, to all partitions
why          TiCDC sends it to each partition, so that a reader of one knows how far it is;
             after a restart lower commit-ts may come again"""


def reasons(decoded: Decoded, served: TiCDCServer, changefeed: ServedChangefeed) -> list[list[str]]:
    """Return the lines about each event of a message, of a batch the first. Called between two statements."""
    rules = changefeed_rules(changefeed.changefeed, served.release)
    told: list[list[str]] = []
    for event in decoded.events[:FIRST_ROWS]:
        try:
            match event:
                case Watermark():
                    told.append(WATERMARK.splitlines())
                case DdlEvent():
                    told.append(list(_statement_lines(decoded.message.commit_ts, served, rules)))
                case RowEvent():
                    told.append(list(_row_lines(event, decoded.message.commit_ts, served, rules)))
        except SimulatorError as error:
            told.append([f"not explained: {error}"])
    return [lines for lines in told if lines]


def _statement_lines(ts: int, served: TiCDCServer, rules: ChangefeedRules) -> Iterator[str]:
    for commit in served.changefeeds.history.statements:
        if _contains(commit, ts):
            for ddl in commit.events:
                if isinstance(ddl, CompletedDdl):
                    for explained in explain_statements([(ddl.database, ddl.text)], ddl.before, rules):
                        jobs = (
                            replace(job, events=tuple(replace(event, messages=()) for event in job.events))
                            for job in explained.jobs
                        )
                        yield from ddl_lines(replace(explained, jobs=tuple(jobs)))


def _row_lines(event: RowEvent, ts: int, served: TiCDCServer, rules: ChangefeedRules) -> Iterator[str]:
    history = served.changefeeds.history
    ts = event.commit_ts or ts
    found = history.since(history.place(ts - 1)[0], 1)
    if not found or not _contains(found[0], ts):
        yield "not explained: its transaction is older than the history that is kept"
        return
    changes = [
        each
        for transaction in found[0].events
        if isinstance(transaction, CommittedTransaction)
        for each in transaction.changes
    ]
    named = [each for each in changes if each.table.name == event.table] or changes
    table, change = max(
        (pair for each in named for pair in _changes(each, ts)), key=lambda pair: _likeness(event, pair[1])
    )
    explained = explain_row(table, rules.changefeed, change, rules.release, filter_decision(table, change, rules))
    yield from row_lines(replace(explained, messages=()))


def _contains(commit: Commit, ts: int) -> bool:
    return commit.now_ms <= tso.physical(ts) < commit.end_ms


def _changes(changes: TableChanges, ts: int) -> Iterator[tuple[Table, RowChange]]:
    names = [column.name for column in visible_columns(changes.table)]
    columns = (changes.before, changes.after, changes.row_id)
    rows = zip(*(column[:MOST_SEARCHED].to_pylist() for column in columns), strict=True)
    for before, after, row_id in rows:
        yield changes.table, RowChange(_image(before, names), _image(after, names), ts, None, row_id)


def _image(image: bytes | None, names: Sequence[str]) -> dict[str, str | None] | None:
    if image is None:
        return None
    texts = (None if cell is None else cell.decode("utf-8", "surrogatepass") for cell in cells_of(image))
    return dict(zip(names, texts, strict=True))


def _likeness(event: RowEvent, change: RowChange) -> int:
    """Return how many values of a row's message are those of a change."""
    sides = (event.before, change.before), (event.after, change.after)
    return sum(
        value == stored[name]
        for sent, stored in sides
        if sent is not None and stored is not None
        for name, value in sent.items()
        if name in stored
    )


# -- answers -----------------------------------------------------------------------------------------------------------

MOST_ROWS = 1000
"""Rows of a result that are shown."""


def answer_members(answer: StatementOutcome | SqlError | DdlError) -> dict[str, Any]:
    """Return what the page shows of TiDB's answer to a statement."""
    if not isinstance(answer, StatementOutcome):
        number = error_number(answer)
        state = answer.state if isinstance(answer, SqlError) else sqlstate(number)
        return {"error": {"number": number, "state": state, "text": answer.text}, "warnings": []}
    members: dict[str, Any] = {"error": None, "warnings": list(answer.warnings)}
    if answer.result is None:
        return members | {"told": f"OK, {counted(answer.affected, 'row')} affected. {answer.message}".strip()}
    return members | _result_members(answer.result)


def _result_members(result: ResultSet) -> dict[str, Any]:
    rows = [
        [_cell(value, column.binary) for value, column in zip(row, result.columns, strict=True)]
        for row in result.rows[:MOST_ROWS]
    ]
    first = f", the first {MOST_ROWS:,} are shown" if len(result.rows) > MOST_ROWS else ""
    told = f"{len(result.rows):,} {noun(len(result.rows), 'row')} in set{first}"
    return {"columns": [column.name for column in result.columns], "rows": rows, "told": told}


def _cell(value: bytes | None, binary: bool) -> str | None:
    """Return a value as text; a binary one that is no text as hexadecimal digits."""
    if value is None:
        return None
    try:
        text = value.decode()
        return text if text.isprintable() or not binary else f"0x{value.hex()}"
    except UnicodeDecodeError:
        return f"0x{value.hex()}"
