"""Paths into JSON documents: `$.a."b c"[last-1][0 to 2]**.c` (TiDB: pkg/types/json_path_expr.go)."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import NamedTuple

from simulator.tidb.functions.problems import FunctionProblem, invalid_path
from simulator.tidb.values.documents import Document, sorted_keys

BLANKS = "\t\n\v\f\r \x85\xa0"
ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class Member(NamedTuple):
    """`.name`; `.*` for any."""

    name: str


class ArrayRange(NamedTuple):
    """`[start to end]`, negative from the end; `[*]` has neither, `[index]` no end."""

    start: int | None
    end: int | None = None


class AnyDepth(NamedTuple):
    """`**`, any number of steps."""


Leg = Member | ArrayRange | AnyDepth
Path = tuple[Leg, ...]


class _PathReader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def failed(self) -> FunctionProblem:
        return invalid_path(max(len(self.text[: self.at].encode()), 1))

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self, expected: str) -> None:
        if not self.text.startswith(expected, self.at):
            self.at += bool(self.peek())
            raise self.failed()
        self.at += len(expected)

    def accept(self, expected: str) -> bool:
        result = self.text.startswith(expected, self.at)
        self.at += len(expected) * result
        return result

    def blanks(self) -> bool:
        start = self.at
        while self.peek() and self.peek() in BLANKS:
            self.at += 1
        return self.at > start


@functools.lru_cache(1024)
def parse_path(text: str) -> Path:
    """Parse a path. Raises FunctionProblem 3143."""
    reader = _PathReader(text)
    reader.blanks()
    if not reader.accept("$"):
        raise invalid_path(1)
    reader.blanks()
    legs: list[Leg] = []
    while reader.peek():
        legs.append(_leg(reader))
        reader.blanks()
    if legs and isinstance(legs[-1], AnyDepth):
        raise reader.failed()
    return tuple(legs)


def _leg(reader: _PathReader) -> Leg:
    if reader.accept("."):
        return _member(reader)
    if reader.accept("["):
        return _array_range(reader)
    if not reader.accept("*"):
        raise reader.failed()
    reader.take("*")
    if reader.peek() in ("", "*"):
        raise reader.failed()
    return AnyDepth()


def _member(reader: _PathReader) -> Leg:
    reader.blanks()
    if not reader.peek():
        raise reader.failed()
    if reader.accept("*"):
        return Member("*")
    start = reader.at
    if reader.accept('"'):
        while reader.peek() not in ("", '"'):
            reader.at += 2 if reader.peek() == "\\" else 1
        if not reader.accept('"'):
            reader.at = min(reader.at, len(reader.text))
            raise reader.failed()
        name, in_quotes = reader.text[start + 1 : reader.at - 1], True
    else:
        while reader.peek() and reader.peek() not in f"{BLANKS}.[*":
            reader.at += 1
        name, in_quotes = reader.text[start : reader.at], False
    try:
        result = str(json.loads(f'"{name}"'))
    except ValueError:
        raise reader.failed() from None
    if not in_quotes and not is_identifier(result):
        raise reader.failed()
    return Member(result)


def is_identifier(name: str) -> bool:
    return (
        bool(name)
        and not ("0" <= name[0] <= "9")
        and all(
            character in "_$" or character.isascii() and character.isalnum() or ord(character) >= 0x80
            for character in name
        )
    )


def _array_range(reader: _PathReader) -> Leg:
    reader.blanks()
    result = ArrayRange(None)
    if not reader.accept("*"):
        start = _array_place(reader)
        result = ArrayRange(start)
        if reader.blanks() and reader.accept("to") and reader.blanks():
            end = _array_place(reader)
            if (start < 0) == (end < 0) and start > end:
                raise reader.failed()
            result = ArrayRange(start, end)
    reader.blanks()
    reader.take("]")
    return result


def _array_place(reader: _PathReader) -> int:
    reader.blanks()
    if reader.accept("last"):
        reader.blanks()
        if not reader.accept("-"):
            return -1
        reader.blanks()
        return -1 - _digits(reader)
    return _digits(reader)


def _digits(reader: _PathReader) -> int:
    start = reader.at
    while "0" <= reader.peek() <= "9":
        reader.at += 1
    digits = reader.text[start : reader.at]
    if not digits or not reader.peek() or int(digits) > 2**32 - 1:
        reader.at = start
        raise reader.failed()
    return int(digits)


def matches_multiple(path: Path) -> bool:
    """Return whether a path can match several values."""
    return any(
        isinstance(leg, AnyDepth)
        or leg == Member("*")
        or isinstance(leg, ArrayRange)
        and (leg.start is None or leg.end is not None)
        for leg in path
    )


Steps = tuple[str | int, ...]
"""Keys and positions that lead to a value; a value that counts as an array of one adds no step."""


def find(document: Document, path: Path, strict: bool = False) -> list[tuple[Steps, Document]]:
    """Return the values that a path matches, each once. With `strict`, no value counts as an array of one."""
    places: dict[Steps, Document] = {}
    for steps, value in _walk(document, path, (), strict):
        places.setdefault(steps, value)
    return list(places.items())


def _walk(document: Document, path: Path, steps: Steps, strict: bool) -> Iterator[tuple[Steps, Document]]:
    if not path:
        yield steps, document
        return
    leg, rest = path[0], path[1:]
    if isinstance(leg, AnyDepth):
        yield from _walk(document, rest, steps, strict)
        for step, child in children(document):
            yield from _walk(child, path, (*steps, step), strict)
    elif isinstance(leg, Member):
        if isinstance(document, dict):
            names = sorted_keys(document) if leg.name == "*" else [leg.name] if leg.name in document else []
            for name in names:
                yield from _walk(document[name], rest, (*steps, name), strict)
    elif isinstance(document, list):
        for place in _range(leg, len(document)):
            yield from _walk(document[place], rest, (*steps, place), strict)
    elif not strict and leg.start == 0 and (leg.end is None or leg.end >= -1):
        yield from _walk(document, rest, steps, strict)


def _range(leg: ArrayRange, count: int) -> range:
    if leg.start is None:
        return range(count)
    start = array_index(leg.start, count)
    end = start if leg.end is None else array_index(leg.end, count)
    return range(start, min(end, count - 1) + 1) if start >= 0 else range(0)


def array_index(place: int, count: int) -> int:
    return place + count if place < 0 else place


def children(document: Document) -> list[tuple[str | int, Document]]:
    if isinstance(document, dict):
        return [(key, document[key]) for key in sorted_keys(document)]
    return list(enumerate(document)) if isinstance(document, list) else []


def path_text(steps: Steps) -> str:
    """Return a path as JSON_SEARCH prints it."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{_quoted(step)}" for step in steps)


def _quoted(name: str) -> str:
    escaped = "".join(ESCAPES.get(character, character) for character in name)
    return name if escaped == name and is_identifier(name) else f'"{escaped}"'
