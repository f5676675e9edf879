"""The dispatchers: which columns of a row choose its partition, and the bytes that are hashed, by release; the route of a
table.

A dispatcher's name has its meaning in the release; unknown names are `default`, as on Kafka. A table without the
columns or the index of its rule stops the changefeed, with TiCDC's text. `default` of TiCDC 4.0.0 to 4.0.4 hashes a
single value, without table and name, as json.Marshal writes it: numbers as numbers, byte strings in base64 and
everything else as a string (tiflow v4.0.4 cdc/sink/dispatcher/default.go).

Source: tiflow cdc/sink/dispatcher (up to 5.4), cdc/sink/**/dispatcher/partition (6.0+); cdc/model/schema_storage.go
GetIndex, OffsetsByNames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from simulator.errors import ChangefeedError
from simulator.releases import Release, option_names
from simulator.ticdc import table_info
from simulator.ticdc.changefeed import DispatchRule
from simulator.ticdc.codecs.wire_numbers import value_text
from simulator.ticdc.codecs.wire_text import base64
from simulator.tidb.model import types
from simulator.tidb.model.table import Column, Index, Table, visible_columns

TABLE, INDEX_VALUE, COLUMNS, TS = "table", "index-value", "columns", "ts"
SINGLE_COLUMN, ROW_ID = "single-column", "row-id"
"""What `default` and `rowid` can be in TiCDC 4.0.0 to 4.0.4."""

KEY = "key"
"""Pulsar's dispatcher by a key in the rule."""

HashedColumns = tuple[tuple[str, str], ...]
"""The hash input after the table's name: pairs of hashed name and column of the value (empty for NULL)."""


@dataclass(frozen=True)
class Dispatcher:
    """A method of spreading a table's rows over partitions."""

    name: str
    hashed: Callable[[Table, DispatchRule, Release], HashedColumns]
    groups_by: str
    """What rows of one message share besides topic and partition: `table`, `hash` or `commit_ts`."""


def dispatcher_of(name: str, table: Table, release: Release, enable_old_value: bool) -> Dispatcher:
    """Return the dispatcher for a table and a rule's name, in any case.

    Raise ChangefeedError for a table whose values the simulator cannot hash as the release does.
    """
    dispatcher = name.lower() if name.lower() in release.dispatchers else "default"
    if dispatcher == "rowid" and release.rowid_is_row_id:
        return BY_ROW_ID
    if dispatcher == "default":
        return DEFAULTS[release.default_dispatcher](table, enable_old_value)
    return DISPATCHERS[dispatcher]


def _old_value(table: Table, enable_old_value: bool) -> Dispatcher:
    """Keys with only virtual columns do not count (tiflow v6.5.0 cdc/model/schema_storage.go WrapTableInfo)."""
    visible = {column.name for column in visible_columns(table)}
    unique = [{column.name for column in index.columns} for index in table.indexes if index.primary or index.unique]
    count = sum(bool(columns & visible) for columns in unique) + _has_clustered_integer_key(table)
    return DISPATCHERS[INDEX_VALUE if count == 1 and not enable_old_value else TABLE]


def _single_column(table: Table, enable_old_value: bool) -> Dispatcher:
    """Return the dispatcher of a table with one unique key, of one stored column.

    Source: tiflow v4.0.4 cdc/entry/schema_storage.go IndieMarkCol.
    """
    unique = [index for index in table.indexes if index.primary or index.unique]
    columns = {column.name: column for column in table.columns}
    names = {column.name for index in unique for column in index.columns} if unique else set(table.primary_key)
    if len(unique) + _has_clustered_integer_key(table) != 1 or len(names) != 1 or not names <= columns.keys():
        return DISPATCHERS[TABLE]
    column = columns[names.pop()]
    is_not_null = column.not_null or any(index.primary for index in unique) or not unique
    return single_column_dispatcher(column) if is_not_null and not column.generated else DISPATCHERS[TABLE]


def single_column_dispatcher(column: Column) -> Dispatcher:
    """Return `default` of 4.0.0 to 4.0.4; raise ChangefeedError for a type whose JSON is not simulated."""
    single_column(column)
    return Dispatcher(SINGLE_COLUMN, lambda table, rule, release: ((column.name, column.name),), "hash")


def _has_clustered_integer_key(table: Table) -> bool:
    """Return whether the table has a clustered integer primary key, which is no index."""
    return bool(table.primary_key) and not any(index.primary for index in table.indexes)


