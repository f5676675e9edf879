"""The dispatchers: which column values of a row decide its partition, and which columns a rule's `columns` and `index`
name in a table.

One law: a rule's name means what its release says; what no release knows is `default`, as on Kafka. A table that lacks
what a rule names stops the changefeed, in TiCDC's words.
Source: tiflow cdc/sink/dispatcher (up to 5.4), cdc/sink/**/dispatcher/partition (6.0+); cdc/model/schema_storage.go
GetIndex, OffsetsByNames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from simulator.errors import ChangefeedError
from simulator.releases import Release, option_names
from simulator.ticdc import table_info
from simulator.ticdc.changefeed.model import DispatchRule
from simulator.ticdc.dispatch.hashing import single_column
from simulator.tidb.model.table import Column, Index, Table, visible_columns

TABLE, INDEX_VALUE, COLUMNS, TS = "table", "index-value", "columns", "ts"
SINGLE_COLUMN, ROW_ID = "single-column", "row-id"
"""What `default` and `rowid` may be in TiCDC 4.0.0 to 4.0.4."""

KEY = "key"
"""Pulsar's, by a key that the rule gives."""

Hashed = tuple[tuple[str, str], ...]
"""What is hashed after the table's name: (name that is hashed, column whose value is); no column: always NULL."""


@dataclass(frozen=True)
class Dispatcher:
    """How rows of a table are spread over partitions."""

    name: str
    hashed: Callable[[Table, DispatchRule, Release], Hashed]
    groups_by: str
    """What rows of one message share besides topic and partition: `table`, `hash` or `commit_ts`."""


def dispatcher_of(name: str, table: Table, release: Release, enable_old_value: bool) -> Dispatcher:
    """The dispatcher that a rule's name, in any case, gives the table; raises ChangefeedError for a table whose values
    the simulator cannot hash as the release does."""
    known = name.lower() if name.lower() in release.dispatchers else "default"
    if known == "rowid" and release.rowid_is_row_id:
        return BY_ROW_ID
    return DISPATCHERS[known] if known != "default" else DEFAULTS[release.default_dispatcher](table, enable_old_value)


def _table(table: Table, enable_old_value: bool) -> Dispatcher:
    return DISPATCHERS[TABLE]


def _old_value(table: Table, enable_old_value: bool) -> Dispatcher:
    """Keys all of whose columns are virtual do not count (tiflow v6.5.0 cdc/model/schema_storage.go WrapTableInfo)."""
    visible = {column.name for column in visible_columns(table)}
    unique = [{column.name for column in index.columns} for index in table.indexes if index.primary or index.unique]
    count = sum(bool(columns & visible) for columns in unique) + _unlisted(table)
    return DISPATCHERS[INDEX_VALUE if count == 1 and not enable_old_value else TABLE]


def _single_column(table: Table, enable_old_value: bool) -> Dispatcher:
    """tiflow v4.0.4 cdc/entry/schema_storage.go IndieMarkCol: one unique key, and of one column that is written."""
    unique = [index for index in table.indexes if index.primary or index.unique]
    columns = {column.name: column for column in table.columns}
    names = {column.name for index in unique for column in index.columns} if unique else set(table.primary_key)
    if len(unique) + _unlisted(table) != 1 or len(names) != 1 or not names <= columns.keys():
        return DISPATCHERS[TABLE]
    column = columns[names.pop()]
    certain = column.not_null or any(index.primary for index in unique) or not unique
    return single_column_dispatcher(column) if certain and not column.generated else DISPATCHERS[TABLE]


def single_column_dispatcher(column: Column) -> Dispatcher:
    """`default` of 4.0.0 to 4.0.4; raises ChangefeedError for a type whose JSON the simulator does not make here."""
    single_column(column)
    return Dispatcher(SINGLE_COLUMN, lambda table, rule, release: ((column.name, column.name),), "hash")


def _unlisted(table: Table) -> bool:
    """Whether the table has a clustered integer primary key, which is no index."""
    return bool(table.primary_key) and not any(index.primary for index in table.indexes)


DEFAULTS: Mapping[str, Callable[[Table, bool], Dispatcher]] = {
    SINGLE_COLUMN: _single_column,
    "old-value": _old_value,
    TABLE: _table,
}
"""By `release.default_dispatcher`."""


