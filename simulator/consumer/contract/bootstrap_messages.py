"""Holds messages that only tell the schema of a table, and are no events, against what the changefeed would write."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from simulator.consumer.compare.events import ComparedEvent
from simulator.consumer.compare.pairs import first_difference
from simulator.consumer.contract.events import EventArrays
from simulator.consumer.contract.message_texts import OTHER_MEMBERS, key_and_value, texts_of
from simulator.consumer.contract.message_writer import MessageWriter
from simulator.consumer.contract.summary import DescribedTable
from simulator.consumer.contract.violations import Violation
from simulator.ticdc.codecs import CODECS
from simulator.tidb.model.table import names_untold_columns


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