DEFAULTS: Mapping[str, Callable[[Table, bool], Dispatcher]] = {
    SINGLE_COLUMN: _single_column,
    "old-value": _old_value,
    TABLE: lambda table, enable_old_value: DISPATCHERS[TABLE],
}
"""By `release.default_dispatcher`."""


def _by_table(table: Table, rule: DispatchRule, release: Release) -> HashedColumns:
    return ()


def _by_index(table: Table, rule: DispatchRule, release: Release) -> HashedColumns:
    visible = {column.name for column in visible_columns(table)}
    if not knows_index(rule, release):
        handle = table_info.handle_columns(table, release)
        names = (column.name for column in table.columns if column.name in handle)
        return _hash_names(((name, name if name in visible else "") for name in names), release)
    index = index_of(table, rule.index, release)
    if index is None:
        raise dispatcher_error(f"index not found when dispatch event, table: {table.name}, index: {rule.index}")
    at = {column.name: offset for offset, column in enumerate(table.columns)}
    offsets = tuple(at.get(column.name, len(at)) for column in index.columns)
    names = (column.name for column in index.columns)
    return _hash_names(zip(names, _value_columns(table, offsets, release), strict=True), release)


def knows_index(rule: DispatchRule, release: Release) -> bool:
    """Return whether `index-value` uses the rule's `index` instead of the handle key."""
    return bool(rule.index) and option_names.INDEX_RULES <= release.options


def _by_columns(table: Table, rule: DispatchRule, release: Release) -> HashedColumns:
    offsets = offsets_of(table, rule.columns, release, f"when dispatch event, table: {table.name}")
    sources = _value_columns(table, offsets, release)
    names = sources if release.dispatch_ignores_case else rule.columns
    return _hash_names(zip(names, sources, strict=True), release)


def _hash_names(hashed: Iterable[tuple[str, str]], release: Release) -> HashedColumns:
    """Return the names in the letter case that is hashed, with their columns."""
    return tuple((name.lower() if release.dispatch_lowers_names else name, source) for name, source in hashed)


def _value_columns(table: Table, offsets: Sequence[int], release: Release) -> tuple[str, ...]:
    """Return the columns whose values TiCDC reads for these offsets of the table."""
    visible = visible_columns(table)
    if release.dispatch_skips_virtual:
        columns = (table.columns[offset] if offset < len(table.columns) else None for offset in offsets)
        return tuple(column.name if column in visible else "" for column in columns if column)
    if any(offset >= len(visible) for offset in offsets):
        missing = next(offset for offset in offsets if offset >= len(visible))
        beyond = table.columns[missing].name if missing < len(table.columns) else "of a functional index"
        raise dispatcher_error(
            f"TiCDC {release.name} panics (index out of range) on dispatching table {table.schema}.{table.name} by"
            f" column {beyond}: it counts virtual generated columns before it; use columns that stand before them"
        )
    return tuple(visible[offset].name for offset in offsets)


DISPATCHERS: Mapping[str, Dispatcher] = {
    "default": Dispatcher(TABLE, _by_table, "table"),
    TABLE: Dispatcher(TABLE, _by_table, "table"),
    INDEX_VALUE: Dispatcher(INDEX_VALUE, _by_index, "hash"),
    "rowid": Dispatcher(INDEX_VALUE, _by_index, "hash"),
    COLUMNS: Dispatcher(COLUMNS, _by_columns, "hash"),
    TS: Dispatcher(TS, _by_table, "commit_ts"),
}
"""All names that some release accepts, with their usual meaning."""

BY_ROW_ID = Dispatcher(ROW_ID, _by_table, "hash")
"""`rowid` of 4.0.0 to 4.0.4."""


def offsets_of(table: Table, names: Sequence[str], release: Release, when: str) -> tuple[int, ...]:
    """Return the offsets of a rule's `columns` in the table; raise ChangefeedError with `when` in its text."""
    at = {_comparable(column.name, release): offset for offset, column in enumerate(table.columns)}
    listed = f"columns: [{' '.join(names)}]"
    if release.dispatch_refuses_virtual:
        _refuse_virtual(table, names, listed)
    if any(_comparable(name, release) not in at for name in names):
        raise dispatcher_error(f"columns not found {when}, {listed}")
    return tuple(at[_comparable(name, release)] for name in names)


def _refuse_virtual(table: Table, names: Sequence[str], listed: str) -> None:
    """Raise ChangefeedError for the first name that is no column with stored values.

    The texts are the same when a changefeed starts (tiflow v8.5.4 cdc/model/schema_storage.go OffsetsByNames).
    """
    names_of_table = {column.name.lower() for column in table.columns}
    visible = {column.name.lower() for column in visible_columns(table)}
    for name in map(str.lower, names):
        where = f"when dispatch event, table: {table.name}, {listed}"
        if name not in names_of_table:
            raise dispatcher_error(f"columns not found {where}, column: {name}")
        if name not in visible:
            raise dispatcher_error(f"found virtual generated columns {where} column: {name}")


