"""From one snapshot to the next: which tables are compared with which, and what statements make of those they touch.

One law: rows go with their table and their columns, whatever these are called; a table that statements touch is
compared by itself, all others together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from simulator.errors import UserError
from simulator.run.plan.statements import AppliedStatement
from simulator.run.plan.versions import EVERYTHING
from simulator.sources.change_period import ChangePeriod
from simulator.sources.schema_change import SchemaChangePoint, Transition
from simulator.sources.snapshots import PlacedTable, Snapshot
from simulator.ticdc.table_info import handle_key, handle_lengths
from simulator.tidb.ddl.catalog import Catalog, object_key
from simulator.tidb.ddl.column_sources import ColumnSource, FromColumn, find_column_sources
from simulator.tidb.ddl.session import Job
from simulator.tidb.model.table import Name, Table, common_handle, row_id_column, visible_columns
from simulator.tidb.syntax.alter import PartitionAction
from simulator.tidb.syntax.ddl import AlterTable, Statement, TruncateTable
from simulator.tidb.values.changed_types import convertible


@dataclass(frozen=True)
class TableOrigin:
    """What a table behind the statements was before them."""

    name: Name | None
    """None for a table that they create."""

    emptied: frozenset[str] = frozenset()
    """Partitions that were dropped or truncated, in lower case; `*` for the whole table."""


@dataclass(frozen=True)
class UnplacedPair:
    """A move whose tables are still version numbers."""

    before: Snapshot
    after: Snapshot
    span: ChangePeriod
    point: SchemaChangePoint
    same: tuple[Mapping[Name, int], Mapping[Name, int]]
    """The tables of either snapshot that no statement changes."""

    changed: tuple[tuple[TableOrigin, Name, int, int], ...]
    """What each table that changes was, its name now, and its versions before and after."""

    sent: Mapping[int, bool]
    """Of the versions in `changed`: whether their rows are replicated."""


@dataclass(frozen=True)
class ChangedTable:
    """A table that statements change within a move, with its names in the two snapshots."""

    before: Name | None
    """None for a table that they create."""

    after: Name
    transition: Transition


@dataclass(frozen=True)
class SnapshotPair:
    """From one snapshot to the next."""

    before: Snapshot
    after: Snapshot
    span: ChangePeriod
    point: SchemaChangePoint
    places: tuple[Mapping[Name, PlacedTable], Mapping[Name, PlacedTable]]
    """The tables to compare, in each of the two snapshots; those that change stand in `changed`."""

    changed: tuple[ChangedTable, ...]


def table_origins(applied: Iterable[tuple[AppliedStatement, Job]]) -> dict[Name, TableOrigin]:
    """Of each table that the statements touch, by its name behind them; raises UserError for what moves rows about."""
    found: dict[Name, TableOrigin] = {}
    for statement, job in applied:
        if job.exchanged_table:
            raise UserError(f"{job.query}: EXCHANGE PARTITION moves rows between tables, which no snapshot shows")
        before, renamed = dict(found), renamed_tables(job)
        for old, new in renamed.items():
            there, then = spelled_name(statement.before, old), spelled_name(statement.after, new)
            if there and there != then:
                found.pop(there, None)
        for old, new in renamed.items():
            there, then = spelled_name(statement.before, old), spelled_name(statement.after, new)
            if then:
                known = before.get(there, TableOrigin(there)) if there else TableOrigin(None)
                found[then] = replace(known, emptied=known.emptied | _emptied(statement.statement))
    return found


def renamed_tables(job: Job) -> dict[Name, Name]:
    """Old and new name of every table that a job names."""
    names = [(job.schema, table.name) for table in job.tables] or [(job.schema, job.table)]
    return dict(job.renames or zip(names, names, strict=True))


def spelled_name(catalog: Catalog, name: Name) -> Name | None:
    """The table of that name, whatever its case, as it is spelled."""
    table = catalog.tables.get(object_key(*name))
    return (table.schema, table.name) if table else None


def _emptied(statement: Statement) -> frozenset[str]:
    """Partitions whose rows go with the statement."""
    if isinstance(statement, TruncateTable):
        return frozenset(EVERYTHING)
    specs = statement.specs if isinstance(statement, AlterTable) else ()
    gone = [spec for spec in specs if isinstance(spec, PartitionAction) and spec.verb in ("DROP", "TRUNCATE")]
    return frozenset(name.lower() for spec in gone for name in spec.names or EVERYTHING)


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
    """A table that the statements create has no rows before, and none can be told before."""
    everything = range(len(before.indexes))
    lost = lost_partitions(before.table, origin.emptied) if origin.name else everything
    came = column_sources(before.table, after.table)
    stays = _staying(before.table, after.table, came)
    return Transition(
        before,
        after,
        came,
        frozenset(before.indexes[number] for number in lost),
        sent,
        _same_key(before.table, after.table, stays),
    )


def lost_partitions(before: Table, emptied: frozenset[str]) -> frozenset[int]:
    """Ordinals of the partitions whose rows are gone; 0 for a table without partitions."""
    names = [partition.name.lower() for partition in before.partitioning.partitions] if before.partitioning else [""]
    return frozenset(number for number, name in enumerate(names) if emptied & {name, "*"})


def column_sources(before: Table, after: Table) -> tuple[ColumnSource, ...]:
    """Where each visible column of the table after comes from; raises UserError for a conversion not known here."""
    came = find_column_sources(before, after)
    for column, source in zip(visible_columns(after), came, strict=True):
        if isinstance(source, FromColumn) and source.cast and not convertible(source.before, source.after):
            raise UserError(
                f"column {column.name!r} of table {after.schema}.{after.name}: how TiDB turns {source.before.name} "
                f"into {source.after.name} is not simulated; drop the column and add it again, or keep its type"
            )
    return came


def _staying(before: Table, after: Table, came: Sequence[ColumnSource]) -> dict[str, str]:
    """Columns whose text stays as it is: names now by names then."""
    then, now = visible_columns(before), visible_columns(after)
    return {
        then[source.index].name: column.name
        for column, source in zip(now, came, strict=True)
        if isinstance(source, FromColumn) and source.before == source.after
    }


def _same_key(before: Table, after: Table, stays: Mapping[str, str]) -> bool:
    """Whether a row's handle key and row id are made of the same values, in the same way."""
    key = tuple(stays.get(name, "") for name in handle_key(before))
    kinds = [(common_handle(table), row_id_column(table) is None, handle_lengths(table)) for table in (before, after)]
    return bool(key) and key == handle_key(after) and kinds[0] == kinds[1]
