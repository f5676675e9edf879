"""Decoded events: row changes, DDL statements and watermarks; and the Arrow schemas of a partition that is read.

In a single event a value is None, TiDB text, or bytes if the column is binary. ENUM and SET are their number as text, as in
messages. Invalid UTF-8 in messages becomes lone surrogates, as with Python's surrogateescape.

    RECORD_SCHEMA  records of a partition               reader.partitions
    EVENT_SCHEMA   their events, one in each row        reader.decode.batches

A batch belongs to one partition, and is in the order of its offsets. Row changes refer to a `Layout`, the description
of the table in their messages. Columns of EVENT_SCHEMA:

    offset      of the record
    number      index of the event in its message; `events` is the number of events in it
    size        bytes of the record's key and value
    kind        ROW, DDL, WATERMARK (`columns.change_frame`) or UNREADABLE for a record that is no event
    commit_ts   TSO; 0 for UNREADABLE. If the message has only milliseconds, it is the first TSO of that millisecond,
                and `exact` is false
    layout      index of the row's layout in the decoder's list; null for other events
    op          DELETE, UPDATE or INSERT; null for other events
    ptn, rid    as in `RowEvent`; null if the message has none
    only_handle whether the row is limited to the handle key
    stored_at   claim-check location of the whole message, else null. If it was read, the row is complete
    before      the old row as far as the message contains it; null for INSERT. It has the columns of the layout in
                order, as texts of the message joined like a row image (`columns.row_image`): 0xFE for NULL, 0xFD for
                an unknown cell. A column that an UPDATE leaves out has the new value. Bytes of a binary column are
                Latin-1 text, with U+FFFD for lost bytes; in other columns invalid UTF-8 is lone surrogates
    after       the new row in the same form; null for DELETE
    bound       in protocols whose rows may have no commit-ts (`Decoder.sequential`): no event up to this one is
                younger; it is commit_ts of a row that has none. Else null
    schema, table, text, type
                of DDL: database, table, statement and type (digits of a number, or canal's word).
                `text` of UNREADABLE is the reason; of a row, why the claim-check file cannot be read. `type` of
                UNREADABLE is `schema-unknown` if no message told the row's table schema, else null
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from simulator import tso
from simulator.columns.change_frame import COLUMNS, DELETE, INSERT, UPDATE

UNREADABLE = 3
"""Follows ROW, DDL and WATERMARK."""

UNKNOWN_CELL = b"\xfd"
"""A cell that a message does not contain; neither UTF-8 nor a row image has this byte."""

RECORD_SCHEMA = pa.schema(
    [("offset", pa.int64()), ("timestamp", pa.int64()), ("key", pa.binary()), ("value", pa.binary())]
)


def record_batch(columns: Iterable[Sequence[object]]) -> pa.RecordBatch:
    """Return a batch of RECORD_SCHEMA with these columns."""
    arrays = [pa.array(column, field.type) for column, field in zip(columns, RECORD_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=RECORD_SCHEMA)


EVENT_SCHEMA = pa.schema(
    [
        ("offset", pa.int64()),
        ("number", pa.int32()),
        ("events", pa.int32()),
        ("size", pa.int64()),
        ("kind", COLUMNS["kind"]),
        ("commit_ts", pa.int64()),
        ("exact", pa.bool_()),
        ("layout", pa.int32()),
        ("op", COLUMNS["op"]),
        ("ptn", pa.int64()),
        ("rid", pa.int64()),
        ("only_handle", pa.bool_()),
        ("stored_at", pa.string()),
        ("before", pa.binary()),
        ("after", pa.binary()),
        ("schema", pa.string()),
        ("table", pa.string()),
        ("text", pa.string()),
        ("type", pa.string()),
        ("bound", pa.int64()),
    ]
)


@dataclass(frozen=True)
class Layout:
    """The columns of a table as its messages describe them; messages with equal descriptions share a layout."""

    schema: str
    table: str
    names: tuple[str, ...]
    """The columns; those that only the old row has come last."""

    types: tuple[int | str, ...]
    """Open Protocol's type codes, or canal's mysqlType; as long as `names`."""

    binary: tuple[bool, ...]
    """Whether messages have the column's values as bytes, which are Latin-1 text in EVENT_SCHEMA."""

    keys: tuple[str, ...]
    """Columns of the handle key (Open Protocol's `h`) or of the primary key (canal's pkNames)."""


LOST = "\ufffd"
"""Messages have this character for each byte that is not UTF-8."""

