"""Arrow schemas of a partition that is read: its records, and their decoded events.

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
    ptn, rid    as in `decode.RowEvent`; null if the message has none
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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from simulator.columns.change_frame import COLUMNS

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
