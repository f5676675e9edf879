"""Destinations of rows by the changefeed's dispatchers, recomputed from the columns of messages.

The new row decides, or the old row of a DELETE. Values that messages do not contain are null, and the destination of
a row with unknown values is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask
from simulator.columns.change_frame import Ints
from simulator.errors import UserError
from simulator.reader.contract.null_texts import texts_like_null
from simulator.reader.decode import LOST
from simulator.reader.decode.row_images import MEMBERS, connect_cells, is_connect, value_text
from simulator.reader.events import UNKNOWN_CELL, Layout
from simulator.releases import V8_5, Release
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.dispatch import Route, matching_rule, route, router, topic_of
from simulator.ticdc.dispatch.destinations import choose_partitions, dispatch_hashes
from simulator.ticdc.dispatch.dispatchers import DISPATCHERS, ROW_ID
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import Column, Table, row_id_column
from simulator.tidb.syntax.expressions import TableName
from simulator.tso import FOREVER


@dataclass(frozen=True)
class DispatchRows:
    """Rows of one layout by which the dispatcher decides: the new row, or the old row of a DELETE."""

    layout: Layout
    cells: Mapping[str, pa.Array]
    """The columns, as texts of the messages."""

    commit_ts: Ints
    exact: Mask

    def texts(self, column: Column, time_zone: str) -> tuple[pa.Array, Mask] | None:
        """Return the TiDB texts of a column, TIMESTAMPs in a zone, and which of them are unknown; None if messages lack
        the column. Raises UserError for a number that is no member of the ENUM or SET."""
        if column.name not in self.layout.names:
            return None
        cells = self.cells[column.name]
        kind = self.layout.types[self.layout.names.index(column.name)]
        connect = is_connect(kind)
        if connect:
            cells = connect_cells(cells, column, kind, time_zone)
        unknown = pc.fill_null(pc.equal(cells, UNKNOWN_CELL), False)
        if pc.any(unknown).as_py():
            cells = pc.if_else(unknown, None, cells)
        lost = pc.fill_null(pc.match_substring(cells, LOST.encode()), False)
        return (cells if connect else member_names(cells, column)), pc.or_(unknown, lost).to_numpy(zero_copy_only=False)


def member_names(cells: pa.Array, column: Column) -> pa.Array:
    """Replace the numbers of an ENUM or SET by names."""
    if column.type.name not in MEMBERS:
        return cells
    encoded = cells.dictionary_encode()
    texts = [value_text(None if cell is None else cell.decode(), column) for cell in encoded.dictionary.to_pylist()]
    return pa.array([None if text is None else text.encode() for text in texts], pa.binary()).take(encoded.indices)


@dataclass(frozen=True)
class RowDestinations:
    topic: str
    among: Callable[[int], Ints]
    """Returns the partitions of the rows, given the number of partitions."""

    unknown_rows: Mask | None = None
    """The rows whose partition is unknown; None for no row."""

    keys: Ints | None = None
    """The hash by which TiCDC groups rows besides the table; None if the table is all."""

    why: str = ""
    """Why some partitions are unknown."""


Destination: TypeAlias = "Callable[[Table, DispatchRows], RowDestinations | str]"
"""Returns the destinations of rows of a table under its name in messages, or a text that explains why none is known.
Raises UserError for a table that the dispatchers refuse."""


OrderScope: TypeAlias = "Callable[[Table], str]"
"""Returns the rows among which TiCDC keeps the order: those of the `table`, of one `hash`, or of one `commit_ts`."""


def order_by_table(table: Table) -> str:
    """The order of releases before 7.4."""
    return "table"


Found = TypeVar("Found")


class KnownByTable(Generic[Found]):
    """What was found of tables, by their identity. Another process, where tables have others, gets nothing of it."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Table, Found]] = {}

    def of(self, table: Table, find: Callable[[Table], Found]) -> Found:
        """Return what `find` returned the first time for a table."""
        if id(table) not in self._known:
            # The table is kept with it, so that no other can have its id.
            self._known[id(table)] = table, find(table)
        return self._known[id(table)][1]

    def __reduce__(self) -> tuple[type[KnownByTable[Found]], tuple[()]]:
        return type(self), ()


UNCERTAIN = ("default", "")
SEVERAL = "table routing may have given several tables this name"


