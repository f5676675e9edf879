"""A row change under a changefeed: whether it is sent and why, types, flags, handle key, destination and bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from simulator.columns import cells, row_image
from simulator.explain.change import RowChange
from simulator.limits import counted
from simulator.reader.event_lines import as_text, quote_if_needed
from simulator.releases import V8_5, Release
from simulator.ticdc import table_info
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.codecs import CODECS, CodecOptions, EncodedRows, RowChanges
from simulator.ticdc.codecs.large_messages import file_uri
from simulator.ticdc.codecs.schema_registry import SchemaManager, with_schema_ids
from simulator.ticdc.ddl import is_eligible
from simulator.ticdc.dispatch import route, router, sent_table
from simulator.ticdc.dispatch.destinations import choose_partitions as partitions_of
from simulator.ticdc.dispatch.destinations import dispatch_hashes
from simulator.ticdc.dispatch.dispatchers import ROW_ID, SINGLE_COLUMN, TS
from simulator.ticdc.filters.event_filters import reads_values, rule_ignoring_row
from simulator.ticdc.mounter import images_in_zone, zone_of_rows
from simulator.ticdc.rules import ChangefeedRules, filter_rule
from simulator.ticdc.split import changed_key_columns, split_rule
from simulator.ticdc.table_info import flag_names, flags, handle_columns, handle_key
from simulator.tidb.model.table import SOFT_DELETE_TIME, Table, row_id_column, visible_columns
from simulator.tidb.model.types import ColumnType, type_code
from simulator.tso import BEFORE_COMMIT


@dataclass(frozen=True)
class ColumnExplained:
    name: str
    type_code: int
    flags: int
    flag_names: tuple[str, ...]
    handle: bool
    fields: Mapping[str, str | int]
    """Other fields of messages, by their names in the protocols."""

    sent: bool
    """False for a virtual generated column, and for one that column selectors exclude."""


@dataclass(frozen=True)
class FilterDecision:
    """Whether the filters pass a row change."""

    sent: bool
    why: str
    """The rule that decides; empty if none was applied."""


@dataclass(frozen=True)
class RowExplained:
    release: str
    architecture: str
    schema: str
    table: str
    op: str
    columns: tuple[ColumnExplained, ...]
    handle_key: tuple[str, ...]
    dispatcher: str
    hashed: tuple[str, ...]
    """The columns whose values the dispatcher hashes, besides the names of schema and table."""

    hash: int
    partition: int
    partitions: int
    topic: str
    protocol: str
    messages: tuple[tuple[bytes | None, bytes], ...]
    """Key and value."""

    split_by: tuple[str, ...] = ()
    """Columns of unique keys that the UPDATE changes, so that TiCDC sends it as DELETE and INSERT."""

    moved_by: tuple[str, ...] = ()
    """Columns of a clustered primary key that the UPDATE changes, by their collations; TiDB itself writes DELETE and
    INSERT."""

    stored: tuple[tuple[str, int], ...] = ()
    """Claim-check location of the whole message, and the file's size."""

    sent_as: str = ""
    """Full name in messages, if table routing changes it."""

    sent: bool = True
    """Whether the filters pass it; otherwise there are no messages."""

    why: str = ""


def filter_decision(table: Table, change: RowChange, rules: ChangefeedRules) -> FilterDecision:
    """Apply the filters in TiCDC's order: table filter, valid index, ignored transactions, kinds of changes, and values
    if a rule uses them (tiflow v8.5.3: pkg/filter/filter.go ShouldIgnoreDMLEvent)."""
    name, kind = (table.schema, table.name), change.op.lower()
    passes = filter_rule(rules.replication, *name)
    if not rules.replication.table(*name):
        return FilterDecision(False, passes)
    if not is_eligible(table, rules.changefeed.force_replicate):
        return FilterDecision(
            False, "the table has no primary key and no unique key of NOT NULL columns, and force-replicate is off"
        )
    start_ts = change.commit_ts - BEFORE_COMMIT
    if start_ts in rules.replication.ignored_start_ts:
        return FilterDecision(False, f"ignore-txn-start-ts has {start_ts}, when its transaction is taken to start")
    rule = rule_ignoring_row(rules.event_filters, *name, kind)
    if rule is not None:
        return FilterDecision(False, f"{rule.where}: ignore-event has {', '.join(sorted(rule.types))}")
    if any(reads_values(rule, table) for rule in rules.event_filters.rules):
        from simulator.ticdc.filters.row_expressions import rule_ignoring_values

        rule = rule_ignoring_values(rules.event_filters, table, encode_image(change.before), encode_image(change.after))
        if rule is not None:
            return FilterDecision(False, f"{rule.where}: an expression on the row's values holds")
    return _soft_delete_decision(table, change, rules) or FilterDecision(True, passes)


