"""Executes DDL statements: their jobs, the catalog after them, and the stored rows after them.

A refused statement changes nothing. A statement that runs jobs is one event. Rows that it rewrites are not part of the
event: new partitions are filled before a changefeed sees them, and the rows that MODIFY COLUMN writes are transactions
before it, or hidden by TiKV (tidb v8.5 pkg/ddl/column.go, LossyDDLColumnReorgSource).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from simulator.errors import SchemaError
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Catalog, Key, object_key, with_table, with_tables
from simulator.tidb.ddl.execute import attempt
from simulator.tidb.ddl.session import Job, Session
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.sql_engine.changes import constraints
from simulator.tidb.sql_engine.ddl.convert_rows import convert_stored_rows
from simulator.tidb.sql_engine.ddl.rewritten_rows import rewriting_transactions
from simulator.tidb.sql_engine.errors import sql_error, sql_error_with_text
from simulator.tidb.sql_engine.sessions import clock, session_variables
from simulator.tidb.sql_engine.storage import auto_ids
from simulator.tidb.sql_engine.storage.rows import (
    column_arrays,
    empty_rows,
    empty_uncounted,
    ensure_keys,
    try_locate_partitions,
)
from simulator.tidb.sql_engine.storage.state import (
    CommittedTransaction,
    CompletedDdl,
    FailedStatement,
    SqlSession,
    StatementOutcome,
    StoredRows,
    Upstream,
)

Rows = Mapping[Key, StoredRows]


@dataclass(frozen=True)
class _TableRows:
    """The rows of all tables, and those that were last dropped or truncated under each name."""

    rows: Rows
    dropped: Rows
    warnings: tuple[str, ...] = ()


def execute_ddl(
    statement: syntax.Statement, text: str, upstream: Upstream, now_ms: int
) -> StatementOutcome | FailedStatement:
    """Execute a DDL statement outside of a transaction. Raises DdlError and SqlError."""
    session = upstream.session
    zone = clock.time_zone(session.time_zone)
    ddl_session = Session(
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
    executed = attempt(statement, text, ddl_session)
    after = upstream.catalog if executed.catalog is None else executed.catalog
    if not executed.jobs:
        if executed.error is not None:
            raise executed.error
        return StatementOutcome(replace(upstream, catalog=after), warnings=executed.notes)
    after = _origin_defaults_in_utc(upstream, after, statement, ddl_session)
    after = with_tables(
        after,
        [
            constraints.with_stored_checks(statement, table, upstream)
            for place, table in after.tables.items()
            if table is not upstream.catalog.tables.get(place)
        ],
    )
    tables = _rows_after(statement, executed.jobs, upstream, after, ddl_session, now_ms)
    database = session.database if after.database(session.database) else ""
    upstream_after = replace(
        upstream, catalog=after, rows=tables.rows, dropped=tables.dropped, session=replace(session, database=database)
    )
    if session.foreign_key_checks and upstream.release.foreign_key_checks:
        for place, table in after.tables.items():
            constraints.verify_added_keys(upstream_after, upstream.catalog.tables.get(place), table)
    for place, table in after.tables.items():
        constraints.verify_added_checks(upstream_after, upstream.catalog.tables.get(place), table, now_ms)
    event = CompletedDdl(statement, text, session.database, executed.jobs, upstream.catalog, after)
    events: tuple[CommittedTransaction | CompletedDdl, ...] = (
        *_rewriting_transactions(statement, upstream, after, ddl_session),
        event,
    )
    if executed.error is not None:
        return FailedStatement(executed.error, upstream_after, events)
    return StatementOutcome(upstream_after, events, warnings=(*executed.notes, *tables.warnings))


def _rewriting_transactions(
    statement: syntax.Statement, upstream: Upstream, after: Catalog, ddl_session: Session
) -> Iterator[CommittedTransaction]:
    """Yield the transactions that TiCDC sees of the rows that ALTER TABLE writes again."""
    if upstream.release.sends_rewritten_rows and isinstance(statement, syntax.AlterTable):
        place = object_key(*ddl_session.existing_name(statement.table))
        if place in upstream.rows and place in after.tables:
            yield from rewriting_transactions(upstream.rows[place], after.tables[place])


def _rows_after(
    statement: syntax.Statement,
    jobs: Sequence[Job],
    upstream: Upstream,
    after: Catalog,
    ddl_session: Session,
    now_ms: int,
) -> _TableRows:
    """Return the rows after a statement that ran jobs."""
    tables = _TableRows(upstream.rows, upstream.dropped)
    if isinstance(jobs[0].statement, syntax.AlterTable):  # FIRST PARTITION LESS THAN is DROP PARTITION
        statement = jobs[0].statement
    match statement:
        case syntax.FlashbackCluster():
            raise sql_error_with_text(1105, "FLASHBACK CLUSTER is not simulated: rows have no history here")
        case syntax.TruncateTable(table):
            place = object_key(*ddl_session.existing_name(table))
            return _replace_tables(_drop_rows(tables, place), {place: empty_uncounted(after.tables[place])})
        case syntax.CreateTable():
            place = object_key(*ddl_session.new_name(syntax.TableName(statement.schema, statement.name)))
            return _replace_tables(tables, {place: empty_uncounted(after.tables[place]) if statement.like else None})
        case syntax.RecoverTable() | syntax.FlashbackTable():
            name = ddl_session.new_name(statement.table) if statement.table else syntax.TableName("", "")
            return _restore_tables(tables, {object_key(*name): object_key(jobs[0].schema, jobs[0].table)}, after)
        case syntax.FlashbackDatabase():
            old, new = statement.name.lower(), jobs[0].schema.lower()
            return _restore_tables(
                tables, {place: (new, place[1]) for place in tables.dropped if place[0] == old}, after
            )
        case syntax.AlterTable(table, specs) if any(
            isinstance(spec, (syntax.ExchangePartition, syntax.PartitionAction)) for spec in specs
        ):
            tables = _TableRows(
                _change_partitions(
                    tables.rows, object_key(*ddl_session.existing_name(table)), specs, upstream, ddl_session
                ),
                tables.dropped,
            )
    for old_name, new_name in (pair for job in jobs for pair in job.renames):
        tables = _rename_table(tables, object_key(*old_name), object_key(*new_name), upstream.release.rename_renews_ids)
    for place in [place for place in tables.rows if after.tables.get(place) is None]:
        tables = _drop_rows(tables, place)
    if isinstance(statement, syntax.AlterTable):
        tables = _apply_table_options(
            tables, statement, object_key(*ddl_session.existing_name(statement.table)), upstream
        )
    changed = {
        place: convert_stored_rows(
            stored, after.tables[place], upstream.session, ddl_session.now, now_ms, upstream.release.older_rows_differ
        )
        for place, stored in tables.rows.items()
        if stored.table is not after.tables[place]
    }
    rows = {place: conversion.rows for place, conversion in changed.items()}
    warnings = tuple(warning for conversion in changed.values() for warning in conversion.warnings)
    return _TableRows({**tables.rows, **rows}, tables.dropped, warnings) if changed else tables


def _drop_rows(tables: _TableRows, place: Key) -> _TableRows:
    """Return the tables without the rows of one, which are kept in `dropped`."""
    rows = {name: stored for name, stored in tables.rows.items() if name != place}
    dropped = {name: stored for name, stored in tables.dropped.items() if name != place}
    if place in tables.rows:
        dropped[place] = tables.rows[place]
    return _TableRows(rows, dropped)


def _replace_tables(tables: _TableRows, others: Mapping[Key, StoredRows | None]) -> _TableRows:
    rows: dict[Key, StoredRows] = {name: stored for name, stored in tables.rows.items() if name not in others}
    rows.update({place: stored for place, stored in others.items() if stored is not None})
    return _TableRows(rows, tables.dropped)


def _apply_table_options(
    tables: _TableRows, statement: syntax.AlterTable, place: Key, upstream: Upstream
) -> _TableRows:
    """Return the tables with the id counters that table options set."""
    options = [option for spec in statement.specs if isinstance(spec, syntax.SetOptions) for option in spec.options]
    stored = tables.rows.get(place) or empty_rows(upstream.catalog.tables[place])
    counters = auto_ids.counters_with_options(stored.table, stored.counters, options)
    return tables if counters is stored.counters else _replace_tables(tables, {place: stored.with_counters(counters)})


def _rename_table(tables: _TableRows, old: Key, new: Key, renewed: bool) -> _TableRows:
    stored = tables.rows.get(old)
    if stored is not None and renewed and old != new:
        stored = stored.with_counters(auto_ids.restarted_counters(stored.counters))
    return tables if old == new else _replace_tables(tables, {old: None, new: stored})


def _restore_tables(tables: _TableRows, places: Mapping[Key, Key], after: Catalog) -> _TableRows:
    """Return the tables with the rows of dropped ones."""
    restored = {
        new: ensure_keys(tables.dropped[old], after.tables[new])
        for old, new in places.items()
        if old in tables.dropped and new in after.tables
    }
    return _replace_tables(tables, {**dict.fromkeys(places.values()), **restored})


# -- partitions --------------------------------------------------------------------------------------------------------


def _change_partitions(
    rows: Rows, place: Key, specs: Sequence[syntax.Spec], upstream: Upstream, ddl_session: Session
) -> Rows:
    """Return the rows without those of dropped partitions, and after exchanging a partition with a table."""
    table = upstream.catalog.tables[place]
    for spec in specs:
        if isinstance(spec, syntax.PartitionAction) and place in rows and spec.verb in ("DROP", "TRUNCATE"):
            inside = _partition_mask(rows[place], spec.names)
            rows = {**rows, place: _filter_rows(rows[place], pc.invert(inside))}
        if isinstance(spec, syntax.ExchangePartition):
            rows = _exchange_partition(
                rows, table, spec, upstream.catalog.tables[object_key(*ddl_session.existing_name(spec.table))]
            )
    return rows


def _partition_mask(stored: StoredRows, names: Sequence[str]) -> pa.Array:
    """Return which rows are in the named partitions; all rows without names."""
    rule = stored.table.partitioning
    assert rule is not None
    names_wanted = {name.lower() for name in names}
    numbers = [
        place for place, part in enumerate(rule.partitions) if not names_wanted or part.name.lower() in names_wanted
    ]
    if not len(stored.row_ids):
        return pa.array([], pa.bool_())
    return pc.is_in(try_locate_partitions(stored.table, column_arrays(stored.cells)), pa.array(numbers, pa.int32()))


def _filter_rows(stored: StoredRows, mask: pa.Array) -> StoredRows:
    return StoredRows(stored.table, stored.cells.filter(mask), stored.row_ids.filter(mask), stored.counters)


def _exchange_partition(rows: Rows, table: Table, spec: syntax.ExchangePartition, plain: Table) -> Rows:
    """Swap the rows of a partition and of a plain table. Raises SqlError 1737 for a row of another partition."""
    whole = rows.get(object_key(table.schema, table.name), empty_rows(table))
    single = rows.get(object_key(plain.schema, plain.name), empty_rows(plain))
    incoming = _with_table(single, table)
    if len(incoming.row_ids):
        try:
            fits = _partition_mask(incoming, (spec.partition,))
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
    outgoing, stays = _filter_rows(whole, inside), _filter_rows(whole, pc.invert(inside))
    counted = auto_ids.highest_counters(whole.counters, single.counters)
    both = StoredRows(
        stays.table,
        pa.concat_tables([stays.cells, incoming.cells], promote_options="default"),
        pa.concat_arrays([stays.row_ids, incoming.row_ids]),
    )
    exchanged = {
        object_key(table.schema, table.name): both,
        object_key(plain.schema, plain.name): _with_table(outgoing, plain),
    }
    return {**rows, **{place: ensure_keys(stored.with_counters(counted)) for place, stored in exchanged.items()}}


def _with_table(stored: StoredRows, table: Table) -> StoredRows:
    """Return the same rows in a table that has the same columns."""
    names = [column.name for column in visible_columns(table)]
    cells = stored.cells.rename_columns([*names, *stored.cells.column_names[len(names) :]])
    return StoredRows(table, cells, stored.row_ids, stored.counters)


# -- time zones --------------------------------------------------------------------------------------------------------


def _origin_defaults_in_utc(
    upstream: Upstream, after: Catalog, statement: syntax.Statement, ddl_session: Session
) -> Catalog:
    """Return the catalog with UTC values for older rows in new TIMESTAMP columns."""
    if upstream.session.time_zone == "UTC" or not isinstance(statement, syntax.AlterTable):
        return after
    place = object_key(*ddl_session.existing_name(statement.table))
    before, table = upstream.catalog.tables.get(place), after.tables.get(place)
    if before is None or table is None or table is before:
        return after
    known_ids = {column.id for column in before.columns}
    columns = tuple(
        column if column.id in known_ids else _origin_default_in_utc(column, upstream.session)
        for column in table.columns
    )
    return with_table(after, replace(table, columns=columns))


def _origin_default_in_utc(column: Column, session: SqlSession) -> Column:
    if column.type.name != "timestamp" or column.origin_default is None:
        return column
    moved: str | None = clock.to_utc(session, pa.array([column.origin_default]))[0].as_py()
    return replace(column, origin_default=moved)
