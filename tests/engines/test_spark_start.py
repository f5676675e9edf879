"""What a run asks before and while Spark starts: which master, an archive of Java's classes, and what the Python of workers
has. Java and Python are processes here since they are what is asked."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from configparser import ConfigParser
from pathlib import Path

import pytest

from simulator.broker.java import find_java
from simulator.cli.load import command as load_options
from simulator.engines.spark.master import chosen_master, spark_defaults
from simulator.engines.spark.workers import NEEDED, unpack_error
from simulator.reader.verify.options import IN_PROCESS_BYTES, engine_of


def test_auto_is_this_process_where_that_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """`verify` chooses by the size of the stream, `load` by the console; any other master is taken as it is."""
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    assert [chosen_master("auto", in_process) for in_process in (True, False)] == ["none", "local[*]"]
    assert [chosen_master(*given) for given in (("local[2]", True), ("none", False))] == ["local[2]", "none"]
    sizes = IN_PROCESS_BYTES, IN_PROCESS_BYTES + 1
    assert [engine_of("auto", size).master for size in sizes] == ["none", "local[*]"]
    masters = [load_options.master_of({"master": "auto", "console": console}) for console in (True, False)]
    assert masters == ["none", "local[*]"]


@pytest.fixture
def archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of archives, of a user with no settings of Spark."""
    for name in ("SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH", "SPARK_CLASSPATH", "HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "ticdc-simulator" / "spark-classes"


def options() -> str:
    """What Spark's Java is told of archives."""
    from simulator.engines.spark import class_data

    return class_data.java_options(find_java("Spark"))


@pytest.mark.slow
def test_one_run_writes_an_archive_of_classes_and_later_ones_use_it(archives: Path) -> None:
    """Java goes on without one that does not fit, and prints nothing of that: its standard output is the command's."""
    first, second = options(), options()
    archive = Path(first.rpartition("=")[2])
    assert first.endswith(f"-XX:ArchiveClassesAtExit={archive}") and archive.parent == archives
    assert second == ""

    archive.write_bytes(bytes(100))  # as Java leaves it that is killed while it writes
    assert options() == ""
    archive.write_bytes(b"of another Java" * 1000)
    assert options().endswith(f"-XX:SharedArchiveFile={archive}")
    done = subprocess.run([find_java("Spark"), *options().split(), "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and "openjdk" in done.stdout.lower() and "warning" not in done.stdout + done.stderr


@pytest.mark.slow
def test_a_run_that_left_no_archive_is_followed_by_another_try(archives: Path) -> None:
    options()
    [claim], long_ago = archives.iterdir(), time.time() - 40 * 86400
    (archives / "older.jsa").touch()
    for path in (claim, archives / "older.jsa"):
        os.utime(path, (long_ago, long_ago))

    assert "ArchiveClassesAtExit" in options()
    assert [path.suffix for path in archives.iterdir()] == [".claim"]


@pytest.mark.slow
def test_few_archives_are_kept_the_last_used_ones(archives: Path) -> None:
    """Each environment of Python has a Spark, and so an archive, of its own: they would add up to gigabytes."""
    archives.mkdir(parents=True)
    now = time.time()
    for age in range(6):
        archive = archives / f"{age}.jsa"
        archive.write_bytes(b"classes")
        os.utime(archive, (now - age, now - age))
        archive.with_suffix(".claim").touch()

    written = Path(options().rpartition("=")[2]).stem
    left = {path.name for path in archives.iterdir()}
    assert left == {"0.jsa", "1.jsa", "0.claim", "1.claim", f"{written}.claim"}


@pytest.mark.slow
@pytest.mark.parametrize("lacks", ["a writable cache", "a path that Java can read", "a class path of jars alone"])
def test_no_archive_exists_without(lacks: str, archives: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if lacks == "a class path of jars alone":
        (tmp_path / "spark-defaults.conf").write_text("spark.ui.retainedJobs 11\n")
        monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
        spark_defaults.cache_clear()
    else:
        (tmp_path / "file").touch()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ("file" if "writable" in lacks else "a:b")))
    try:
        assert options() == ""
    finally:
        spark_defaults.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("libraries", "drivers", "words"),
    [
        (["numpy", "faker"], "3.99", r"is 3\.\d+, and ticdc-sim's is 3\.99: they must be the same"),
        (
            ["numpy", "faker", "pandas"],
            "",
            "misses the packages crc32c, cryptography, fastavro, fsspec, .*, sqlglot: pip install",
        ),
        (sorted({*NEEDED} - {"kafka"}), "", "misses the package kafka-python: pip install"),
    ],
)
def test_a_python_says_what_it_lacks_for_tasks(libraries: list[str], drivers: str, words: str, tmp_path: Path) -> None:
    """To Spark, which brings it to the driver, and before anything of the run begins."""
    for name in libraries:
        (tmp_path / f"{name}.py").touch()
    from simulator.engines.spark.session import archive

    paths = os.pathsep.join((str(archive(tmp_path)), str(tmp_path)))
    command = [sys.executable, "-S", "-m", "simulator.engines.spark.workers"]
    version = {"TICDC_SIM_PYTHON": drivers} if drivers else {}
    done = subprocess.run(command, env={"PYTHONPATH": paths, **version}, cwd="/", capture_output=True, text=True)

    error = unpack_error(done.stderr)
    assert error is not None and error.exit_code == 2
    assert re.match(rf"the Python of Spark's worker on \S+ \({re.escape(sys.executable)}\) {words}", str(error))
    assert done.returncode == 1 and not done.stdout


def test_a_worker_needs_what_the_package_needs_but_for_what_people_see() -> None:
    setup = ConfigParser()
    setup.read(Path(__file__).parent.parent.parent / "setup.cfg")
    lines = setup["options"]["install_requires"].split("\n")
    required = {re.split(r"[>=<\[]", line)[0] for line in lines if line and not line.startswith("#")}

    of_the_driver = {
        "click",
        "mysql-mimic",
        "plotly",
        "prometheus-client",
        "prompt-toolkit",
        "rich",
        "starlette",
        "uvicorn",
    }
    assert {*NEEDED.values()} - {"crc32c"} == required - {"pyspark"} - of_the_driver  # an extra of kafka-python's


@pytest.mark.slow
def test_spark_s_daemon_has_no_thread_beside_the_one_that_forks() -> None:
    """What it imports beforehand would start some: a fork leaves them, and what they hold, behind."""
    code = "import os, simulator.engines.spark.workers as one; one.prepare(); print(len(os.listdir('/proc/self/task')))"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "1\n"
