"""For a behaviour that two releases do not share, the smallest event that shows it, as both make it.

One law: the two outputs differ because of that behaviour alone: all else is as in one and the same release.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from simulator.explain.examples.messages import PLACES, SHARED, SPLITS
from simulator.explain.examples.played import Example, Played, played
from simulator.explain.examples.rows import CANAL_ROWS, OPEN_ROWS, ROWS
from simulator.explain.examples.statements import SENDING, TEXTS
from simulator.releases import RELEASES, Release
from simulator.releases.compare import Difference

EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    **ROWS,
    **OPEN_ROWS,
    **CANAL_ROWS,
    **PLACES,
    **SPLITS,
    **SHARED,
    **TEXTS,
    **SENDING,
}
"""By the field of Release; several where one event does not show every value that it may have."""


@dataclass(frozen=True)
class Shown:
    example: Example
    base: Release
    """As which all other behaviours are."""

    before: Played
    after: Played


def shown(difference: Difference, before: Release, after: Release) -> Shown | None:
    """An example of a difference between two releases; None where no event shows it, whatever the rest is like."""
    for base in _bases(before, after):
        for example in EXAMPLES.get(difference.behaviour.name, ()):
            outputs = [played(example, _as(base, difference, value)) for value in (difference.before, difference.after)]
            if outputs[0] != outputs[1]:
                return Shown(example, base, *outputs)
    return None


def _bases(before: Release, after: Release) -> Iterator[Release]:
    """The two themselves, then, for what both hide, the latest ones."""
    yield from (before, after)
    for releases in RELEASES.values():
        yield from reversed(list(releases.values()))


def _as(base: Release, difference: Difference, value: object) -> Release:
    changed: dict[str, Any] = {difference.behaviour.name: value}
    return replace(base, **changed)
