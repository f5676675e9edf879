"""Foreign keys, which are checked once a statement has written all its rows, and their cascades.

Cascaded changes are checked in turn, one cascade after another with its own cascades (tidb pkg/executor/foreign_key.go;
pkg/executor/adapter.go, handleForeignKeyTrigger). A child locks the parent that it finds by a unique key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from simulator.errors import SqlError
from simulator.tidb.datums import cell_datum
from simulator.tidb.ddl.catalog import lower_names
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.writes.assign import UPDATE, RowValues
from simulator.tidb.engine.writes.rows import KeyedRow, Location, RowWriter, are_enforced, referring_keys
from simulator.tidb.errors import sql_error
from simulator.tidb.model.table import Cells, ForeignKey, Table, columns_by_name, visible_columns
from simulator.tidb.storage.row_keys import RowKey, encoder, entry_keys, handle_of_bytes
from simulator.tidb.storage.tables import StoredTable

CASCADES = ("CASCADE", "SET NULL")

MAX_CASCADE_DEPTH = 15
"""The depth of cascades that TiDB follows (maxForeignKeyCascadeDepth)."""

KeyValue = tuple[bytes, ...]
"""The values of a key's columns, which have equal bytes if they are equal."""

KeyReader = Callable[[Cells], "KeyValue | None"]
"""Returns the key of a row; None if it has NULL."""

Found = tuple[Location, Cells]


def key_reader(table: Table, names: Sequence[str]) -> KeyReader:
    """Return how rows of a table have a key of some columns."""
    columns = [columns_by_name(table)[name.lower()] for name in names]
    parts = [(visible_columns(table).index(column), encoder(column.type)) for column in columns]

    def read(cells: Cells) -> KeyValue | None:
        values = []
        for place, encode in parts:
            cell = cells[place]
            if cell is None:
                return None
            values.append(encode(cell))
        return tuple(values)

    return read


class KeySearch:
    """Finds the rows of a table by the values of some of its columns, as they are now: by the handle or a unique index, or
    else in one pass over all rows."""

    def __init__(
        self, context: StatementContext, stored: StoredTable, names: Sequence[str], locks: bool = False
    ) -> None:
        self._context, self._stored, self._locks = context, stored, locks
        self._read = key_reader(stored.table, names)
        self._find = self._search(stored.table, [name.lower() for name in names])
        self._rows: dict[KeyValue, list[Found]] | None = None

    def rows(self, value: KeyValue) -> Sequence[Found]:
        """Return the rows that have a key."""
        if self._find is not None:
            return self._find(value)
        if self._rows is None:
            self._rows = {}
            every = range(len(self._stored.partitions))
            for ordinal, handle, cells in self._context.transaction.scan(self._stored, every, self._context.read_ts):
                key = self._read(cells)
                if key is not None:
                    self._rows.setdefault(key, []).append(((ordinal, handle), cells))
        return self._rows.get(value, ())

    def _search(self, table: Table, names: list[str]) -> Callable[[KeyValue], Sequence[Found]] | None:
        """Return how a row is found by a unique key of exactly these columns."""
        if table.partitioning is not None:
            return None
        transaction, stored = self._context.transaction, self._stored
        if table.clustered and sorted(names) == sorted(name.lower() for name in table.primary_key):
            if any(part.length >= 0 for index in table.indexes if index.primary for part in index.columns):
                return None
            order = [names.index(name.lower()) for name in table.primary_key]

            def by_handle(value: KeyValue) -> Sequence[Found]:
                handle = handle_of_bytes(table, b"".join([value[place] for place in order]))
                if self._locks:
                    transaction.lock_row(stored, 0, handle)
                cells = transaction.get(stored, 0, handle)
                return () if cells is None else (((0, handle), cells),)

            return by_handle
        indexes = {index.id: index for index in table.indexes}
        for key in entry_keys(table):
            parts = indexes[key.index_id].columns
            if sorted(part.name.lower() for part in parts) == sorted(names) and all(part.length < 0 for part in parts):
                return partial(self._by_index, key, [names.index(part.name.lower()) for part in parts])
        return None

    def _by_index(self, key: RowKey, places: Sequence[int], value: KeyValue) -> Sequence[Found]:
        transaction, stored = self._context.transaction, self._stored
        entry = b"".join([value[place] for place in places])
        if self._locks:
            transaction.lock_entry(stored, 0, key, entry)
        location = transaction.owner_of(stored, 0, key, entry)
        cells = None if location is None else transaction.get(stored, *location)
        return () if location is None or cells is None else ((location, cells),)


