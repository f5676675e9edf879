"""A run that is ended from outside, by a signal or by the death of one of its processes: what holds is said, in a line
or one for each partition, and nothing stays behind."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from subprocess import Popen

import pyarrow as pa
import pytest
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient
from support.cut_short import NOWHERE, RUN, commit_ts, held, require_true
from support.playing import play
from support.processes import children, end_within, errors, living, started, wait_for_stage, wait_until

from simulator import signals
from simulator.broker import server as broker
from simulator.broker.processes import free_port
from simulator.consumer import truth_metadata
from simulator.consumer.records import Record
from simulator.engines import in_process
from simulator.errors import DeliveryError

LESS = "fewer tasks at a time need less (--master local[1]; on a cluster spark.cores.max)"
KILLED = f"the kernel does that when memory runs out (dmesg tells); give the machine or container more, or {LESS}"


def ctrl_c(process: Popen[str]) -> None:
    """The terminal sends it to all processes of the command."""
    os.killpg(process.pid, signal.SIGINT)


def kill_java(process: Popen[str]) -> None:
    """As the kernel does when memory runs out."""
    for pid in children(process.pid, "java"):
        os.kill(pid, signal.SIGKILL)


def kill_python(process: Popen[str]) -> None:
    """All of Spark's Python processes, but for those that start them."""
    python = children(process.pid, "pyspark.worker")
    for pid, parent, _ in living():
        if pid in python and parent in python:
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("master", "end", "words", "code"),
    [
        ("local[2]", ctrl_c, "interrupted", 130),
        ("local[2]", kill_java, f"Spark's Java was killed: {KILLED}", 3),
        ("local[2]", kill_python, f"a Python process of Spark was killed, or crashed: {KILLED}", 3),
    ],
)
def test_what_is_said_of_partitions_is_true_of_the_topic(
    two_tables: tuple[str, Path, Path],
    whole: list[Record],
    kafka: str,
    master: str,
    end: Callable[[Popen[str]], None],
    words: str,
    code: int,
) -> None:
    """Each partition begins as the whole run's does, and lacks nothing below the commit-ts that was said."""
    topic = f"{master[:5]}-ended-by-{end.__name__}"
    uri = f"kafka://{kafka}/{topic}?protocol=open-protocol&partition-num=2"

    def well_on_its_way() -> bool:
        records = Counter(record.partition for record in held(kafka, topic))
        return min(records[0], records[1]) > 8

    with started(*two_tables, *RUN, uri, "--speed", "1", "--master", master) as process:
        wait_until(process, well_on_its_way)
        end(process)
        said = errors(process)

    assert said[0] == "each partition has at least every event below this commit-ts:"
    assert (said[-1], process.returncode) == (f"ticdc-sim: {words}", code)
    require_true(said[1:-1], kafka, topic, whole)


