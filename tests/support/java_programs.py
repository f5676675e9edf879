"""Programs that others wrote, each in a Java process of its own: Apache Flink's canal-json and debezium-json, Kafka Connect's
JsonConverter with Debezium's ExtractNewRecordState. A program of `interop/` answers a line of JSON with another.

What they say is taken as it is. Tables of TiDB are tables of Flink here: types of columns, and rows as canal-json should
give them, which follow from the snapshot's texts alone, nothing of it from the encoders.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator import Message
from simulator.broker import java as broker_java
from simulator.broker.java import find_java
from simulator.tidb.model.table import Column, Table, visible_columns
from support.kafka_fixture import skipped_without_network

SOURCES = Path(__file__).parent / "interop"
FLINK, DEBEZIUM = "2.3.0", "2.7.4.Final"


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
    """A program with the jars of an Ivy file, which come from Maven once and are kept under a name."""
    with tempfile.TemporaryDirectory(prefix="ticdc-sim-java-") as directory:
        with skipped_without_network():
            java = find_java(what)
            jars = broker_java.fetch_jars(java, name, what, (SOURCES / ivy_file).read_text("ascii"))
        process = JavaProcess(java, jars, Path(directory), program)
        yield process
        process.close()


class DebeziumReader:
    def __init__(self, process: JavaProcess) -> None:
        self._process = process

    def read(self, messages: Iterable[Message], schemas: bool = True) -> list[dict[str, Any]]:
        """`key`, `value` and flattened `row` of each message; a value is [type, logical name, text]."""
        texts = [[_text(message.key), _text(message.value)] for message in messages]
        answer = self._process.answer({"schemas": schemas, "messages": texts})
        assert "refused" not in answer, f"message {answer['refused']}: {answer['error']}"
        records: list[dict[str, Any]] = answer["records"]
        return records


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


@pytest.fixture(scope="session")
def debezium_reader() -> Iterator[DebeziumReader]:
    """One process for all tests."""
    name, what = f"debezium-reader-{DEBEZIUM}", f"Debezium {DEBEZIUM}"
    with java_process("DebeziumReader", "debezium-ivy.xml", name, what) as process:
        yield DebeziumReader(process)


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

    def __init__(self, process: JavaProcess) -> None:
        self._process = process

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
        answer = self._process.answer(request)
        if "refused" in answer:
            raise Refused(answer["refused"], answer["error"])
        return [(kind, tuple(values)) for kind, *values in answer["rows"]]


OPTIONS = {
    "ignore_parse_errors": "ignore-parse-errors",
    "database_include": "database.include",
    "table_include": "table.include",
    "schema_include": "schema-include",
}


@pytest.fixture(scope="session")
def flink() -> Iterator[Flink]:
    """One process for all tests."""
    with java_process("FlinkCanal", "ivy.xml", f"flink-canal-json-{FLINK}", f"Apache Flink {FLINK}") as process:
        yield Flink(process)


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


TypeOf = Callable[[Column], str]
"""Flink's type for a column."""


def only(schema: str, table: str) -> dict[str, str]:
    r"""Options that leave one table; Flink takes names as patterns, which Java quotes with \Q and \E."""
    return {"database_include": rf"\Q{schema}\E", "table_include": rf"\Q{table}\E"}


def texts(column: Column) -> str:
    return "STRING"


def typed(column: Column) -> str:
    """The type that the Flink table has for a column of TiDB, STRING where none takes all its values."""
    type = column.type
    name = f"{type.name} unsigned" if type.unsigned else type.name
    if name.startswith("decimal") and type.length <= 38:
        return f"DECIMAL({type.length}, {type.decimal})"
    if name in ("datetime", "timestamp"):
        return f"TIMESTAMP({max(type.decimal, 0)})"
    whole = type.length == 64 if name == "bit" else len(type.elements) == 64
    return "DECIMAL(20, 0)" if whole else TYPES.get(name, "STRING")


TYPES = {
    "tinyint": "TINYINT", "tinyint unsigned": "SMALLINT", "smallint": "SMALLINT", "smallint unsigned": "INT",
    "mediumint": "INT", "mediumint unsigned": "INT", "int": "INT", "int unsigned": "BIGINT", "bigint": "BIGINT",
    "bigint unsigned": "DECIMAL(20, 0)", "float": "FLOAT", "double": "DOUBLE", "bit": "BIGINT", "year": "INT",
    "date": "DATE", "enum": "INT", "set": "BIGINT",
}  # fmt: skip


def shown(column: Column, text: str | None) -> str | None:
    """What canal-json has for TiDB's text: ENUM and SET as numbers."""
    names = column.type.elements
    if text is None or not names:
        return text
    if column.type.name == "enum":
        return str(names.index(text) + 1 if text else 0)
    return str(sum(1 << names.index(name) for name in filter(None, text.split(","))))


def formed(column: Column, text: str | None) -> str | None:
    """One text for all that mean the same number or moment."""
    name = column.type.name
    if text is None or name not in ("float", "double", "datetime", "timestamp"):
        return text
    if name in ("float", "double"):
        return str(np.float32(text) if name == "float" else float(text))
    moment, _, fraction = text.partition(".")
    return f"{moment}.{fraction:0<9}"


def as_sent(table: Table, row: Mapping[str, str | None]) -> Row:
    """A row of TiDB texts as the Flink table should have it; columns that are not given are NULL."""
    return tuple(formed(column, shown(column, row.get(column.name))) for column in visible_columns(table))


def as_read(table: Table, row: Row) -> Row:
    """A row of the Flink table, in the same form."""
    return tuple(formed(column, text) for column, text in zip(visible_columns(table), row, strict=True))


def flink_contents(
    flink: Flink, table: Table, type_of: TypeOf, messages: Iterable[bytes], before: Counter[Row]
) -> Counter[Row]:
    """What the Flink table holds in the end."""
    types = {column.name: type_of(column) for column in visible_columns(table)}
    changes = flink.read(types, messages, **only(table.schema, table.name))
    return applied([(kind, as_read(table, row)) for kind, row in changes], before.elements())
