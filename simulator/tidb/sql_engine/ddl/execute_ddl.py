"""DDL on an upstream: jobs, the catalog behind them, and what becomes of the rows that are stored.

One law: a statement that is refused changes nothing; one that makes jobs is one event, and the rows that it writes anew
are none: what fills new partitions is written before a changefeed has them, and what MODIFY COLUMN writes TiKV keeps
from it (tidb v8.5 pkg/ddl/column.go, LossyDDLColumnReorgSource; before 7.1 TiCDC sees such rows as UPDATEs without a
difference, which is not simulated).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from simulator.errors import SchemaError
from simulator.tidb.ddl.catalog import Catalog, Key, object_key, with_table, with_tables
from simulator.tidb.ddl.execute import attempt
from simulator.tidb.ddl.session import Job, Session
from simulator.tidb.model.table import Column, Table
from simulator.tidb.sql_engine.changes import checks
from simulator.tidb.sql_engine.changes.foreign_keys import verify_added_keys
from simulator.tidb.sql_engine.ddl.convert_rows import convert_stored_rows
from simulator.tidb.sql_engine.errors import sql_error, sql_error_with_text
from simulator.tidb.sql_engine.sessions import clock, session_variables
from simulator.tidb.sql_engine.storage import auto_ids
from simulator.tidb.sql_engine.storage.outcome import CompletedDdl, FailedStatement, StatementOutcome
from simulator.tidb.sql_engine.storage.rows import (
    column_arrays,
    empty_rows,
    empty_uncounted,
    ensure_keys,
    try_locate_partitions,
)
from simulator.tidb.sql_engine.storage.state import SqlSession, StoredRows, Upstream
from simulator.tidb.syntax.alter import ExchangePartition, PartitionAction, SetOptions, Spec
from simulator.tidb.syntax.ddl import (
    AlterTable,
    FlashbackCluster,
    FlashbackDatabase,
    FlashbackTable,
    RecoverTable,
    Statement,
    TruncateTable,
)
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.tables import CreateTable

Rows = Mapping[Key, StoredRows]


@dataclass(frozen=True)
class _TableRows:
    """Rows of tables, and of those that were dropped or truncated last under their names."""

    rows: Rows
    dropped: Rows
    warnings: tuple[str, ...] = ()


def execute_ddl(statement: Statement, text: str, upstream: Upstream, now_ms: int) -> StatementOutcome | FailedStatement:
    """What a DDL statement comes to, outside of a transaction. Raises DdlError and SqlError."""
    session = upstream.session
    zone = clock.time_zone(session.time_zone)
    known = Session(
        session.database,
        upstream.catalog,
        upstream.release,
        clock.moment_text(clock.statement_time(session, now_ms).astimezone(zone), 6),
        session.sql_mode,
        session.foreign_key_checks,
        session.check_constraints,
        session_variables.variable_text(session, "tidb_allow_remove_auto_inc") == "1",
        session_variables.variable_text(session, "tidb_enable_clustered_index") or "ON",
        zone,
    )
    executed = attempt(statement, text, known)
    after = upstream.catalog if executed.catalog is None else executed.catalog
    if not executed.jobs:
        if executed.error is not None:
            raise executed.error
        return StatementOutcome(replace(upstream, catalog=after), warnings=executed.notes)
    after = _origin_defaults_in_utc(upstream, after, statement, known)
    after = with_tables(
        after,
        [
            checks.with_stored_checks(statement, table, upstream)
            for place, table in after.tables.items()
            if table is not upstream.catalog.tables.get(place)
        ],
    )
    kept = _rows_after(statement, executed.jobs, upstream, after, known, now_ms)
    database = session.database if after.database(session.database) else ""
    behind = replace(
        upstream, catalog=after, rows=kept.rows, dropped=kept.dropped, session=replace(session, database=database)
    )
    if session.foreign_key_checks and upstream.release.foreign_key_checks:
        for place, table in after.tables.items():
            verify_added_keys(behind, upstream.catalog.tables.get(place), table)
    for place, table in after.tables.items():
        checks.verify_added_checks(behind, upstream.catalog.tables.get(place), table, now_ms)
    event = CompletedDdl(statement, text, session.database, executed.jobs, upstream.catalog, after)
    if executed.error is not None:
        return FailedStatement(executed.error, behind, (event,))
    return StatementOutcome(behind, (event,), warnings=(*executed.notes, *kept.warnings))


def _rows_after(
    statement: Statement, jobs: Sequence[Job], upstream: Upstream, after: Catalog, known: Session, now_ms: int
) -> _TableRows:
    """The rows behind a statement that made jobs."""
    kept = _TableRows(upstream.rows, upstream.dropped)
    match statement:
        case FlashbackCluster():
            raise sql_error_with_text(1105, "FLASHBACK CLUSTER is not simulated: rows have no history here")
        case TruncateTable(table):
            place = object_key(*known.existing_name(table))
            return _replace_tables(_drop_rows(kept, place), {place: empty_uncounted(after.tables[place])})
        case CreateTable():
            place = object_key(*known.new_name(TableName(statement.schema, statement.name)))
            return _replace_tables(kept, {place: empty_uncounted(after.tables[place]) if statement.like else None})
        case RecoverTable() | FlashbackTable():
            name = known.new_name(statement.table) if statement.table else TableName("", "")
            return _restore_tables(kept, {object_key(*name): object_key(jobs[0].schema, jobs[0].table)}, after)
        case FlashbackDatabase():
            old, new = statement.name.lower(), jobs[0].schema.lower()
            return _restore_tables(kept, {place: (new, place[1]) for place in kept.dropped if place[0] == old}, after)
        case AlterTable(table, specs) if any(isinstance(spec, (ExchangePartition, PartitionAction)) for spec in specs):
            kept = _TableRows(
                _change_partitions(kept.rows, object_key(*known.existing_name(table)), specs, upstream, known),
                kept.dropped,
            )
    for old_name, new_name in (pair for job in jobs for pair in job.renames):
        kept = _rename_table(kept, object_key(*old_name), object_key(*new_name), upstream.release.rename_renews_ids)
    for place in [place for place in kept.rows if after.tables.get(place) is None]:
        kept = _drop_rows(kept, place)
    if isinstance(statement, AlterTable):
        kept = _apply_table_options(kept, statement, object_key(*known.existing_name(statement.table)), upstream)
    changed = {
        place: convert_stored_rows(stored, after.tables[place], upstream.session, known.now, now_ms)
        for place, stored in kept.rows.items()
        if stored.table is not after.tables[place]
    }
    rows = {place: made.rows for place, made in changed.items()}
    warnings = tuple(warning for made in changed.values() for warning in made.warnings)
    return _TableRows({**kept.rows, **rows}, kept.dropped, warnings) if changed else kept


def _drop_rows(kept: _TableRows, place: Key) -> _TableRows:
    """The rows of a table are removed, and remembered."""
    rows = {held: stored for held, stored in kept.rows.items() if held != place}
    dropped = {held: stored for held, stored in kept.dropped.items() if held != place}
    if place in kept.rows:
        dropped[place] = kept.rows[place]
    return _TableRows(rows, dropped)


def _replace_tables(kept: _TableRows, others: Mapping[Key, StoredRows | None]) -> _TableRows:
    rows: dict[Key, StoredRows] = {held: stored for held, stored in kept.rows.items() if held not in others}
    rows.update({place: stored for place, stored in others.items() if stored is not None})
    return _TableRows(rows, kept.dropped)


def _apply_table_options(kept: _TableRows, statement: AlterTable, place: Key, upstream: Upstream) -> _TableRows:
    """With the counters as table options set them."""
    options = [option for spec in statement.specs if isinstance(spec, SetOptions) for option in spec.options]
    stored = kept.rows.get(place) or empty_rows(upstream.catalog.tables[place])
    counters = auto_ids.counters_with_options(stored.table, stored.counters, options)
    return kept if counters is stored.counters else _replace_tables(kept, {place: replace(stored, counters=counters)})


def _rename_table(kept: _TableRows, old: Key, new: Key, renewed: bool) -> _TableRows:
    stored = kept.rows.get(old)
    if stored is not None and renewed and old != new:
        stored = replace(stored, counters=auto_ids.restarted_counters(stored.counters))
    return kept if old == new else _replace_tables(kept, {old: None, new: stored})


def _restore_tables(kept: _TableRows, places: Mapping[Key, Key], after: Catalog) -> _TableRows:
    """Tables that were dropped have their rows again."""
    found = {
        new: ensure_keys(replace(kept.dropped[old], table=after.tables[new], keys=None))
        for old, new in places.items()
        if old in kept.dropped and new in after.tables
    }
    return _replace_tables(kept, {**{new: None for new in places.values()}, **found})


# -- partitions --------------------------------------------------------------------------------------------------------


def _change_partitions(rows: Rows, place: Key, specs: Sequence[Spec], upstream: Upstream, known: Session) -> Rows:
    """Without the rows of partitions that go, with those of a partition that changes places with a table."""
    table = upstream.catalog.tables[place]
    for spec in specs:
        if isinstance(spec, PartitionAction) and place in rows and spec.verb in ("DROP", "TRUNCATE"):
            inside = _partition_mask(rows[place], spec.names)
            rows = {**rows, place: _filter_rows(rows[place], pc.invert(inside))}
        if isinstance(spec, ExchangePartition):
            rows = _exchange_partition(
                rows, table, spec, upstream.catalog.tables[object_key(*known.existing_name(spec.table))]
            )
    return rows


def _partition_mask(stored: StoredRows, names: Sequence[str]) -> pa.Array:
    """Which rows are in the partitions of those names; all without names."""
    rule = stored.table.partitioning
    assert rule is not None
    wanted = {name.lower() for name in names}
    numbers = [place for place, part in enumerate(rule.partitions) if not wanted or part.name.lower() in wanted]
    if not len(stored.row_ids):
        return pa.array([], pa.bool_())
    return pc.is_in(try_locate_partitions(stored.table, column_arrays(stored.cells)), pa.array(numbers, pa.int32()))


def _filter_rows(stored: StoredRows, mask: pa.Array) -> StoredRows:
    return replace(stored, cells=stored.cells.filter(mask), row_ids=stored.row_ids.filter(mask), keys=None)


def _exchange_partition(rows: Rows, table: Table, spec: ExchangePartition, plain: Table) -> Rows:
    """The rows of the partition and those of the plain table change places. Raises SqlError 1737 for a row that would
    be in another partition."""
    whole = rows.get(object_key(table.schema, table.name), empty_rows(table))
    single = rows.get(object_key(plain.schema, plain.name), empty_rows(plain))
    came = _with_table(single, table)
    if len(came.row_ids):
        try:
            fits = _partition_mask(came, (spec.partition,))
        except SchemaError as error:
            raise sql_error_with_text(1105, str(error)) from None
        if not pc.all(fits).as_py():
            if not spec.validation:
                raise sql_error_with_text(
                    1105,
                    "EXCHANGE PARTITION … WITHOUT VALIDATION is simulated for rows that are of the"
                    " partition, and one is not",
                )
            raise sql_error(1737)
    inside = _partition_mask(whole, (spec.partition,))
    went, stays = _filter_rows(whole, inside), _filter_rows(whole, pc.invert(inside))
    counted = auto_ids.highest_counters(whole.counters, single.counters)
    both = replace(
        stays,
        cells=pa.concat_tables([stays.cells, came.cells]),
        row_ids=pa.concat_arrays([stays.row_ids, came.row_ids]),
    )
    made = {object_key(table.schema, table.name): both, object_key(plain.schema, plain.name): _with_table(went, plain)}
    return {**rows, **{place: ensure_keys(replace(stored, counters=counted)) for place, stored in made.items()}}


def _with_table(stored: StoredRows, table: Table) -> StoredRows:
    """The same rows in a table that has the same columns."""
    return replace(
        stored, table=table, cells=stored.cells.rename_columns(empty_rows(table).cells.column_names), keys=None
    )


# -- time zones --------------------------------------------------------------------------------------------------------


def _origin_defaults_in_utc(upstream: Upstream, after: Catalog, statement: Statement, known: Session) -> Catalog:
    """What older rows hold in new TIMESTAMP columns is UTC, as their cells are."""
    if upstream.session.time_zone == "UTC" or not isinstance(statement, AlterTable):
        return after
    place = object_key(*known.existing_name(statement.table))
    before, table = upstream.catalog.tables.get(place), after.tables.get(place)
    if before is None or table is None or table is before:
        return after
    had = {column.id for column in before.columns}
    columns = tuple(
        column if column.id in had else _origin_default_in_utc(column, upstream.session) for column in table.columns
    )
    return with_table(after, replace(table, columns=columns))


def _origin_default_in_utc(column: Column, session: SqlSession) -> Column:
    if column.type.name != "timestamp" or column.origin_default is None:
        return column
    moved: str | None = clock.to_utc(session, pa.array([column.origin_default]))[0].as_py()
    return replace(column, origin_default=moved)
