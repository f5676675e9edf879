"""Changes of one field of a message: it is dropped, doubled, null, or another value of its type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from support.mutant_forms import Number, Tree

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class FieldChange:
    path: Path
    what: str
    apply: Callable[[Any, Any], None]
    """Takes the member's container and its name or index."""


def generic(path: Path) -> str:
    return ".".join("[]" if isinstance(step, int) else step for step in path)


def field_changes(tree: Tree) -> Iterator[FieldChange]:
    """All changes of all members of a tree, depth first."""
    return _changes(tree, ())


def _changes(tree: Tree, path: Path) -> Iterator[FieldChange]:
    if isinstance(tree, dict):
        for name, member in tree.items():
            yield from _member_changes(member, (*path, name))
            yield FieldChange((*path, name), "dropped", _drop)
            if name.swapcase() != name and path:
                yield FieldChange((*path, name), "named in other case", _rename)
    elif isinstance(tree, list):
        for index, member in enumerate(tree):
            yield from _member_changes(member, (*path, index))
            yield FieldChange((*path, index), "dropped", _drop)
            yield FieldChange((*path, index), "doubled", _double)


def _member_changes(member: Tree, path: Path) -> Iterator[FieldChange]:
    for what, new in altered(member, path):
        yield FieldChange(path, what, _put(new))
    yield from _changes(member, path)


def altered(value: Tree, path: Path) -> Iterator[tuple[str, Tree]]:
    """Other values of the same type, null, and in place of null another one."""
    if value is None:
        yield "filled", "1"
        return
    yield "null", None
    match value:
        case bool():
            yield "flipped", not value
        case Number():
            yield "digit changed", Number(_other_digit(value.text))
        case int():
            yield "one more", value + 1
            yield "negated", -value
            for bit in range(9) if path[-1] == "f" else ():
                yield f"bit {bit} flipped", value ^ 1 << bit
            yield "as a text", str(value)
        case str():
            yield from _altered_text(value)
        case list():
            yield "emptied", []
            if value[::-1] != value:
                yield "reversed", value[::-1]
        case dict():
            yield "emptied", {}
            if value:
                yield "with one more", {**value, "more": list(value.values())[-1]}


def _altered_text(text: str) -> Iterator[tuple[str, str]]:
    if any(map(str.isdecimal, text)):
        yield "digit changed", _other_digit(text)
    if any(map(str.isalpha, text)):
        place = max(place for place, letter in enumerate(text) if letter.isalpha())
        other = "b" if text[place] in "aA" else "a"
        yield "letter changed", text[:place] + other + text[place + 1 :]
    if text.swapcase() != text:
        yield "case changed", text.swapcase()
    yield "longer", f"{text}x"
    if text:
        yield "emptied", ""


def _other_digit(text: str) -> str:
    place = max(place for place, letter in enumerate(text) if letter in "0123456789")
    return f"{text[:place]}{(int(text[place]) + 1) % 10}{text[place + 1 :]}"


def _drop(container: Any, name: Any) -> None:
    del container[name]


def _double(container: Any, index: int) -> None:
    container.insert(index, container[index])


def _rename(container: dict[str, Any], name: str) -> None:
    members = [(each.swapcase() if each == name else each, member) for each, member in container.items()]
    container.clear()
    container.update(members)


def _put(new: Tree) -> Callable[[Any, Any], None]:
    def put(container: Any, name: Any) -> None:
        container[name] = new

    return put


def changed(tree: Tree, change: FieldChange) -> Tree:
    """A copy of the tree with the change."""
    root = copied = _copy(tree)
    for step in change.path[:-1]:
        copied[step] = _copy(copied[step])
        copied = copied[step]
    change.apply(copied, change.path[-1])
    return root


def _copy(tree: Tree) -> Tree:
    return dict(tree) if isinstance(tree, dict) else list(tree)


def member(tree: Tree, path: Path) -> Tree:
    for step in path:
        tree = tree[step]
    return tree
