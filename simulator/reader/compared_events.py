"""The events of messages as text, without what no two runs share; pairs of them in two partitions, and what differs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import groupby
from types import MappingProxyType
from typing import Any, TypeAlias

from simulator.errors import UserError
from simulator.files import PARSE_ERRORS, parse_error_reason
from simulator.reader.decode import DECODERS
from simulator.sinks.memory import Message

IGNORABLE = {
    "commit-ts": "commit-ts; that the same events share one, and their order, is still compared",
    "build-ts": "times at which a message was built or sent",
    "ids": "ids of tables and partitions, and versions of schemas; which events share one is still compared",
    "order": "the order of tables, and of partition keys, inside a transaction",
    "members": "the order of members of objects that TiCDC writes from a map: mysqlType, sqlType, rows of Simple in Avro",
    "watermarks": "watermarks",
    "claim-check-names": "the names of claim-check files, which are random",
}
"""What a comparison can ignore, and what that is."""

END = 1 << 64
"""Above every commit-ts."""

EVERYTHING = frozenset(IGNORABLE)


@dataclass(frozen=True)
class ComparedEvent:
    """An event as one partition has it."""

    topic: str
    partition: int
    offset: int
    commit_ts: int
    """0 if the message does not tell it."""

    table: str
    key: str
    value: str
    """Texts of JSON, or empty; what is ignored is 0 in them."""

    ids: tuple[tuple[str, int], ...] = ()
    """The names and numbers of the ids and versions that are 0 in the texts."""

    @property
    def text(self) -> str:
        return f"{self.key} {self.value}"


CLAIM_CHECK_NAME = re.compile(r'(?<="ccl":")[^"]*|(?<="claimCheckLocation":")[^"]*')


def events_of(
    message: Message,
    protocol: str,
    ignored: frozenset[str] = EVERYTHING,
    schemas: Mapping[int, str] = MappingProxyType({}),
) -> Iterator[ComparedEvent]:
    """Yield the events of a message; `schemas` are those of a registry, by id. Raises UserError if it cannot be read.

    Its commit-ts counts if it is not 0, as not all messages of Avro tell it.
    """
    try:
        comparable = DECODERS[protocol].comparable
        pairs = DECODERS[protocol].texts(message.key, message.value)
        texts = [comparable(key, value, ignored, schemas) for key, value in pairs]
    except PARSE_ERRORS as error:
        place = f"{message.topic}/{message.partition}@{message.offset}"
        raise UserError(f"{place} is no message of {protocol}: {parse_error_reason(error)}") from error
    for text in texts:
        if text.is_watermark and "watermarks" in ignored:
            continue
        parts = text.key, text.value
        if "claim-check-names" in ignored:
            parts = CLAIM_CHECK_NAME.sub("", text.key), CLAIM_CHECK_NAME.sub("", text.value)
        yield ComparedEvent(
            message.topic,
            message.partition,
            message.offset,
            message.commit_ts or text.commit_ts,
            text.table,
            *parts,
            text.ids,
        )


def with_commit_ts(events: Sequence[ComparedEvent]) -> list[ComparedEvent]:
    """Give events of a partition that have no commit-ts, like BOOTSTRAP of Simple, that of the next event of their
    table, or END."""
    dated: list[ComparedEvent] = []
    following: dict[str, int] = {}
    for event in reversed(events):
        if event.commit_ts:
            following[event.table] = event.commit_ts
        dated.append(event if event.commit_ts else replace(event, commit_ts=following.get(event.table, END)))
    return dated[::-1]


STABLE_ROWS = 12
"""Go's sort may change the order of equal rows where there are more (sort.Slice)."""

HANDLE_KEY = re.compile(r'"[^"]+":{"t":\d+,"h":true,.*?}')
"""A column of the handle key in Open Protocol."""

WINDOW = 500
"""Events of each side among which a match is looked for after a difference."""

CUT = 60
"""Characters of a value that are shown."""


Transaction: TypeAlias = "tuple[int, str]"
"""The rows of a table in a transaction: commit-ts and table."""


@dataclass(frozen=True)
class Difference:
    """Where two streams differ: two events that belong together, or one that the other stream lacks."""

    a: ComparedEvent | None
    b: ComparedEvent | None
    what: str
    """What differs in the two; empty if one is missing."""

    @property
    def place(self) -> ComparedEvent:
        """The event, or that of A."""
        event = self.a or self.b
        assert event is not None
        return event


class Identities:
    """Which commit-ts, id and version of B stands for which of A: each for one, and commit-ts in the same order."""

    def __init__(self) -> None:
        self._there: dict[tuple[str, int], int] = {}
        self._back: dict[tuple[str, int], int] = {}

    def conflict(self, a: ComparedEvent, b: ComparedEvent) -> str:
        """Return how a pair contradicts earlier pairs; empty if it does not."""
        numbers = [("commit-ts", a.commit_ts, b.commit_ts)]
        numbers += [(name, one, other) for (name, one), (_, other) in zip(a.ids, b.ids, strict=True)]
        for name, one, other in numbers:
            there = self._there.setdefault((name, one), other)
            back = self._back.setdefault((name, other), one)
            if (there, back) != (other, one):
                return f"{name}: {one} of A is {there} of B elsewhere, and {other} here"
        return ""

    def disorder(self) -> str:
        """Return which commit-ts are in another order in B; empty if none are."""
        pairs = sorted((one, other) for (name, one), other in self._there.items() if name == "commit-ts" and one)
        for (one, other), (later, late) in zip(pairs, pairs[1:]):
            if late < other:
                return f"commit-ts: {one} is before {later} in A, and {other} after {late} in B"
        return ""


