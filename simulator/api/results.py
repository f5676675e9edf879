"""What the API returns: results and rows as Python values, messages as records, and golden files to compare messages or
files with.

Values are numbers for types that messages encode as numbers, else TiDB's text. A golden file has a line of JSON for each
message, with all its bytes and its decoded events, or for each file, with its path and content.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from simulator.columns.cells import unescaped
from simulator.errors import UserError, printable_json
from simulator.files import read_text
from simulator.reader.event_lines import lines
from simulator.sinks.memory import Message
from simulator.sinks.records import Record
from simulator.ticdc.codecs import Schema
from simulator.tidb.engine import StatementOutcome
from simulator.tidb.model.types import ColumnType, family, is_binary


@dataclass(frozen=True)
class Result:
    """The result of a statement."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str | bytes | None, ...], ...] = ()
    """The rows of a SELECT: TiDB's text, bytes for binary strings, None for NULL."""

    affected: int = 0
    warnings: tuple[str, ...] = ()
    """The lines of SHOW WARNINGS, such as `1265 Data truncated for column 'a' at row 1`."""


PythonValue = int | float | str | bytes | None

READ: dict[str, Callable[[str], PythonValue]] = {"integer": int, "bit": int, "year": int, "float": float}
"""Conversions by type family; other families use `as_text`."""


def python_values(type: ColumnType, texts: pa.Array | pa.ChunkedArray) -> list[PythonValue]:
    """Convert the values of a column.

    Integers, BIT and YEAR become int, FLOAT and DOUBLE float, binary strings bytes, NULL None, and everything else
    (DECIMAL, dates and times, ENUM and SET, JSON) str, or bytes if it is not UTF-8.
    """
    if is_binary(type):
        # cells hold binary strings as Latin-1 text in UTF-8
        return [None if text is None else text.decode().encode("latin-1") for text in texts.to_pylist()]
    read = READ.get(family(type))
    if read is None:
        return [None if text is None else as_text(text) for text in texts.to_pylist()]
    return [None if text is None else read(text.decode()) for text in texts.to_pylist()]


def as_text(text: bytes) -> str | bytes:
    """Return the text of a cell, or its bytes if they are not UTF-8."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return unescaped(text)


def result_of(outcome: StatementOutcome) -> Result:
    """Return the result of a statement."""
    result = outcome.result
    if result is None:
        return Result((), (), outcome.affected, outcome.warnings)
    binary = [column.binary for column in result.columns]
    rows = tuple(
        tuple(
            value if value is None or is_bytes else as_text(value) for value, is_bytes in zip(row, binary, strict=True)
        )
        for row in result.rows
    )
    return Result(tuple(column.name for column in result.columns), rows, outcome.affected, outcome.warnings)


def records(messages: Iterable[Message]) -> Iterator[Record]:
    """Yield messages as records of `simulator.reader`."""
    for each in messages:
        yield Record(each.topic, each.partition, each.offset, each.timestamp, each.key, each.value)


# -- golden files ------------------------------------------------------------------------------------------------------

MOST = 60
"""The maximal lines of a difference that are shown."""


@dataclass
class Golden:
    """The golden files of a test."""

    directory: Path
    name: str
    """The default name of the file; a second call uses `name+2`, and so on."""

    rewrite: bool
    written: dict[Path, str] = field(default_factory=dict)
    """The files written so far, by this test or others."""

    unnamed: int = 0
    """Calls without a name."""

    def __call__(
        self,
        messages: Iterable[Message] | Mapping[str, bytes],
        name: str | None = None,
        schemas: Mapping[int, Schema] = MappingProxyType({}),
    ) -> None:
        """Compare messages, or the files of a storage (`TiCDC.files`), with the file of that name, or write it.

        `schemas` are those that messages name (`TiCDC.schemas`), by which their events are decoded.
        Raises AssertionError with the difference, and UserError for a name outside the directory.
        """
        path = self._path(name)
        texts = {id: schema.text for id, schema in schemas.items()}
        what = "files" if isinstance(messages, Mapping) else "messages"
        if isinstance(messages, Mapping):
            lines = [printable_json({"file": file, "content": _text(data)}) for file, data in messages.items()]
        else:
            lines = [golden_line(message, texts) for message in messages]
        if self.rewrite:
            self._write(path, "".join(f"{line}\n" for line in lines), what)
            return
        if not path.exists():
            raise AssertionError(f"there is no golden file {path}: pytest --rewrite-golden writes it")
        expected = read_text(path).splitlines()
        if expected != lines:
            shown = "\n".join(islice(_difference(expected, lines), MOST))
            raise AssertionError(f"the {what} differ from {path} (pytest --rewrite-golden writes it anew):\n{shown}")

    def _path(self, name: str | None) -> Path:
        if not name:
            self.unnamed += 1
            name = self.name if self.unnamed == 1 else f"{self.name}+{self.unnamed}"
        elif os.path.isabs(name) or ".." in Path(name).parts:
            raise UserError(f"the name {name!r} leads out of {self.directory}; expected is one such as 'after-update'")
        return self.directory / f"{name}.jsonl"

    def _write(self, path: Path, text: str, what: str) -> None:
        if self.written.setdefault(path, text) != text:
            raise AssertionError(f"{path} has other {what}, just written by another call: give one another name")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def golden_line(message: Message, schemas: Mapping[int, str] = MappingProxyType({})) -> str:
    """Return a message as one line of JSON; bytes that are not UTF-8 become lone surrogates (surrogateescape)."""
    return printable_json(
        {
            "topic": message.topic,
            "partition": message.partition,
            "offset": message.offset,
            "timestamp": message.timestamp,
            "key": _text(message.key),
            "value": _text(message.value),
            "events": [line.partition(" ")[2] for line in lines(records((message,)), schemas=schemas)],
        }
    )


def _difference(expected: Sequence[str], actual: Sequence[str]) -> Iterable[str]:
    """Return a diff of the decoded events, or of the bytes if the events are equal; of files of their lines."""
    events = [[event for line in side for event in _events(json.loads(line))] for side in (expected, actual)]
    before, after = (expected, actual) if events[0] == events[1] else events
    return difflib.unified_diff(before, after, "golden", "now", lineterm="", n=1)


def _events(line: dict[str, Any]) -> list[str]:
    if "file" in line:
        return [f"{line['file']}:{number} {text}" for number, text in enumerate(line["content"].splitlines(), 1)]
    return [f"{line['topic']}/{line['partition']}@{line['offset']} {event}" for event in line["events"]]


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "surrogateescape")
