"""The stored tables after a DDL statement.

A partition that stays keeps its rows. Those of the others are stored anew, as they are, where they belong now: after
ADD, DROP, TRUNCATE, REORGANIZE, COALESCE and EXCHANGE PARTITION and PARTITION BY (tidb v8.5 pkg/ddl/partition.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Catalog, Key, changed_tables, object_key
from simulator.tidb.ddl.session import Job
from simulator.tidb.ddl.session import Session as DdlSession
from simulator.tidb.engine import CommittedTransaction
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.ddl_rows import Apply, Conversion, convert_table, reorganized_columns, rewriting_transactions
from simulator.tidb.errors import sql_error, sql_error_with_text
from simulator.tidb.model.table import Table
from simulator.tidb.storage import Database, new_table
from simulator.tidb.storage.ids import counters_with_options, highest_counters, restarted_counters, unused_counters
from simulator.tidb.storage.row_keys import entries_of
from simulator.tidb.storage.rows import NEWEST, Entry, Handle, TableRows
from simulator.tidb.storage.tables import Ids, RowReader, StoredTable, no_partition_error, partition_of


@dataclass
class TablesAfter:
    """The stored tables after a statement, and what is to be written for them."""

    tables: dict[Key, StoredTable]
    dropped: dict[Key, StoredTable]
    """The last table of each name that was dropped or truncated."""

    conversions: dict[Key, Conversion] = field(default_factory=dict)
    rewritten: list[CommittedTransaction] = field(default_factory=list)
    """What a changefeed sees of the rows that MODIFY COLUMN writes."""

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(warning for each in self.conversions.values() for warning in each.warnings)

    @property
    def apply(self) -> Sequence[Apply]:
        return [apply for each in self.conversions.values() for apply in each.apply]

    def drop(self, key: Key) -> None:
        """Remove a table; it is kept among the dropped ones."""
        self.dropped.pop(key, None)
        stored = self.tables.pop(key, None)
        if stored is not None:
            self.dropped[key] = stored

    def rename(self, old: Key, new: Key, table: Table | None, renewed: bool) -> None:
        """Move a table to another name. In some releases it then goes on with new ids."""
        stored = self.tables.pop(old, None)
        if stored is None or table is None:
            return
        ids = Ids(restarted_counters(stored.ids.counters)) if renewed and old != new else stored.ids
        self.tables[new] = replace(stored, ids=ids)

    def restore(self, old: Key, new: Key, table: Table | None) -> None:
        """Restore a dropped table under a name."""
        self.tables.pop(new, None)
        if old in self.dropped and table is not None:
            self.tables[new] = replace(self.dropped[old], table=table)


def used_tables(statement: syntax.Statement, before: Catalog, after: Catalog, names: DdlSession) -> list[Key]:
    """Return the existing tables that a statement changes."""
    keys = [key for key in changed_tables(before, after) if key in before.tables]
    match statement:
        case syntax.TruncateTable(table):
            keys.append(object_key(*names.existing_name(table)))
        case syntax.AlterTable(table, specs):
            keys.append(object_key(*names.existing_name(table)))
            keys += [
                object_key(*names.existing_name(spec.table))
                for spec in specs
                if isinstance(spec, syntax.ExchangePartition)
            ]
    return [*dict.fromkeys(keys)]


def tables_after(
    statement: syntax.Statement, jobs: Sequence[Job], after: Catalog, names: DdlSession, context: StatementContext
) -> TablesAfter:
    """Return the tables after a statement that ran jobs. Raises SqlError if a row does not fit."""
    database = context.database
    present = database.present
    tables = TablesAfter(dict(present.tables), dict(present.dropped))
    if isinstance(jobs[0].statement, syntax.AlterTable):  # FIRST PARTITION LESS THAN is DROP PARTITION
        statement = jobs[0].statement
    match statement:
        case syntax.FlashbackCluster():
            raise sql_error_with_text(1105, "FLASHBACK CLUSTER is not simulated; accepted: FLASHBACK TABLE, DATABASE")
        case syntax.TruncateTable(named):
            key = object_key(*names.existing_name(named))
            tables.drop(key)
            tables.tables[key] = _uncounted(after.tables[key])
            return tables
        case syntax.CreateTable():
            key = object_key(*names.new_name(syntax.TableName(statement.schema, statement.name)))
            tables.tables.pop(key, None)
            if statement.like:
                tables.tables[key] = _uncounted(after.tables[key])
            return tables
        case syntax.RecoverTable() | syntax.FlashbackTable():
            named = names.new_name(statement.table) if statement.table else syntax.TableName("", "")
            new = object_key(jobs[0].schema, jobs[0].table)
            tables.restore(object_key(*named), new, after.tables.get(new))
            return tables
        case syntax.FlashbackDatabase():
            schema = jobs[0].schema.lower()
            for old in [key for key in tables.dropped if key[0] == statement.name.lower()]:
                new = (schema, old[1])
                tables.restore(old, new, after.tables.get(new))
            return tables
        case syntax.AlterTable():
            _alter(tables, statement, after, names, context)
    renamed = set[Key]()
    for pair in (pair for job in jobs for pair in job.renames):
        old, new = (object_key(*name) for name in pair)
        known = after.tables.get(new) or present.catalog.tables.get(old)
        tables.rename(old, new, known, database.release.rename_renews_ids)
        renamed.add(old)
    for key in changed_tables(present.catalog, after):
        if key not in after.tables and key not in renamed:
            tables.drop(key)
    for key in changed_tables(present.catalog, after):
        stored = tables.tables.get(key)
        if stored is not None and stored.table is not after.tables[key]:
            conversion = convert_table(stored, after.tables[key], context)
            tables.conversions[key], tables.tables[key] = conversion, conversion.stored
    return tables


def _uncounted(table: Table) -> StoredTable:
    """Return a table without rows whose ids begin with 1."""
    return replace(new_table(table), ids=Ids(unused_counters(table)))


def _alter(
    tables: TablesAfter, statement: syntax.AlterTable, after: Catalog, names: DdlSession, context: StatementContext
) -> None:
    """Change the partitions, the ids and the exchanged rows of a table."""
    database, specs, key = context.database, statement.specs, object_key(*names.existing_name(statement.table))
    table = database.catalog.tables[key]
    options = [option for spec in specs if isinstance(spec, syntax.SetOptions) for option in spec.options]
    if options or any(isinstance(spec, (*PARTITION_SPECS, syntax.ExchangePartition)) for spec in specs):
        tables.tables[key] = _stored(database, tables.tables, table)
    if any(isinstance(spec, PARTITION_SPECS) for spec in specs):
        tables.tables[key] = with_partitions_of(tables.tables[key], after.tables[key], specs)
    for spec in specs:
        if isinstance(spec, syntax.ExchangePartition):
            other = object_key(*names.existing_name(spec.table))
            plain = _stored(database, tables.tables, database.catalog.tables[other])
            tables.tables[key], tables.tables[other] = exchanged(tables.tables[key], plain, spec)
    stored = tables.tables.get(key)
    if stored is not None and options:
        counters = counters_with_options(stored.table, stored.ids.counters, options)
        if counters is not stored.ids.counters:
            tables.tables[key] = stored = replace(stored, ids=Ids(counters))
    if stored is not None and key in after.tables and database.release.sends_rewritten_rows:
        tables.rewritten += rewriting_transactions(stored, after.tables[key], context)


def _stored(database: Database, tables: Mapping[Key, StoredTable], table: Table) -> StoredTable:
    return tables.get(object_key(table.schema, table.name)) or database.stored(table)


def with_change_ts(tables: Mapping[Key, StoredTable], before: Catalog, ts: int) -> dict[Key, StoredTable]:
    """Return the tables, those with a column of another type noting that and the ts."""
    noted = dict(tables)
    for key, stored in tables.items():
        old = before.tables.get(key)
        if old is not None and old is not stored.table and (columns := reorganized_columns(old, stored.table)):
            noted[key] = replace(stored, changed=(ts, columns[0].name))
    return noted


PARTITION_SPECS = (
    syntax.AddPartitions,
    syntax.PartitionAction,
    syntax.CoalescePartition,
    syntax.ReorganizePartition,
    syntax.PartitionBy,
    syntax.RemovePartitioning,
)
"""Those that change the partitions of one table."""


def with_partitions_of(stored: StoredTable, after: Table, specs: Iterable[syntax.Spec]) -> StoredTable:
    """Return a table after ALTER TABLE with one of PARTITION_SPECS. Raises SqlError."""
    match next(spec for spec in specs if isinstance(spec, PARTITION_SPECS)):
        case syntax.PartitionAction("TRUNCATE", names):
            emptied, parts = ordinals_of(stored.table, names), enumerate(stored.partitions)
            partitions = tuple(TableRows() if place in emptied else rows for place, rows in parts)
            return _with_unpartitioned(replace(stored, table=after, partitions=partitions))
        case syntax.PartitionAction(_, names):
            return _repartitioned(stored, after, ordinals_of(stored.table, names), dropped=True)
        case syntax.ReorganizePartition(names):
            return _repartitioned(stored, after, ordinals_of(stored.table, names))
        case syntax.AddPartitions():
            rule = stored.table.partitioning
            moves = rule is not None and rule.kind in ("hash", "key")
            return _repartitioned(stored, after, ordinals_of(stored.table) if moves else set())
    return _repartitioned(stored, after, ordinals_of(stored.table))


def ordinals_of(table: Table, names: Sequence[str] = ()) -> set[int]:
    """Return the ordinals of the named partitions; all without names."""
    if table.partitioning is None:
        return {0}
    wanted = {name.lower() for name in names}
    partitions = table.partitioning.partitions
    return {place for place, part in enumerate(partitions) if not wanted or part.name.lower() in wanted}


def _repartitioned(stored: StoredTable, after: Table, moved: set[int], dropped: bool = False) -> StoredTable:
    """Return a table whose rows in some partitions are stored anew or, if `dropped`, not at all."""
    kept = dict[str, TableRows]()
    if stored.table.partitioning is not None:
        parts = zip(stored.table.partitioning.partitions, stored.partitions, strict=True)
        kept = {part.name.lower(): rows for place, (part, rows) in enumerate(parts) if place not in moved}
    names = [part.name.lower() for part in after.partitioning.partitions] if after.partitioning else [""]
    result = replace(stored, table=after, partitions=tuple(kept.get(name) or TableRows() for name in names))
    if not dropped:
        _move(stored, result, sorted(moved))
    return _with_unpartitioned(result)


def _move(stored: StoredTable, result: StoredTable, ordinals: Sequence[int]) -> None:
    """Store the rows of some partitions in the new ones of a table. Raises SqlError 1526."""
    after = result.table
    reader, locate, entries = RowReader(after), partition_of(after), entries_of(after)
    for ordinal in ordinals:
        for handle, version in stored.partitions[ordinal].scan(NEWEST):
            cells = reader.cells(version)
            place = locate(cells)
            if place is None:
                raise no_partition_error(after, cells)
            rows = result.partitions[place]
            handle = _free_handle(rows, result, handle)
            rows.write(handle, version, 0)
            for key, value in entries(cells, 1):
                if not key.unpartitioned:
                    rows.write_entry(key.index_id, value, Entry(version.ts, handle), 0)


def _free_handle(rows: TableRows, stored: StoredTable, handle: Handle) -> Handle:
    """Return the handle of a row, or a new one if another row of its partition has it, which came by EXCHANGE."""
    if stored.table.clustered or rows.version(handle) is None:
        return handle
    counters = stored.ids.counters
    number, after = counters.row_id.allocate(1)
    stored.ids.counters = counters._replace(row_id=after)
    return number


def _with_unpartitioned(stored: StoredTable) -> StoredTable:
    """Return a table with the entries of its GLOBAL indexes made anew, which tell partitions by their ordinals."""
    if not any(index.unpartitioned for index in stored.table.indexes):
        return stored
    entries, reader, read = TableRows(), RowReader(stored.table), entries_of(stored.table)
    for ordinal, rows in enumerate(stored.partitions):
        for handle, version in rows.scan(NEWEST):
            cells = reader.cells(version)
            for key, value in read(cells, 1):
                if key.unpartitioned:
                    entries.write_entry(key.index_id, value, Entry(version.ts, (ordinal, handle)), 0)
    return replace(stored, unpartitioned=entries)


# -- EXCHANGE ----------------------------------------------------------------------------------------------------------


def exchanged(
    whole: StoredTable, plain: StoredTable, spec: syntax.ExchangePartition
) -> tuple[StoredTable, StoredTable]:
    """Return a table and a plain one after the plain one has changed its rows with a partition.

    Raises SqlError 1737 for a row of another partition, unless WITHOUT VALIDATION.
    """
    (ordinal,) = ordinals_of(whole.table, (spec.partition,))
    if spec.validation:
        locate, reader = partition_of(whole.table), RowReader(plain.table)
        if any(locate(reader.cells(row)) != ordinal for _, row in plain.partitions[0].scan()):
            raise sql_error(1737)
    counters = highest_counters(whole.ids.counters, plain.ids.counters)
    partitions = [*whole.partitions]
    outgoing, partitions[ordinal] = partitions[ordinal], plain.partitions[0]
    return (
        _with_unpartitioned(replace(whole, partitions=tuple(partitions), ids=Ids(counters))),
        replace(plain, partitions=(outgoing,), ids=Ids(counters)),
    )
