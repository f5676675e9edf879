"""The frames of a reader: a partition of a stream as Arrow batches, of records and of what is decoded from them.

    RECORDS  records as they lie in a partition                                   read.partitions
    DECODED  their events, one a row                                              read.decode.batches

A row change refers to a `Layout`: what its message says of the table. Columns of DECODED:

    offset      of the record
    number      place of the event in its message, from 0; `events` is how many that has
    size        bytes of the record's key and value
    kind        ROW, DDL, WATERMARK (`columns.change_frame`) or UNREADABLE, a record that is no event
    commit_ts   TSO; where the message has milliseconds alone, that of the first moment in them, and `exact` is false;
                0 for UNREADABLE
    layout      place of the row's layout in the reader's list; null for what is no row
    op          DELETE, UPDATE or INSERT; null for what is no row
    ptn, rid    as in `read.decode.RowEvent`; null where the message has none
    only_handle whether the row is cut down to the handle key
    stored_at   where claim-check put the whole message; else null. If that was read, the row is whole
    before      the old row as far as the message tells, the columns of its layout in order, as texts of the message
                joined like a row image (`columns.row_image`): 0xFE for NULL, 0xFD for what the message does not tell;
                what an UPDATE leaves out is as in the new row. Bytes of a binary column are Latin-1 text, in which
                U+FFFD says that some were lost; elsewhere bytes that are not UTF-8 are lone surrogates. Null for INSERT
    after       the new row in the same way; null for DELETE
    schema, table, text, type
                of DDL: database, table, statement and type (a number's digits, or canal's word);
                of UNREADABLE `text` is why it cannot be read, of a row why the file of claim-check cannot

One law: a batch is of one partition, in the order of its offsets, and what it says depends on its bytes alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from simulator.columns.change_frame import COLUMNS

UNREADABLE = 3
"""Behind ROW, DDL and WATERMARK."""

UNKNOWN_CELL = b"\xfd"
"""A cell that a message does not tell; neither UTF-8 nor a row image has this byte."""

RECORD_SCHEMA = pa.schema(
    [("offset", pa.int64()), ("timestamp", pa.int64()), ("key", pa.binary()), ("value", pa.binary())]
)

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
    ]
)


@dataclass(frozen=True)
class Layout:
    """What messages of a table say of it, the same in all that have this layout."""

    schema: str
    table: str
    names: tuple[str, ...]
    """Its columns, those of the old row that the new one lacks behind the others."""

    types: tuple[int | str, ...]
    """Open Protocol's type codes, or canal's mysqlType; as long as `names`."""

    flags: tuple[int | None, ...]
    """Open Protocol's `f`; None in canal-json."""

    keys: tuple[str, ...]
    """Columns of the handle key (Open Protocol's `h`) or of the primary key (canal's pkNames)."""
