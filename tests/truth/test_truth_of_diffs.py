"""The truth between two snapshots: at every watermark it is what a consumer has that replays the stream."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.playing import play, state, tables_of
from support.truths import Replay, assert_truth, marks, replayed

from simulator import tso
from simulator.consumer.truth_metadata import read
from simulator.ticdc.changefeed import load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

URI = "kafka://127.0.0.1:9092/shop?protocol=open-protocol&partition-num=2&max-batch-size=1"
FORCED = "force-replicate = true\n"
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


@pytest.fixture(scope="module", params=["start", "middle", "end"])
def run(request: pytest.FixtureRequest, shops: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run, by where its statements stand."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "changefeed.toml").write_text(FORCED)
    options = (
        "diff",
        *shops,
        "--sink-uri",
        URI,
        "--config",
        folder / "changefeed.toml",
        "--ddl-at",
        request.param,
        "--master",
        "none",
        "--over",
        "5s",
    )
    assert play(*options, "--fixtures", folder / "out", "--truth", folder / "truth") == 0
    return options, folder


Run = tuple[tuple[object, ...], Path]


def consumed(run: Run, before: Path, until: int) -> Replay:
    return replayed(run[1] / "out", load(URI, FORCED), state(before), tables_of(before), until)


def test_at_the_end_it_is_the_snapshot_after(run: Run, shops: tuple[Path, Path]) -> None:
    assert state(run[1] / "truth") == state(shops[1])
    about = read(run[1] / "truth")
    assert (about.command, about.empty, about.watermark) == ("diff", (), about.final_watermark)


@pytest.mark.slow
def test_between_it_is_what_a_consumer_has_then(run: Run, shops: tuple[Path, Path], tmp_path: Path) -> None:
    """At a start, around the statements, and at other times."""
    options, folder = run
    times = marks(folder / "out", load(URI, FORCED))
    statements = [ts for ts in times if ts & 0xFFFF > 1]
    wanted = {tso.compose(tso.physical(ts)) for ts in (times[0], times[len(times) // 3], times[len(times) * 2 // 3])}
    for at in sorted({*wanted, statements[-1]}):
        assert play(*options, "--truth", tmp_path / "truth", "--at", at) == 0
        assert_truth(tmp_path / "truth", consumed(run, shops[0], at))
    assert play(*options, "--truth", tmp_path / "half", "--at", statements[-2]) == 2
    assert not (tmp_path / "half").exists()


def test_spark_writes_the_same(spark: SparkSession, shops: tuple[Path, Path], tmp_path: Path) -> None:
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
