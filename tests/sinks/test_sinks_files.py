"""Fixtures: complete or absent, one file a partition, in a form that people and Spark read."""

from __future__ import annotations

import json
import resource
from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simulator.errors import UserError
from simulator.sinks import SINKS, files
from simulator.sinks.files import FileSettings
from simulator.sinks.records import DeliveryReport, Records

MS = 1700000000123


def records(partitions: list[int], key: bytes | None = b"k", first: int = 0) -> Records:
    """A record for each partition, all of topic 0, a millisecond apart."""
    count = len(partitions)
    return Records(
        pa.array([0] * count, pa.int32()),
        pa.array(partitions, pa.int32()),
        pa.array([key] * count, pa.binary()),
        pa.array([b"\xff\x00 %d" % (first + n) for n in range(count)], pa.binary()),
        pa.array([(MS + first + n) << 18 | 5 for n in range(count)], pa.int64()),
        pa.array([f'[{{"n": {first + n}}}]' for n in range(count)], pa.string()),
    )


def write(settings: FileSettings, *batches: Records) -> list[DeliveryReport]:
    sink = SINKS[settings.format](settings, ["shop"])
    for batch in batches:
        sink.write(batch)
    return sink.close()


def test_jsonl_has_one_line_a_record_in_offset_order(tmp_path: Path) -> None:
    """Base64 of key and value, null for none, the physical time of the TSO, and the decoded events as they are."""
    settings = files.begin(tmp_path / "out", "jsonl")
    write(settings, records([1, 0, 1]), records([1], None, first=3))
    files.commit(settings, {"shop": 2})

    def value(n: int) -> str:
        return b64encode(b"\xff\x00 %d" % n).decode()

    assert (tmp_path / "out/shop/1.jsonl").read_text().splitlines() == [
        f'{{"offset": 0, "timestamp": {MS}, "key": "aw==", "value": "{value(0)}", "events": [{{"n": 0}}]}}',
        f'{{"offset": 1, "timestamp": {MS + 2}, "key": "aw==", "value": "{value(2)}", "events": [{{"n": 2}}]}}',
        f'{{"offset": 2, "timestamp": {MS + 3}, "key": null, "value": "{value(3)}", "events": [{{"n": 3}}]}}',
    ]
    assert 0 == json.loads((tmp_path / "out/shop/0.jsonl").read_text())["offset"]


def test_parquet_has_the_columns_of_sparks_kafka_source(tmp_path: Path) -> None:
    settings = files.begin(tmp_path / "out", "parquet")
    write(settings, records([0]), records([0], None, first=1))
    files.commit(settings, {"shop": 1})

    when = datetime.fromtimestamp(MS // 1000, UTC).replace(microsecond=MS % 1000 * 1000)
    row = {"key": b"k", "value": b"\xff\x00 0", "topic": "shop", "partition": 0, "offset": 0, "timestamp": when}
    rows = pq.read_table(tmp_path / "out/shop/0.parquet").to_pylist()
    assert rows[0] == {**row, "timestampType": 0}
    assert [(r["key"], r["offset"]) for r in rows[1:]] == [(None, 1)]


@pytest.mark.parametrize("format", files.FORMATS)
def test_a_partition_without_records_gets_an_empty_file(tmp_path: Path, format: str) -> None:
    settings = files.begin(tmp_path / "out", format)
    accounts = write(settings, records([1]))
    files.commit(settings, {"shop": 3, "other": 1})

    assert accounts == [DeliveryReport(0, 1, 1, 5, 0, MS << 18 | 5)]
    written = sorted((tmp_path / "out").rglob(f"*.{format}"))
    names = [str(path.relative_to(tmp_path / "out").with_suffix("")) for path in written]
    assert names == ["other/0", "shop/0", "shop/1", "shop/2"]


def test_files_that_several_append_to_have_their_offsets_in_a_row(tmp_path: Path) -> None:
    """And what was written since some moment can be taken away again, whoever wrote it."""
    settings = files.begin(tmp_path / "out", "jsonl", shared=True)
    task, driver = (SINKS["jsonl"](settings, ["shop"]) for _ in range(2))
    task.write(records([0, 0]))
    driver.write(records([0, 1], first=2))
    task.write(long := records([0], b"k" * 100_000, first=4))
    kept = files.sizes(settings)
    for sink in (driver, task, driver):
        sink.write(records([0, 2], first=5))
    files.truncate_to(settings, kept)
    for sink in (task, driver):
        sink.write(long)
    assert not task.failed and not driver.failed
    files.commit(settings, {"shop": 3})

    offsets = [json.loads(line)["offset"] for line in (tmp_path / "out/shop/0.jsonl").read_text().splitlines()]
    assert offsets == [0, 1, 2, 3, 4, 5]
    assert [(tmp_path / f"out/shop/{partition}.jsonl").stat().st_size > 0 for partition in (1, 2)] == [True, False]


def test_the_directory_appears_complete_or_not_at_all(tmp_path: Path) -> None:
    settings = files.begin(tmp_path / "out", "jsonl")
    write(settings, records([0]))

    assert not (tmp_path / "out").exists()
    files.discard(settings)
    assert list(tmp_path.iterdir()) == []


def test_what_another_run_is_writing_is_left_alone_and_what_a_dead_one_replaced_comes_back(tmp_path: Path) -> None:
    living = files.begin(tmp_path / "out", "jsonl")
    dead = tmp_path / ".out.ticdc-sim-abcdefgh.old"
    (dead / "t").mkdir(parents=True)
    (dead / "t" / "0.jsonl").touch()
    files.discard(files.begin(tmp_path / "out", "jsonl"))
    assert sorted(tmp_path.iterdir()) == [Path(living.staging), tmp_path / "out"]
    assert (tmp_path / "out" / "t" / "0.jsonl").exists()
    files.commit(living, {"t": 1})
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


@pytest.mark.parametrize("before", files.FORMATS)
def test_an_empty_directory_and_fixtures_of_an_earlier_run_are_replaced(tmp_path: Path, before: str) -> None:
    (tmp_path / "out").mkdir()
    for format, partitions in ((before, 4), ("jsonl", 1)):
        settings = files.begin(tmp_path / "out", format)
        write(settings, records([0]))
        files.commit(settings, {"shop": partitions})

    assert [path.name for path in (tmp_path / "out/shop").iterdir()] == ["0.jsonl"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("name", ["notes.txt", "shop/notes.txt", "shop/0.jsonl", "a/b/0.jsonl", "empty/"])
def test_a_directory_that_holds_anything_else_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "out" / name
    if name.endswith("/"):
        path.mkdir(parents=True)
    else:
        path.parent.mkdir(parents=True)
        path.write_text('{"precious": 1}\n')

    with pytest.raises(UserError, match="holds something else"):
        files.begin(tmp_path / "out", "jsonl")
    assert path.exists()
    if path.is_file():
        with pytest.raises(UserError, match=f"{path.name} is a file"):
            files.begin(path, "jsonl")


@pytest.mark.parametrize("format", files.FORMATS)
def test_a_disk_that_takes_no_more_is_told_with_the_path(tmp_path: Path, format: str) -> None:
    """A limit on the size of files stands for the full disk: the system call fails in the same place."""
    settings = files.begin(tmp_path / "out", format)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        (account,) = write(settings, *(records([0] * 1000, first=1000 * number) for number in range(20)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    error = account.error or ""
    assert error.startswith(f"cannot write {tmp_path}/out/shop/0.{format}: ") and "File too large" in error
