"""Pairs of consecutive snapshots: which tables are compared with which, and how statements change tables between them.

Rows belong to a table and its columns across renames. A table that statements touch has a comparison of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from simulator.errors import UserError
from simulator.run.plan.statements import AppliedStatement, renamed_tables
from simulator.run.plan.versions import EVERYTHING
from simulator.sources.key_order import computable_keys
from simulator.sources.row_changes import ChangePeriod
from simulator.sources.snapshots import PlacedTable, Snapshot, SnapshotTable
from simulator.sources.transition import SchemaChangePoint, Transition
from simulator.ticdc.table_info import handle_key, handle_lengths
from simulator.tidb.datums.cast import convertible
from simulator.tidb.ddl.catalog import Catalog, object_key
from simulator.tidb.ddl.column_definitions import ColumnSource, FromColumn, find_column_sources
from simulator.tidb.ddl.session import Job
from simulator.tidb.model.table import (
    ROW_ID,
    Index,
    Name,
    Table,
    UniqueKey,
    has_common_handle,
    row_id_column,
    visible_columns,
)
from simulator.tidb.syntax.alter import PartitionAction
from simulator.tidb.syntax.definitions import Statement
from simulator.tidb.syntax.statements import AlterTable, TruncateTable


@dataclass(frozen=True)
class TableOrigin:
    """The table before the statements that a table after them comes from."""

    name: Name | None
    """None for a table that the statements create."""

    emptied: frozenset[str] = frozenset()
    """Partitions that were dropped or truncated, in lower case; `*` for the whole table."""


@dataclass(frozen=True)
class UnplacedPair:
    """A pair of snapshots whose tables are still version numbers."""

    before: Snapshot
    after: Snapshot
    span: ChangePeriod
    point: SchemaChangePoint
    same: tuple[Mapping[Name, int], Mapping[Name, int]]
    """The tables of either snapshot that no statement changes."""

    changed: tuple[tuple[TableOrigin, Name, int, int], ...]
    """The origin, new name, and versions before and after of each changed table."""

    sent: Mapping[int, bool]
    """Whether rows are replicated, by version in `changed`."""


@dataclass(frozen=True)
class ChangedTable:
    """A table that statements change between two snapshots, with its name in each."""

    before: Name | None
    """None for a table that the statements create."""

    after: Name
    transition: Transition


@dataclass(frozen=True)
class SnapshotPair:
    """Two consecutive snapshots, and the tables to compare."""

    before: Snapshot
    after: Snapshot
    span: ChangePeriod
    point: SchemaChangePoint
    places: tuple[Mapping[Name, PlacedTable], Mapping[Name, PlacedTable]]
    """The tables to compare in each snapshot, except those in `changed`."""

    changed: tuple[ChangedTable, ...]


def table_origins(applied: Iterable[tuple[AppliedStatement, Job]]) -> dict[Name, TableOrigin]:
    """Return the origins of all tables that the statements touch, by their new names; raises UserError for EXCHANGE."""
    origins: dict[Name, TableOrigin] = {}
    for statement, job in applied:
        if job.exchanged_table:
            raise UserError(f"{job.query}: EXCHANGE PARTITION moves rows between tables, which no snapshot shows")
        before = dict(origins)
        names = [
            (spelled_name(statement.before, old), spelled_name(statement.after, new))
            for old, new in renamed_tables(job).items()
        ]
        for old, new in names:
            if old and old != new:
                origins.pop(old, None)
        for old, new in names:
            if new:
                origin = before.get(old, TableOrigin(old)) if old else TableOrigin(None)
                origins[new] = replace(origin, emptied=origin.emptied | emptied_partitions(statement.statement))
    return origins


def spelled_name(catalog: Catalog, name: Name) -> Name | None:
    """Return a table's name as the catalog spells it; None if there is no such table."""
    table = catalog.tables.get(object_key(*name))
    return (table.schema, table.name) if table else None


def emptied_partitions(statement: Statement) -> frozenset[str]:
    """Return the partitions whose rows a statement removes, in lower case; `*` for all."""
    if isinstance(statement, TruncateTable):
        return frozenset(EVERYTHING)
    specs = statement.specs if isinstance(statement, AlterTable) else ()
    removing = [spec for spec in specs if isinstance(spec, PartitionAction) and spec.verb in ("DROP", "TRUNCATE")]
    return frozenset(name.lower() for spec in removing for name in spec.names or EVERYTHING)


def tables_with_row_ids(pair_drafts: Iterable[UnplacedPair], places: Sequence[PlacedTable]) -> frozenset[int]:
    """Return the physical tables of which snapshots tell the `_tidb_rowid` of rows; raises UserError for a table of which
    some do, and others do not."""
    told: dict[int, tuple[bool, str]] = {}
    for entry, path, numbers in _compared(pair_drafts):
        for index in (index for number in numbers for index in places[number].indexes):
            if entry.row_ids is None:
                continue
            known, where = told.setdefault(index, (entry.row_ids, path))
            if known != entry.row_ids:
                has, lacks = (where, path) if known else (path, where)
                raise UserError(
                    f"table {entry.table.schema}.{entry.table.name} has a column {ROW_ID!r} in {has} and none in {lacks}: "
                    "accepted is one in every snapshot, or in none"
                )
    return frozenset(index for index, (known, _) in told.items() if known)


