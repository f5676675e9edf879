"""Writes rows of a table in a transaction: their partitions, handles, unique keys, CHECKs and locks.

A statement locks the rows that it writes or leaves unchanged, and their unique keys (tidb pkg/executor/write.go,
addUnchangedKeysForLockByRow; pkg/session/txn.go, KeysNeedToLock). It looks for duplicates in the order of the handle
and the unique indexes (pkg/executor/batch_checker.go, getKeysNeedCheckOneRow).

A row violates a CHECK whose condition is false, not one whose condition is unknown. A table has the CHECKs that were
defined while tidb_enable_check_constraint was on, whatever the variable is later (pkg/table/tables/tables.go,
CheckRowConstraint; since 7.2.0).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Catalog, Key, object_key
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.writes.new_rows import advance_after_update, allocate_row_ids
from simulator.tidb.errors import sql_error
from simulator.tidb.expressions.conversions import as_boolean
from simulator.tidb.expressions.expression import Evaluate
from simulator.tidb.expressions.over_columns import table_expression
from simulator.tidb.model.table import Cells, ForeignKey, Table, cached_by_table, mark_place, visible_columns
from simulator.tidb.storage.ids import auto_column
from simulator.tidb.storage.row_keys import RowKey, duplicate_error, entries_of, handle_of
from simulator.tidb.storage.rows import Handle
from simulator.tidb.storage.tables import StoredTable, no_partition_error, partition_of

ENTRY_SIZE_LIMIT = 6 << 20
"""Bytes of a row in TiKV: TiDB's default of txn-entry-size-limit."""

Location = tuple[int, Handle]
"""The ordinal of a row's partition, and its handle."""


Entry = tuple[RowKey, bytes]
"""An entry of a row in a unique index; None stands for its handle."""


class KeyedRow(NamedTuple):
    """A row with its keys."""

    cells: Cells
    ordinal: int
    handle: Handle | None
    """None for a new row of a table without a clustered key."""

    entries: Sequence[Entry]
    """Its entries in unique indexes."""


class RowChange(NamedTuple):
    """A row that was inserted (`old` is None), deleted (`new` is None) or changed."""

    old: Cells | None
    new: Cells | None


