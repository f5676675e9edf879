"""A Spark cluster whose workers have a working directory of their own: it sends the records that a single process sends,
and the death of its processes is survived, or told.

Every command is a process here: a process has one Spark, and that of the test session is local.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cut_short import RUN, held, require_true
from support.kafka_fixture import require_kafka_jars
from support.playing import BY_KEY, play, state
from support.processes import children, errors, kill, members, started, wait_until
from support.spark_cluster import Cluster, executors, running

from simulator.reader.records import Record

SCHEMA = "CREATE TABLE `{}` (`id` int PRIMARY KEY, `v` varchar(900));\n"
URI = "kafka://127.0.0.1:1/shop?protocol=open-protocol&partition-num=3&max-message-bytes=700"
CONFIG = """\
[sink.kafka-config.large-message-handle]
large-message-handle-option = "claim-check"
claim-check-storage-uri = "claims"
"""
TESTS = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers; the last test of this file kills them."""
    with running(tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with two snapshots of tables in each format and a changefeed.toml."""
    for number, side in enumerate(("before", "after")):
        (tmp_path / side).mkdir()
        rows = [(key, f"{side} " * key) for key in range(number * 9, 60)]
        for table in ("c", "p", "s"):
            (tmp_path / side / f"shop.{table}-schema.sql").write_text(SCHEMA.format(table))
        (tmp_path / side / "shop.c.csv").write_text("".join(f"{key},{text}\n" for key, text in rows))
        values = ",\n".join(f"({key},'{text}')" for key, text in rows)
        (tmp_path / side / "shop.s.0.sql").write_text(f"INSERT INTO `s` VALUES\n{values};\n")
        keys, texts = zip(*rows)
        pq.write_table(pa.table({"id": keys, "v": texts}), tmp_path / side / "shop.p.parquet")
    (tmp_path / "changefeed.toml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def taken(home: Path) -> dict[Path, bytes]:
    """The files that a run has made, whose truth is the snapshot after; they are removed."""
    assert state(home / "truth") == state(home / "after")  # in as many files as there are tasks
    files = [path for name in ("fixtures", "claims") for path in (home / name).rglob("*") if path.is_file()]
    found = {path.relative_to(home): path.read_bytes() for path in files}
    for name in ("truth", "fixtures", "claims"):
        shutil.rmtree(home / name)
    return found


def test_two_workers_elsewhere_give_the_files_that_one_process_gives(home: Path, cluster: Cluster) -> None:
    """Byte for byte, though no worker knows the directory that the command was typed in, nor has the package."""
    files = "--config", "changefeed.toml", "--fixtures", "fixtures", "--truth", "truth"
    command = "diff", "before", "after", "--sink-uri", URI, *files, "--master"
    with started(*command, cluster.url) as process:
        said = errors(process)
    assert process.returncode == 0, said
    found = taken(home)

    assert play(*command, "none") == 0
    assert taken(home) == found
    assert {path.parts[0] for path in found} == {"fixtures", "claims"}
    assert all(list(worker.glob("app-*/*/stderr")) for worker in cluster.workers)


@pytest.mark.kafka
@pytest.mark.long(reason="Python that is killed while it sends ends a run, too; verifications lose executors")
def test_an_executor_that_is_lost_while_it_sends_ends_the_run(
    cluster: Cluster, kafka: str, two_tables: tuple[str, Path, Path], whole: list[Record]
) -> None:
    """It is reported in one line, after the certain events of each partition; no other executor sends again."""
    topic = "an-executor-is-lost"
    uri = f"kafka://{kafka}/{topic}?protocol=open-protocol&partition-num=2"

    def well_on_its_way() -> bool:
        records = Counter(record.partition for record in held(kafka, topic))
        return min(records[0], records[1]) > 8

    with started(*two_tables, *RUN, uri, "--speed", "1", "--master", cluster.url) as process:
        wait_until(process, well_on_its_way)
        os.kill(executors(cluster.workers[0])[0], signal.SIGKILL)
        said = errors(process)

    lost = "ticdc-sim: a process of Spark was lost: executor [01] exited caused by one of the running tasks; .*"
    assert said[0] == "each partition has at least every event below this commit-ts:"
    assert re.fullmatch(lost, said[-1]) and process.returncode == 3
    assert len(said) == 4
    require_true(said[1:-1], kafka, topic, whole)


@pytest.mark.kafka
@pytest.mark.long(reason="other deaths than that of Python processes (load/test_load_on_spark.py), on three brokers")
def test_a_load_that_loses_a_machine_loses_no_row(tmp_path: Path) -> None:
    """`tests/benchmarks/cluster` in short: an executor, a worker with its executors, then one of the brokers are killed;
    what is sent again is above the last watermark."""
    require_kafka_jars()
    kills, results = ("executor", "worker", "broker"), tmp_path / "results.jsonl"
    command = [sys.executable, "-m", "cluster", "--command", "load", "--seed", "24", "--results", str(results)]
    done = subprocess.run(
        [*command, *(word for kill in kills for word in ("--kill", kill))],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(TESTS), str(TESTS / "benchmarks")))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = [json.loads(line) for line in results.read_text().splitlines()]
    assert [outcome["kill"] for outcome in outcomes] == [*kills]
    for outcome in outcomes:
        assert outcome["at"] is not None
        assert [outcome["counts"][name] for name in ("lost", "misordered", "again_below")] == [0, 0, 0]


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that lacks a row change, and beside it its truth."""
    found = tmp_path_factory.mktemp("verified") / "stream"
    (found.parent / "changefeed.toml").write_text(BY_KEY)
    uri = "kafka://127.0.0.1:1/read?protocol=open-protocol&partition-num=2"
    options = "--sink-uri", uri, "--config", found.parent / "changefeed.toml", "--master", "none"
    size = "--preset", "bank", "--rate", 10000, "--duration", "4s"
    assert play("load", *size, *options, "--fixtures", found, "--truth", found.with_name("truth")) == 0
    file = max(found.rglob("*.jsonl"), key=lambda path: path.stat().st_size)
    lines = file.read_text().splitlines(True)
    file.write_text("".join(lines[:5000] + lines[5001:]))
    return found


VERIFIED_TWICE = """
import sys
from simulator.cli import run
from simulator.engines.spark import session
print("exit code", run(sys.argv[1:]), flush=True)
session.LOST_TIMEOUT = 1
"""
"""A verification before the one of the command, in one session of Spark. The second one waits a second for executors in
place of a minute."""


def test_a_verification_outlives_executors_and_says_when_there_are_none(
    cluster: Cluster, stream: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a stream that lacks a row change: one executor is killed while it reads a partition, the other when it has read,
    and the verdict is that without Spark. Then all workers are killed: Spark itself would wait for others for ever."""
    command = "verify", stream, "--truth", stream.with_name("truth"), "--json"
    capsys.readouterr()
    assert play(*command, "--master", "none") == 1
    expected = verdict(capsys.readouterr().out)
    assert expected["failures"]

    gone = {executor for worker in cluster.workers for executor in executors(worker)}
    with started(*command, "--master", cluster.url, first=VERIFIED_TWICE) as process:
        assert process.stdout is not None
        wait_until(process, lambda: all({*executors(worker)} - gone for worker in cluster.workers))
        reading, read = ({*executors(worker)} - gone for worker in cluster.workers)
        for victim, has_read in ((reading.pop(), False), (read.pop(), True)):
            wait_until(process, lambda: reads(victim, stream), 0.01)
            if has_read:
                wait_until(process, lambda: not reads(victim, stream), 0.01)
            with suppress(ProcessLookupError):  # the verification may be over when all is read
                os.kill(victim, signal.SIGKILL)
        found = [""]
        while not found[-1].startswith("exit code") and (line := process.stdout.readline()):
            found.append(line)
        assert (found[-1], verdict("".join(found[:-1]))) == ("exit code 1\n", expected)

        wait_until(
            process, lambda: any(reads(each, stream) for worker in cluster.workers for each in executors(worker)), 0.01
        )
        for worker in cluster.sessions:
            kill(members(worker))
        said = errors(process)

    lost = "Spark has lost executors and got no others for a minute"
    why = "its workers are gone, or have no free cores or memory"
    mistakes = [line for line in said if not line.startswith("reading, on Spark")]
    assert (process.returncode, mistakes) == (3, [f"ticdc-sim: {lost}: {why}"])


def reads(executor: int, directory: Path) -> bool:
    """Whether one of its Python processes has a file below that directory open."""
    for pid in children(executor):
        with suppress(OSError):  # it may have ended
            if any(directory in Path(os.readlink(fd)).parents for fd in Path(f"/proc/{pid}/fd").iterdir()):
                return True
    return False


def verdict(text: str) -> dict[str, Any]:
    """What a verification found, without how it was done."""
    found: dict[str, Any] = json.loads(text)
    return {name: value for name, value in found.items() if name not in ("engine", "started", "seconds")}