# -- checks ------------------------------------------------------------------------------------------------------------


def enforce_foreign_keys(
    context: StatementContext, writers: Sequence[RowWriter], ignore: bool = False, depth: int = 1
) -> None:
    """Check the changes of a statement or of a cascade, and follow ON DELETE and ON UPDATE.

    With IGNORE, `breaks_key` has checked all rows but new ones. Raises SqlError 1452 for a row without a parent, 1451 for
    a parent that rows refer to, 3008 for cascades that are too deep.
    """
    if not are_enforced(context):
        return
    checked = ignore and context.database.release.ignores_foreign_keys
    for writer in writers:
        for foreign in writer.table.foreign_keys:
            read = key_reader(writer.table, foreign.columns)
            changed = (
                change.new
                for change in writer.changes
                if change.new is not None
                and (change.old is None or not checked and read(change.old) != read(change.new))
            )
            if any(orphans(context, writer.table, foreign, changed)):
                raise sql_error(1452, constraint_text(writer.table, foreign))
    cascades = []
    for writer in writers:
        for child, foreign in referring_keys(context.database.catalog, writer.table):
            for event in _parent_changes(writer, foreign):
                if event.rule in CASCADES:
                    cascades.append((event, writer.table, child, foreign))
                elif not checked and any(event.children(context, child, foreign)):
                    raise sql_error(1451, constraint_text(child, foreign))
    for event, parent, child, foreign in cascades:
        if depth > MAX_CASCADE_DEPTH:
            raise sql_error(3008, MAX_CASCADE_DEPTH)
        written = _cascade(context, event, parent, child, foreign)
        enforce_foreign_keys(context, [written], depth=depth + 1)


def breaks_key(context: StatementContext, table: Table, cells: Cells, named: Collection[str] | None = None) -> bool:
    """Return whether a row that IGNORE would write or delete breaks a foreign key, with a warning (checkFKIgnoreErr).

    An update checks the keys of the `named` columns. It looks for children of the new row, not of the old one.
    """
    if not are_enforced(context) or not context.database.release.ignores_foreign_keys:
        return False
    error = next(_broken_keys(context, table, cells, None if named is None else {*lower_names(named)}), None)
    if error is not None:
        context.warn(error)
    return error is not None


def _broken_keys(context: StatementContext, table: Table, cells: Cells, named: set[str] | None) -> Iterator[SqlError]:
    for child, foreign in referring_keys(context.database.catalog, table):
        if named is not None and named.isdisjoint(lower_names(foreign.references)):
            continue
        value = key_reader(table, foreign.references)(cells)
        rule = foreign.on_delete if named is None else foreign.on_update
        search = KeySearch(context, context.database.stored(child), foreign.columns)
        if value is not None and rule.upper() not in CASCADES and search.rows(value):
            yield sql_error(1451, constraint_text(child, foreign))
    for foreign in table.foreign_keys:
        is_changed = named is not None and not named.isdisjoint(lower_names(foreign.columns))
        if is_changed and any(orphans(context, table, foreign, [cells])):
            yield sql_error(1452, constraint_text(table, foreign))


def orphans(context: StatementContext, table: Table, foreign: ForeignKey, rows: Iterable[Cells]) -> Iterator[bool]:
    """Yield for each row whether it refers to a missing parent. None does if the parent table is missing (tidb
    pkg/planner/core/foreign_key.go, buildFKCheckOnModifyChildTable)."""
    parent = context.database.catalog.table(foreign.schema, foreign.table)
    if parent is None:
        yield from (False for _ in rows)
    elif not _is_indexed(parent, foreign.references):
        yield from (True for _ in rows)
    else:
        search = KeySearch(context, context.database.stored(parent), foreign.references, locks=True)
        read = key_reader(table, foreign.columns)
        for cells in rows:
            value = read(cells)
            yield value is not None and not search.rows(value)


def _is_indexed(table: Table, columns: Sequence[str]) -> bool:
    """Return whether an index begins with these columns. The parent table may have been replaced by another one of its
    name."""
    names = sorted(name.lower() for name in columns)
    prefixes = [[part.name.lower() for part in index.columns][: len(names)] for index in table.indexes]
    return names in [sorted(each) for each in (*prefixes, [name.lower() for name in table.primary_key])]


