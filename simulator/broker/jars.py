"""The Java installation for Kafka and Spark, and Apache Kafka's jars.

Jars are downloaded once from Maven Central into the user's cache with the Ivy among pyspark's jars. A directory of jars
is complete or missing: it is filled under another name and renamed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from simulator.errors import UserError
from simulator.sinks.files import staging

JAVA_MINIMUM = 17
"""The minimum version of Kafka 4's brokers, and of Spark 4."""

VERSION = re.compile(r'version "(?:1\.)?(\d+)')

KAFKA = "4.3.1"

IVY_FILE = f"""<ivy-module version="2.0"><info organisation="local" module="kafka-broker"/><dependencies>
<dependency org="org.apache.kafka" name="kafka_2.13" rev="{KAFKA}" conf="default"/>
<dependency org="org.apache.logging.log4j" name="log4j-slf4j-impl" rev="2.25.4" conf="default"/>
</dependencies></ivy-module>
"""
"""Without log4j-slf4j-impl a failed start prints nothing."""


ARCHIVE_IVY_FILE = """<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
<info organisation="local" module="archive"/><dependencies>
<dependency org="{0}" name="{1}" rev="{2}" conf="default" transitive="false">
<artifact name="{1}" type="tar.gz" ext="tar.gz" m:classifier="all"/></dependency>
</dependencies></ivy-module>
"""


def find_java(who: str) -> str:
    """Return the java program of JAVA_HOME or PATH; raise UserError, which names `who`, if none is new enough."""
    requirement = f"{who} needs Java {JAVA_MINIMUM} or newer: install one, or point JAVA_HOME at it"
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home) / "bin" / "java")) if home else shutil.which("java")
    if java is None:
        raise UserError(f"no Java found {f'under JAVA_HOME ({home})' if home else 'on PATH'}. {requirement}")
    try:
        text = subprocess.run([java, "-version"], capture_output=True, text=True, errors="replace", timeout=30).stderr
    except OSError as error:
        raise UserError(f"Java does not start: {java}: {error.strerror}. {requirement}") from error
    except subprocess.TimeoutExpired as error:
        raise UserError(f"Java does not answer: {java} -version took more than 30 s. {requirement}") from error
    match = VERSION.search(text)
    if match is None:
        raise UserError(f"Java does not say its version: {java} -version printed {text.strip()[:80]!r}. {requirement}")
    if int(match[1]) < JAVA_MINIMUM:
        raise UserError(f"Java {match[1]} is too old: {who} needs Java {JAVA_MINIMUM} or newer; point JAVA_HOME at one")
    return java


def cache_directory() -> Path:
    """Return `$XDG_CACHE_HOME/ticdc-simulator`, or the same under `~/.cache`."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "ticdc-simulator"


def kafka_jars(java_program: str) -> Path:
    """Return the directory with Kafka's jars, downloaded if missing (44 MB); raise UserError if that fails."""
    return fetch_jars(java_program, f"kafka-{KAFKA}", f"Apache Kafka {KAFKA}", IVY_FILE)


def fetch_jars(java_program: str, name: str, what: str, ivy_file: str) -> Path:
    """Return the cache directory with the jars of an Ivy file, downloaded if missing.

    Raise UserError, which names `what`, if that fails.
    """
    return _cached(name, lambda staged: _fetch(java_program, staged, what, ivy_file, ("jar", "bundle")))


def fetch_archive(java_program: str, name: str, what: str, group: str, artifact: str, version: str) -> Path:
    """Return the cache directory with the unpacked `all.tar.gz` of a Maven artifact, downloaded if missing.

    Raise UserError, which names `what`, if that fails.
    """

    def fill(staged: Path) -> Path:
        ivy_file = ARCHIVE_IVY_FILE.format(group, artifact, version)
        (archive,) = _fetch(java_program, staged, what, ivy_file, ("tar.gz",)).glob("*.tar.gz")
        shutil.unpack_archive(archive, staged / "unpacked", filter="data")
        return staged / "unpacked"

    return _cached(name, fill)


def _cached(name: str, fill: Callable[[Path], Path]) -> Path:
    """Return a cache directory; if it is missing, it is what `fill` returns, below a directory that it is given."""
    directory = cache_directory() / name
    if not directory.is_dir():
        staged = staging.make(directory)
        try:
            _keep(fill(staged), directory)
        finally:
            staging.discard(staged)
    return directory


def last_line(text: str) -> str:
    """Return the last informative line of an output, for an error of one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("\tat ")]
    informative = [line for line in lines if "ERROR" in line or "Exception" in line or "UNRESOLVED" in line]
    return (informative or lines or ["it said nothing"])[-1][:300]


def _fetch(java_program: str, staging_directory: Path, what: str, ivy_file: str, types: Sequence[str]) -> Path:
    """Return a directory in the staging directory with what an Ivy file names."""
    (staging_directory / "ivy.xml").write_text(ivy_file, encoding="ascii")
    pattern = f"{staging_directory}/lib/[artifact]-[revision](-[classifier]).[ext]"
    command = [java_program, "-cp", _ivy(what), "org.apache.ivy.Main", "-cache", f"{staging_directory}/ivy"]
    command += ["-ivy", f"{staging_directory}/ivy.xml"]
    # With `-types jar` alone five jars of packaging "bundle" are left out, and Kafka dies.
    command += ["-confs", "default", "-types", *types, "-retrieve", pattern]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 or not list((staging_directory / "lib").glob("*")):
        output = last_line(done.stderr + done.stdout)
        raise UserError(f"{what} could not be fetched from Maven Central: {output}")
    return staging_directory / "lib"


def _keep(filled: Path, directory: Path) -> None:
    try:
        filled.rename(directory)
    except OSError:
        if not directory.is_dir():
            raise


def _ivy(what: str) -> str:
    """Return the class path of Ivy and its command line parser, among pyspark's jars of any version."""
    spec = find_spec("pyspark")
    folder = Path(spec.origin).parent / "jars" if spec and spec.origin else Path()
    jars = [next(iter(sorted(folder.glob(pattern))), None) for pattern in ("ivy-[0-9]*.jar", "commons-cli-[0-9]*.jar")]
    if None in jars:
        raise UserError(f"no Ivy among pyspark's jars ({folder}): cannot fetch {what}; reinstall pyspark")
    return os.pathsep.join(str(path) for path in jars)
