"""Kafka Connect's JsonConverter and Debezium's ExtractNewRecordState, which nobody here wrote, reading messages."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from simulator import Message
from support.java_process import JavaProcess, java_process

DEBEZIUM = "2.7.4.Final"


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