Value: TypeAlias = "str | bytes | None"
Image: TypeAlias = "Mapping[str, Value]"
"""Column name → value, in the order of the message."""


@dataclass(frozen=True)
class ColumnInfo:
    type: int | str
    """Open Protocol's type code, canal's mysqlType, or a type of Kafka Connect (`row_images.CONNECT`)."""

    flags: int | None = None
    """Open Protocol's `f`."""

    key: bool = False
    """Whether it is in the handle key (Open Protocol's `h`) or the primary key (canal's pkNames)."""

    sql_type: int | None = None
    """canal's sqlType."""

    binary: bool = False
    """Whether messages have its values as bytes."""


NO_INFO = ColumnInfo(0)
"""For a column that only the old row has."""

OPERATIONS = {"DELETE": DELETE, "UPDATE": UPDATE, "INSERT": INSERT}


@dataclass(frozen=True)
class RowEvent:
    commit_ts: int | None
    """TSO; None in canal-json without the TiDB extension."""

    schema: str
    table: str
    op: str
    """`INSERT`, `UPDATE` or `DELETE`."""

    before: Image | None
    """The old row as far as the message contains it: an UPDATE may leave out unchanged columns."""

    after: Image | None
    columns: Mapping[str, ColumnInfo] = field(default_factory=dict)
    rid: int | None = None
    """Open Protocol: integer handle or `_tidb_rowid`."""

    ptn: int | None = None
    """Open Protocol: physical table id of the partition."""

    es: int | None = None
    """canal: commit time in milliseconds."""

    unnamed: tuple[Value, ...] = ()
    """Old values in Open Protocol's `p` without a column name that may belong to several columns. All of them became
    NULL: with only-output-updated-columns the new architecture leaves out the names of such columns (up to 8.5.7 and
    26.3.4: ticdc pkg/sink/codec/open/codec.go)."""

    only_handle: bool = False
    """Whether the message is limited to the handle key columns (`ohk`, `onlyHandleKey`, and with `stored_at`)."""

    stored_at: str = ""
    """Claim-check location of the whole message (`ccl`, `claimCheckLocation`)."""

    untold: str = ""
    """The table schema that the row names and no message before it told, so that its columns have no types."""


@dataclass(frozen=True)
class DdlEvent:
    commit_ts: int | None
    schema: str
    table: str
    query: str
    type: int | str
    """TiDB's action type (Open Protocol) or canal's type, such as `CREATE`."""

    es: int | None = None


@dataclass(frozen=True)
class Watermark:
    ts: int


Event: TypeAlias = "RowEvent | DdlEvent | Watermark"

TableSchemas: TypeAlias = "dict[tuple[str, str, int], Mapping[str, ColumnInfo]]"
"""The columns of table schemas that messages told, by database, table and version."""

DROPPING = (4, "ERASE")
"""Type of DROP TABLE in Open Protocol and in canal."""

LEAVING = (*DROPPING, 14, 47, "RENAME")
"""Types after which a topic may be without tables; includes RENAME TABLE."""

TRUNCATING = (11, "TRUNCATE")
EMPTYING = (*DROPPING, *TRUNCATING)
"""Types after which a table has no rows; includes TRUNCATE TABLE."""


def time_of(event: Event) -> int:
    """Return the TSO; without one, that of the beginning of the event's millisecond."""
    if isinstance(event, Watermark):
        return event.ts
    return event.commit_ts if event.commit_ts is not None else tso.compose(event.es or 0)


def is_exact(event: RowEvent | DdlEvent) -> bool:
    """Return whether `time_of` is the TSO itself."""
    return event.commit_ts is not None


def before_image(event: RowEvent) -> Image | None:
    """Return the old row; values that an UPDATE leaves out equal the new ones.

    Columns for which this is uncertain, as an old value has no name, are left out.
    """
    if event.before is None or event.after is None:
        return event.before
    same = {name: value for name, value in event.after.items() if value is not None or not event.unnamed}
    return {**same, **event.before}


def event_layout(event: RowEvent) -> Layout:
    """Return the layout of a row's message."""
    names = tuple({**(event.after or {}), **(event.before or {})})
    infos = [event.columns.get(name, NO_INFO) for name in names]
    return Layout(
        event.schema,
        event.table,
        names,
        tuple(info.type for info in infos),
        tuple(info.binary for info in infos),
        tuple(name for name, info in zip(names, infos, strict=True) if info.key),
    )
