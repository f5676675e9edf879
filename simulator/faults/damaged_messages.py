"""Faults of messages and of rows in files: damaged content, their shape, and the files of a storage sink.

Damaged messages, which TiCDC never writes, test decoders; no other message or row is affected. Faults of shape change
how many rows a message holds, and whether they are cut down to the handle key: rows keep their order, and a message
holds only rows that the worker may put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from simulator import limits
from simulator.columns.cells import Mask
from simulator.columns.change_frame import DDL, WATERMARK
from simulator.engines.tasks.messages import FlushMessages
from simulator.faults.fault import FOR_KEY, TABLE_KEY, ActiveFault, EventPiece, FaultContext, matching_rows, number_from
from simulator.faults.kind import KAFKA, OF_TABLE, STORAGE, FaultKind, illegal_fault, release_and_protocol
from simulator.settings import Key
from simulator.sinks.records import CUT_SHORT, INDEX_ONLY
from simulator.ticdc.codecs import CODECS, CodecOptions
from simulator.ticdc.codecs.codec import KeyValue
from simulator.ticdc.codecs.schema_registry import HEADER
from simulator.ticdc.flush import Flush
from simulator.ticdc.rules import ChangefeedRules

UNKNOWN_ID = (0x7FFFFFFF).to_bytes(4, "big")
"""The id of a schema that no registry has given."""

Damage = Callable[[KeyValue, CodecOptions], KeyValue]

UNREADABLE = "[]"
"""The readable form in fixtures of a message that cannot be decoded."""


class DamagedMessage(ActiveFault):
    """Damages the next message of rows."""

    awaits = True

    def __init__(self, context: FaultContext, damage: Damage) -> None:
        super().__init__(context)
        self._damage = damage

    def messages(self, messages: FlushMessages) -> Iterator[FlushMessages]:
        rows = np.flatnonzero(matching_rows(messages.events, self.context))
        if not self.over and len(rows):
            self.over = True
            place, records = int(np.searchsorted(messages.first_row, rows[0], side="right")) - 1, messages.records
            whole = records.value[place].as_py()
            key, damaged_value = self._damage((records.key[place].as_py(), whole or b""), self.context.spec.options)
            value = damaged_value if whole is not None else damaged_value or None
            damaged = replace(
                records,
                key=_replaced(records.key, place, key),
                value=_replaced(records.value, place, value),
                events=None if records.events is None else _replaced(records.events, place, UNREADABLE),
            )
            messages = replace(messages, records=damaged)
        yield messages


def _replaced(column: pa.Array, place: int, value: bytes | str | None) -> pa.Array:
    return pa.concat_arrays([column.slice(0, place), pa.array([value], column.type), column.slice(place + 1)])


def _corrupt_json(entry: KeyValue, options: CodecOptions) -> KeyValue:
    """Overwrite the end of the last object of the value; in a compressed value, the last byte."""
    key, value = entry
    place = value.rfind(b"}") if b"}" in value else len(value) - 1
    return key, value[:place] + b"?" + value[place + 1 :]


def _truncate_value(entry: KeyValue, options: CodecOptions) -> KeyValue:
    key, value = entry
    return key, value[: len(value) // 2]


def _cut_row(entry: KeyValue, options: CodecOptions) -> KeyValue:
    """Leave out the second half of the row, but not its end."""
    key, value = entry
    end = options.terminator.encode()
    row = value.removesuffix(end)
    return key, row[: len(row) // 2] + end


def _refuse_csv(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    if rules.changefeed.storage is None or CODECS[rules.changefeed.codec.protocol].file_extension == ".json":
        return ""
    return f"{release_and_protocol(rules)} writes no JSON; truncated-row breaks a row of it"


def _refuse_without_batches(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    if CODECS[rules.changefeed.codec.protocol].batches:
        return ""
    return f"{release_and_protocol(rules)} puts each row into a message of its own, which nothing frames"


def _name_unknown_schema(entry: KeyValue, options: CodecOptions) -> KeyValue:
    """Replace the id of the value's schema, or of the key's if there is no value."""
    key, value = entry
    if value:
        return key, value[:1] + UNKNOWN_ID + value[len(HEADER) :]
    return key and key[:1] + UNKNOWN_ID + key[len(HEADER) :], value


def _refuse_without_registry(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    if CODECS[rules.changefeed.codec.protocol].needs_registry:
        return ""
    return f"{release_and_protocol(rules)} sends messages that name no schema of a registry"


CORRUPT_JSON = illegal_fault(
    says="The next message of rows, or the next row of a file, is no JSON.",
    source="tiflow#11707, tiflow#11652",
    active=partial(DamagedMessage, damage=_corrupt_json),
    refuse=_refuse_csv,
    sinks=(KAFKA, STORAGE),
)
TRUNCATED_ROW = illegal_fault(
    says="The next row of a file ends in its middle; other rows follow it.",
    source="ticdc#3784, where a consumer read files that were not complete",
    active=partial(DamagedMessage, damage=_cut_row),
    sinks=(STORAGE,),
)
TRUNCATED_BATCH = illegal_fault(
    says="The next message of rows ends in the middle of its value, which is shorter than its lengths say.",
    source="tiflow v8.5.3: pkg/sink/codec/open/open_protocol_decoder.go",
    active=partial(DamagedMessage, damage=_truncate_value),
    refuse=_refuse_without_batches,
)
UNKNOWN_TYPE = illegal_fault(
    says="The next message of rows, or the next row of a file, has a type that there is not.",
    source="flink: CanalJsonDeserializationSchema, `Unknown type value`",
    active=partial(
        DamagedMessage, damage=lambda entry, options: CODECS[options.protocol].with_unknown_type(entry, options)
    ),
    sinks=(KAFKA, STORAGE),
)
UNKNOWN_SCHEMA = illegal_fault(
    says="The next message of rows names a schema that the registry does not know.",
    source="Confluent's registry API: error 40403, `Schema not found`",
    active=partial(DamagedMessage, damage=_name_unknown_schema),
    refuse=_refuse_without_registry,
)


EVENTS_KEY = Key("events", *number_from(1, limits.FAULT_ROWS), "Rows in a message at most.")
ROWS_KEY = Key("rows", *number_from(1, limits.FAULT_ROWS), "How many of the next rows; 1 where unsaid.")


class SmallBatches(ActiveFault):
    """Limits the rows of messages while it lasts."""

    def flush(self, flush: Flush) -> Flush:
        chosen = matching_rows(flush.events, self.context)
        return _limit_batches(flush, chosen, self.context.fault.values[EVENTS_KEY.field])


class LargeMessage(ActiveFault):
    """Treats some of the next rows as too large."""

    awaits = True

    def __init__(self, context: FaultContext) -> None:
        super().__init__(context)
        self._left: int = context.fault.values.get(ROWS_KEY.field, 1)

    def flush(self, flush: Flush) -> Flush:
        fitting = matching_rows(flush.events, self.context)
        chosen = fitting & (np.cumsum(fitting) <= self._left)
        self._left -= int(chosen.sum())
        self.over = not self._left
        return replace(flush, large=chosen if flush.large is None else flush.large | chosen) if chosen.any() else flush


def _limit_batches(flush: Flush, chosen: Mask, events: int) -> Flush:
    """Limit messages to so many of the chosen rows, as if the worker's clock ticked after every so many rows (tiflow
    v8.5.3: cdc/sink/dmlsink/mq/worker.go batchEncodeRun, 15 ms).
    """
    starts = np.append(True, (np.diff(flush.group) != 0) | (np.diff(chosen.astype(np.int8)) != 0))[: len(flush.group)]
    places = np.arange(len(starts))
    behind = places - np.maximum.accumulate(np.where(starts, places, 0))
    return replace(flush, group=np.cumsum(starts | chosen & (behind % events == 0)))


def _refuse_batch(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    options, release = rules.changefeed.codec, rules.release
    codec = CODECS[options.protocol]
    if not codec.batches:
        return f"{release_and_protocol(rules)} puts each row into a message of its own"
    most = codec.sizes(options, release).max_batch_size
    if values[EVENTS_KEY.field] > most:
        return f"events = {values[EVENTS_KEY.field]} is above max-batch-size = {most}"
    return ""


def _refuse_large_message(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    options, release = rules.changefeed.codec, rules.release
    if CODECS[options.protocol].large_message_option(options, release) != "none":
        return ""
    return (
        f"{release_and_protocol(rules)} has no form here for a row that is too large: "
        "[sink.kafka-config.large-message-handle] large-message-handle-option is to be handle-key-only or claim-check, "
        "in a release that has them"
    )


BATCH = FaultKind(
    says="Messages have so many rows at most, as where the clock of TiCDC's worker ends a batch.",
    source="tiflow v8.5.3: cdc/sink/dmlsink/mq/worker.go batchEncodeRun",
    active=SmallBatches,
    keys={"events": EVENTS_KEY, "table": TABLE_KEY, "for": FOR_KEY},
    needs=("events",),
    refuse=_refuse_batch,
)
LARGE_MESSAGE = FaultKind(
    says="The next rows are sent as if they were too large: cut down to the handle key, or put into a file.",
    source="tiflow#9442, tiflow#9490, tiflow PR#9376",
    active=LargeMessage,
    keys={"rows": ROWS_KEY, "table": TABLE_KEY},
    refuse=_refuse_large_message,
)


class IndexBeforeData(ActiveFault):
    """Marks rows, so that the sink holds back their files, and suppresses checkpoints, the last one of the run, too."""

    def __init__(self, context: FaultContext) -> None:
        super().__init__(context)
        self.awaits = True
        self._standstill = context.fault.at_ts, context.fault.until_ts - 1

    def begin(self) -> Iterator[EventPiece]:
        self.context.history.hold(*self._standstill)
        yield from ()

    def events(self, piece: EventPiece) -> Iterator[EventPiece]:
        self.awaits = self.awaits and not matching_rows(piece.events, self.context).any()
        if piece.kind == DDL and not self.over:
            self.over = True
            self.context.history.release(*self._standstill)
        if piece.kind != WATERMARK:
            yield piece

    def messages(self, made: FlushMessages) -> Iterator[FlushMessages]:
        yield _with_file_fault(made, matching_rows(made.events, self.context), INDEX_ONLY)


class TruncatedFile(ActiveFault):
    awaits = True

    def messages(self, made: FlushMessages) -> Iterator[FlushMessages]:
        matching = matching_rows(made.events, self.context)
        if self.over or not matching.any():
            yield made
            return
        self.over = True
        yield _with_file_fault(made, np.arange(len(matching)) == np.argmax(matching), CUT_SHORT)


def _with_file_fault(made: FlushMessages, rows: Mask, fault: int) -> FlushMessages:
    """Return the messages with a fault of the files of some rows; a message has one event."""
    known = made.records.file_fault
    faults = np.zeros(len(rows), np.int8) if known is None else np.asarray(known).copy()
    faults[rows] = fault
    return replace(made, records=replace(made.records, file_fault=pa.array(faults, pa.int8())))


def _refuse_index_last(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    if rules.release.storage_index == "last":
        return f"{release_and_protocol(rules)} writes the index after the file that it names"
    return "" if rules.release.storage_index != "none" else f"{release_and_protocol(rules)} writes no index"


INDEX_BEFORE_DATA = FaultKind(
    says="TiCDC hangs when it has written an index: the file of rows that it names is not there, and the checkpoint "
    "stands still. A statement ends it.",
    source="ticdc#3784; tiflow v8.0.0: cdc/sink/dmlsink/cloudstorage/dml_worker.go flushMessages",
    active=IndexBeforeData,
    keys={**OF_TABLE, "for": FOR_KEY},
    refuse=_refuse_index_last,
    sinks=(STORAGE,),
)
TRUNCATED_FILE = illegal_fault(
    says="The next file of rows ends in the middle of its last row.",
    source="ticdc#3784, where a consumer read files that were not complete",
    active=TruncatedFile,
    sinks=(STORAGE,),
)
