"""A Spark cluster: workers with a working directory of their own give the same records as a single process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

from simulator.broker.server import free_port

SPARK = Path(pyspark.__file__).parent
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a Java that ends before its second compiler and several collectors pay."""

SCHEMA = "CREATE TABLE `{}` (`id` int PRIMARY KEY, `v` varchar(900));\n"
URI = "kafka://127.0.0.1:1/shop?protocol=open-protocol&partition-num=3&max-message-bytes=700"
CONFIG = """\
[sink.kafka-config.large-message-handle]
large-message-handle-option = "claim-check"
claim-check-storage-uri = "claims"
"""


@contextmanager
def deployed(directory: Path, kind: str, *arguments: object, env: Mapping[str, str] = {}) -> Iterator[Path]:
    """The log of a master or worker of Spark's standalone mode that works in that directory, on 127.0.0.1 alone."""
    directory.mkdir()
    own = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m", "SPARK_HOME": str(SPARK),
           "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED, "SPARK_LAUNCHER_OPTS": SHORT_LIVED}
    command = [SPARK / "bin" / "spark-class", f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1",
               "--webui-port", 0, *arguments]
    with (directory / "log").open("wb") as log, subprocess.Popen(
        list(map(str, command)), cwd=directory, env={**os.environ, **own, **env}, stdin=subprocess.DEVNULL, stdout=log,
        stderr=log, start_new_session=True,
    ) as process:
        try:
            yield directory / "log"
        finally:
            process.terminate()
            process.wait(30)
            with suppress(ProcessLookupError):  # executors that it left behind
                os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def without_us(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine whose `python3` has the libraries that we need, and not us."""
    libraries, programs = tmp_path / "libraries", tmp_path / "bin"
    libraries.mkdir()
    for entry in Path(pyspark.__file__).parent.parent.iterdir():
        if entry.is_dir() and not entry.name.startswith("ticdc"):
            (libraries / entry.name).symlink_to(entry)
    programs.mkdir()
    (programs / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    (programs / "python3").chmod(0o755)
    return {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(libraries)}


@pytest.fixture
def cluster(tmp_path: Path, without_us: Mapping[str, str]) -> Iterator[str]:
    """The URL of a master with two workers of one core each."""
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    with ExitStack() as running:
        log = running.enter_context(deployed(tmp_path / "master", "master.Master", "--port", port))
        wait_for(log, "Starting Spark master", 1)
        for name in ("one", "two"):
            size = ("--cores", 1, "--memory", "1g", "--work-dir", tmp_path / name)
            running.enter_context(deployed(tmp_path / name, "worker.Worker", *size, url, env=without_us))
        wait_for(log, "Registering worker", 2)
        yield url


def wait_for(log: Path, words: str, times: int) -> None:
    """Until the log has said it so often."""
    patience = time.monotonic() + 120
    while log.read_text().count(words) < times:
        assert time.monotonic() < patience, log.read_text()
        time.sleep(0.2)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory with two snapshots, of tables in each format, and a changefeed.toml."""
    found = tmp_path / "home"
    for number, state in enumerate(("before", "after")):
        (found / state).mkdir(parents=True)
        rows = [(key, f"{state} " * key) for key in range(number * 9, 60)]
        for table in ("c", "p", "s"):
            (found / state / f"shop.{table}-schema.sql").write_text(SCHEMA.format(table))
        (found / state / "shop.c.csv").write_text("".join(f"{key},{text}\n" for key, text in rows))
        values = ",\n".join(f"({key},'{text}')" for key, text in rows)
        (found / state / "shop.s.0.sql").write_text(f"INSERT INTO `s` VALUES\n{values};\n")
        columns = {name: [row[place] for row in rows] for place, name in enumerate(("id", "v"))}
        pq.write_table(pa.table(columns), found / state / "shop.p.parquet")
    (found / "changefeed.toml").write_text(CONFIG)
    return found


def files_of_run(home: Path, master: str) -> dict[Path, bytes]:
    """The files that a run makes on that master, where every path is relative; they are removed."""
    command = [sys.executable, "-c", "from simulator.cli import main; main()", "diff", "before", "after", "--sink-uri",
               URI, "--config", "changefeed.toml", "--fixtures", "fixtures", "--master", master]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[Path, bytes] = {}
    for name in ("fixtures", "claims"):
        files = [path for path in (home / name).rglob("*") if path.is_file()]
        found |= {path.relative_to(home): path.read_bytes() for path in files}
        shutil.rmtree(home / name)
    return found


def test_two_workers_elsewhere_give_the_files_that_one_process_gives(home: Path, cluster: str, tmp_path: Path) -> None:
    """Byte for byte, though no worker knows the directory that the command was typed in."""
    files = files_of_run(home, cluster)

    assert files == files_of_run(home, "none")
    assert {path.parts[0] for path in files} == {"fixtures", "claims"}
    assert all(list((tmp_path / worker).glob("app-*/*/stderr")) for worker in ("one", "two"))
