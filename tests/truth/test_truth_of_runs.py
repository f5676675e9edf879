"""The truth of a run, between two snapshots and of scripted SQL: at every watermark it is what a consumer has that replays
the stream."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.playing import Rows, play, replayed, state, tables_of

from simulator import tso
from simulator.reader.contract.stream_spec import stream_spec_of
from simulator.reader.decode import decode, time_of
from simulator.reader.records import Record, read_records
from simulator.reader.truth_metadata import read
from simulator.ticdc.changefeed import load
from simulator.tidb.model.table import Name, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

URI = "kafka://127.0.0.1:9092/shop?protocol=open-protocol&partition-num=2&max-batch-size=1"
FORCED = "force-replicate = true\n"


def times_of(fixtures: Path) -> list[int]:
    """Every commit-ts of a stream in order."""
    return sorted({time_of_message(record) for record in read_records(str(fixtures))})


def time_of_message(record: Record) -> int:
    """The commit-ts of its only event."""
    (event,) = decode(record.key, record.value, "open-protocol")
    return time_of(event)


def assert_truth(truth: Path, fixtures: Path, until: int, before: Rows, tables: Mapping[Name, Table]) -> None:
    """The messages up to a watermark lead to exactly the rows of the truth."""
    spec = stream_spec_of(load(URI, FORCED), tables.values(), {})
    stream = [record for record in read_records(str(fixtures)) if time_of_message(record) <= until]
    found = replayed(stream, spec.protocol, spec.tables.values(), before, state(truth), spec.fidelity)
    assert (found.counts, found.examples, found.not_compared) == ({}, (), {})


PARTS = "PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN ({}), PARTITION p1 VALUES LESS THAN (100))"
Row = Callable[[int], tuple[object, ...]]
TABLES: dict[str, tuple[list[str | None], Row, Row]] = {
    "same": (["(id INT PRIMARY KEY, v INT)"] * 2, lambda n: (n, n), lambda n: (n, n + n % 3)),
    "gone": (["(id INT PRIMARY KEY, v INT)", None], lambda n: (n, n), lambda n: ()),
    "new": ([None, "(id INT PRIMARY KEY, v INT)"], lambda n: (), lambda n: (n, n)),
    "unkeyed": (["(a INT, b INT)"] * 2, lambda n: (n % 5, 1), lambda n: (n % 4, 1 + n % 2)),
    "added": (
        ["(id INT PRIMARY KEY, v INT)", "(id INT PRIMARY KEY, v INT, w INT DEFAULT 7)"],
        lambda n: (n, n),
        lambda n: (n, n, 7 if n % 3 else n),
    ),
    "dropped": (
        ["(id INT PRIMARY KEY, v INT, w INT)", "(id INT PRIMARY KEY, w INT)"],
        lambda n: (n, n, n),
        lambda n: (n, n + n % 2),
    ),
    "retyped": (
        ["(id INT PRIMARY KEY, v INT)", "(id INT PRIMARY KEY, v VARCHAR(9))"],
        lambda n: (n, n),
        lambda n: (n, n + n % 3),
    ),
    "parted": ([f"(id INT PRIMARY KEY, v INT) {PARTS.format(12)}"] * 2, lambda n: (n, n), lambda n: (n, n + n % 2)),
}
"""Two definitions, and the rows of either side."""


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Both snapshots: rows that stay, change, go and come."""
    folder = tmp_path_factory.mktemp("shops")
    for side, numbers in (("before", range(1, 21)), ("after", range(8, 31))):
        (folder / side).mkdir()
        for name, (definitions, old, new) in TABLES.items():
            definition = definitions[side == "after"]
            if definition is None:
                continue
            (folder / side / f"shop.{name}-schema.sql").write_text(f"CREATE TABLE `{name}` {definition};\n")
            lines = (",".join(map(str, (new if side == "after" else old)(n))) for n in numbers)
            (folder / side / f"shop.{name}.csv").write_text("".join(f"{line}\n" for line in lines))
    return folder / "before", folder / "after"


Run = tuple[tuple[object, ...], Path]


