"""Two releases side by side, and all of them in lines.

One law: what differs is seen by looking at every field; which release ported what is not remembered anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from simulator.releases.behaviour import Behaviour
from simulator.releases.find import RELEASES, find
from simulator.releases.release import Release, behaviours


@dataclass(frozen=True)
class Difference:
    """A behaviour that two releases do not share."""

    behaviour: Behaviour
    before: object
    after: object

    @property
    def removed(self) -> list[object]:
        """Of a set: what the second release lacks, in order."""
        return _without(self.before, self.after)

    @property
    def added(self) -> list[object]:
        """Of a set: what the first release lacks, in order."""
        return _without(self.after, self.before)


@dataclass(frozen=True)
class Line:
    """Releases of one architecture that share their first two numbers."""

    architecture: str
    name: str
    releases: tuple[Release, ...]
    changes: tuple[tuple[Release, int], ...]
    """The releases that behave otherwise than the one before them in the line, and in how many ways; the first one is
    compared with the first of the line above."""


def named(name: str, architecture: str | None = None) -> Release:
    """The release of `v8.5.4`, or of `new:v8.5.4` whatever `architecture` says; raises UserError as `find` does."""
    kind, colon, tag = name.rpartition(":")
    return find(tag, kind) if colon else find(name, architecture)


def full_name(release: Release) -> str:
    """`classic:v8.5.4`, which `named` reads."""
    return f"{release.architecture}:{release.name}"


def differences(before: Release, after: Release) -> tuple[Difference, ...]:
    """What the second release does otherwise, what is on the wire first."""
    every = (
        Difference(behaviour, *(getattr(release, behaviour.name) for release in (before, after)))
        for behaviour in behaviours()
    )
    return tuple(difference for difference in every if difference.before != difference.after)


def lines(architecture: str | None = None) -> tuple[Line, ...]:
    """Every line of one architecture or of both, in order of version."""
    chosen = [name for name in RELEASES if architecture in (None, name)]
    return tuple(line for name in chosen for line in _lines(name, RELEASES[name]))


def _lines(architecture: str, releases: Mapping[str, Release]) -> Iterator[Line]:
    above: Release | None = None
    for name in dict.fromkeys(map(_line, releases)):
        of_line = tuple(release for tag, release in releases.items() if _line(tag) == name)
        yield Line(architecture, name, of_line, tuple(_changes(of_line, above)))
        above = of_line[0]


def _changes(releases: Sequence[Release], above: Release | None) -> Iterator[tuple[Release, int]]:
    for before, release in zip((above, *releases), releases):
        count = len(differences(before, release)) if before else 0
        if count:
            yield release, count


def _line(tag: str) -> str:
    found = re.match(r"v\d+\.\d+", tag)
    return found[0] if found else tag


def _without(these: object, those: object) -> list[object]:
    if isinstance(these, frozenset) and isinstance(those, frozenset):
        return sorted(these - those)
    return []
