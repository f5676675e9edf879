"""The archive of Spark's classes: one run writes it, others use it, and nothing but time depends on it."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from simulator.broker.jars import find_java
from simulator.engines.spark.driver_host import spark_defaults

pytestmark = pytest.mark.slow


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of archives, of a user with no settings of Spark."""
    for name in ("SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH", "SPARK_CLASSPATH", "HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "ticdc-simulator" / "spark-classes"


def options() -> str:
    """What Spark's Java is told of archives."""
    from simulator.engines.spark import class_data

    return class_data.java_options(find_java("Spark"))


def test_one_run_writes_the_archive_and_later_ones_use_it(cache: Path) -> None:
    first, second = options(), options()
    archive = Path(first.rpartition("=")[2])
    assert first.endswith(f"-XX:ArchiveClassesAtExit={archive}") and archive.parent == cache
    assert second == ""

    archive.write_bytes(bytes(100))  # as Java leaves it that is killed while it writes
    assert options() == ""
    archive.write_bytes(b"\xf0\x0b" + bytes(98))
    assert options().endswith(f"-XX:SharedArchiveFile={archive}")


def test_a_run_that_left_no_archive_is_followed_by_another_try(cache: Path) -> None:
    options()
    [claim], long_ago = cache.iterdir(), time.time() - 40 * 86400
    os.utime(claim, (long_ago, long_ago))
    (cache / "older.jsa").touch()
    os.utime(cache / "older.jsa", (long_ago, long_ago))

    assert "ArchiveClassesAtExit" in options()
    assert [path.suffix for path in cache.iterdir()] == [".claim"]


@pytest.mark.parametrize("lacks", ["a writable cache", "a path that Java can read", "a class path of jars alone"])
def test_there_is_none_without(lacks: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Java goes on as it did before there were any."""
    if lacks == "a writable cache":
        (tmp_path / "file").touch()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    elif lacks == "a path that Java can read":
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a:b"))
    else:
        (tmp_path / "spark-defaults.conf").write_text("spark.ui.retainedJobs 11\n")
        monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
        spark_defaults.cache_clear()
    try:
        assert options() == ""
    finally:
        spark_defaults.cache_clear()


def test_java_goes_on_without_an_archive_that_does_not_fit(cache: Path) -> None:
    """And prints nothing of that, whose standard output is the command's."""
    cache.mkdir(parents=True)
    archive = Path(options().rpartition("=")[2])
    archive.write_bytes(b"of another Java" * 1000)
    done = subprocess.run([find_java("Spark"), *options().split(), "--version"], capture_output=True, text=True)
    assert "SharedArchiveFile" in options()
    assert done.returncode == 0 and "openjdk" in done.stdout.lower() and "warning" not in done.stdout + done.stderr
