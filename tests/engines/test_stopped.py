"""A run that is ended from outside, by a signal or by the death of one of its processes: what holds is said, in a line or
one for each partition, and nothing stays behind.

Such a run is a process of its own, with a Spark of its own.
"""

from __future__ import annotations

import importlib
import os
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from subprocess import Popen

import pytest
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient
from support.cut_short import NOWHERE, RUN, commit_ts, held, require_true
from support.playing import play
from support.processes import children, end_within, errors, kill, started, wait_for_stage, wait_until

from simulator import broker, signals
from simulator.broker.java import free_port
from simulator.cli import run
from simulator.engines import in_process
from simulator.reader import truth_metadata
from simulator.reader.records import Record

LESS = "fewer tasks at a time need less (--master local[1]; on a cluster spark.cores.max)"
JAVA_KILLED = (
    "Spark's Java was killed: the kernel does that when memory runs out (dmesg tells); give the machine or container "
    f"more, or {LESS}"
)


def ctrl_c(process: Popen[str]) -> None:
    """The terminal sends it to all processes of the command."""
    os.killpg(process.pid, signal.SIGINT)


def kill_java(process: Popen[str]) -> None:
    """As the kernel does when memory runs out."""
    kill(children(process.pid, "java"))


@pytest.mark.parametrize(
    ("end", "words", "code"),
    [
        pytest.param(ctrl_c, "interrupted", 130, id="ctrl-c"),
        pytest.param(
            *(kill_java, JAVA_KILLED, 3),
            id="java killed",
            marks=pytest.mark.long(
                reason="Java that is killed while tasks read says the same, processes of Python which part"
            ),
        ),
    ],
)
def test_what_is_said_of_partitions_is_true_of_the_topic(
    two_tables: tuple[str, Path, Path],
    whole: list[Record],
    kafka: str,
    end: Callable[[Popen[str]], None],
    words: str,
    code: int,
) -> None:
    """Each partition begins as the whole run's does, and lacks nothing below the commit-ts that was said."""
    topic = f"ended-by-{end.__name__}"
    uri = f"kafka://{kafka}/{topic}?protocol=open-protocol&partition-num=2"

    def well_on_its_way() -> bool:
        records = Counter(record.partition for record in held(kafka, topic))
        return min(records[0], records[1]) > 8

    with started(*two_tables, *RUN, uri, "--speed", "1", "--master", "local[2]") as process:
        wait_until(process, well_on_its_way)
        others = children(process.pid)
        end(process)
        said = errors(process)

    assert said[0] == "each partition has at least every event below this commit-ts:"
    assert (said[-1], process.returncode) == (f"ticdc-sim: {words}", code)
    require_true(said[1:-1], kafka, topic, whole)
    assert others and end_within(60, others)


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
        assert process.stdout is not None
        shown = [process.stdout.readline() for _ in range(8)] if sink == "console" else []
        wait_until(process, lambda: sink == "console" or len(held(kafka, topic)) > 8)
        ctrl_c(process)
        said = errors(process)
        shown += process.stdout if sink == "console" else []

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
    ("master", "number", "words"),
    [
        ("none", signal.SIGHUP, "stopped by SIGHUP"),
        pytest.param(
            "local[2]",
            signal.SIGTERM,
            "stopped by SIGTERM",
            marks=pytest.mark.long(
                reason="a signal while Spark sends is tested with Kafka, one while it starts with files"
            ),
        ),
    ],
)
def test_a_signal_leaves_neither_fixtures_nor_a_truth(
    two_tables: tuple[str, Path, Path], tmp_path: Path, master: str, number: int, words: str
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
    assert process.returncode == 128 + number
    assert list(fixtures.parent.iterdir()) == []
    assert bool(others) == (master != "none") and end_within(60, others)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "end", "words", "code"),
    [
        ("starting Spark", Popen[str].terminate, "stopped by SIGTERM", 143),
        ("reading and comparing", kill_java, JAVA_KILLED, 3),
    ],
)
def test_a_run_that_has_sent_nothing_yet_ends_as_well(
    two_tables: tuple[str, Path, Path],
    tmp_path: Path,
    stage: str,
    end: Callable[[Popen[str]], None],
    words: str,
    code: int,
) -> None:
    fixtures = tmp_path / "out" / "fixtures"
    with started(*two_tables, *RUN, NOWHERE, "--fixtures", fixtures, "--master", "local[2]") as process:
        wait_for_stage(process, stage)
        others = children(process.pid)
        end(process)
        assert errors(process) == ["no fixtures were written", f"ticdc-sim: {words}"]
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
@pytest.mark.parametrize(
    "module",
    [
        "pyspark",
        *(
            pytest.param(module, marks=pytest.mark.long(reason="another moment of the same start"))
            for module in ("py4j.protocol", "simulator.engines.on_spark")
        ),
    ],
)
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


def test_inspect_that_follows_a_topic_ends_by_sigterm_and_under_nohup_not_by_a_closed_terminal(kafka: str) -> None:
    """A signal that was ignored from the start stays ignored."""
    with closing(KafkaAdminClient(bootstrap_servers=[kafka])) as client:
        client.create_topics({"followed": {"num_partitions": 1, "replication_factor": 1}})
    with (
        closing(KafkaProducer(bootstrap_servers=[kafka])) as producer,
        started("inspect", f"kafka://{kafka}/followed", "--follow", ignored=(signal.SIGHUP,)) as process,
    ):
        assert process.stdout is not None
        for number in range(2):
            producer.send("followed", b"one").get(30)
            assert process.stdout.readline().startswith(f"followed/0@{number} ")
            process.send_signal(signal.SIGTERM if number else signal.SIGHUP)
        assert errors(process) == ["ticdc-sim: stopped by SIGTERM"]
    assert process.returncode == 143


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
        wait_until(process, (tmp_path / broker.BROKER.state).exists)
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


@pytest.mark.usefixtures("heard")
def test_a_signal_that_comes_twice_at_once_is_one_request_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `timeout` sends it: to the process, and to its group."""
    with signals.stop_gracefully() as asked:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        assert asked.number == signal.SIGTERM
        with pytest.raises(signals.Stopped, match="^interrupted$"):
            signal.raise_signal(signal.SIGINT)
        monkeypatch.setattr(signals, "TOGETHER", 0.0)
        with pytest.raises(signals.Stopped, match="^stopped by SIGTERM$"):
            signal.raise_signal(signal.SIGTERM)


@pytest.mark.usefixtures("heard")
def test_a_signal_while_a_module_is_imported_ends_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python's compiler swallows what a handler raises, unless it is a KeyboardInterrupt, of which click makes another."""
    tmp_path.joinpath("signalled.py").write_text("import signal; signal.raise_signal(signal.SIGTERM)")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt, match="^stopped by SIGTERM$"), signals.stop_on_signal():
        importlib.import_module("signalled")

    monkeypatch.setattr("simulator.cli.scenarios.scenarios", lambda **_: importlib.import_module("signalled"))
    assert run(["scenarios"]) == 143
    assert capsys.readouterr().err == "ticdc-sim: stopped by SIGTERM\n"
