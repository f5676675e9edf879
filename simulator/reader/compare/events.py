"""The events of messages in a form in which two streams can be compared: as text, without what no two runs share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from simulator.errors import UserError
from simulator.files import PARSE_ERRORS, parse_error_reason
from simulator.reader.decode import DECODERS

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
class StreamMessage:
    """A message with its place."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    commit_ts: int = 0
    """Known from elsewhere, as not all messages of Avro tell it; else 0."""


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
    message: StreamMessage,
    protocol: str,
    ignored: frozenset[str] = EVERYTHING,
    schemas: Mapping[int, str] = MappingProxyType({}),
) -> Iterator[ComparedEvent]:
    """Yield the events of a message; `schemas` are those of a registry, by id. Raises UserError if it cannot be read."""
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