class RowWriter:
    """Writes rows of a table for one statement."""

    def __init__(self, stored: StoredTable, context: StatementContext, allowed: Sequence[int] | None = None) -> None:
        """`allowed` are the ordinals of the partitions that the statement names; None for all."""
        self.stored, self.context, self.table = stored, context, stored.table
        self.transaction = context.transaction
        self._allowed = allowed
        self.changes: list[RowChange] = []
        """What foreign keys look at."""

        self._is_related = are_enforced(context) and bool(
            self.table.foreign_keys or referring_keys(context.database.catalog, self.table)
        )
        self._handle_of = handle_of(self.table) if self.table.clustered else None
        self._ordinal_of = partition_of(self.table) if self.table.partitioning else None
        self._entries_of, self._conditions = entries_of(self.table), check_conditions(self.table)
        automatic = auto_column(self.table)
        self._automatic = None if automatic is None else (automatic, visible_columns(self.table).index(automatic))
        self.mark = None if context.sees_marked else mark_place(self.table)
        """The place of the mark of deleted rows, which a new row replaces."""

        self._row_ids: Iterator[int] = iter(())
        self._expected = 1

    # -- keys ----------------------------------------------------------------------------------------------------------

    def keyed(self, cells: Cells, number: int = 1) -> KeyedRow:
        """Return a row that is to be written with its keys, given its number in the statement.

        Raises SqlError 1526 if no partition takes it, 1748 if none that the statement names does, 8025 if it is too large, and
        3903, 3752, 3907 for an array that a multi-valued index does not take.
        """
        size = sum(map(len, filter(None, cells)))
        if size > ENTRY_SIZE_LIMIT:
            raise sql_error(8025, ENTRY_SIZE_LIMIT, size)
        self.context.hold(size)
        ordinal = 0
        if self._ordinal_of is not None:
            found = self._ordinal_of(cells)
            if found is None:
                raise no_partition_error(self.table, cells)
            ordinal = found
        if self._allowed is not None and ordinal not in self._allowed:
            raise sql_error(1748)
        handle = None if self._handle_of is None else self._handle_of(cells)
        return KeyedRow(cells, ordinal, handle, self._entries_of(cells, number))

    def cells(self, location: Location) -> Cells | None:
        return self.transaction.get(self.stored, *location)

    def _owner(self, row: KeyedRow, entry: Entry | None) -> Location | None:
        """Return the row that has a key of another row; None for none."""
        if entry is None:
            return (row.ordinal, row.handle) if self.transaction.has(self.stored, row.ordinal, row.handle) else None
        return self.transaction.owner_of(self.stored, row.ordinal, *entry)

    def owners(self, row: KeyedRow) -> Iterator[tuple[Entry | None, Location]]:
        """Yield each key of a new row that another row has, and that row."""
        for entry in row.entries if self._handle_of is None else (None, *row.entries):
            owner = self._owner(row, entry)
            if owner is not None:
                yield entry, owner

    def lock(self, row: KeyedRow) -> None:
        """Lock a row and its unique keys. Raises LockWait."""
        self.transaction.lock_row(self.stored, row.ordinal, row.handle)
        for key, value in row.entries:
            self.transaction.lock_entry(self.stored, row.ordinal, key, value)

    def lock_key(self, row: KeyedRow, entry: Entry | None) -> None:
        """Lock one key of a row. Raises LockWait."""
        if entry is None:
            self.transaction.lock_row(self.stored, row.ordinal, row.handle)
        else:
            self.transaction.lock_entry(self.stored, row.ordinal, *entry)

    # -- writes --------------------------------------------------------------------------------------------------------

    def expect(self, rows: int) -> None:
        """Tell how many rows will be inserted: their `_tidb_rowid`s are reserved with that of the first one."""
        self._expected = rows

    def insert(self, row: KeyedRow, is_new: bool = False) -> None:
        """Insert a row (tidb pkg/table/tables/tables.go, AddRecord). Raises SqlError 3819 if it violates a CHECK, 1062 for
        a key that another row has, unless none has (`is_new`). The `_tidb_rowid` that it would have is used up then."""
        if row.handle is None:
            row = KeyedRow(row.cells, row.ordinal, self._next_row_id(), row.entries)
        self._check(row.cells)
        self.lock(row)
        if not is_new:
            for entry, owner in self.owners(row):
                self._refuse(row, entry, owner)
        self._put(row, row.cells, added=row.entries)
        self._note(None, row.cells)

    def _refuse(self, row: KeyedRow, entry: Entry | None, owner: Location) -> None:
        """Raise SqlError 1062 for a key that another row has. An optimistic transaction may have to wait for its commit."""
        error = duplicate_error(self.table, entry, row.cells)
        if not self.transaction.presume(self.stored, *owner, error):
            raise error

    def _next_row_id(self) -> int:
        number = next(self._row_ids, None)
        if number is None:
            self._row_ids = iter(allocate_row_ids(self.stored, self.context, self._expected))
            self._expected, number = 1, next(self._row_ids)
        return number

    def _check(self, cells: Cells) -> None:
        for name, condition in self._conditions:
            if condition(cells, self.context) is False:
                raise sql_error(3819, name)

    def update(self, location: Location, old: Cells, new: Cells) -> bool:
        """Replace a row, and return whether it changes (tidb pkg/executor/write.go, updateRecord). Raises SqlError 3819 and
        1062, after which the row is as before."""
        before = KeyedRow(old, *location, self._entries_of(old, 1))
        self.lock(before)
        if new == old:
            return False
        if self._automatic is not None:
            column, place = self._automatic
            advance_after_update(self.stored, column, old[place], new[place])
        row = self.keyed(new)
        moves = row.ordinal != location[0] or row.handle is not None and row.handle != location[1]
        self._check(new)
        if moves and row.handle is not None and (owner := self._owner(row, None)) is not None:
            self._refuse(row, None, owner)
        if row.handle is None:
            handle = self._next_row_id() if moves else location[1]
            row = KeyedRow(new, row.ordinal, handle, row.entries)
        removed, added = before.entries, row.entries
        if not moves and (removed or added):
            had, has = ({(key.index_id, value) for key, value in each} for each in (removed, added))
            removed = [(key, value) for key, value in removed if (key.index_id, value) not in has]
            added = [(key, value) for key, value in added if (key.index_id, value) not in had]
        if moves or added:
            self.lock(row)
        for entry in added:
            owner = self._owner(row, entry)
            if owner is not None and owner != location:
                self._refuse(row, entry, owner)
        if moves:
            self._put(before, None, removed=removed)
            self._put(row, new, added=added)
        else:
            self._put(row, new, removed, added)
        self._note(old, new)
        return True

    def delete(self, location: Location, cells: Cells) -> None:
        """Delete a row."""
        row = KeyedRow(cells, *location, self._entries_of(cells, 1))
        self.lock(row)
        self._put(row, None, removed=row.entries)
        self._note(cells, None)

    def _put(
        self, row: KeyedRow, cells: Cells | None, removed: Sequence[Entry] = (), added: Sequence[Entry] = ()
    ) -> None:
        keys: Sequence[tuple[RowKey, bytes | None, bytes | None]] = ()
        if removed or added:
            keys = [(key, value, None) for key, value in removed] + [(key, None, value) for key, value in added]
        self.transaction.put(self.stored, row.ordinal, row.handle, cells, keys)

    def _note(self, old: Cells | None, new: Cells | None) -> None:
        if self._is_related:
            self.changes.append(RowChange(old, new))