def _soft_delete_decision(table: Table, change: RowChange, rules: ChangefeedRules) -> FilterDecision | None:
    """Return what TiCDC decides because of SOFTDELETE (`ticdc.split`); None for nothing."""
    if not table.soft_delete or not rules.release.soft_deletes:
        return None
    if change.op == "DELETE":
        return FilterDecision(False, "TiCDC drops each DELETE of a table with SOFTDELETE: it removes what was marked")
    if marks_row(change) and not rules.changefeed.active_active:
        return FilterDecision(True, f"an UPDATE that sets {SOFT_DELETE_TIME} is sent as DELETE")
    return None


def marks_row(change: RowChange) -> bool:
    """Return whether an UPDATE marks its row as deleted."""
    before, after = change.before, change.after
    return bool(before and after and before.get(SOFT_DELETE_TIME) is None and after.get(SOFT_DELETE_TIME) is not None)


def explain_row(
    table: Table,
    changefeed: Changefeed,
    change: RowChange,
    release: Release = V8_5,
    decision: FilterDecision = FilterDecision(True, ""),
) -> RowExplained:
    """Explain a row change that `parse_row_change` has checked; raises EncodeError if TiCDC could not encode it."""
    if table.soft_delete and release.soft_deletes and marks_row(change) and not changefeed.active_active:
        change = replace(change, after=None)
    partitions = change.partitions or changefeed.kafka.partitions
    to = route(router(changefeed, release), table)
    hashed, row_id = (
        dispatch_hashes(to, table, cells.columns([change.image])),
        pa.array([_row_id(table, change)], pa.int64()),
    )
    place = partitions_of(to, hashed, np.array([change.commit_ts]), row_id, partitions)
    encoded = _encoded(sent_table(to, table), changefeed, change, release, to.selected) if decision.sent else None
    return RowExplained(
        release=release.name,
        architecture=release.architecture,
        schema=table.schema,
        table=table.name,
        op=change.op,
        columns=_columns(table, changefeed.codec, release, to.selected),
        handle_key=handle_key(table),
        dispatcher=to.dispatcher,
        hashed=tuple(name for _, name in to.hashed if name),
        hash=int(hashed[0]),
        partition=int(place[0]),
        partitions=partitions,
        topic=to.topic,
        protocol=changefeed.codec.protocol,
        messages=_messages(encoded, changefeed.codec, release) if encoded else (),
        split_by=_split_by(table, change, changefeed, release),
        moved_by=_moved_by(table, change),
        stored=tuple((file_uri(file, changefeed.codec), len(file.content)) for file in encoded.files)
        if encoded
        else (),
        sent_as=".".join(to.sent_as or ()),
        sent=decision.sent,
        why=decision.why,
    )


def _columns(
    table: Table, options: CodecOptions, release: Release, selected: frozenset[str] | None
) -> tuple[ColumnExplained, ...]:
    bits, handle = flags(table, release), handle_columns(table, release)
    sent = {column.name for column in visible_columns(table) if selected is None or column.name in selected}
    return tuple(
        ColumnExplained(
            column.name,
            type_code(column.type),
            bits[column.name],
            flag_names(bits[column.name]),
            column.name in handle,
            _fields(column.type, options, release),
            column.name in sent,
        )
        for column in table.columns
    )


def _fields(type: ColumnType, options: CodecOptions, release: Release) -> Mapping[str, str | int]:
    """Return the fields of messages about a column: the changefeed's first, then those of other protocols."""
    fields: dict[str, str | int] = {}
    for protocol in (options.protocol, *CODECS):
        members = CODECS[protocol].column_fields(type, replace(options, protocol=protocol), release)
        fields |= {name: value for name, value in members.items() if name not in fields}
    return fields


def _split_by(table: Table, change: RowChange, changefeed: Changefeed, release: Release) -> tuple[str, ...]:
    if change.before is None or change.after is None or _moved_by(table, change):
        return ()
    rule = split_rule(
        release, changefeed.output_raw_change_event, changefeed.codec.enable_old_value, changefeed.active_active
    )
    return changed_key_columns(table, change.before, change.after, rule)


def _moved_by(table: Table, change: RowChange) -> tuple[str, ...]:
    if not table.clustered or change.before is None or change.after is None:
        return ()
    before, after = (table_info.key_parts(table, cells.columns([image])) for image in (change.before, change.after))
    return tuple(name for (name, old), (_, new) in zip(before, after, strict=True) if old != new)


