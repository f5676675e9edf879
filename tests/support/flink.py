"""Apache Flink's canal-json and debezium-json, which nobody here wrote, reading messages in a Java process of its own.

What Flink says is taken as it is, every message accepted or the first refusal raised.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pytest

from support.java_process import JavaProcess, java_process

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
