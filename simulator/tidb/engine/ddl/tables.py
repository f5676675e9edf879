"""The stored tables after a DDL statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Catalog, Key, changed_tables, object_key
from simulator.tidb.ddl.session import Job
from simulator.tidb.ddl.session import Session as DdlSession
from simulator.tidb.engine.ddl.partitions import PARTITION_SPECS, exchanged, with_partitions_of
from simulator.tidb.engine.ddl.rows import Apply, Conversion, convert_table, reorganized_columns, rewriting_transactions
from simulator.tidb.engine.sessions.context import StatementContext
from simulator.tidb.engine.sessions.outcome import CommittedTransaction
from simulator.tidb.errors import sql_error_with_text
from simulator.tidb.model.table import Table
from simulator.tidb.storage.auto_ids import counters_with_options, restarted_counters, unused_counters
from simulator.tidb.storage.database import Database, new_table
from simulator.tidb.storage.tables import Ids, StoredTable


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
        case syntax.AlterTable(named):
            _alter(tables, statement, object_key(*names.existing_name(named)), after, names, context)
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
    tables: TablesAfter,
    statement: syntax.AlterTable,
    key: Key,
    after: Catalog,
    names: DdlSession,
    context: StatementContext,
) -> None:
    """Change the partitions, the ids and the exchanged rows of a table."""
    database, specs = context.database, statement.specs
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
