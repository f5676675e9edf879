"""Golden files: messages as they were recorded once, to compare with and to review by diff.

One law: a file says each message whole, so that equal files are equal bytes, and says for people what is in it.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from simulator.errors import printable_json
from simulator.files import read_text
from simulator.read.lines import lines
from simulator.simulated import Message, records

MOST = 60
"""Lines of a difference that are shown."""


@dataclass(frozen=True)
class Golden:
    """The golden files of a test."""

    directory: Path
    name: str
    """Of the file, where none is given."""

    rewrite: bool

    def __call__(self, messages: Iterable[Message], name: str | None = None) -> None:
        """Compares the messages with the file of that name, or writes it; raises AssertionError with the difference."""
        path = self.directory / f"{name or self.name}.jsonl"
        found = [golden_line(message) for message in messages]
        if self.rewrite:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in found), "utf-8")
            return
        if not path.exists():
            raise AssertionError(f"there is no golden file {path}: pytest --rewrite-golden writes it")
        wanted = read_text(path).splitlines()
        if wanted != found:
            shown = "\n".join(islice(_difference(wanted, found), MOST))
            raise AssertionError(f"the messages differ from {path} (pytest --rewrite-golden writes it anew):\n{shown}")


def golden_line(message: Message) -> str:
    """A message on one line of JSON; bytes that are no UTF-8 are lone surrogates, as Python's surrogateescape has
    them."""
    return printable_json({
        "topic": message.topic, "partition": message.partition, "offset": message.offset,
        "timestamp": message.timestamp, "key": _text(message.key), "value": _text(message.value),
        "events": [line.partition(" ")[2] for line in lines(records((message,)))],
    })


def _difference(wanted: Sequence[str], found: Sequence[str]) -> Iterable[str]:
    """By what is in the messages, for people; by their bytes where that is the same."""
    said = [[event for line in side for event in _events(json.loads(line))] for side in (wanted, found)]
    before, after = (wanted, found) if said[0] == said[1] else said
    return difflib.unified_diff(before, after, "golden", "now", lineterm="", n=1)


def _events(line: dict[str, Any]) -> list[str]:
    return [f"{line['topic']}/{line['partition']}@{line['offset']} {event}" for event in line["events"]]


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "surrogateescape")