@pytest.mark.parametrize("sink", ["kafka", "console"])
def test_a_run_in_process_ends_at_a_watermark(
    two_tables: tuple[str, Path, Path], whole: list[Record], kafka: str, sink: str, tmp_path: Path
) -> None:
    """On every partition, with all that is older before it, and its truth is that of then; a sleep of real time does
    not hold it up."""
    topic = f"ended-gently-{sink}"
    uri = f"kafka://{kafka}/{topic}?protocol=open-protocol&partition-num=2"
    options = "--truth", tmp_path / "truth", *(("--console",) if sink == "console" else ())
    with started(*two_tables, *RUN, uri, "--speed", "1", "--master", "none", *options) as process:
        if sink == "console":
            assert process.stdout is not None
            shown = [process.stdout.readline() for _ in range(8)]
        else:
            wait_until(process, lambda: len(held(kafka, topic)) > 8)
        ctrl_c(process)
        said = errors(process)
        shown = [*shown, *process.stdout] if process.stdout is not None and sink == "console" else []

    found = re.fullmatch(r"stopped at watermark (\d+) \(2025-01-01 .* UTC\)", said[0])
    assert found and (said[1:], process.returncode) == (["ticdc-sim: interrupted"], 130)
    if sink == "console":
        last = [line.split() for line in shown if f" {found[1]} " in line and "WATERMARK" in line]
        assert {words[0].partition("@")[0] for words in last} == {f"{topic}/0", f"{topic}/1"}
        return
    for partition in (0, 1):
        sent = [record for record in held(kafka, topic) if record.partition == partition]
        expected = [record for record in whole if record.partition == partition]
        assert (sent[-1].partition, max(commit_ts([sent[-1]]))) == (partition, int(found[1]))
        wanted = Counter(ts for ts in commit_ts(expected) if ts <= int(found[1]))
        assert wanted - Counter(commit_ts(sent)) == Counter()
        assert len(sent) < len(expected)
    assert truth_metadata.read(tmp_path / "truth").watermark == int(found[1])
    assert play("verify", f"kafka://{kafka}/{topic}", "--truth", tmp_path / "truth") == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("master", "number", "words", "code"),
    [("local[2]", signal.SIGTERM, "stopped by SIGTERM", 143), ("none", signal.SIGHUP, "stopped by SIGHUP", 129)],
)
def test_a_signal_leaves_neither_fixtures_nor_a_truth(
    two_tables: tuple[str, Path, Path], tmp_path: Path, master: str, number: int, words: str, code: int
) -> None:
    """Even where others follow it while all is put away."""
    fixtures = tmp_path / "out" / "fixtures"
    options = "--fixtures", fixtures, "--truth", tmp_path / "out" / "truth", "--speed", "1", "--master", master
    with started(*two_tables, *RUN, NOWHERE, *options) as process:
        wait_until(process, lambda: any(fixtures.parent.glob(".*/shop/*.jsonl")))
        others = children(process.pid)
        for each in (number, number, signal.SIGTERM):  # of those that come together Python sees the lowest number first
            process.send_signal(each)
        assert errors(process) == ["no fixtures were written", "no truth was written", f"ticdc-sim: {words}"]
    assert process.returncode == code
    assert list(fixtures.parent.iterdir()) == []
    assert bool(others) == (master != "none") and end_within(60, others)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "end", "said", "code"),
    [
        (
            "starting Spark",
            lambda process: process.terminate(),
            ["no fixtures were written", "ticdc-sim: stopped by SIGTERM"],
            143,
        ),
        (
            "reading and comparing",
            kill_java,
            ["no fixtures were written", f"ticdc-sim: Spark's Java was killed: {KILLED}"],
            3,
        ),
    ],
)
def test_a_run_that_has_sent_nothing_yet_ends_as_well(
    two_tables: tuple[str, Path, Path],
    tmp_path: Path,
    stage: str,
    end: Callable[[Popen[str]], None],
    said: list[str],
    code: int,
) -> None:
    fixtures = tmp_path / "out" / "fixtures"
    with started(*two_tables, *RUN, NOWHERE, "--fixtures", fixtures, "--master", "local[2]") as process:
        wait_for_stage(process, stage)
        others = children(process.pid)
        end(process)
        assert errors(process) == said
    assert process.returncode == code
    assert end_within(60, others)
    assert list(fixtures.parent.iterdir()) == []


SIGNALLED_AT_IMPORT = """
import signal, sys
class Signalled:
    def find_spec(name, path, target=None):
        if name == {module!r}:
            sys.meta_path.remove(Signalled)
            signal.raise_signal(signal.SIGTERM)
sys.meta_path.insert(0, Signalled)
"""


@pytest.mark.slow
@pytest.mark.parametrize("module", ["pyspark", "py4j.protocol", "simulator.engines.on_spark"])
def test_a_signal_that_comes_while_spark_is_imported_ends_a_run_too(
    two_tables: tuple[str, Path, Path], tmp_path: Path, module: str
) -> None:
    fixtures = tmp_path / "out" / "fixtures"
    first = SIGNALLED_AT_IMPORT.format(module=module)
    options = "--fixtures", fixtures, "--master", "local[2]"
    with started(*two_tables, *RUN, NOWHERE, *options, first=first) as process:
        assert errors(process) == ["no fixtures were written", "ticdc-sim: stopped by SIGTERM"]
    assert process.returncode == 143
    assert list(fixtures.parent.iterdir()) == []


@pytest.mark.slow
def test_a_task_that_was_lost_is_not_run_again_even_where_spark_would(
    two_tables: tuple[str, Path, Path], tmp_path: Path
) -> None:
    """`local[2,4]` has Spark try four times; what the first try wrote would be there twice."""
    fixtures = tmp_path / "out" / "fixtures"
    options = "--fixtures", fixtures, "--speed", "1", "--master", "local[2,4]"
    with started(*two_tables, *RUN, NOWHERE, *options) as process:
        wait_until(process, lambda: any(fixtures.parent.glob(".*/shop/*.jsonl")))
        kill_python(process)
        assert errors(process) == [
            "no fixtures were written",
            "ticdc-sim: a task of Spark was lost while it sent; it is not run again, as that would send all twice",
        ]
    assert process.returncode == 3
    assert list(fixtures.parent.iterdir()) == []