_KNOWN: list[tuple[Catalog, Mapping[Key, Sequence[tuple[Table, ForeignKey]]]]] = []
"""The last catalogs that were asked, the newest first."""

KEPT = 4


def referring_keys(catalog: Catalog, table: Table) -> Sequence[tuple[Table, ForeignKey]]:
    """Return the foreign keys that refer to a table, each with its own table."""
    known = next((keys for each, keys in _KNOWN if each is catalog), None)
    if known is None:
        known = _by_parent(catalog)
        _KNOWN.insert(0, (catalog, known))
        del _KNOWN[KEPT:]
    return known.get(object_key(table.schema, table.name), ())


def _by_parent(catalog: Catalog) -> Mapping[Key, Sequence[tuple[Table, ForeignKey]]]:
    found: dict[Key, list[tuple[Table, ForeignKey]]] = {}
    for table in catalog.tables.values():
        for foreign in table.foreign_keys:
            found.setdefault(object_key(foreign.schema, foreign.table), []).append((table, foreign))
    return found


def are_enforced(context: StatementContext) -> bool:
    """Return whether foreign keys are checked."""
    return context.session.settings.foreign_key_checks and context.database.release.foreign_key_checks


@cached_by_table
def check_conditions(table: Table) -> list[tuple[str, Evaluate]]:
    """Return the names and conditions of a table's CHECKs. A row violates one that is False."""
    return [
        (check.name, as_boolean(table_expression(table, check.expression))) for check in table.checks if check.enforced
    ]


def with_stored_checks(statement: syntax.Statement, table: Table, enabled: bool) -> Table:
    """Return a created or altered table with the CHECKs that TiDB stores; `enabled` is tidb_enable_check_constraint."""
    forgotten = isinstance(statement, syntax.CreateTable) and not enabled
    return replace(table, checks=()) if forgotten and table.checks else table


def verify_added_checks(context: StatementContext, before: Table, table: Table, rows: Iterable[Cells]) -> None:
    """Raise SqlError 3819 if a row violates a CHECK that ALTER TABLE adds or enforces.

    TiDB searches rows by `WHERE NOT condition` without parentheses, so NOT applies to the first operand only
    (pkg/ddl/constraint.go, verifyRemainRecordsForCheckConstraint).
    """
    added = [
        (check, as_boolean(table_expression(table, f"NOT {check.expression}")))
        for check in table.checks
        if check.enforced and check not in before.checks
    ]
    kept = list(rows) if added else []
    for check, violated in added:
        if any(violated(cells, context) for cells in kept):
            raise sql_error(3819, check.name.lower())
