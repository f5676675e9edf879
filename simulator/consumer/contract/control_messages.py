"""Holds the messages of statements against those of the truth, and watermarks against what the changefeed would write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import DDL, WATERMARK
from simulator.consumer import statements
from simulator.consumer.compare.events import ComparedEvent
from simulator.consumer.compare.pairs import first_difference
from simulator.consumer.contract.events import EventArrays
from simulator.consumer.contract.message_texts import OTHER_MEMBERS, KeyAndValue, key_and_value, texts_of
from simulator.consumer.contract.message_writer import MessageWriter
from simulator.consumer.statements import ExpectedStatement

SentTexts = Mapping[int, Sequence[tuple[str, str]]]
"""Texts of the keys and values of statements, by commit-ts."""


def sent_texts(sent: Iterable[ExpectedStatement]) -> SentTexts:
    texts: dict[int, list[tuple[str, str]]] = {}
    for each in sent:
        texts.setdefault(each.commit_ts, []).append((each.key, each.value))
    return texts


def check_control_messages(
    events: EventArrays, records: pa.RecordBatch, writer: MessageWriter, sent: SentTexts
) -> None:
    """Compare the statements and watermarks of a batch, which was decoded from these records."""
    offsets = np.asarray(records.column("offset"))
    for at in (*events.at(WATERMARK).tolist(), *events.at(DDL).tolist()):
        message = key_and_value(records, int(np.searchsorted(offsets, events.offset[at])))
        if events.kind[at] == WATERMARK:
            if what := _other_watermark(events, at, message, writer):
                _report(events, at, f"a watermark: {what} (as it is → as TiCDC writes it)")
        elif what := _other_statement(events, at, message, sent.get(int(events.ts[at]), ())):
            _report(events, at, f"DDL at {events.ts[at]}: {what} (as it is → as it was sent)")


def _report(events: EventArrays, at: int, what: str) -> None:
    events.report("message-different", np.array([at]), lambda _: what, False)


def _other_watermark(events: EventArrays, at: int, message: KeyAndValue, writer: MessageWriter) -> str:
    """Return in what a watermark differs from that of the changefeed; empty for nothing."""
    written = writer.watermark(int(events.ts[at]))
    if written is None or message == written[0]:
        return ""
    actual, (expected,) = texts_of(message, events), texts_of(written[0], events, written[1])
    return first_difference(actual[0], expected) if actual else OTHER_MEMBERS


def _other_statement(events: EventArrays, at: int, message: KeyAndValue, sent: Sequence[tuple[str, str]]) -> str:
    """Return in what a statement differs from those that were sent at its commit-ts; empty for nothing."""
    if not sent:
        return ""  # that it was not sent, another check reports
    number = int(events.batch.column("number")[at].as_py())
    actual = texts_of(message, events, ignored=statements.IGNORED)
    if len(actual) <= number:
        return OTHER_MEMBERS
    if (actual[number].key, actual[number].value) in sent:
        return ""
    query = events.batch.column("text")[at].as_py()
    nearest = next((each for each in sent if query in each[1]), sent[0])
    return first_difference(actual[number], ComparedEvent("", 0, 0, int(events.ts[at]), "", *nearest))
