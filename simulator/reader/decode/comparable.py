"""The text of an event in a form in which two streams can be compared. Each protocol's decoder has a function of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Numbers: TypeAlias = "tuple[tuple[str, int], ...]"
"""Names and numbers of ids and versions."""


@dataclass(frozen=True)
class ComparableText:
    """An event as text, without what is ignored."""

    commit_ts: int
    """0 if the message does not tell it."""

    table: str
    key: str
    value: str
    """Texts of JSON, or empty; what is ignored is 0 in them."""

    is_watermark: bool = False
    ids: Numbers = ()
    """The names and numbers of the ids and versions that are 0 in the texts."""


ToComparable: TypeAlias = "Callable[[bytes | None, bytes | None, frozenset[str], Mapping[int, str]], ComparableText]"
"""Takes key and value of an event, the names of what is ignored (`compare.events.IGNORABLE`), and the schemas of a
registry by id. Raises ValueError or KeyError if the event is invalid."""


def text(content: bytes | None) -> str:
    """Return bytes as text, no bytes as an empty one; those that are no UTF-8 become lone surrogates."""
    return (content or b"").decode("utf-8", "surrogateescape")


def zero(shown: str, member: str, number: object) -> str:
    """Return the text with 0 in place of a member's number, at its first place; anything else than a number of 0 or more
    stays."""
    is_time = type(number) is int and number >= 0
    return shown.replace(f'"{member}":{number}', f'"{member}":0', 1) if is_time else shown


def without_ids(shown: str, patterns: Sequence[re.Pattern[str]]) -> tuple[str, Numbers]:
    """Return the text with 0 in place of the numbers of each pattern in turn, and their names and numbers."""
    ids: list[tuple[str, int]] = []
    for pattern in patterns:
        ids += ((name, int(number)) for name, number in pattern.findall(shown))
        shown = pattern.sub(lambda match: f'"{match[1]}":0', shown)
    return shown, tuple(ids)
