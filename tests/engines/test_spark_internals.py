"""What is used of Spark's internals has a fallback: a version without it gives the same messages. What Spark says of lost
processes and full memory becomes one line."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from support.cut_short import RUN, held, require_true
from support.playing import error_of, play
from support.processes import children, living

from simulator.engines import in_process
from simulator.engines.spark.master import chosen_master
from simulator.errors import DeliveryError
from simulator.reader.records import Record

SCHEMA = "CREATE TABLE item (id int PRIMARY KEY, note text);"
URI = "kafka://127.0.0.1:9092/shop?protocol=open-protocol&partition-num=3"
INTERNALS = "simulator.engines.spark.internals"
MISSING = "spark.sql.no.such.setting", "org.apache.spark.sql.NoSuchRule"


@pytest.fixture
def on_spark(spark: Any) -> Any:
    """The engine, whose import needs pyspark."""
    from simulator.engines import on_spark

    return on_spark


def export(directory: Path, rows: str) -> Path:
    """A snapshot of one table, with a column that may be wide."""
    directory.mkdir()
    (directory / "shop.item-schema.sql").write_text(SCHEMA)
    (directory / "shop.item.csv").write_text(rows)
    return directory


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    home = tmp_path_factory.mktemp("states")
    before, after = ("".join(f"{key},{first}\n" for key in range(first, 300)) for first in (0, 40))
    return export(home / "before", before), export(home / "after", after)


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
    internals: Any = on_spark.internals
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
    spark: Any, states: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    twice, out = export(tmp_path / "twice", "2,a\n1,b\n2,c\n"), tmp_path / "out"
    without_setting(monkeypatch)

    assert "duplicate key in a snapshot: table shop.item has several rows with id=2" in error_of(
        "diff", twice, states[1], "--sink-uri", URI, "--fixtures", out, "--master", "local[2]"
    )
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


def test_a_pyspark_without_private_names_is_used(spark: Any, on_spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    internals: Any = on_spark.internals
    assert internals.java_process() is not None
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


def test_under_spark_submit_auto_is_where_the_program_was_sent(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert chosen_master("auto", False) == spark.sparkContext.master == "local[2]"
    assert chosen_master("auto", True) == "none"


LESS = "fewer tasks at a time need less (--master local[1]; on a cluster spark.cores.max)"
KILLED = f"the kernel does that when memory runs out (dmesg tells); give the machine or container more, or {LESS}"
FEWER = "Spark has lost executors and got no others for a minute: its workers are gone, or have no free cores or memory"
LOST = (
    "Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure: Lost task 0.0 in stage "
    "3.0 (TID 7) (127.0.0.1 executor 1): ExecutorLostFailure (executor 1 exited {} the running tasks) "
    "Reason: Remote RPC client disassociated. Likely due to containers exceeding thresholds.\nDriver stacktrace:"
)
FAILURES = {
    LOST.format(
        "caused by one of"
    ): "a process of Spark was lost: executor 1 exited caused by one of the running tasks; " + KILLED,
    LOST.format(
        "unrelated to"
    ): "a process of Spark was lost: executor 1 exited unrelated to the running tasks; its worker "
    "was lost, or the machine (the log of Spark's master tells)",
    "Lost task 0.0: java.lang.OutOfMemoryError: Java heap space\n\tat java.base": "the memory of Spark's Java is full: "
    + LESS,
    "org.apache.spark.SparkException: [PYTHON_WORKER_CREATION] Python worker failed to connect back.": "a Python process of "
    "Spark did not start in time: the machine may be too busy",
    "org.apache.spark.scheduler.BarrierJobSlotsNumberCheckFailed: [SPARK-24819]: Barrier execution mode does not allow run a "
    "barrier stage that requires more slots than the total number of slots in the cluster currently.": FEWER,
    "org.apache.spark.SparkException: Job 3 cancelled as part of cancellation of all jobs": FEWER,
    "Job aborted due to stage failure: ResultStage 4 has failed the maximum allowable number of times: 1. Most recent "
    "failure reason:\norg.apache.spark.shuffle.MetadataFetchFailedException: Missing an output location": "a process of "
    "Spark was lost, and with it what it had read and compared",
}
"""As Spark 4.3 says it, in the middle of its stack."""


@pytest.mark.slow
@pytest.mark.parametrize(("text", "words"), FAILURES.items())
def test_a_part_of_spark_that_was_lost_is_one_line(text: str, words: str) -> None:
    from py4j.protocol import Py4JError

    from simulator.engines.spark.failures import unwrap_errors

    with pytest.raises(DeliveryError, match=f"^{re.escape(words)}$"), unwrap_errors():
        raise Py4JError(text)


@pytest.mark.slow
def test_memory_that_a_task_does_not_get_is_one_line() -> None:
    from py4j.protocol import Py4JError

    from simulator.engines.spark.failures import unwrap_errors, wrap_errors

    with pytest.raises(RuntimeError) as carried, wrap_errors():
        raise pa.ArrowMemoryError("malloc of size 98313792 failed")
    words = f"the memory of a Python process of Spark is full: {LESS}"
    with pytest.raises(DeliveryError, match=f"^{re.escape(words)}$"), unwrap_errors():
        raise Py4JError(str(carried.value))


def test_a_lost_task_is_not_run_again_even_where_spark_would(on_spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`local[2,4]` has Spark try four times; what the first try wrote would be there twice."""
    from py4j.protocol import Py4JError

    from simulator.engines.spark.failures import unwrap_errors

    monkeypatch.setattr(on_spark, "TaskContext", SimpleNamespace(get=lambda: SimpleNamespace(attemptNumber=lambda: 1)))
    with pytest.raises(RuntimeError) as carried:
        next(on_spark._sending(iter(()), None, None, 2))
    words = "a task of Spark was lost while it sent; it is not run again, as that would send all twice"
    with pytest.raises(DeliveryError, match=f"^{words}$"), unwrap_errors():
        raise Py4JError(str(carried.value))


@pytest.mark.kafka
def test_a_run_whose_python_processes_are_killed_says_what_each_partition_has(
    spark: Any, kafka: str, two_tables: tuple[str, Path, Path], whole: list[Record], capfd: pytest.CaptureFixture[str]
) -> None:
    """All of Spark's, but for those that start them."""
    topic = "python-killed"
    uri = f"kafka://{kafka}/{topic}?protocol=open-protocol&partition-num=2"

    def kill_python() -> None:
        records, until = Counter[int](), time.monotonic() + 60
        while min(records[0], records[1]) <= 8 and time.monotonic() < until:
            time.sleep(0.2)
            records = Counter(record.partition for record in held(kafka, topic))
        python = children(os.getpid(), "pyspark.worker")
        for pid, parent, _ in living():
            if pid in python and parent in python:
                os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_python)
    killer.start()
    assert play(*two_tables, *RUN, uri, "--speed", "1", "--master", "local[2]") == 3
    killer.join()
    said = [line for line in capfd.readouterr().err.splitlines() if line and not line.endswith(" …")]

    assert said[0] == "each partition has at least every event below this commit-ts:"
    assert said[-1] == f"ticdc-sim: a Python process of Spark was killed, or crashed: {KILLED}"
    require_true(said[1:-1], kafka, topic, whole)


def test_a_spark_that_takes_no_process_group_starts_java_itself(on_spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    internals, started = on_spark.internals, list[object]()
    monkeypatch.setattr(internals.SparkContext, "_gateway", None)
    monkeypatch.setattr(internals.java_gateway, "launch_gateway", lambda conf: started.append(conf))
    internals.start_java({})
    assert started == []