def _compared(pair_drafts: Iterable[UnplacedPair]) -> Iterator[tuple[SnapshotTable, str, tuple[int, ...]]]:
    """Yield each table of a snapshot that is compared, the snapshot's path, and the versions that have the same handles."""
    for draft in pair_drafts:
        versions: tuple[dict[Name | None, tuple[int, ...]], ...] = tuple(
            {name: (number,) for name, number in side.items()} for side in draft.same
        )
        for origin, name, before, after in draft.changed:
            versions[0][origin.name] = versions[1][name] = before, after
        for snapshot, numbers in zip((draft.before, draft.after), versions):
            for entry in snapshot.tables:
                known = numbers.get((entry.table.schema, entry.table.name))
                if known is not None:
                    yield entry, snapshot.path, known


def pair(pair_draft: UnplacedPair, places: Sequence[PlacedTable]) -> SnapshotPair:
    """The move of a draft, `places` being those of each version; raises UserError for a change of type not known."""
    changed = tuple(
        ChangedTable(
            origin.name,
            name,
            _transition(origin, places[before], places[after], (pair_draft.sent[before], pair_draft.sent[after])),
        )
        for origin, name, before, after in pair_draft.changed
    )
    before, after = ({name: places[number] for name, number in side.items()} for side in pair_draft.same)
    return SnapshotPair(
        pair_draft.before, pair_draft.after, pair_draft.span, pair_draft.point, (before, after), changed
    )


def _transition(origin: TableOrigin, before: PlacedTable, after: PlacedTable, sent: tuple[bool, bool]) -> Transition:
    """Return the transition of a changed table; a table that the statements create has no rows before them."""
    everything = range(len(before.indexes))
    lost = lost_partitions(before.table, origin.emptied) if origin.name else everything
    sources = column_sources(before.table, after.table)
    unchanged = _unchanged_columns(before.table, after.table, sources)
    columns = visible_columns(before.table)
    kept = {
        columns[source.index].name: column.name
        for source, column in zip(sources, visible_columns(after.table), strict=True)
        if isinstance(source, FromColumn)
    }
    return Transition(
        before,
        after,
        sources,
        frozenset(before.indexes[number] for number in lost),
        sent,
        after.row_ids or _same_key(before.table, after.table, unchanged),
        tuple(_own_keys(before.table, after.table, kept)),
        tuple(_own_keys(after.table, before.table, {new: old for old, new in kept.items()})),
    )


def _own_keys(table: Table, other: Table, renamed: Mapping[str, str]) -> Iterator[UniqueKey]:
    """Yield the unique keys of a table that it has not in another definition, in which columns are renamed."""
    common = {_parts(index, {}) for index in other.indexes if index.unique}
    yield from computable_keys(
        table, (index for index in table.indexes if index.unique and _parts(index, renamed) not in common)
    )


def _parts(index: Index, renamed: Mapping[str, str]) -> tuple[tuple[str, int], ...]:
    return tuple((part.expression or renamed.get(part.name, part.name).lower(), part.length) for part in index.columns)


def lost_partitions(before: Table, emptied: frozenset[str]) -> frozenset[int]:
    """Return the ordinals of emptied partitions; 0 for a table without partitions."""
    names = [partition.name.lower() for partition in before.partitioning.partitions] if before.partitioning else [""]
    return frozenset(number for number, name in enumerate(names) if emptied & {name, "*"})


def column_sources(before: Table, after: Table) -> tuple[ColumnSource, ...]:
    """Return the source of each visible column after the change; raises UserError for an unknown conversion."""
    sources = find_column_sources(before, after)
    for column, source in zip(visible_columns(after), sources, strict=True):
        if isinstance(source, FromColumn) and source.cast and not convertible(source.before, source.after):
            raise UserError(
                f"column {column.name!r} of table {after.schema}.{after.name}: how TiDB turns {source.before.name} "
                f"into {source.after.name} is not simulated; drop the column and add it again, or keep its type"
            )
    return sources


def _unchanged_columns(before: Table, after: Table, sources: Sequence[ColumnSource]) -> dict[str, str]:
    """Return the new names, by old names, of columns whose texts stay equal."""
    columns = visible_columns(before)
    return {
        columns[source.index].name: column.name
        for column, source in zip(visible_columns(after), sources, strict=True)
        if isinstance(source, FromColumn) and source.before == source.after
    }


def _same_key(before: Table, after: Table, unchanged: Mapping[str, str]) -> bool:
    """Return whether a row's handle key and row id keep their values and their encoding."""
    key = tuple(unchanged.get(name, "") for name in handle_key(before))
    kinds = [
        (has_common_handle(table), row_id_column(table) is None, handle_lengths(table)) for table in (before, after)
    ]
    return bool(key) and key == handle_key(after) and kinds[0] == kinds[1]