def differences(
    a: Sequence[ComparedEvent],
    b: Sequence[ComparedEvent],
    identities: Identities,
    sorts: bool = True,
    rows: tuple[Mapping[Transaction, int], Mapping[Transaction, int]] = ({}, {}),
) -> Iterator[Difference]:
    """Yield the differences of a partition's events; `sorts` ignores the order inside transactions.

    Events of messages that do not tell their commit-ts stay in their order. `rows` are the numbers of rows that the
    transactions of A and B have in all partitions, by default those of this one.
    """
    sorts = sorts and any(event.commit_ts for event in (*a, *b))
    sides = [
        in_order(with_commit_ts(events), counts) if sorts else list(events)
        for events, counts in zip((a, b), rows, strict=True)
    ]
    for one, other in aligned(*sides):
        if one is None or other is None:
            yield Difference(one, other, "")
            continue
        what = first_difference(one, other) if one.text != other.text else identities.conflict(one, other)
        if what:
            yield Difference(one, other, what)


def in_order(events: Iterable[ComparedEvent], counts: Mapping[Transaction, int]) -> list[ComparedEvent]:
    """Sort by commit-ts and table; rows of one table and transaction by their handle key, many rows by their text."""
    ordered = sorted(events, key=transaction_of)
    groups = ((key, list(rows)) for key, rows in groupby(ordered, transaction_of))
    return [event for key, rows in groups for event in _rows_in_order(rows, counts.get(key, len(rows)))]


def transaction_of(event: ComparedEvent) -> Transaction:
    """Return the transaction and the table of an event."""
    return event.commit_ts, event.table


def _rows_in_order(rows: list[ComparedEvent], count: int) -> list[ComparedEvent]:
    if count > STABLE_ROWS:
        return sorted(rows, key=lambda event: event.text)
    return sorted(rows, key=lambda event: HANDLE_KEY.findall(event.value) or [event.key])


def aligned(
    a: Sequence[ComparedEvent], b: Sequence[ComparedEvent]
) -> Iterator[tuple[ComparedEvent | None, ComparedEvent | None]]:
    """Yield the events of both sides in pairs: equal ones, unequal ones at the same place, and single ones."""
    at, place = 0, 0
    while at < len(a) and place < len(b):
        if a[at].text == b[place].text:
            yield a[at], b[place]
            at, place = at + 1, place + 1
            continue
        ahead, there = a[at : at + WINDOW], b[place : place + WINDOW]
        matches = SequenceMatcher(None, [event.text for event in ahead], [event.text for event in there], False)
        match = matches.get_matching_blocks()[0]
        single = len(ahead) if not match.size else match.a, len(there) if not match.size else match.b
        yield from _paired(ahead[: single[0]], there[: single[1]])
        at, place = at + single[0], place + single[1]
    yield from ((event, None) for event in a[at:])
    yield from ((None, event) for event in b[place:])


def _paired(
    a: Sequence[ComparedEvent], b: Sequence[ComparedEvent]
) -> Iterator[tuple[ComparedEvent | None, ComparedEvent | None]]:
    """Pair unequal events of the same table in order; the rest are single."""
    rest = list(b)
    for one in a:
        other = next((event for event in rest if event.table == one.table), None) if rest else None
        if other is None:
            yield one, None
            continue
        yield from ((None, event) for event in rest[: rest.index(other)])
        rest = rest[rest.index(other) + 1 :]
        yield one, other
    yield from ((None, event) for event in rest)


def first_difference(a: ComparedEvent, b: ComparedEvent) -> str:
    """Return the first member of the key or the value that differs, with both values, or the place in the text."""
    for name, one, other in (("key", a.key, b.key), ("value", a.value, b.value)):
        if one != other:
            return _of_texts(name, one, other)
    return ""


def _of_texts(name: str, one: str, other: str) -> str:
    try:
        difference = _of_values(name, json.loads(one), json.loads(other))
    except ValueError:
        difference = ""
    if difference:
        return difference
    at = next((place for place, pair in enumerate(zip(one, other)) if len({*pair}) > 1), min(len(one), len(other)))
    start = max(0, at - CUT // 2)
    return f"{name} at character {at}: {_cut(one[start:])} → {_cut(other[start:])}"


def _of_values(path: str, one: Any, other: Any) -> str:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        if list(one) != list(other):
            return f"{path}: members {_cut(', '.join(one))} → {_cut(', '.join(other))}"
        return next(
            (difference for name in one if (difference := _of_values(f"{path}.{name}", one[name], other[name]))), ""
        )
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other))
        return next(
            (difference for number, pair in pairs if (difference := _of_values(f"{path}[{number}]", *pair))), ""
        )
    if one == other and type(one) is type(other):
        return ""
    return f"{path}: {_cut(json.dumps(one, ensure_ascii=False))} → {_cut(json.dumps(other, ensure_ascii=False))}"


def _cut(text: str) -> str:
    return text if len(text) <= CUT else f"{text[:CUT]}…"
