"""Holds statements against those of the truth, and watermarks and messages of schemas against what TiCDC would write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import DDL, WATERMARK
from simulator.reader import statements
from simulator.reader.compare.events import ComparedEvent
from simulator.reader.compare.pairs import first_difference
from simulator.reader.contract.events import EventArrays
from simulator.reader.contract.message_texts import OTHER_MEMBERS, KeyAndValue, key_and_value, texts_of
from simulator.reader.contract.message_writer import MessageWriter
from simulator.reader.contract.summary import DescribedTable
from simulator.reader.contract.violations import Violation
from simulator.reader.decode.avro_schemas import schema_text
from simulator.reader.statements import ExpectedStatement
from simulator.ticdc.codecs import CODECS
from simulator.tidb.model.table import names_untold_columns

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
        elif what := _other_statement(events, at, message, writer, sent.get(int(events.ts[at]), ())):
            _report(events, at, f"DDL at {events.ts[at]}: {what} (as it is → as it was sent)")


def _report(events: EventArrays, at: int, what: str) -> None:
    events.report("message-different", np.array([at]), lambda _: what, False)


def _other_watermark(events: EventArrays, at: int, message: KeyAndValue, writer: MessageWriter) -> str:
    """Return in what a watermark differs from that of the changefeed; empty for nothing."""
    written = writer.watermark(int(events.ts[at]))
    if written is None or message == written[0] and not written[1]:
        return ""
    actual, (expected,) = texts_of(message, events), texts_of(written[0], events, written[1])
    return first_difference(actual[0], expected) if actual else OTHER_MEMBERS


def _other_statement(
    events: EventArrays, at: int, message: KeyAndValue, writer: MessageWriter, sent: Sequence[tuple[str, str]]
) -> str:
    """Return in what a statement differs from those that were sent at its commit-ts; empty for nothing."""
    if not sent:
        return ""  # that it was not sent, another check reports
    number = int(events.batch.column("number")[at].as_py())
    actual = texts_of(message, events, ignored=statements.IGNORED)
    if len(actual) <= number:
        return OTHER_MEMBERS
    if (actual[number].key, actual[number].value) in sent:
        return _other_schemas(events, message, writer)
    query = events.batch.column("text")[at].as_py()
    nearest = next((each for each in sent if query in each[1]), sent[0])
    return first_difference(actual[number], ComparedEvent("", 0, 0, int(events.ts[at]), "", *nearest))


def _other_schemas(events: EventArrays, message: KeyAndValue, writer: MessageWriter) -> str:
    """Return what is wrong with the schemas that a statement names; empty for nothing. They are those of any database
    with statements: which one, depends on the messages before it."""
    known = writer.statement_schemas(each.schema for each in events.spec.statements or ())
    if not known or tuple(schema_text(part or b"", events.spec.schemas) for part in message) in known:
        return ""
    return "its schemas are not those of a statement"


def check_bootstraps(events: EventArrays, records: pa.RecordBatch, writer: MessageWriter) -> None:
    """Compare and count the BOOTSTRAPs among the records of a batch."""
    if CODECS[events.spec.protocol].bootstrap is None:
        return
    offsets = np.asarray(records.column("offset"))
    for place in np.flatnonzero(~np.isin(offsets, events.offset)).tolist():
        told = texts_of(key_and_value(records, place), events)
        events.summary.bootstraps.update(map(_described, told))
        for what in [_difference(each, events, writer) for each in told] if told else [OTHER_MEMBERS]:
            if what:
                events.counter.add(Violation("message-different", *events.place, int(offsets[place]), what))


def _described(told: ComparedEvent) -> DescribedTable:
    ids = dict(told.ids)
    return told.table, ids.get("version", 0), ids.get("tableID", 0)


def _difference(actual: ComparedEvent, events: EventArrays, writer: MessageWriter) -> str:
    """Return in what a table's schema differs from each of its definitions; empty for nothing."""
    spec, differences = events.spec, list[str]()
    for table in {table for table in spec.all_tables if f"{table.schema}.{table.name}" == actual.table}:
        (expected,) = texts_of(writer.bootstrap(table, actual.commit_ts), events)
        untold = names_untold_columns(actual.value, table)
        differences.append("" if untold else first_difference(actual, expected))
    if not differences and spec.statements is not None:
        differences = ["the run does not have this table"]
    return f"the schema of {actual.table}: {differences[0]}" if differences and all(differences) else ""
