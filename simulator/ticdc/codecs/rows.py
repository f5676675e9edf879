"""What a codec is given and what it gives back: Arrow arrays, no Spark and no Kafka.

A row image is the TiDB text of each visible column in table order, joined by the byte 0xFF, 0xFE alone standing for
NULL. Bytes of binary columns are Latin-1 text; invalid UTF-8 in a text column travels as text.py says.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from simulator.tidb.model.table import Table


@dataclass(frozen=True)
class Rows:
    """Row changes of one physical table, in the order they are to be encoded."""

    table: Table
    partition_id: int | None
    """Physical table id of the partition, None where the table is not partitioned."""

    commit_ts: pa.Array
    """int64, no nulls: TSO of each change."""

    row_id: pa.Array
    """int64: integer handle or `_tidb_rowid`, null for a clustered key that is not one integer."""

    before: pa.Array
    """binary row images, null for an INSERT."""

    after: pa.Array
    """binary row images, null for a DELETE."""

    selected: frozenset[str] | None = None
    """The columns that column selectors leave; None: all visible ones. Images hold all of them in any case."""

    table_id: int = 0
    """Physical table id where the table is not partitioned."""


@dataclass(frozen=True)
class StoredFile:
    """A message that claim-check put beside Kafka."""

    name: str
    """Below the storage's URI; bytes that are no UTF-8 as lone surrogates."""

    content: bytes
    said: str = ""
    """Where messages say that it is."""


@dataclass(frozen=True)
class Encoded:
    """One entry per row, not framed yet."""

    keys: pa.Array | None
    """binary; None for a protocol whose messages have no key."""

    values: pa.Array
    """binary"""

    files: tuple[StoredFile, ...] = ()
    """What is to be stored before these entries are sent."""


@dataclass(frozen=True)
class Messages:
    """Kafka messages; message i holds rows `first_row[i]` up to `first_row[i + 1]`."""

    keys: pa.Array | None
    values: pa.Array
    first_row: pa.Array
    """int32, one longer than the messages."""


@dataclass(frozen=True)
class DdlEvent:
    """A DDL statement as it goes on the wire."""

    commit_ts: int
    schema: str
    table: str
    """Empty for a statement on a database."""

    query: str
    type_code: int
    """TiDB's action type, as in `"t"` of Open Protocol."""
