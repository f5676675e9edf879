"""What the fields of Release are called, mean and come from, as their docstrings say.

One law: it is read from release.py itself, its docstrings and its comments of chapters and sections.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from simulator.releases import release

CHAPTER = re.compile(r"    # == (.+?) =+")
SECTION = re.compile(r"    # -- (.+?) -+")
SENTENCE = re.compile(r"[.:](?=\s|$)")
ASIDE = re.compile(r" ?\((?:there|[^()]*(?:\.go|/|\d\.\d|\bnew\b|\bclassic\b|: there)[^()]*)\)")
FILE = re.compile(r"(?:[\w*{},-]+/)+[\w*{},.-]*\w\*?|\bgo\.mod\b")


@dataclass(frozen=True)
class Behaviour:
    """A field of Release."""

    name: str
    chapter: str
    section: str
    documentation: str
    """Its docstring as one line."""

    meaning: str
    """The first sentence, without the releases and sources that stand in parentheses."""

    sources: tuple[str, ...]
    """TiCDC's files in it, those of the field above where it says `there`."""

    @property
    def on_the_wire(self) -> bool:
        """Whether it is of the first chapter, what messages hold and where they are."""
        return self.chapter == behaviours()[0].chapter

    def means(self, value: str) -> str:
        """What the docstring says of one of several values, which it has in back-quotes; or nothing."""
        found = re.search(rf"`{re.escape(value)}`:? (?!\(|in \d|from \d)(.+?)(?: ?\(|\.(?:\s|$)|$)", self.documentation)
        return found[1].rstrip(",:") if found else ""


@cache
def behaviours() -> tuple[Behaviour, ...]:
    """Every field that is in a section, in the order of release.py."""
    return tuple(_read(Path(release.__file__).read_text("utf-8")))


def _read(source: str) -> Iterator[Behaviour]:
    lines = source.splitlines()
    body = next(node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)).body
    sources: tuple[str, ...] = ()
    for field, said in zip(body, body[1:]):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            chapter, section = (_above(lines, field.lineno, title) for title in (CHAPTER, SECTION))
            text = " ".join(_docstring(said).split())
            sources = _sources(text, sources)
            if section:
                yield Behaviour(field.target.id, chapter, section, text, first_sentence(text), sources)


def _above(lines: list[str], line: int, title: re.Pattern[str]) -> str:
    """The last chapter or section that begins above a line; empty before the first one."""
    return next((found[1] for text in reversed(lines[:line]) if (found := title.fullmatch(text))), "")


def _docstring(node: ast.stmt) -> str:
    """The text of a docstring; empty for what is none."""
    return node.value.value if (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ) else ""


def _sources(text: str, above: tuple[str, ...]) -> tuple[str, ...]:
    files = tuple(dict.fromkeys(file.rstrip(".") for file in FILE.findall(text)))
    return files or (above if re.search(r"\bthere\b", text) else ())


def first_sentence(text: str) -> str:
    """A docstring's first sentence without asides about releases and sources, and without its full stop; where a colon
    ends it (a list of values follows), without what stands behind a semicolon."""
    plain = ASIDE.sub("", text)
    ends = SENTENCE.search(plain)
    sentence = plain[: ends.start()] if ends else plain
    return sentence.partition(";")[0] if ends and ends[0] == ":" else sentence
