"""A partition that several tasks read in pieces gives the verdict of one task that reads it whole."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.contract_checks import comparable
from support.playing import play

from simulator.reader import truth_metadata
from simulator.reader.contract import CheckedPiece, PartitionSummary, joined_pieces
from simulator.reader.contract.stream_spec import StreamSpec
from simulator.reader.partitions import StreamPartition, partitions
from simulator.reader.record_batches import read_batches
from simulator.reader.records import FixtureFile
from simulator.reader.replay import ImagePairSource, Report
from simulator.reader.replay.neighbours import read_in_process
from simulator.reader.verify import opening, reading, verify
from simulator.reader.verify.options import VerifyListener, VerifyOptions
from simulator.reader.verify.reading import ReadResults, ReadSettings, partition_sources

PLAN = """
name = "cut"
rows-per-transaction = {min = 1, max = 9}
[[table]]
definition = "CREATE TABLE d.s (id BIGINT PRIMARY KEY, v VARCHAR(20), n INT)"
rows = 50
[[table]]
definition = "CREATE TABLE d.k (a INT, b VARCHAR(20), n INT, PRIMARY KEY (a, b))"
rows = 50
[[ddl]]
every = "2s"
kinds = ["add-column"]
"""
RECORDS = 300
"""Records of a piece."""


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two partitions with watermarks and statements, and their truth."""
    place = tmp_path_factory.mktemp("cut")
    (place / "plan.toml").write_text(PLAN)
    uri = "kafka://127.0.0.1:9092/cut?protocol=canal-json&partition-num=2&enable-tidb-extension=true"
    out, truth = place / "stream", place / "truth"
    (place / "changefeed.toml").write_text("[sink]\ndispatchers = [{matcher = ['*.*'], partition = 'index-value'}]\n")
    config = ("--sink-uri", uri, "--config", place / "changefeed.toml", "--release", "v8.5.3")
    paced = ("--rate", "400", "--duration", "10s", "--master", "none")
    sink = ("--fixtures", out, "--fixtures-format", "parquet", "--truth", truth)
    assert play("load", place / "plan.toml", *paced, *sink, *config) == 0
    return out, truth


@pytest.fixture(scope="module")
def spec(stream: tuple[Path, Path]) -> StreamSpec:
    source, truth = stream
    options = VerifyOptions(str(source), truth=truth, master="none")
    return opening.open_stream(options, truth_metadata.read(truth), VerifyListener()).spec


@pytest.fixture(scope="module", autouse=True)
def _little_before() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "BEFORE", (200, 800, 3200))
        yield


def read(places: list[StreamPartition], spec: StreamSpec, records: int) -> ReadResults:
    results = ReadResults()
    for source in partition_sources(places, ReadSettings(spec, 10, records=records)):
        assert [] == list(source(results))
    return results


def compared(summaries: list[PartitionSummary]) -> list[PartitionSummary]:
    return [comparable(summary) for summary in summaries]


@pytest.mark.slow
def test_pieces_of_a_right_stream_add_up_to_it(stream: tuple[Path, Path], spec: StreamSpec) -> None:
    places = partitions(str(stream[0]))
    pieces = read(places, spec, RECORDS)
    assert sum(len(parts) for parts in pieces._read.values()) > 5
    assert [] == pieces.apart
    assert compared(read(places, spec, 0).summaries) == compared(pieces.summaries)


def test_deletes_without_key_and_value_add_up() -> None:
    pieces = [CheckedPiece(PartitionSummary(("cut", 0), bare_deletes=count), b"", b"") for count in (1, 2)]
    joined = joined_pieces(pieces)
    assert joined is not None and joined.bare_deletes == 3


def test_statements_are_found_in_pieces(stream: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each once, in the order of commit-ts, though each piece is read by a task of its own."""
    places = partitions(str(stream[0]))
    whole = reading.read_statements(places, "canal-json", read_in_process)
    monkeypatch.setattr(reading, "PIECE", RECORDS)
    tasks: list[ImagePairSource] = []

    def from_the_last(sources: Sequence[ImagePairSource], report: Report) -> None:
        tasks.extend(sources)
        read_in_process(sources[::-1], report)

    assert whole == reading.read_statements(places, "canal-json", from_the_last)
    assert len(whole.statements) > 3 and len(tasks) > 3


DAMAGE = ("lose", "repeat", "swap", "move")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 8, 2))
def test_pieces_of_a_broken_stream_find_what_one_task_finds(
    stream: tuple[Path, Path], spec: StreamSpec, tmp_path: Path, seed: int
) -> None:
    """Records are lost, come again, swap places or come much later, at a place that the seed chooses."""
    place, chosen = partitions(str(stream[0]))[seed % 2], random.Random(seed)
    assert isinstance(place.source, Path)
    table = pq.read_table(place.source)
    order, length = list(range(len(table))), chosen.choice([1, 5, 400])
    at = chosen.randrange(len(order) - length)
    block = order[at : at + length]
    match DAMAGE[seed // 2 % len(DAMAGE)]:
        case "lose":
            del order[at : at + length]
        case "repeat":
            order[at + length : at + length] = block
        case "swap":
            order[at : at + length] = reversed(block)
        case _:
            del order[at : at + length]
            later = chosen.randrange(at, len(order))
            order[later:later] = block
    damaged = table.take(order).set_column(
        table.schema.get_field_index("offset"), "offset", pa.array(range(len(order)), pa.int64())
    )
    path = tmp_path / "damaged.parquet"
    pq.write_table(damaged, path, row_group_size=100)
    broken = replace(place, source=path, records=len(order))
    (whole,) = read([broken], spec, 0).summaries
    pieces = read([broken], spec, RECORDS)
    if not pieces.apart:
        assert compared([whole]) == compared(pieces.summaries)
    joined = pieces.with_whole(read([broken], spec, 0)) if pieces.apart else pieces
    assert compared([whole]) == compared(joined.summaries)


def test_of_a_file_only_the_asked_row_groups_are_read(stream: tuple[Path, Path], tmp_path: Path) -> None:
    """A task reads no more than its piece."""
    place = partitions(str(stream[0]))[0]
    assert isinstance(place.source, Path)
    pq.write_table(pq.read_table(place.source), tmp_path / "0.parquet", row_group_size=50)
    read_ones = [batch["offset"] for batch in read_batches(FixtureFile("cut", 0, tmp_path / "0.parquet"), (120, 240))]
    offsets = [offset for batch in read_ones for offset in batch.to_pylist()]
    assert (100, 249) == (offsets[0], offsets[-1])


@pytest.mark.slow
def test_the_verdict_on_the_whole_is_right(stream: tuple[Path, Path]) -> None:
    assert not verify(VerifyOptions(str(stream[0]), truth=stream[1], master="none")).failures
