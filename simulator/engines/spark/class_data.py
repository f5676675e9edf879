"""Class data sharing: Spark's Java maps the classes that an earlier run has loaded, instead of reading them from jars.

The Java of a run that finds no archive writes one when it ends, after the command itself has. Java checks an archive
before it uses it, and goes on without one that does not fit, so that nothing but time depends on it.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pyspark

from simulator.broker.java import cache_directory
from simulator.engines.spark.master import conf_directory, spark_defaults

QUIET = "-Xlog:disable -Xlog:all=error:stderr"
"""Java prints warnings, as that it goes on without an archive, on standard output, which is the command's."""

CLAIM_SECONDS = 3600.0
"""A run that ended without its archive is taken to have failed after that long."""

KEEP_SECONDS = 30 * 86400.0
"""An archive that no run used for that long is removed: it has 160 MB, and an update of Java or Spark makes another."""

KEPT_ARCHIVES = 2
"""So many archives stay beside a new one, the last used: each virtual environment has a Spark, and an archive, of its own."""

CLASS_PATHS = ("spark.driver.extraClassPath", "spark.driver.defaultExtraClassPath")
CLASS_PATH_VARIABLES = ("SPARK_DIST_CLASSPATH", "SPARK_CLASSPATH", "HADOOP_CONF_DIR", "YARN_CONF_DIR")


def java_options(java: str) -> str:
    """Return the options with which Java uses an archive, or writes one; none where it can do neither."""
    if _own_class_path():
        return ""
    with suppress(OSError):
        directory = cache_directory() / "spark-classes"
        directory.mkdir(parents=True, exist_ok=True)
        archive = directory / f"{_key(java)}.jsa"
        if set(str(archive)) & set(' ":,\\'):  # a path in which Spark or Java would see several
            return ""
        if _complete(archive):
            os.utime(archive)
            return f"{QUIET} -XX:SharedArchiveFile={archive}"
        if _claim(archive.with_suffix(".claim")):
            _remove_unused(directory)
            return f"{QUIET} -XX:ArchiveClassesAtExit={archive}"
    return ""


def _own_class_path() -> bool:
    """Whether the class path has more than Spark's jars: Java refuses to archive one with a directory of files."""
    configured = any(name in spark_defaults() for name in CLASS_PATHS)
    conf = conf_directory()
    return configured or any(map(os.environ.get, CLASS_PATH_VARIABLES)) or (conf.is_dir() and any(conf.iterdir()))


def _key(java: str) -> str:
    """Return a name that changes with Java and Spark."""
    program, spark = Path(java).resolve(), Path(pyspark.__file__).parent
    files = (program.parents[1] / "lib" / "modules", program.parents[1] / "release", program, spark / "jars")
    parts = [pyspark.__version__, str(spark)]
    for file in files:
        with suppress(OSError):
            found = file.stat()
            parts.append(f"{file} {found.st_mtime_ns} {found.st_size}")
    return sha256("\n".join(parts).encode()).hexdigest()[:16]


def _complete(archive: Path) -> bool:
    """Whether Java has written the archive to its end: it writes the magic number at its beginning last."""
    try:
        with archive.open("rb") as file:
            return any(file.read(4))
    except FileNotFoundError:
        return False


def _claim(path: Path) -> bool:
    """Let one run write the archive, not all that start before it has; raises OSError."""
    with suppress(FileNotFoundError):
        if time.time() - path.stat().st_mtime < CLAIM_SECONDS:
            return False
    path.touch()
    return True


def _remove_unused(directory: Path) -> None:
    last_used = {path: path.stat().st_mtime for path in directory.iterdir()}
    archives = sorted((path for path in last_used if path.suffix == ".jsa"), key=last_used.__getitem__, reverse=True)
    beyond = set(archives[KEPT_ARCHIVES:])
    for path, moment in last_used.items():
        if time.time() - moment > KEEP_SECONDS or path.with_suffix(".jsa") in beyond:
            path.unlink(missing_ok=True)
