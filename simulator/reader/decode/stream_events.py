"""Decoded events: row changes, DDL statements and watermarks.

A value is None, TiDB text, or bytes if the column is binary. ENUM and SET are their number as text, as in messages.
Invalid UTF-8 in messages becomes lone surrogates, as with Python's surrogateescape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from simulator import tso
from simulator.columns.change_frame import DELETE, INSERT, UPDATE
from simulator.reader.frame import Layout

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