def test_who_follows_a_topic_is_stopped_by_sigterm_and_not_by_a_closed_terminal_under_nohup(kafka: str) -> None:
    """A signal that was ignored from the start stays ignored."""
    with closing(KafkaAdminClient(bootstrap_servers=[kafka])) as client:
        client.create_topics({"followed": {"num_partitions": 1, "replication_factor": 1}})
    with (
        closing(KafkaProducer(bootstrap_servers=[kafka])) as producer,
        started("inspect", f"kafka://{kafka}/followed", "--follow", ignored=(signal.SIGHUP,)) as process,
    ):
        producer.send("followed", b"one").get(30)
        assert process.stdout is not None
        assert process.stdout.readline().startswith("followed/0@0 ")
        process.send_signal(signal.SIGHUP)
        producer.send("followed", b"two").get(30)
        assert process.stdout.readline().startswith("followed/0@1 ")
        process.send_signal(signal.SIGTERM)
        assert errors(process) == ["ticdc-sim: stopped by SIGTERM"]
    assert process.returncode == 143


LOST = (
    "Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure: Lost task 0.0 in stage "
    "3.0 (TID 7) (127.0.0.1 executor 1): ExecutorLostFailure (executor 1 exited caused by one of the running tasks) "
    "Reason: Remote RPC client disassociated. Likely due to containers exceeding thresholds.\nDriver stacktrace:"
)

FEWER = "Spark has lost executors and got no others for a minute: its workers are gone, or have no free cores or memory"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LOST, f"a process of Spark was lost: executor 1 exited caused by one of the running tasks; {KILLED}"),
        (
            LOST.replace("caused by one of", "unrelated to"),
            "a process of Spark was lost: executor 1 exited unrelated to the running tasks; its worker was lost, or the "
            "machine (the log of Spark's master tells)",
        ),
        (
            "Lost task 0.0: java.lang.OutOfMemoryError: Java heap space\n\tat java.base",
            f"the memory of Spark's Java is full: {LESS}",
        ),
        (
            "org.apache.spark.SparkException: [PYTHON_WORKER_CREATION] Python worker failed to connect back.",
            "a Python process of Spark did not start in time: the machine may be too busy",
        ),
        (
            "org.apache.spark.scheduler.BarrierJobSlotsNumberCheckFailed: [SPARK-24819]: Barrier execution mode does not "
            "allow run a barrier stage that requires more slots than the total number of slots in the cluster currently.",
            FEWER,
        ),
        ("org.apache.spark.SparkException: Job 3 cancelled as part of cancellation of all jobs", FEWER),
        (
            "Job aborted due to stage failure: ResultStage 4 has failed the maximum allowable number of times: 1. Most "
            "recent failure reason:\norg.apache.spark.shuffle.MetadataFetchFailedException: Missing an output location",
            "a process of Spark was lost, and with it what it had read and compared",
        ),
    ],
)
def test_a_part_of_spark_that_was_lost_is_one_line(text: str, words: str) -> None:
    """As Spark 4.3 says it, in the middle of its stack."""
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


def test_memory_that_the_engine_in_process_does_not_get_is_one_line(
    two_tables: tuple[str, Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(in_process, "send", full)
    fixtures = tmp_path / "out" / "fixtures"
    assert play(*two_tables, *RUN, NOWHERE, "--fixtures", fixtures, "--master", "none") == 3
    assert capfd.readouterr().err.splitlines()[-2:] == [
        "no fixtures were written",
        "ticdc-sim: the memory of this process is full; --master 'local[*]' compares snapshots of any size",
    ]
    assert list(fixtures.parent.iterdir()) == []


@pytest.mark.slow
def test_a_broker_whose_start_is_stopped_does_not_run(tmp_path: Path) -> None:
    with started("broker", "start", "--directory", tmp_path, "--port", free_port()) as process:
        wait_until(process, (tmp_path / broker.STATE).exists)
        process.send_signal(signal.SIGHUP)
        assert errors(process) == ["ticdc-sim: stopped by SIGHUP"]
    assert process.returncode == 129
    assert broker.status(tmp_path) is None


@pytest.fixture
def heard() -> Iterator[None]:
    """Signals are not ignored here, as they are in a process that nohup started."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in signals.WORDS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("heard")
def test_signals_wait_for_what_may_not_be_torn_and_the_first_one_counts() -> None:
    done = []
    with pytest.raises(signals.Stopped, match="^stopped by SIGHUP$"), signals.stop_on_signal():
        with signals.defer_signals():
            signal.raise_signal(signal.SIGHUP)
            signal.raise_signal(signal.SIGTERM)
            done.append("all of it")
        done.append("what comes after it")
    assert done == ["all of it"]


@pytest.mark.usefixtures("heard")
def test_a_second_signal_changes_nothing_while_the_first_one_is_followed() -> None:
    done = []
    with pytest.raises(signals.Stopped, match="^interrupted$"), signals.stop_on_signal():
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            signal.raise_signal(signal.SIGTERM)
            done.append("put away")
    assert done == ["put away"]
