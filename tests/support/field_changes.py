"""Changes of one field of a message: it is dropped, doubled, null, or another value of its type."""

from __future__ import annotations

import re
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
    return ".".join(
        "[]" if isinstance(step, int) else step.rstrip("0123456789") if step[:1] == "#" else step for step in path
    )


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
        case bytes():
            yield "byte changed", value[:-1] + bytes([value[-1] ^ 1]) if value else b"1"
            yield "longer", value + b"x"
            yield "emptied", b""
        case float():
            yield "half more", value + 0.5
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
    for what, pattern, new in STATEMENT_CHANGES if STATEMENT.match(text) else ():
        if re.search(pattern, text):
            yield what, re.sub(pattern, new, text, count=1)
    yield "longer", f"{text}x"
    if text:
        yield "emptied", ""


STATEMENT = re.compile("CREATE|ALTER|DROP|TRUNCATE|RENAME")

STATEMENT_CHANGES = (
    ("with another scale", r"DECIMAL\((\d+),(\d+)\)", r"DECIMAL(\1,4)"),
    ("with another length", r"VARCHAR\(\d+\)", "VARCHAR(99)"),
    ("with another type", r"\bINT\b", "SMALLINT"),
    ("without its primary key", r",?\s*PRIMARY KEY(\([^)]*\))?", ""),
    ("without NOT NULL", " NOT NULL", ""),
    ("with NOT NULL", r"VARCHAR\(20\)", "VARCHAR(20) NOT NULL"),
    ("with another default", r"DEFAULT [\w.']+", "DEFAULT 3"),
    ("without its default", r" DEFAULT [\w.']+", ""),
    ("with another comment", "COMMENT '", "COMMENT 'x"),
    ("with one more column", r"^(CREATE TABLE [^(]*\()", r"\1`more` INT,"),
    ("with a column less", r"^(CREATE TABLE .*?),[^,]*VARCHAR[^,]*,", r"\1,"),
    ("in another charset", r"^(CREATE TABLE .*)$", r"\1 CHARACTER SET latin1"),
    ("in another collation", "utf8mb4_general_ci", "utf8mb4_bin"),
    ("with another member", r"ENUM\('low'", "ENUM('lower'"),
    ("with another index", r"(INDEX|KEY) `", r"\1 `x"),
    ("of another table", r"^((?:ALTER|DROP|TRUNCATE|RENAME|CREATE) TABLE (?:`\w+`\.)?`)\w+`", r"\1other`"),
    ("to another name", r"TO `\w+`$", "TO `other`"),
    ("as DROP", r"^TRUNCATE", "DROP"),
    ("as TRUNCATE", r"^DROP TABLE", "TRUNCATE TABLE"),
    ("as a unique index", "ADD INDEX", "ADD UNIQUE INDEX"),
    ("with another column", r"(ADD|DROP|MODIFY) COLUMN `\w+`", r"\1 COLUMN `other`"),
)
"""What a statement's text becomes: a name, a pattern and what is in its place."""


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