def without_orphans(context: StatementContext, table: Table, rows: list[KeyedRow]) -> list[KeyedRow]:
    """Return the rows of INSERT IGNORE that have a parent, with a warning for each other one (checkRows)."""
    for foreign in table.foreign_keys if are_enforced(context) else ():
        found = list(orphans(context, table, foreign, (row.cells for row in rows)))
        for _ in range(sum(found)):
            context.warn(sql_error(1452, constraint_text(table, foreign)))
        rows = [row for row, orphaned in zip(rows, found, strict=True) if not orphaned]
    return rows


def verify_added_keys(context: StatementContext, before: Table, table: Table, rows: Sequence[Cells]) -> None:
    """Raise SqlError 1452 if a row has no parent by a foreign key that ALTER TABLE adds (tidb v8.5
    pkg/ddl/foreign_key.go, checkForeignKeyConstrain)."""
    known_ids = {foreign.id for foreign in before.foreign_keys}
    for foreign in table.foreign_keys:
        if foreign.id not in known_ids and any(orphans(context, table, foreign, rows)):
            raise sql_error(1452, constraint_text(table, foreign))


# -- cascades ----------------------------------------------------------------------------------------------------------


class ParentChanges(NamedTuple):
    """Parent rows that were deleted, or have another key."""

    rule: str
    keys: dict[KeyValue, Cells | None]
    """The keys before, with the rows after an update."""

    def children(
        self, context: StatementContext, child: Table, foreign: ForeignKey
    ) -> Iterator[tuple[Location, Cells, Cells | None]]:
        """Yield the rows that refer to the parents, with the new row of their parent."""
        search = KeySearch(context, context.database.stored(child), foreign.columns)
        for value, after in self.keys.items():
            for location, cells in search.rows(value):
                yield location, cells, after


def _parent_changes(writer: RowWriter, foreign: ForeignKey) -> Iterator[ParentChanges]:
    """Yield the changes of parents that a foreign key reacts to."""
    read = key_reader(writer.table, foreign.references)
    deleted: dict[KeyValue, Cells | None] = {}
    updated: dict[KeyValue, Cells | None] = {}
    for old, new in writer.changes:
        value = None if old is None else read(old)
        if value is None:
            continue
        if new is None:
            deleted[value] = None
        elif read(new) != value:
            updated[value] = new
    if deleted:
        yield ParentChanges(foreign.on_delete.upper(), deleted)
    if updated:
        yield ParentChanges(foreign.on_update.upper(), updated)


def _cascade(
    context: StatementContext, event: ParentChanges, parent: Table, child: Table, foreign: ForeignKey
) -> RowWriter:
    """Apply ON DELETE or ON UPDATE to the rows that refer to changed parents."""
    writer = RowWriter(context.database.stored(child), context)
    children = list(event.children(context, child, foreign))
    values = RowValues(child, context, UPDATE)
    columns = [columns_by_name(child)[name.lower()] for name in foreign.columns]
    sources = [columns_by_name(parent)[name.lower()] for name in foreign.references]
    places = [visible_columns(parent).index(source) for source in sources]
    names = {column.name for column in columns}
    for location, old, after in children:
        if event.rule == "CASCADE" and after is None:
            writer.delete(location, old)
            continue
        new = [*old]
        for column, source, place in zip(columns, sources, places, strict=True):
            cell = after[place] if after is not None and event.rule == "CASCADE" else None
            if cell is not None and column.type != source.type:
                cell = values.cast(column, cell_datum(source.type, cell))
            new[values.place_of[column.name]] = cell
        values.finish_update(old, new, names)
        writer.update(location, old, new)
    return writer


def constraint_text(table: Table, foreign: ForeignKey) -> str:
    """Return a foreign key as errors 1451 and 1452 print it (tidb pkg/meta/model, FKInfo.String)."""
    columns, references = (", ".join(f"`{name}`" for name in names) for names in (foreign.columns, foreign.references))
    schema = "" if foreign.schema.lower() == table.schema.lower() else f"`{foreign.schema}`."
    text = (
        f"`{table.schema}`.`{table.name}`, CONSTRAINT `{foreign.name}` FOREIGN KEY ({columns}) REFERENCES "
        f"{schema}`{foreign.table}` ({references})"
    )
    for event, rule in (("DELETE", foreign.on_delete), ("UPDATE", foreign.on_update)):
        text += f" ON {event} {rule.upper()}" if rule else ""
    return text
