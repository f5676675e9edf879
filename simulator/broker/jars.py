"""Apache Kafka's jars: fetched once from Maven Central into the user's cache, with the Ivy among pyspark's own jars.

One law: a directory of jars is complete or absent; it is filled aside and renamed.
"""

from __future__ import annotations

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

from simulator.errors import UserError
from simulator.sinks.files import staging

KAFKA = "4.3.1"

IVY_FILE = f"""<ivy-module version="2.0"><info organisation="local" module="kafka-broker"/><dependencies>
<dependency org="org.apache.kafka" name="kafka_2.13" rev="{KAFKA}" conf="default"/>
<dependency org="org.apache.logging.log4j" name="log4j-slf4j-impl" rev="2.25.4" conf="default"/>
</dependencies></ivy-module>
"""
"""Without log4j-slf4j-impl a failed start says nothing."""


def cache_directory() -> Path:
    """`$XDG_CACHE_HOME/ticdc-simulator`, or the same under `~/.cache`."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "ticdc-simulator"


def kafka_jars(java_program: str) -> Path:
    """The directory with Kafka's jars, fetched when missing (44 MB); raises UserError where that is impossible."""
    return fetched(java_program, f"kafka-{KAFKA}", f"Apache Kafka {KAFKA}", IVY_FILE)


def fetched(java_program: str, name: str, what: str, ivy_file: str) -> Path:
    """The cache's directory of that name with the jars that an Ivy file lists, fetched when missing; raises UserError
    that says `what` cannot be had.
    """
    kept = cache_directory() / name
    if not kept.is_dir():
        aside = staging.make(kept)
        try:
            _fetch(java_program, aside, what, ivy_file)
            _keep(aside / "lib", kept)
        finally:
            staging.discard(aside)
    return kept


def last_line(text: str) -> str:
    """The last line that says something, for an error of one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("\tat ")]
    telling = [line for line in lines if "ERROR" in line or "Exception" in line or "UNRESOLVED" in line]
    return (telling or lines or ["it said nothing"])[-1][:300]


def _fetch(java_program: str, aside: Path, what: str, ivy_file: str) -> None:
    (aside / "ivy.xml").write_text(ivy_file, encoding="ascii")
    pattern = f"{aside}/lib/[artifact]-[revision](-[classifier]).[ext]"
    command = [java_program, "-cp", _ivy(what), "org.apache.ivy.Main", "-cache", f"{aside}/ivy"]
    command += ["-ivy", f"{aside}/ivy.xml"]
    # With `-types jar` alone five jars of packaging "bundle" are left out, and Kafka dies.
    command += ["-confs", "default", "-types", "jar", "bundle", "-retrieve", pattern]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 or not list((aside / "lib").glob("*.jar")):
        said = last_line(done.stderr + done.stdout)
        raise UserError(f"{what} could not be fetched from Maven Central: {said}")


def _keep(filled: Path, kept: Path) -> None:
    try:
        filled.rename(kept)
    except OSError:
        if not kept.is_dir():
            raise


def _ivy(what: str) -> str:
    """The class path of Ivy and of the command line parser it needs, among pyspark's jars of whatever version."""
    spec = find_spec("pyspark")
    folder = Path(spec.origin).parent / "jars" if spec and spec.origin else Path()
    found = [next(iter(sorted(folder.glob(pattern))), None) for pattern in ("ivy-[0-9]*.jar", "commons-cli-[0-9]*.jar")]
    if None in found:
        raise UserError(f"no Ivy among pyspark's jars ({folder}): cannot fetch {what}; reinstall pyspark")
    return os.pathsep.join(str(path) for path in found)