def _by_table(table: Table, rule: DispatchRule, release: Release) -> Hashed:
    return ()


def _by_index(table: Table, rule: DispatchRule, release: Release) -> Hashed:
    visible = {column.name for column in visible_columns(table)}
    if not knows_index(rule, release):
        handle = table_info.handle_columns(table, release)
        names = (column.name for column in table.columns if column.name in handle)
        return _spelled(((name, name if name in visible else "") for name in names), release)
    index = index_of(table, rule.index, release)
    if index is None:
        raise failed(f"index not found when dispatch event, table: {table.name}, index: {rule.index}")
    at = {column.name: offset for offset, column in enumerate(table.columns)}
    offsets = tuple(at.get(column.name, len(at)) for column in index.columns)
    names = (column.name for column in index.columns)
    return _spelled(zip(names, _sources(table, offsets, release), strict=True), release)


def knows_index(rule: DispatchRule, release: Release) -> bool:
    """Whether `index-value` takes the rule's `index` in place of the handle key."""
    return bool(rule.index) and option_names.INDEX_RULES <= release.options


def _by_columns(table: Table, rule: DispatchRule, release: Release) -> Hashed:
    offsets = offsets_of(table, rule.columns, release, f"when dispatch event, table: {table.name}")
    sources = _sources(table, offsets, release)
    names = sources if release.dispatch_ignores_case else rule.columns
    return _spelled(zip(names, sources, strict=True), release)


def _spelled(hashed: Iterable[tuple[str, str]], release: Release) -> Hashed:
    """Names as they are hashed, and the columns whose values are."""
    return tuple((name.lower() if release.dispatch_lowers_names else name, source) for name, source in hashed)


def _sources(table: Table, offsets: Sequence[int], release: Release) -> tuple[str, ...]:
    """The columns whose values are really taken for columns at these offsets of the table."""
    visible = visible_columns(table)
    if release.dispatch_skips_virtual:
        found = (table.columns[offset] if offset < len(table.columns) else None for offset in offsets)
        return tuple(column.name if column in visible else "" for column in found if column)
    if any(offset >= len(visible) for offset in offsets):
        at = next(offset for offset in offsets if offset >= len(visible))
        beyond = table.columns[at].name if at < len(table.columns) else "of a functional index"
        raise failed(
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
"""Every name that some release accepts, with what it is in most."""

BY_ROW_ID = Dispatcher(ROW_ID, _by_table, "hash")
"""`rowid` of 4.0.0 to 4.0.4."""


def offsets_of(table: Table, names: Sequence[str], release: Release, when: str) -> tuple[int, ...]:
    """Where a rule's `columns` stand in the table; raises ChangefeedError as TiCDC words it `when` it looks them up."""
    at = {_compared(column.name, release): offset for offset, column in enumerate(table.columns)}
    listed = f"columns: [{' '.join(names)}]"
    if release.dispatch_refuses_virtual:
        _refuse_virtual(table, names, listed)
    if any(_compared(name, release) not in at for name in names):
        raise failed(f"columns not found {when}, {listed}")
    return tuple(at[_compared(name, release)] for name in names)


def _refuse_virtual(table: Table, names: Sequence[str], listed: str) -> None:
    """Raises ChangefeedError for the first name that is no column with a value in rows (tiflow v8.5.4
    cdc/model/schema_storage.go OffsetsByNames, whose words are the same when a changefeed starts)."""
    known = {column.name.lower() for column in table.columns}
    visible = {column.name.lower() for column in visible_columns(table)}
    for name in map(str.lower, names):
        where = f"when dispatch event, table: {table.name}, {listed}"
        if name not in known:
            raise failed(f"columns not found {where}, column: {name}")
        if name not in visible:
            raise failed(f"found virtual generated columns {where} column: {name}")


def index_of(table: Table, name: str, release: Release) -> Index | None:
    """The index that a rule's `index` names."""
    wanted = _compared(name, release)
    return next((index for index in table.indexes if _compared(index.name, release) == wanted), None)


def _compared(name: str, release: Release) -> str:
    """A name as the release compares it with a rule's."""
    return name.lower() if release.dispatch_ignores_case else name


def failed(text: str) -> ChangefeedError:
    """The error of a table that does not suit its rule."""
    return ChangefeedError(text, "CDC:ErrDispatcherFailed")