def index_of(table: Table, name: str, release: Release) -> Index | None:
    """Return the index that a rule's `index` names, or None."""
    comparable = _comparable(name, release)
    return next((index for index in table.indexes if _comparable(index.name, release) == comparable), None)


def _comparable(name: str, release: Release) -> str:
    """Return a name in the form in which the release compares it with a rule's."""
    return name.lower() if release.dispatch_ignores_case else name


def dispatcher_error(text: str) -> ChangefeedError:
    """Return the error for a table that does not suit its rule."""
    return ChangefeedError(text, "CDC:ErrDispatcherFailed")


NULL = b"null"

NUMBERS = ("integer", "bit", "year", "enum", "set")
STRINGS = ("decimal", "date", "time", "datetime", "string", "json")
SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
ESCAPES = SHORT | {
    mark: f"\\u{ord(mark):04x}" for mark in (*map(chr, range(0x20)), *"<>&\u2028\u2029") if mark not in SHORT
}
"""Characters that Go's encoding/json escapes; the backslash comes first."""


@dataclass(frozen=True)
class Hashing:
    """How values become the bytes that are hashed."""

    nulls: bool = True
    """Whether a NULL is hashed as `null`; otherwise its column is skipped."""

    widens_float: bool = False
    """Whether a FLOAT has the digits of the 64-bit number."""

    time_fraction: bool = True
    """Whether a TIME keeps its fraction of a second."""

    @staticmethod
    def of(release: Release, source: str) -> Hashing:
        """Return the release's rules for columns from `source`, one of `release.dispatch_nulls`."""
        return Hashing(source in release.dispatch_nulls, release.float_widened, release.dispatch_time_fraction)


def value_bytes(column: Column, texts: pa.Array, hashing: Hashing = Hashing()) -> pa.Array:
    """Return the bytes that are hashed for TiDB texts; null for NULL."""
    if column.type.name == "time" and not hashing.time_fraction:
        return pc.replace_substring_regex(texts.cast(pa.string()), r"\..*", "").cast(pa.binary())
    return value_text(texts, column.type, hashing.widens_float)


def single_column(column: Column) -> str:
    """Return `number`, `string` or `base64`; raise ChangefeedError for a FLOAT, DOUBLE, BINARY or VARBINARY."""
    family = types.family(column.type)
    if family == "text":
        return "base64"
    if family in NUMBERS:
        return "number"
    if family in STRINGS and not types.is_binary(column.type):
        return "string"
    raise ChangefeedError(
        f"the default dispatcher of TiCDC 4.0.0 – 4.0.4 hashes the only unique column, {column.name}, whose type"
        f" {types.mysql_type(column.type, False)} is not simulated: give the table a rule with dispatcher table"
    )


def json_texts(column: Column, texts: pa.Array) -> pa.Array:
    """Return the JSON of values, given as the bytes that later releases hash."""
    kind = single_column(column)
    if kind == "number":
        return texts
    inside = base64(texts) if kind == "base64" else _escaped(texts)
    return pc.binary_join_element_wise(b'"', inside, b'"', b"")


def _escaped(texts: pa.Array) -> pa.Array:
    for mark, escape in ESCAPES.items():
        texts = pc.replace_substring(texts, mark.encode(), escape.encode())
    return texts


@dataclass(frozen=True)
class Route:
    """The destination of a table's rows, determined once per table on the driver."""

    dispatcher: str
    """The dispatcher in effect, also for `default`, `rowid` and unknown names: TABLE, INDEX_VALUE, COLUMNS or TS; in
    4.0.0 – 4.0.4 SINGLE_COLUMN or ROW_ID."""

    topic: str
    hashed: HashedColumns = ()
    groups_by: str = TABLE
    """As `Dispatcher.groups_by`."""

    rule: int | None = None
    """Index of the rule in `[sink] dispatchers`; None for the implicit last one."""

    key: str = ""
    """The key of Pulsar's `key` dispatcher."""

    hashing: Hashing = Hashing()
    selected: frozenset[str] | None = None
    """The columns that column selectors leave in messages; None means all."""

    sent_as: tuple[str, str] | None = None
    """Schema and table in messages, if table routing changes them."""

    time_zone: str = ""
    """The zone in which TIMESTAMPs are hashed; empty for UTC."""
