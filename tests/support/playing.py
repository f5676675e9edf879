"""Plays runs as a user does, by the command line, and holds what comes out to the contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

from simulator import cli
from simulator.columns import row_image
from simulator.consumer.contract.stream_spec import stream_spec_of
from simulator.consumer.records import Record
from simulator.releases import V8_5, Release
from simulator.sources import snapshots
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import Table
from support import oracle
from support.contract_checks import find_violations
from support.oracle.state import State, compare, state_of
from support.replaying import replayed as by_halves


def play(*arguments: object) -> int:
    """Exit code of `ticdc-sim` with those arguments."""
    return cli.run([str(argument) for argument in arguments])


class Said(NamedTuple):
    """How a command ended and what it wrote: the lines of standard error are those that are no progress."""

    code: int
    out: str
    err: list[str]


def said(*arguments: object) -> Said:
    """Exit code and output of `ticdc-sim` with those arguments."""
    streams = [TextIOWrapper(BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        code = play(*arguments)
    out, err = (stream.detach().getvalue().decode() for stream in streams)
    return Said(code, out, [line for line in err.split("\n") if line and not line.endswith(" …")])


def tables_of(*directories: Path) -> dict[tuple[str, str], Table]:
    """All tables of the snapshots."""
    found = (entry.table for directory in directories for entry in snapshots.open(directory).tables)
    return {(table.schema, table.name): table for table in found}


def state(directory: Path) -> State:
    """What the snapshot holds, as a consumer would."""
    physical, rows = rows_of(directory)
    return state_of((physical[row["table"]].table, row["image"]) for row in rows)


def rows_of(directory: Path) -> tuple[Sequence[snapshots.PhysicalTable], list[dict[str, Any]]]:
    """The physical tables of a snapshot, and its rows (STATE)."""
    snapshot = snapshots.open(directory)
    physical = snapshots.physical_tables(entry.table for entry in snapshot.tables)
    found = places(physical)
    scans = (snapshots.TableScan(entry, found[entry.table.schema, entry.table.name]) for entry in snapshot.tables)
    pieces = (piece for task in snapshots.divide_into_tasks(scans) for piece in task)
    return physical, [row for batch in snapshots.state_batches(pieces) for row in batch.to_pylist()]


def places(physical: Sequence[snapshots.PhysicalTable]) -> dict[tuple[str, str], snapshots.PlacedTable]:
    """Where each table, or each of its partitions, stands in the list."""
    found: dict[tuple[str, str], snapshots.PlacedTable] = {}
    for index, part in enumerate(physical):
        name = part.table.schema, part.table.name
        before = found[name].indexes if name in found else ()
        found[name] = snapshots.PlacedTable(part.table, (*before, index))
    return found


def assert_contract(
    records: Iterable[Record], changefeed: Changefeed, partitions: Mapping[str, int], before: Path, after: Path
) -> None:
    """The stream breaks no rule, and leads from the snapshot before exactly to the snapshot after."""
    tables = tables_of(after, before)
    assert_leads(records, changefeed, partitions, tables, state(before), state(after))


def assert_leads(
    records: Iterable[Record],
    changefeed: Changefeed,
    partitions: Mapping[str, int],
    tables: Mapping[tuple[str, str], Table],
    before: State,
    after: State,
    release: Release = V8_5,
) -> None:
    """The stream breaks no rule, and leads from the state before exactly to the state after, both by the names that
    messages have."""
    stream = list(records)
    spec = stream_spec_of(changefeed, tables.values(), partitions, release=release)
    tables = spec.tables
    decoded = list(oracle.in_commit_order(oracle.events(part, spec) for part in _partitions(stream)))
    spec = replace(spec, later=oracle.definitions(decoded, tables))
    assert list(find_violations(stream, spec)) == []
    replayed = oracle.replay(decoded, before, tables)
    assert replayed.violations == []
    assert list(compare(replayed.state, after, tables)) == []
    found = by_halves(
        stream, spec.protocol, tables.values(), images(before, tables), images(after, tables), spec.fidelity
    )
    assert (found.counts, found.examples) == ({}, ())


def images(state: State, tables: Mapping[tuple[str, str], Table]) -> dict[tuple[str, str], list[bytes]]:
    """The row images of a state, those of tables without a handle key as often as they are there."""
    return {
        name: list(rows.values())
        if handle_key(tables[name])
        else [
            row_image.joined(None if text is None else text.encode("utf-8", "surrogatepass") for text in row)
            for row, count in rows.items()
            for _ in range(int(count))
        ]
        for name, rows in state.items()
    }


def _partitions(stream: list[Record]) -> list[list[Record]]:
    places = sorted({(record.topic, record.partition) for record in stream})
    return [[record for record in stream if (record.topic, record.partition) == place] for place in places]
