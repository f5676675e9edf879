"""Plays runs as a user does, by the command line, and replays what comes out, which is held to the contract and to the rows of
snapshots.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from copy import deepcopy
from functools import partial
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from simulator import cli
from simulator.columns import row_image
from simulator.reader.contract.stream_spec import stream_spec_of
from simulator.reader.decode import Image, RowEvent
from simulator.reader.decode.batches import StreamDecoder
from simulator.reader.decode.row_images import row_images, value_text
from simulator.reader.records import Record, TopicPartition
from simulator.reader.replay import ImagePairSource, Report, SkippedChanges, merge_findings, neighbours
from simulator.reader.replay.digests import check_digests, digests, pairs_of_suspects
from simulator.reader.replay.image_pairs import ImagePairBuilder
from simulator.reader.replay.normalize import LikeNull, nothing_like_null
from simulator.reader.replay.outcome import ReplayOutcome, summarize_findings, table_knowledge
from simulator.reader.replay.row_rules import TableKnowledge
from simulator.reader.replay.states import RowsInMessages, StateRows, keys_at_begin, state_table_numbers
from simulator.reader.replay.stream_statements import stream_statements
from simulator.reader.replay.table_timeline import TableTimeline, table_timeline
from simulator.releases import V8_5, Release
from simulator.sources import snapshots
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.codecs.codec import Fidelity
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.model.table import Table, visible_columns
from support.contract_checks import find_violations, record_batches, with_definitions
from support.processes import without_progress

BY_KEY = '[sink]\ndispatchers = [{matcher = ["*.*"], partition = "index-value"}]\n'
"""The configuration of a changefeed that deals rows out by their handle key."""

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
    return Said(code, out, without_progress(err.split("\n")))


def output_of(*arguments: object) -> str:
    """What a command prints that succeeds."""
    found = said(*arguments)
    assert found.code == 0, found.err
    return found.out


def error_of(*arguments: object, code: int = 2) -> str:
    """The message of a command that ends with that exit code: most have one line."""
    found = said(*arguments)
    assert found.code == code, found.err
    return "\n".join(line for line in found.err if line.startswith("ticdc-sim: "))


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


Rows = Mapping[tuple[str, str], Sequence[bytes]]
"""Row images by table."""

SHOWN = 10


def replayed(
    stream: Iterable[Record],
    protocol: str,
    tables: Iterable[Table],
    before: Rows | None = None,
    after: Rows | None = None,
    fidelity: Fidelity = Fidelity(),
    restarts: bool = True,
    known: Collection[tuple[str, str]] | None = None,
    beside: Collection[tuple[str, str]] = (),
    ends: Iterable[Table] | None = None,
    like_null: LikeNull = nothing_like_null,
) -> ReplayOutcome:
    """What the replay of a stream finds; `tables` are there when it begins, with the rows `before`, or at its end
    (`ends`). Rows of tables that are `beside` are not expected, and may be there."""
    partitions: dict[TopicPartition, list[Record]] = {}
    for record in stream:
        partitions.setdefault((record.topic, record.partition), []).append(record)
    decoding = StreamDecoder(protocol)
    batches = [decoding.decoded(*record_batches(part, len(part))) for part in partitions.values()]
    found = table_timeline(stream_statements(batches), [*tables] or None, known, ends)
    replaying, left = ImagePairBuilder(found, fidelity, row_images, like_null=like_null), SkippedChanges()

    def halved(number: int, tell: Report) -> Iterator[pa.RecordBatch]:
        return replaying.image_pairs(batches[number], decoding.layouts, number, left)

    sources: list[ImagePairSource] = [partial(halved, number) for number in range(len(batches))]
    sources += [state_source(found, before, False, like_null)] if before else []
    sources += [state_source(found, after, True, like_null)] if after else []
    expected = table_knowledge(
        found, range(len(found.tables)) if after is not None else (), restarts, fidelity=fidelity
    )
    ended = [
        number
        for number, history in enumerate(found.tables)
        if history.gone is not None or (history.table.schema, history.table.name) in beside
    ]
    expected.ends[ended] = False
    findings = neighbours.replay_in_process(sources, expected, SHOWN, lambda value: None)
    outcome = summarize_findings(merge_findings(findings, SHOWN), found, expected, left, list(partitions))
    skipped = deepcopy(left)
    again = merge_findings(replayed_by_digests(sources, expected), SHOWN)
    by_digests = summarize_findings(again, found, expected, skipped, list(partitions))
    assert by_digests == outcome
    return outcome


def replayed_by_digests(sources: Sequence[ImagePairSource], expected: TableKnowledge) -> list[pa.RecordBatch]:
    """The findings as Spark comes to them: image pairs are looked at only where digests do not show a row right."""
    pairs = [batch for source in sources for batch in source(lambda value: None)]
    verdict = check_digests([digests(batch) for batch in reversed(pairs)], expected)
    looked_at: list[ImagePairSource] = [partial(pairs_of_suspects, source, verdict.rows) for source in sources]
    return [*verdict.counts, *neighbours.replay_in_process(looked_at, expected, SHOWN, lambda value: None)]


def state_source(found: TableTimeline, rows: Rows, is_after: bool, like_null: LikeNull) -> ImagePairSource:
    """The images of a state, in the tables' definitions then."""

    def read(tell: Report) -> Iterator[pa.RecordBatch]:
        numbers, keys = state_table_numbers(found, is_after), {} if is_after else keys_at_begin(found)
        for name, of_table in rows.items():
            number = numbers[object_key(*name)]
            history = found.tables[number]
            table = history.definitions[-1 if is_after else 0].table
            names = [column.name for column in visible_columns(table)]
            yield from StateRows(
                number, history, is_after, RowsInMessages(like_null), keys=keys.get(number, ())
            ).image_pairs(pa.array(of_table, pa.binary()), names)

    return read