class ChangefeedRoutes:
    """Where a changefeed sends the rows of tables, which have their names in messages."""

    def __init__(self, changefeed: Changefeed, release: Release = V8_5, tables: Iterable[Table] = ()) -> None:
        """`tables` are those whose names table routing may change."""
        self._release, self._rules = release, router(changefeed, release)
        routes = self._rules.routes
        targets = ((routes.target(table.schema, table.name), (table.schema, table.name)) for table in tables)
        self._upstream = dict(targets) if routes.rules else None
        self._options = changefeed.codec
        self._known = KnownByTable[tuple[Table, Route] | None]()
        self._likes = KnownByTable[Mapping[str, str]]()

    def upstream_table(self, sent: Table) -> Table | None:
        """Return the table in TiDB; None if table routing may have given its name to another one."""
        if self._upstream is None:
            return sent
        name = self._upstream.get(TableName(sent.schema, sent.name))
        return replace(sent, schema=name[0], name=name[1]) if name else None

    def destination(self, sent: Table, dispatch_rows: DispatchRows) -> RowDestinations | str:
        """Return the destinations of rows, as `Destination` does."""
        found = self._route(sent)
        return SEVERAL if found is None else _destinations(*found, dispatch_rows, self._texts_like_null)

    def layout_destination(self, table: Table, dispatch_rows: DispatchRows) -> RowDestinations | str:
        """Return the destinations of rows of a table that is known from its layout only (`decode.row_images`). One that
        needs more is unknown."""
        rule, release = matching_rule(self._rules, table.schema, table.name)[1], self._release
        name = rule.partition.lower()
        if self._rules.routes.rules:
            return "table routing may have given it this name"
        if (name if name in release.dispatchers else "default") in UNCERTAIN and not self._needs_names_alone():
            return f"the default dispatcher of {release.name} goes by the table's keys, and its definition is not known"
        if rule.index:
            return f"its rows are dispatched by index {rule.index}, and its definition is not known"
        try:
            return _destinations(table, route(self._rules, table), dispatch_rows, self._texts_like_null)
        except UserError as error:
            return f"its definition is not known: {error}"

    def order(self, sent: Table) -> str:
        """Return among which rows the order is kept (`OrderScope`): since 7.4 only among those of one partition key
        (tiflow: cdc/sink/dmlsink/mq/worker.go)."""
        if not self._release.group_by_partition_key:
            return "table"
        try:
            found = self._route(sent)
        except UserError:
            return "hash"
        return "hash" if found is None else found[1].groups_by

    def in_one_partition(self, sent: Table) -> bool:
        """Return whether all changes of a row go to one partition, whatever its columns outside of the handle key are."""
        try:
            found = self._route(sent)
        except UserError:
            return False
        if found is None or found[1].groups_by == "commit_ts":
            return False
        table, to = found
        return to.dispatcher == ROW_ID or {name for _, name in to.hashed if name} <= set(handle_key(table))

    def topic(self, sent: Table) -> str:
        """Return the topic of a table; raises UserError for one that the dispatchers refuse."""
        table = self.upstream_table(sent) or sent
        return topic_of(self._rules, table.schema, table.name)

    def selected_columns(self, sent: Table) -> frozenset[str] | None:
        """Return the columns that messages have; None for all."""
        return route(self._rules, self.upstream_table(sent) or sent).selected

    def _route(self, sent: Table) -> tuple[Table, Route] | None:
        """Return the table in TiDB and its route; raises UserError for one that the dispatchers refuse."""

        def find(sent: Table) -> tuple[Table, Route] | None:
            table = self.upstream_table(sent)
            return None if table is None else (table, route(self._rules, table))

        return self._known.of(sent, find)

    def _texts_like_null(self, table: Table) -> Mapping[str, str]:
        return self._likes.of(table, lambda table: texts_like_null(table, self._options, self._release))

    def _needs_names_alone(self) -> bool:
        """Return whether `default` needs only the table's name."""
        default = self._release.default_dispatcher
        return default in DISPATCHERS or default == "old-value" and self._rules.enable_old_value


def _destinations(
    table: Table, to: Route, dispatch_rows: DispatchRows, likes: Callable[[Table], Mapping[str, str]]
) -> RowDestinations | str:
    columns = {column.name: column for column in table.columns}
    inexact = ~dispatch_rows.exact if to.groups_by == "commit_ts" else None
    if inexact is not None and inexact.all():
        return "its rows are dispatched by commit-ts, which messages do not have without the TiDB extension"
    texts, unknown_rows = dict[str, pa.Array](), inexact
    key = row_id_column(table) if to.dispatcher == ROW_ID else None
    if to.dispatcher == ROW_ID and key is None:
        return "its rows are dispatched by row id, which messages do not have"
    for name in dict.fromkeys([*(source for _, source in to.hashed if source), *([key] if key else [])]):
        column_texts = dispatch_rows.texts(columns[name], to.time_zone)
        if column_texts is None:
            return f"its messages do not have column {name}, by which its rows are dispatched"
        texts[name], unknown = column_texts
        if (pattern := likes(table).get(name)) is not None:
            matches = pc.fill_null(pc.match_substring_regex(texts[name], pattern), True)
            unknown = unknown | matches.to_numpy(zero_copy_only=False)
        if unknown.any():
            unknown_rows = unknown if unknown_rows is None else unknown_rows | unknown
    # TIMESTAMPs are in the zone already
    hashed = dispatch_hashes(replace(to, time_zone=""), table, texts, len(dispatch_rows.commit_ts))
    row_id = _row_ids(columns[key], texts[key]) if key else pa.nulls(len(hashed), pa.int64())
    keys = hashed.astype(np.int64) if to.groups_by == "hash" else None
    return RowDestinations(
        to.topic,
        lambda count: choose_partitions(to, hashed, dispatch_rows.commit_ts, row_id, count),
        unknown_rows,
        keys,
        "messages do not tell the columns by which they are dispatched",
    )


def _row_ids(column: Column, texts: pa.Array) -> pa.Array:
    """Return integer handles as signed numbers with the same bits."""
    kind = pa.uint64() if column.type.unsigned else pa.int64()
    return pc.cast(pc.cast(texts, pa.string()), kind).view(pa.int64())


Span: TypeAlias = "tuple[int, int]"
"""A time above the first commit-ts, up to the second."""

PartitionCountSpans: TypeAlias = "Mapping[str, tuple[PartitionCountSpan, ...]]"


@dataclass(frozen=True)
class PartitionCountSpan:
    """The number of partitions of a topic for rows with after < commit-ts ≤ until. Where two spans overlap, both are
    valid."""

    after: int
    until: int
    count: int


def spans_between(counts: Mapping[int, int]) -> tuple[PartitionCountSpan, ...]:
    """Return the spans of a topic whose number of partitions is told, by the commit-ts above which it is so. Of rows of that
    millisecond both may be."""
    since = sorted(counts)
    ends = zip(since, [*since[1:], FOREVER], strict=True)
    return tuple(PartitionCountSpan(ts - 1, until, counts[ts]) for ts, until in ends)
