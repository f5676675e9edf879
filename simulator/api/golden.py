"""Golden files: recorded messages or files to compare with, one JSON line each.

A message has all its bytes and its decoded events, a file its path and content.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from simulator.api.session import Message, records
from simulator.errors import UserError, printable_json
from simulator.files import read_text
from simulator.reader.event_lines import lines
from simulator.ticdc.codecs import Schema

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
