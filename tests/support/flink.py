"""Apache Flink's canal-json and debezium-json, which nobody here wrote, reading messages in a Java process of its own.

What Flink says is taken as it is, every message accepted or the first refusal raised. Jars come from Maven
once and are kept in the user's cache; without them a test is skipped, but fails where CI is set.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from simulator.broker import jars as broker_jars
from simulator.broker.jars import find_java
from simulator.errors import UserError

SOURCES = Path(__file__).parent / "interop"
FLINK = "2.3.0"

Row = tuple[str | None, ...]
Change = tuple[str, Row]
"""Kind of the change (`+I`, `-U`, `+U`, `-D`) and the row, its values as texts."""


class Refused(Exception):
    """Flink threw at a message: which one, and its words."""

    def __init__(self, index: int, error: str) -> None:
        super().__init__(f"message {index}: {error}")
        self.index = index


class Flink:
    """The process, which waits for requests."""

    def __init__(self, java: str, jars: Path, directory: Path) -> None:
        libraries = f"{jars}/*"
        compiler = [java, "-cp", libraries, "org.eclipse.jdt.internal.compiler.batch.Main", "-17", "-nowarn"]
        subprocess.run([*compiler, "-d", str(directory), str(SOURCES / "FlinkCanal.java")], check=True)
        options = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        command = [java, *options, "-cp", os.pathsep.join((str(directory), libraries)), "FlinkCanal"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8"
        )

    def read(
        self, columns: Mapping[str, str], messages: Iterable[bytes], format: str = "canal-json", **options: str
    ) -> list[Change]:
        """What a table with those columns (name → Flink's SQL type) makes of the messages; raises Refused.

        Options are the format's own, with `_` for `.` and `-`: `ignore_parse_errors="true"`, `table_include="a|b"`.
        """
        request = {
            "format": format,
            "columns": list(columns.items()),
            "options": {OPTIONS[name]: value for name, value in options.items()},
            "messages": [base64.b64encode(message).decode() for message in messages],
        }
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline())
        if "refused" in answer:
            raise Refused(answer["refused"], answer["error"])
        return [(kind, tuple(values)) for kind, *values in answer["rows"]]

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


OPTIONS = {
    "ignore_parse_errors": "ignore-parse-errors",
    "database_include": "database.include",
    "table_include": "table.include",
    "schema_include": "schema-include",
}


@pytest.fixture(scope="session")
def flink() -> Iterator[Flink]:
    """One process for all tests."""
    with tempfile.TemporaryDirectory(prefix="ticdc-sim-flink-") as directory:
        try:
            java = find_java("Kafka")
            listed = (SOURCES / "ivy.xml").read_text("ascii")
            jars = broker_jars.fetch_jars(java, f"flink-canal-json-{FLINK}", f"Apache Flink {FLINK}", listed)
        except UserError as error:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(str(error))
        process = Flink(java, jars, Path(directory))
        yield process
        process.close()


def applied(changes: Sequence[Change], before: Iterable[Row]) -> Counter[Row]:
    """How often a table that held the rows before has each row when the changes were applied one after the other."""
    held = Counter(before)
    for kind, row in changes:
        if kind in ("-U", "-D"):
            assert held[row] > 0, f"{kind} of a row that the table does not have: {row}"
            held[row] -= 1
        else:
            assert kind in ("+I", "+U"), kind
            held[row] += 1
    return +held


def upserted(changes: Sequence[Change], key: Sequence[int]) -> list[Row]:
    """What a table with a PRIMARY KEY holds behind the changes, as a sink that upserts keeps it; `key` are the places
    of its columns."""
    held: dict[Row, Row] = {}
    for kind, row in changes:
        at = tuple(row[place] for place in key)
        if kind == "-D":
            held.pop(at, None)
        elif kind != "-U":
            held[at] = row
    return list(held.values())
