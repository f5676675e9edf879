"""One row change under a changefeed: types, flags, handle key, dispatching and bytes.

One law: it asks the modules that the pipeline asks, and works nothing out itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from simulator.columns import cells
from simulator.explain.change import RowChange
from simulator.releases import Release, V8_5
from simulator.ticdc import key_bytes
from simulator.ticdc.changefeed.model import Changefeed
from simulator.ticdc.codecs import CODECS, CodecOptions, Encoded, Rows
from simulator.ticdc.codecs.canal_json.types import mysql_type, sql_type
from simulator.ticdc.codecs.claim_check import address
from simulator.ticdc.codecs.options import known
from simulator.ticdc.dispatch import hashes, partitions as partitions_of, route, router, sent_table
from simulator.ticdc.split import changed, split_rule
from simulator.ticdc.table_info import flags, handle_columns, handle_key
from simulator.tidb.model.table import Table, row_id_column, visible_columns
from simulator.tidb.model.types import type_code

FLAGS = {
    1: "binary", 2: "handle key", 4: "generated", 8: "primary key", 16: "unique key", 32: "multiple key",
    64: "nullable", 128: "unsigned", 256: "zerofill",
}
"""Bits of Open Protocol's `f` (tiflow v8.5 cdc/model/sink.go)."""


@dataclass(frozen=True)
class ColumnExplained:
    name: str
    type_code: int
    flags: int
    flag_names: tuple[str, ...]
    handle: bool
    mysql_type: str
    sql_type: int
    sent: bool
    """False for a virtual generated column, and for one that column selectors leave out."""


@dataclass(frozen=True)
class Sending:
    """Whether the filters let a row change through."""

    sent: bool
    why: str
    """The rule that decides; empty where none was asked."""


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
    """The columns whose values the dispatcher hashes, beside the names of schema and table."""

    hash: int
    partition: int
    partitions: int
    topic: str
    protocol: str
    messages: tuple[tuple[bytes | None, bytes], ...]
    """Key and value."""

    split_by: tuple[str, ...] = ()
    """Columns of unique keys that the UPDATE changes, for which TiCDC sends it as DELETE and INSERT."""

    moved_by: tuple[str, ...] = ()
    """Columns of a clustered primary key that the UPDATE changes, by their collations: TiDB itself writes DELETE and
    INSERT."""

    stored: tuple[tuple[str, int], ...] = ()
    """Where claim-check puts the whole message, and the file's bytes."""

    sent_as: str = ""
    """Full name in messages, where table routing gives another one."""

    sent: bool = True
    """As Sending has it; there are no messages else."""

    why: str = ""


def explain_row(
    table: Table, changefeed: Changefeed, change: RowChange, release: Release = V8_5,
    sending: Sending = Sending(True, ""),
) -> RowExplained:
    """What becomes of a row change that `read_row` has checked; raises EncodeError where TiCDC could not encode it."""
    partitions = change.partitions or changefeed.kafka.partitions
    to = route(router(changefeed, release), table)
    hashed, row_id = hashes(to, table, cells.columns([change.image])), pa.array([_row_id(table, change)], pa.int64())
    place = partitions_of(to, hashed, np.array([change.commit_ts]), row_id, partitions)
    encoded = _encoded(sent_table(to, table), changefeed, change, release, to.selected) if sending.sent else None
    return RowExplained(
        release=release.name, architecture=release.architecture, schema=table.schema, table=table.name, op=change.op,
        columns=_columns(table, changefeed.codec, release, to.selected), handle_key=handle_key(table),
        dispatcher=to.dispatcher, hashed=tuple(name for _, name in to.hashed if name), hash=int(hashed[0]),
        partition=int(place[0]), partitions=partitions,
        topic=to.topic, protocol=changefeed.codec.protocol,
        messages=_messages(encoded, changefeed.codec, release) if encoded else (),
        split_by=_split_by(table, change, changefeed, release), moved_by=_moved_by(table, change),
        stored=_stored(encoded, changefeed.codec) if encoded else (), sent_as=".".join(to.sent_as or ()),
        sent=sending.sent, why=sending.why,
    )


def _columns(
    table: Table, options: CodecOptions, release: Release, selected: frozenset[str] | None,
) -> tuple[ColumnExplained, ...]:
    full = options.protocol == "canal-json" and known(options, release).content_compatible
    bits, handle = flags(table, release), handle_columns(table, release)
    sent = {column.name for column in visible_columns(table) if selected is None or column.name in selected}
    return tuple(
        ColumnExplained(
            column.name, type_code(column.type), bits[column.name], flag_names(bits[column.name]),
            column.name in handle, mysql_type(column.type, full, release), sql_type(column.type, release),
            column.name in sent,
        )
        for column in table.columns
    )


def _split_by(table: Table, change: RowChange, changefeed: Changefeed, release: Release) -> tuple[str, ...]:
    if change.before is None or change.after is None or _moved_by(table, change):
        return ()
    rule = split_rule(release, changefeed.output_raw_change_event, changefeed.codec.enable_old_value)
    return changed(table, change.before, change.after, rule)


def _moved_by(table: Table, change: RowChange) -> tuple[str, ...]:
    if not table.clustered or change.before is None or change.after is None:
        return ()
    before, after = (key_bytes.parts_of(table, cells.columns([image])) for image in (change.before, change.after))
    return tuple(name for (name, old), (_, new) in zip(before, after, strict=True) if old != new)


def flag_names(bits: int) -> tuple[str, ...]:
    return tuple(name for bit, name in FLAGS.items() if bits & bit)


def _encoded(
    table: Table, changefeed: Changefeed, change: RowChange, release: Release, selected: frozenset[str] | None,
) -> Encoded:
    rows = Rows(
        table, change.partition_id,
        *(pa.array([number], pa.int64()) for number in (change.commit_ts, _row_id(table, change))),
        *(pa.array([packed(image)], pa.binary()) for image in (change.before, change.after)),
    )
    return CODECS[changefeed.codec.protocol].encode(replace(rows, selected=selected), changefeed.codec, release)


def _messages(
    encoded: Encoded, options: CodecOptions, release: Release,
) -> tuple[tuple[bytes | None, bytes], ...]:
    framed = CODECS[options.protocol].frame(encoded, np.zeros(1, np.int64), options, release)
    keys = [None] * len(framed.values) if framed.keys is None else framed.keys.to_pylist()
    return tuple(zip(keys, framed.values.to_pylist(), strict=True))


def _stored(encoded: Encoded, options: CodecOptions) -> tuple[tuple[str, int], ...]:
    return tuple((address(file, options), len(file.content)) for file in encoded.files)


def _row_id(table: Table, change: RowChange) -> int | None:
    name = row_id_column(table)
    text = None if name is None else change.image[name]
    if text is None:
        return change.row_id
    return (int(text) + (1 << 63)) % (1 << 64) - (1 << 63)


def packed(image: Mapping[str, str | None] | None) -> bytes | None:
    """The row image of TiDB texts."""
    if image is None:
        return None
    return b"\xff".join(b"\xfe" if text is None else text.encode("utf-8", "surrogatepass") for text in image.values())