@pytest.fixture(scope="module", params=["start", "middle", "end"])
def run(request: pytest.FixtureRequest, shops: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run, by where its statements stand."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "changefeed.toml").write_text(FORCED)
    config, place = ("--config", folder / "changefeed.toml"), ("--ddl-at", request.param, "--over", "5s")
    options = "diff", *shops, "--sink-uri", URI, *config, *place, "--master", "none"
    assert play(*options, "--fixtures", folder / "out", "--truth", folder / "truth") == 0
    return options, folder


@pytest.mark.slow
def test_at_the_end_of_a_diff_the_truth_is_the_snapshot_after(run: Run, shops: tuple[Path, Path]) -> None:
    assert state(run[1] / "truth") == state(shops[1])
    about = read(run[1] / "truth")
    assert (about.command, about.empty, about.watermark) == ("diff", (), about.final_watermark)


@pytest.mark.slow
def test_during_a_diff_the_truth_is_what_consumers_have(run: Run, shops: tuple[Path, Path], tmp_path: Path) -> None:
    """At a start, around the statements, and at other times."""
    options, folder = run
    times, before, tables = times_of(folder / "out"), state(shops[0]), tables_of(shops[0])
    statements = [ts for ts in times if ts & 0xFFFF > 1]
    wanted = {tso.compose(tso.physical(ts)) for ts in (times[0], times[len(times) // 3], times[len(times) * 2 // 3])}
    for at in sorted({*wanted, statements[-1]}):
        assert play(*options, "--truth", tmp_path / "truth", "--at", at) == 0
        assert_truth(tmp_path / "truth", folder / "out", at, before, tables)
    assert play(*options, "--truth", tmp_path / "half", "--at", statements[-2]) == 2
    assert not (tmp_path / "half").exists()


def test_rows_of_a_partition_that_goes_later_are_beside_those_that_are_compared(tmp_path: Path) -> None:
    """They are copied from the snapshot into a file of their own."""
    low, high = "PARTITION low VALUES LESS THAN (5)", "PARTITION high VALUES LESS THAN (9)"
    for side, parts, rows in (("before", f"{low}, {high}", "1\n7\n"), ("after", high, "7\n")):
        (tmp_path / side).mkdir()
        table = f"CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY RANGE (id) ({parts});"
        (tmp_path / side / "shop.t-schema.sql").write_text(table)
        (tmp_path / side / "shop.t.csv").write_text(rows)
    run = "diff", tmp_path / "before", tmp_path / "after", "--sink-uri", URI, "--over", "5s", "--ddl-at", "end"
    assert play(*run, "--truth", tmp_path / "truth", "--at", "4s", "--master", "none") == 0
    assert state(tmp_path / "truth") == {("shop", "t"): [b"1", b"7"]}


def test_spark_writes_the_same_truth(spark: SparkSession, shops: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "changefeed.toml").write_text(FORCED)
    run = ("diff", *shops, "--sink-uri", URI, "--config", tmp_path / "changefeed.toml", "--over", "5s")
    for at, format in (("3s", "parquet"), ("2s", "csv")):
        for master in ("none", "local[*]"):
            where = tmp_path / f"{master[:4]}-{at}"
            assert play(*run, "--truth", where, "--truth-format", format, "--at", at, "--master", master) == 0
        assert state(tmp_path / f"none-{at}") == state(tmp_path / f"loca-{at}")
        assert {path.name for path in where.glob("*schema*")} == {
            path.name for path in (tmp_path / f"none-{at}").glob("*schema*")
        }


SCRIPTED = """\
CREATE TABLE a (id INT PRIMARY KEY, v INT);
CREATE TABLE b (id INT NOT NULL, v INT, UNIQUE KEY (id));
CREATE TABLE c (v INT);
"""
NUMBER = st.integers(0, 4)
STATEMENT = st.one_of(
    st.builds("REPLACE INTO {} VALUES ({}, {});".format, st.sampled_from("ab"), NUMBER, NUMBER),
    st.builds("INSERT INTO c VALUES ({}), ({});".format, NUMBER, NUMBER),
    st.builds("DELETE FROM c WHERE v = {} LIMIT 1;".format, NUMBER),
    st.builds("UPDATE {} SET v = v + {} WHERE id > {};".format, st.sampled_from("ab"), NUMBER, NUMBER),
    st.builds("UPDATE {} SET id = id + 1 WHERE id >= {} ORDER BY id DESC;".format, st.sampled_from("ab"), NUMBER),
    st.builds("DELETE FROM {} WHERE id = {};".format, st.sampled_from("ab"), NUMBER),
    st.sampled_from(
        [
            "BEGIN;",
            "COMMIT;",
            "ROLLBACK;",
            "TRUNCATE TABLE a;",
            "DROP TABLE IF EXISTS d;",
            "CREATE TABLE IF NOT EXISTS d (id INT PRIMARY KEY, v INT); REPLACE INTO d VALUES (1, 2);",
            "ALTER TABLE b MODIFY v BIGINT;",
            "ALTER TABLE a ALTER COLUMN v SET DEFAULT 3;",
        ]
    ),
)


@pytest.mark.slow
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STATEMENT, min_size=3, max_size=12), st.data())
def test_of_scripted_sql_the_truth_is_what_a_consumer_has_then(statements: list[str], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "changefeed.toml").write_text(FORCED)
        (place / "story.sql").write_text(SCRIPTED + "\n".join(statements))
        run = ("run", place / "story.sql", "--sink-uri", URI, "--config", place / "changefeed.toml")
        assert play(*run, "--fixtures", place / "out", "--truth", place / "last") == 0
        times = times_of(place / "out")
        assert_truth(place / "last", place / "out", times[-1], {}, {})
        asked = data.draw(st.sampled_from(times))
        at = tso.compose(tso.physical(asked))
        assert play(*run, "--truth", place / "then", "--at", at) == 0
        assert_truth(place / "then", place / "out", at, {}, {})
