"""Plays runs as a user does, by the command line, and holds what comes out to the contract and to the rows of snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

from simulator import cli
from simulator.columns import row_image
from simulator.consumer.contract.stream_spec import stream_spec_of
from simulator.consumer.decode import Image, RowEvent
from simulator.consumer.decode.row_texts import value_text
from simulator.consumer.records import Record
from simulator.releases import V8_5, Release
from simulator.sources import snapshots
from simulator.ticdc.changefeed import Changefeed
from simulator.tidb.model.table import Table, visible_columns
from support.contract_checks import find_violations, with_definitions
from support.replaying import Rows, replayed

State = dict[tuple[str, str], list[bytes]]
"""The row images of each table, sorted."""


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
    """What the snapshot holds."""
    physical, rows = rows_of(directory)
    return state_of((physical[row["table"]].table, row["image"]) for row in rows)


def state_of(rows: Iterable[tuple[Table, bytes]]) -> State:
    """The state that holds those row images."""
    found: State = {}
    for table, image in rows:
        found.setdefault((table.schema, table.name), []).append(image)
    return {name: sorted(images) for name, images in found.items()}


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


def row_of(image: bytes, table: Table) -> dict[str, str | None]:
    """TiDB's texts of a row image, by column."""
    names = [column.name for column in visible_columns(table)]
    cells = (None if cell is None else cell.decode() for cell in row_image.cells_of(image))
    return dict(zip(names, cells, strict=True))


def row_text(image: Image, table: Table) -> dict[str, str | None]:
    """TiDB's texts of a decoded image, in table order; bytes as Latin-1 text."""
    return {column.name: value_text(image[column.name], column) for column in table.columns if column.name in image}


def full_image(event: RowEvent) -> Image:
    """The row that the event leaves, or that a DELETE removes."""
    image = event.before if event.after is None else event.after
    assert image is not None
    return image


def assert_contract(
    records: Iterable[Record], changefeed: Changefeed, partitions: Mapping[str, int], before: Path, after: Path
) -> None:
    """The stream breaks no rule, and leads from the snapshot before exactly to the snapshot after."""
    assert_leads(records, changefeed, partitions, tables_of(after, before), state(before), state(after))


def assert_leads(
    records: Iterable[Record],
    changefeed: Changefeed,
    partitions: Mapping[str, int],
    tables: Mapping[tuple[str, str], Table],
    before: Rows,
    after: Rows,
    release: Release = V8_5,
) -> None:
    """The stream breaks no rule, and leads from the rows before exactly to the rows after, both by the names that
    messages have."""
    stream = list(records)
    spec = stream_spec_of(changefeed, tables.values(), partitions, release=release)
    assert list(find_violations(stream, with_definitions(spec, stream))) == []
    found = replayed(stream, spec.protocol, spec.tables.values(), before, after, spec.fidelity)
    assert (found.counts, found.examples, found.not_compared) == ({}, (), {})