def _encoded(
    table: Table, changefeed: Changefeed, change: RowChange, release: Release, selected: frozenset[str] | None
) -> EncodedRows:
    rows = RowChanges(
        table,
        change.partition_id,
        *(pa.array([number], pa.int64()) for number in (change.commit_ts, _row_id(table, change))),
        *(
            images_in_zone(
                pa.array([encode_image(image)], pa.binary()), table, zone_of_rows(changefeed.codec.time_zone, release)
            )
            for image in (change.before, change.after)
        ),
    )
    encoded = CODECS[changefeed.codec.protocol].encode(replace(rows, selected=selected), changefeed.codec, release)
    return with_schema_ids(encoded, SchemaManager())


def _messages(encoded: EncodedRows, options: CodecOptions, release: Release) -> tuple[tuple[bytes | None, bytes], ...]:
    framed = CODECS[options.protocol].frame(encoded, np.zeros(1, np.int64), options, release)
    keys = [None] * len(framed.values) if framed.keys is None else framed.keys.to_pylist()
    return tuple(zip(keys, framed.values.to_pylist(), strict=True))


def _row_id(table: Table, change: RowChange) -> int | None:
    name = row_id_column(table)
    text = None if name is None else change.image[name]
    if text is None:
        return change.row_id
    return (int(text) + (1 << 63)) % (1 << 64) - (1 << 63)


def encode_image(image: Mapping[str, str | None] | None) -> bytes | None:
    if image is None:
        return None
    return row_image.image_of(
        None if text is None else text.encode("utf-8", "surrogatepass") for text in image.values()
    )


def row_as_dict(explained: RowExplained) -> dict[str, Any]:
    """Return everything as JSON members, message bytes in hex."""
    result: dict[str, Any] = {**vars(explained), "columns": [*map(_column_as_dict, explained.columns)]}
    result["messages"] = [{"key": _hex(key), "value": _hex(value)} for key, value in explained.messages]
    return result


def _column_as_dict(column: ColumnExplained) -> dict[str, Any]:
    """Merge the fields of messages into the members: mysqlType becomes mysql_type."""
    own = {name: value for name, value in vars(column).items() if name not in ("fields", "sent")}
    fields = {re.sub("[A-Z]", r"_\g<0>", name).lower(): value for name, value in column.fields.items()}
    return {**own, **fields, "sent": column.sent}


def row_lines(explained: RowExplained) -> Iterator[str]:
    """Yield the columns as a table, then the destination, then the bytes."""
    yield f"{explained.op} on {explained.schema}.{explained.table} under TiCDC {explained.release} ({explained.architecture})"
    yield ""
    fields = dict.fromkeys(name for column in explained.columns for name in column.fields)
    rows = (_cells(column, fields) for column in explained.columns)
    yield from _aligned(("column", "type", *fields, "flags", ""), *rows)
    yield ""
    yield f"handle key   {', '.join(explained.handle_key) or 'none'}"
    yield f"dispatcher   {explained.dispatcher}: {_source(explained)}"
    yield f"destination  {explained.topic}/{explained.partition} of {counted(explained.partitions, 'partition')}"
    if explained.sent_as:
        yield f"sent as      {explained.sent_as}"
    if explained.why:
        yield f"decision     {'sent' if explained.sent else 'not sent'}"
        yield f"why          {explained.why}"
    if explained.moved_by:
        yield f"split        TiDB writes this UPDATE as DELETE and INSERT, since {', '.join(explained.moved_by)} changes,"
        yield "             under which it stores the row: explain each by itself"
    if explained.split_by:
        yield f"split        TiCDC sends this UPDATE as DELETE and INSERT, since {', '.join(explained.split_by)} changes:"
        yield "             explain each by itself; output-raw-change-event=true keeps it whole, as below"
    for place, size in explained.stored:
        yield f"stored       {counted(size, 'byte')} at {place}"
    for key, value in explained.messages:
        for name, data in (("key", key), ("value", value)):
            yield f"{name:<12} {'null' if data is None else counted(len(data), 'byte')}"
            if data is not None:
                yield f"  text       {as_text(data)}"
                yield f"  hex        {data.hex()}"


def _source(explained: RowExplained) -> str:
    values = ", ".join(explained.hashed)
    if explained.dispatcher in (TS, ROW_ID):
        return "the commit-ts" if explained.dispatcher == TS else "the row id"
    if explained.dispatcher == SINGLE_COLUMN:
        return f"hash {explained.hash:#010x} of the JSON of {values} alone"
    return f"hash {explained.hash:#010x} of schema, table" + (f" and the values of {values}" if values else "")


def _cells(column: ColumnExplained, fields: Iterable[str]) -> tuple[str, ...]:
    names = ", ".join(column.flag_names) + ("" if column.sent else "; never sent")
    members = (str(column.fields.get(name, "")) for name in fields)
    return quote_if_needed(column.name), str(column.type_code), *members, str(column.flags), names


def _aligned(*rows: tuple[str, ...]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex()
