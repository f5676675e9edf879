"""A TiDB with one session as it was between two statements: what scripted SQL, truths and the API work with.

An upstream never changes: executing a statement gives another one. Those of one history share their rows, whose versions
stay readable. Executing on one that is not the last of its history works on a copy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from simulator.columns import row_image
from simulator.errors import DdlError, SqlError
from simulator.releases import Release
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Catalog, DatabaseInfo
from simulator.tidb.engine.execution import execute
from simulator.tidb.engine.outcome import FailedStatement, StatementOutcome
from simulator.tidb.engine.session import Session
from simulator.tidb.engine.settings import SqlSession
from simulator.tidb.model.table import Cells, Table, visible_columns
from simulator.tidb.storage.database import Database, new_database
from simulator.tidb.storage.ids import Counters
from simulator.tidb.storage.row_keys import entries_of, handle_bytes, handle_of, row_id
from simulator.tidb.storage.rows import NEWEST, Handle, Version
from simulator.tidb.storage.tables import StoredTable, cells_of, image_of, layout_of, partition_of, sent_images
from simulator.tidb.storage.transactions import Transaction


@dataclass(frozen=True)
class StoredRows:
    """The rows of a table in the order of TiKV. All arrays have equal length."""

    table: Table
    images: pa.Array
    """binary row images."""

    handles: pa.Array
    """binary: the handle in TiKV's key, without the partition."""

    ordinals: pa.Array
    """int32 partition ordinals."""

    row_ids: pa.Array
    """int64: `_tidb_rowid`, or the integer of a clustered key as signed bits; null for a common handle."""

    def __len__(self) -> int:
        return len(self.images)

    def texts(self) -> dict[str, pa.Array]:
        """Return the TiDB text (binary) of each visible column."""
        return row_image.named(self.images, [column.name for column in visible_columns(self.table)])


@dataclass(frozen=True)
class Upstream:
    """A TiDB at a moment."""

    session: Session
    settings: SqlSession
    """Those of the session at this moment."""

    step: int
    """How many statements the session had executed."""

    ts: int
    """The last commit."""

    writes: int | None
    """The writes of the open transaction; None without one."""

    @property
    def database(self) -> Database:
        return self.session.database

    @property
    def release(self) -> Release:
        return self.database.release

    @property
    def catalog(self) -> Catalog:
        return self.database.schema(self.ts).catalog

    @property
    def transaction(self) -> Transaction | None:
        """The open transaction, which may have gone on since."""
        return self.session.transaction if self.writes is not None else None

    def with_settings(self, settings: SqlSession) -> Upstream:
        return replace(self, settings=settings)

    def execute(
        self, statement: syntax.SqlStatement, text: str, now_ms: int
    ) -> tuple[Upstream, StatementOutcome | FailedStatement]:
        """Execute a statement, and return the upstream after it."""
        session = self.latest().session
        outcome = execute(session, statement, text, now_ms)
        return upstream_of(session), outcome

    def refuse(self, error: SqlError | DdlError) -> Upstream:
        """Return the upstream after a text that is no statement."""
        session = self.latest().session
        session.refuse(error)
        return upstream_of(session)

    def rolled_back(self) -> Upstream:
        """Return the upstream without the writes of its open transaction."""
        return replace(self, writes=None)

    def at_start(self) -> Upstream:
        """Return the upstream at the start of its history."""
        return replace(self, step=-1, ts=0, writes=None)

    def live(self) -> Upstream:
        """Return the upstream that has all later commits, too."""
        return replace(self, step=-1, ts=NEWEST, writes=None)

    def latest(self) -> Upstream:
        """Return this upstream as the last one of a history."""
        if self.session.step != self.step or self.database.last_ts != self.ts:
            return self.copy()
        self.session.settings = self.settings
        if self.writes is None:
            self.session.roll_back()
        return self

    def copy(self) -> Upstream:
        """Return the same upstream with rows of its own."""
        database, rows_of = self.database.copy(self.ts)
        session = Session(database, self.settings)
        session.temporary, more = self.session.temporary.copy(self.ts)

        def stored(table: Table) -> StoredTable:
            return session.temporary.stored(table) if table.temporary else database.stored(table)

        if self.writes is not None:
            assert self.session.transaction is not None, "it has not ended since"
            session.transaction = self.session.transaction.copy(
                database.locks, self.writes, {**rows_of, **more}, stored
            )
        return upstream_of(session)

    def rows(self, table: Table) -> StoredRows:
        """Return the rows of a table of the catalog, with the writes of the open transaction."""
        stored = self.database.schema(self.ts).stored(table)
        reader = self.transaction or Transaction(self.database.locks, self.ts)
        found = list(reader.scan(stored, range(len(stored.partitions)), self.ts)) if stored is not None else []
        return stored_rows(table, found)

    def load(self, table: Table, images: pa.Array, row_ids: pa.Array, counters: Counters | None = None) -> None:
        """Take rows as those of a table from the start of the history, given their images, row ids (null for a common
        handle), and the ids that the table has given."""
        stored = self.database.emptied(table)
        layout, ordinal_of = layout_of(table), partition_of(table) if table.partitioning else None
        for image, number in zip(images.to_pylist(), row_ids.to_pylist(), strict=True):
            cells = cells_of(image)
            ordinal = 0 if ordinal_of is None else ordinal_of(cells) or 0
            handle = handle_of(table)(cells) if table.clustered else number
            stored.load(ordinal, handle, Version(0, image, layout), entries_of(table)(cells, 1))
        if counters is not None:
            stored.ids.counters = counters

    def create_database(self, info: DatabaseInfo) -> None:
        """Create a database as if it had been there from the start of the history."""
        self.database.add_database(info)


def stored_rows(table: Table, rows: list[tuple[int, Handle, Cells]]) -> StoredRows:
    """Return rows, given with ordinal and handle, as arrays."""
    images: list[bytes | None] = [image_of(cells) for _, _, cells in rows]
    if (sent := sent_images(table)) is not None:
        images = [*map(sent, images)]
    return StoredRows(
        table,
        pa.array(images, pa.binary()),
        pa.array([handle_bytes(table, handle) for _, handle, _ in rows], pa.binary()),
        pa.array([ordinal for ordinal, _, _ in rows], pa.int32()),
        pa.array([row_id(handle) for _, handle, _ in rows], pa.int64()),
    )


def upstream_of(session: Session) -> Upstream:
    """Return the present of a session."""
    transaction = session.transaction
    return Upstream(
        session,
        session.settings,
        session.step,
        session.database.last_ts,
        None if transaction is None else transaction.position,
    )


def new_upstream(release: Release, catalog: Catalog | None = None, seed: int = 0) -> Upstream:
    """Return a TiDB before its first statement, with the database `test` unless a catalog is given."""
    return upstream_of(Session(new_database(release, catalog, seed)))
