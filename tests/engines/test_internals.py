"""What is used of Spark's internals has a fallback: a version without it gives the same messages."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.playing import play

from simulator.engines import in_process

SCHEMA = "CREATE TABLE item (id int PRIMARY KEY, note text);"
URI = "kafka://127.0.0.1:9092/shop?protocol=open-protocol&partition-num=3"
INTERNALS = "simulator.engines.spark.internals"
MISSING = "spark.sql.no.such.setting", "org.apache.spark.sql.NoSuchRule"


@pytest.fixture
def on_spark(spark: Any) -> Any:
    """The engine, whose import needs pyspark."""
    from simulator.engines import on_spark

    return on_spark


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two snapshots of one table, with a column that may be wide."""
    home = tmp_path_factory.mktemp("states")
    for name, first in (("before", 0), ("after", 40)):
        (home / name).mkdir()
        (home / name / "shop.item-schema.sql").write_text(SCHEMA)
        (home / name / "shop.item.csv").write_text("".join(f"{key},{name}\n" for key in range(first, 300)))
    return home / "before", home / "after"


def files(states: tuple[Path, Path], out: Path, master: str) -> dict[str, bytes]:
    """What a diff writes on that master, where rows are dispatched by their keys."""
    config = out.parent / "changefeed.toml"
    config.write_text('[sink]\ndispatchers = [{matcher = ["*.*"], partition = "index-value"}]\n')
    options = ("--sink-uri", URI, "--config", config, "--fixtures", out, "--master", master)
    assert play("diff", *states, *options) == 0
    return {path.name: path.read_bytes() for path in (out / "shop").iterdir()}


def without_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches end by rows alone; no stage runs alone."""
    monkeypatch.setattr(f"{INTERNALS}.BATCH_BYTES", MISSING[0])
    monkeypatch.setattr(f"{INTERNALS}._frame", lambda frame: frame._jdf.schema())


def without_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adaptive execution has other rules than the one that is excluded."""
    monkeypatch.setattr(f"{INTERNALS}.EXCLUDED_RULE", MISSING[1])


def test_this_spark_needs_no_fallback(spark: Any, on_spark: Any) -> None:
    """A fallback gives the same messages, so that nothing but the time would tell."""
    from simulator.engines.spark import internals

    assert internals.excludes_rule(spark)
    assert internals.knows_setting(spark, internals.BATCH_BYTES)
    spark.conf.set(on_spark.ADAPTIVE, "true")
    assert internals.run_shuffles(spark.range(9).repartition(3))
    assert internals.has_daemon()


@pytest.mark.parametrize("lacks", [without_setting, without_rule])
def test_a_spark_that_lacks_internals_gives_the_same_messages(
    spark: Any, states: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacks: Any
) -> None:
    expected = files(states, tmp_path / "in-process", "none")
    lacks(monkeypatch)

    assert files(states, tmp_path / "on-spark", "local[2]") == expected
    assert len(expected) >= 3


def test_duplicate_keys_are_refused_before_anything_is_sent_without_internals(
    spark: Any, states: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    twice = tmp_path / "twice"
    twice.mkdir()
    (twice / "shop.item-schema.sql").write_text(SCHEMA)
    (twice / "shop.item.csv").write_text("2,a\n1,b\n2,c\n")
    without_setting(monkeypatch)

    out = tmp_path / "out"
    assert play("diff", twice, states[1], "--sink-uri", URI, "--fixtures", out, "--master", "local[2]") == 2
    assert "duplicate key in a snapshot: table shop.item has several rows with id=2" in capsys.readouterr().err
    assert not out.exists()


def test_slots_are_cores_where_spark_does_not_tell_them(spark: Any, on_spark: Any) -> None:
    """And one, which is always free, where the user has said another number of tasks."""
    plain, configured = (
        SimpleNamespace(
            _jsc=spark.sparkContext, defaultParallelism=2, getConf=lambda said=said: SimpleNamespace(contains=said)
        )
        for said in (lambda name: False, lambda name: True)
    )
    slots: Any = on_spark.internals.slots
    assert [slots(spark.sparkContext), slots(plain), slots(configured)] == [2, 2, 1]


def test_a_pyspark_without_private_names_is_used_without_them(
    spark: Any, on_spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    internals: Any = on_spark.internals
    assert internals.java_process() is not None and internals.has_daemon()
    assert internals.active_context() is spark.sparkContext
    for name in ("SparkContext._gateway", "SparkContext._active_spark_context", "daemon.manager"):
        monkeypatch.delattr(f"pyspark.{name}")

    assert (internals.java_process(), internals.active_context()) == (None, None)
    assert not internals.java_is_starting() and not internals.has_daemon()
    internals.silence_accumulators(SimpleNamespace())


def test_errors_of_work_itself_are_no_missing_internals(spark: Any, on_spark: Any) -> None:
    """They come through, as what they are."""

    def fail(batches: Any) -> Any:
        for _ in batches:
            raise RuntimeError("as told")
        yield from ()

    spark.conf.set(on_spark.ADAPTIVE, "true")
    frame = on_spark.map_in_arrow(spark.range(2).repartition(2), fail, in_process.NO_CHANGES.schema)
    with pytest.raises(Exception, match="as told"):
        on_spark.internals.run_shuffles(frame.repartition(2))
