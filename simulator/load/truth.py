"""The truth of a load: the rows of every table at a watermark, written as a snapshot a chunk of rows at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from simulator import tso
from simulator.columns.hashing import ChangeSums
from simulator.load.epochs import EpochTable, PreparedLoad, SchemaEpoch, jobs_until, schema_epochs
from simulator.load.load_plan import LoadPlan
from simulator.run.outputs import Output
from simulator.ticdc import dispatch
from simulator.tidb.model.table import Table, visible_columns
from simulator.truth import directory as directories
from simulator.truth.directory import TableFile, TruthFiles
from simulator.truth.filtered_rows import StatementMessages

CHUNK = 65_536
"""Rows in memory at a time."""

PLAN = "plan.toml"


def write(
    prepared: PreparedLoad, output: Output, ms: int, files: TruthFiles, sums: ChangeSums = MappingProxyType({})
) -> Mapping[str, int]:
    """Write the rows at the watermark of a simulated millisecond, and return how many each table has.

    Statements at that millisecond are included. Tables that the filter of the changefeed excludes are left out. `sums` are of
    the row changes that were sent; empty if they were not summed. Raise
    UserError if the directory must not be replaced, DeliveryError if the disk refuses.
    """
    plan, epoch = prepared.load, next(schema_epochs(prepared, output, ms))
    rules = prepared.rules
    messages = StatementMessages(rules, output.options)
    tables = [
        (number, loaded, _routed_table(loaded, epoch))
        for number, loaded in enumerate(epoch.tables)
        if loaded is not None
    ]
    with files.staged() as staged:
        directories.write_definitions(staged.directory, (table for *_, table in tables))
        rows = {
            f"{table.schema}.{table.name}": _write_rows(epoch, number, ms, staged.of_table(table))
            for number, _, table in tables
        }
        (staged.directory / PLAN).write_text(plan.text, "utf-8")
        to, watermark = output.destinations, tso.compose(prepared.start_ms + ms)
        about = directories.about(
            rules,
            messages.tables(prepared.plan.positions[0].catalog),
            sums,
            command="load",
            played=plan.name,
            topics=dict(zip(to.topics, to.counts, strict=True)),
            start_ts=tso.compose(prepared.start_ms),
            watermark=watermark,
            final_watermark=watermark,
            empty=_empty_tables(next(schema_epochs(prepared, output)), plan),
            seed=plan.model.seed,
            statements=tuple(messages.of_jobs(jobs_until(prepared, ms))),
        )
        directories.write_about(
            staged.directory,
            replace(about, rows=rows),
            (f"Plan: {plan.name}, as in {PLAN}", f"Simulated milliseconds since the start: {ms}"),
        )
    return rows


def _empty_tables(first: SchemaEpoch, plan: LoadPlan) -> tuple[str, ...]:
    """Return the empty ones of the tables that exist from the start. The others begin with their CREATE TABLE."""
    tables = [(number, loaded) for number, loaded in enumerate(first.tables) if loaded is not None]
    names = {number: _routed_table(loaded, first) for number, loaded in tables}
    return tuple(
        f"{table.schema}.{table.name}"
        for number, table in names.items()
        if plan.model.present and not any(len(rows.keys) for rows in first.stream.alive(number, 0, 0, 1))
    )


def _routed_table(loaded: EpochTable, epoch: SchemaEpoch) -> Table:
    """Return the table under its name in messages."""
    return dispatch.sent_table(epoch.rules.routes[loaded.place.indexes[0]], loaded.place.table)


def _write_rows(epoch: SchemaEpoch, number: int, ms: int, file: TableFile) -> int:
    """Write the rows of a table that exist at a simulated millisecond; return how many they are."""
    stream, loaded, count = epoch.stream, epoch.tables[number], 0
    assert loaded is not None
    behind = stream.timetable.transactions_before(ms)
    names = [column.name for column in visible_columns(loaded.place.table)]
    with file:
        for rows in stream.alive(number, behind, loaded.since, CHUNK):
            file.write(loaded.values.texts(names, rows))
            count += len(rows.keys)
    return count
