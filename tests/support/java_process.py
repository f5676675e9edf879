"""A Java program of `tests/support/interop` in a process of its own, which answers a line of JSON with another.

Its jars come from Maven once and are kept in the user's cache; without them a test is skipped, but fails where CI is set.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from simulator.broker import jars as broker_jars
from simulator.broker.jars import find_java
from simulator.errors import UserError

SOURCES = Path(__file__).parent / "interop"


class JavaProcess:
    """The process, which waits for requests."""

    def __init__(self, java: str, jars: Path, directory: Path, program: str) -> None:
        libraries = f"{jars}/*"
        compiler = [java, "-cp", libraries, "org.eclipse.jdt.internal.compiler.batch.Main", "-17", "-nowarn"]
        subprocess.run([*compiler, "-d", str(directory), str(SOURCES / f"{program}.java")], check=True)
        options = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        command = [java, *options, "-cp", os.pathsep.join((str(directory), libraries)), program]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8"
        )

    def answer(self, request: object) -> Any:
        """The answer to a request."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()


@contextmanager
def java_process(program: str, ivy_file: str, name: str, what: str) -> Iterator[JavaProcess]:
    """A program with the jars of an Ivy file, which are kept under a name."""
    with tempfile.TemporaryDirectory(prefix="ticdc-sim-java-") as directory:
        try:
            java = find_java(what)
            jars = broker_jars.fetch_jars(java, name, what, (SOURCES / ivy_file).read_text("ascii"))
        except UserError as error:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(str(error))
        process = JavaProcess(java, jars, Path(directory), program)
        yield process
        process.close()
