"""A Spark cluster: workers with a working directory of their own give the same records as a single process."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from configparser import ConfigParser
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import playing
from support.cut_short import RUN, held, require_true
from support.processes import errors, started, wait_until
from support.spark_cluster import Cluster, executors

from simulator.consumer.records import Record
from simulator.engines.spark.packed_errors import unpack_error
from simulator.engines.spark.python_version import NEEDED

SCHEMA = "CREATE TABLE `{}` (`id` int PRIMARY KEY, `v` varchar(900));\n"
URI = "kafka://127.0.0.1:1/shop?protocol=open-protocol&partition-num=3&max-message-bytes=700"
CONFIG = """\
[sink.kafka-config.large-message-handle]
large-message-handle-option = "claim-check"
claim-check-storage-uri = "claims"
"""


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
    """The files that a run makes on that master, where every path is relative; they are removed.

    Its truth is the snapshot after."""
    command = [
        sys.executable,
        "-c",
        "from simulator.cli import main; main()",
        "diff",
        "before",
        "after",
        "--sink-uri",
        URI,
        "--config",
        "changefeed.toml",
        "--fixtures",
        "fixtures",
        "--truth",
        "truth",
        "--master",
        master,
    ]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert playing.state(home / "truth") == playing.state(home / "after")  # in as many files as there are tasks
    shutil.rmtree(home / "truth")
    found: dict[Path, bytes] = {}
    for name in ("fixtures", "claims"):
        files = [path for path in (home / name).rglob("*") if path.is_file()]
        found |= {path.relative_to(home): path.read_bytes() for path in files}
        shutil.rmtree(home / name)
    return found


def test_two_workers_elsewhere_give_the_files_that_one_process_gives(home: Path, cluster: Cluster) -> None:
    """Byte for byte, though no worker knows the directory that the command was typed in, nor has the package."""
    files = files_of_run(home, cluster.url)

    assert files == files_of_run(home, "none")
    assert {path.parts[0] for path in files} == {"fixtures", "claims"}
    assert all(list(worker.glob("app-*/*/stderr")) for worker in cluster.workers)


@pytest.mark.kafka
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("libraries", "drivers", "words"),
    [
        (["numpy", "faker"], "3.99", r"is 3\.\d+, and ticdc-sim's is 3\.99: they must be the same"),
        (["numpy", "faker", "pandas"], "", "misses the packages crc32c, duckdb, fsspec, .*, sqlglot: pip install"),
        (sorted({*NEEDED} - {"kafka"}), "", "misses the package kafka-python: pip install"),
    ],
)
def test_a_python_that_cannot_do_the_tasks_says_what_it_lacks(
    libraries: list[str], drivers: str, words: str, tmp_path: Path
) -> None:
    """To Spark, which brings it to the driver, and before anything of the run begins."""
    for name in libraries:
        (tmp_path / f"{name}.py").touch()
    from simulator.engines.spark.executors import archive

    paths = os.pathsep.join((str(archive(tmp_path)), str(tmp_path)))
    command = [sys.executable, "-S", "-m", "simulator.engines.spark.daemon"]
    version = {"TICDC_SIM_PYTHON": drivers} if drivers else {}
    done = subprocess.run(command, env={"PYTHONPATH": paths, **version}, cwd="/", capture_output=True, text=True)

    error = unpack_error(done.stderr)
    assert error is not None and error.exit_code == 2
    assert re.match(rf"the Python of Spark's worker on \S+ \({re.escape(sys.executable)}\) {words}", str(error))
    assert done.returncode == 1 and not done.stdout


def test_a_worker_needs_what_the_package_needs_but_for_what_people_see() -> None:
    setup = ConfigParser()
    setup.read(Path(__file__).parent.parent.parent / "setup.cfg")
    required = {
        re.split(r"[>=<\[]", line)[0]
        for line in setup["options"]["install_requires"].split("\n")
        if line and not line.startswith("#")
    }

    of_the_driver = {"click", "mysql-mimic", "plotly", "prometheus-client", "prompt-toolkit", "rich"}
    assert {*NEEDED.values()} - {"crc32c"} == required - {"pyspark"} - of_the_driver  # an extra of kafka-python's
