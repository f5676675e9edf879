"""What docstrings name is there: a rename that forgets them fails here."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parent.parent.parent / "simulator"

NAME = re.compile(r"(?<!`)`([A-Za-z_]\w*(?:\.\w+)*)`(?!`)")
"""A name in backticks."""

RAISED = re.compile(r"\b[Rr]aises? ((?:[A-Z]\w+(?:, | and | or )?)+)")
"""The names of errors."""

OUTSIDE = {
    # formats of dates and times
    *("YYYYMMDD", "YYYYMMDDhhmmss", "YYYYMMDDhhmmss.ffffff", "hhmmss", "HHMMSS"),
    # names that TiDB makes, and examples of them
    *("stem_2", "stem_3", "t_chk_1", "t_chk_2", "tidb_gc_life_time", "tidb_enable_row_level_checksum"),
    "_DEPRECATED",
    "python3",
    # TiCDC's and Spark's
    *("SetPartitionNum", "rowkey", "_r", "addPyFile"),
    # what users write
    *("for_", "n5"),
}


class Docstring(NamedTuple):
    place: str
    text: str


@cache
def code() -> tuple[tuple[Docstring, ...], frozenset[str]]:
    """All docstrings, those of variables too, and all names and words of texts in the code."""
    found, names = [], set(dir(builtins))
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        names.add(path.stem)
        described = {id(node): node for node in docstrings(tree)}
        where = path.relative_to(PACKAGE.parent)
        found += [Docstring(f"{where}:{node.lineno}", str(node.value)) for node in described.values()]
        for node in ast.walk(tree):
            if id(node) not in described:
                names.update(named(node))
    return tuple(found), frozenset(names)


def docstrings(tree: ast.AST) -> Iterator[ast.Constant]:
    """The texts that stand as statements."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value


def named(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
            yield name
        case ast.ClassDef(name) | ast.FunctionDef(name):
            yield name
        case ast.alias(name, asname):
            yield from (*name.split("."), asname or "")
        case ast.Constant(str(text)):
            yield from re.findall(r"\w+", text)


def unknown(named_in: Callable[[str], Iterable[str]]) -> list[str]:
    """The names in docstrings that are not in the code."""
    found, names = code()
    return [
        f"{docstring.place}: {name}"
        for docstring in found
        for name in named_in(docstring.text)
        if name not in OUTSIDE and not names.issuperset(name.split("."))
    ]


def test_names_in_docstrings_are_those_of_the_code() -> None:
    assert unknown(NAME.findall) == []


def test_errors_that_docstrings_name_are_there() -> None:
    assert unknown(lambda text: re.findall(r"\b[A-Z]\w+", " ".join(RAISED.findall(text)))) == []
