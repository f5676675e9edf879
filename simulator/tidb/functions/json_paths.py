"""Paths into JSON documents, as `$.a."b c"[last-1][0 to 2]**.c`, and functions that change and merge documents.

Sources: TiDB pkg/types/json_path_expr.go, pkg/expression/builtin_json.go.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from simulator.tidb.errors import FunctionProblem, invalid_path
from simulator.tidb.values.documents import Document, check_depth, dump, load, load_item, sorted_keys

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


MULTIPLE_MATCHES = FunctionProblem(
    3149, "In this situation, path expressions may not contain the * and ** tokens or range selection."
)
INVALID_PATH = FunctionProblem(1105, "Invalid path expression")
NOT_A_CELL = FunctionProblem(3165, "A path expression is not a path to a cell in an array.")


def _modify(insert: bool, replace: bool) -> Callable[..., str | None]:
    def modified(document: str | None, *pairs: str | None) -> str | None:
        if document is None or None in pairs[::2]:
            return None
        ways = [parse_path(path or "") for path in pairs[::2]]
        if any(map(matches_multiple, ways)):
            raise INVALID_PATH
        result = load(document)
        for path, value in zip(ways, pairs[1::2], strict=True):
            new = load_item(value)
            current = find(result, path)
            if current and replace:
                result = _replace_at(result, current[0][0], new)
            elif not current and insert:
                result = _insert_at(result, path, new)
        return dump(check_depth(result))

    return modified


json_set = _modify(insert=True, replace=True)
json_insert = _modify(insert=True, replace=False)
json_replace = _modify(insert=False, replace=True)


def _replace_at(document: Document, steps: Steps, value: Document) -> Document:
    """Return the document with another value at a position."""
    if not steps:
        return value
    step, *rest = steps
    if isinstance(document, dict):
        return {**document, str(step): _replace_at(document[str(step)], tuple(rest), value)}
    assert isinstance(document, list) and isinstance(step, int)
    return [*document[:step], _replace_at(document[step], tuple(rest), value), *document[step + 1 :]]


def _insert_at(document: Document, path: Path, value: Document) -> Document:
    parents = find(document, path[:-1])
    if not parents:
        return document
    (steps, parent), leg = parents[0], path[-1]
    if isinstance(leg, ArrayRange):
        return _replace_at(document, steps, [*(parent if isinstance(parent, list) else [parent]), value])
    if isinstance(leg, Member) and isinstance(parent, dict):
        return _replace_at(document, steps, {**parent, leg.name: value})
    return document


def json_remove(document: str, *paths: str) -> str:
    result = load(document)
    for path in [parse_path(path) for path in paths]:
        if not path or matches_multiple(path):
            raise INVALID_PATH
        current = find(result, path)
        parents = find(result, path[:-1])
        if current and len(current[0][0]) > len(parents[0][0]):
            steps, parent = parents[0]
            last = current[0][0][-1]
            left: Document = (
                {key: value for key, value in parent.items() if key != last}
                if isinstance(parent, dict)
                else [value for place, value in children(parent) if place != last]
            )
            result = _replace_at(result, steps, left)
    return dump(result)


def _change_arrays(change: Callable[[Document, Path, Document], Document]) -> Callable[..., str | None]:
    """Return a function that changes a document at each path of the pairs."""

    def changed(document: str | None, *pairs: str | None) -> str | None:
        if document is None:
            return None
        result = load(document)
        for path, value in zip(pairs[::2], pairs[1::2], strict=True):
            if path is None:
                return None
            try:
                legs = parse_path(path)
            except FunctionProblem:
                raise invalid_path(f"%!d(string={path})") from None
            if matches_multiple(legs):
                raise MULTIPLE_MATCHES
            result = change(result, legs, load_item(value))
        return dump(check_depth(result))

    return changed


def _append(document: Document, path: Path, item: Document) -> Document:
    for steps, current in find(document, path)[:1]:
        return _replace_at(document, steps, [*(current if isinstance(current, list) else [current]), item])
    return document


def _insert(document: Document, path: Path, item: Document) -> Document:
    last = path[-1] if path else AnyDepth()
    if not isinstance(last, ArrayRange) or last.start is None:
        raise NOT_A_CELL
    for steps, current in find(document, path[:-1])[:1]:
        if isinstance(current, list):
            place = max(array_index(last.start, len(current)), 0)
            return _replace_at(document, steps, [*current[:place], item, *current[place:]])
    return document


json_array_append, json_array_insert = _change_arrays(_append), _change_arrays(_insert)


def json_merge_preserve(*documents: str) -> str:
    return dump(check_depth(_merge(list(map(load, documents)))))


def _merge(documents: Sequence[Document]) -> Document:
    results: list[Document] = []
    joins = False
    for each in documents:
        last = results[-1] if joins else None
        if isinstance(each, dict) and isinstance(last, dict):
            both: dict[str, Document] = dict(last)
            for key, value in each.items():
                both[key] = _merge([both[key], value]) if key in both else value
            results[-1] = both
        else:
            results.append(each)
        joins = isinstance(each, dict)
    if len(results) == 1:
        return results[0]
    return [item for each in results for item in (each if isinstance(each, list) else [each])]


def json_merge_patch(*documents: str | None) -> str | None:
    """Return JSON_MERGE_PATCH (RFC 7396); NULL if a NULL follows the last document that is no object."""
    result = list(map(load_item, documents))
    others = [place for place, each in enumerate(result) if documents[place] is None or not isinstance(each, dict)]
    last = others[-1] if others else 0
    if documents[last] is None:
        return None
    target = result[last]
    for patch in result[last + 1 :]:
        target = _patch(target, patch)
    return dump(check_depth(target))


def _patch(target: Document, patch: Document) -> Document:
    if not isinstance(patch, dict):
        return patch
    merged: dict[str, Document] = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _patch(merged.get(key), value)
    return merged
