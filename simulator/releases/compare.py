"""Comparison of two releases, and the lines of all releases.

Differences are computed from all fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from simulator.releases.behaviour import ANY, Behaviour, Features
from simulator.releases.release import RELEASES, Release, behaviours, find

OPEN_PROTOCOL = "open-protocol"


@dataclass(frozen=True)
class ReleaseDifference:
    """A behaviour that differs between two releases."""

    behaviour: Behaviour
    before: object
    after: object

    @property
    def removed(self) -> list[object]:
        """Members of a set that the second release lacks, in order."""
        return _without(self.before, self.after)

    @property
    def added(self) -> list[object]:
        """Members of a set that the first release lacks, in order."""
        return _without(self.after, self.before)


@dataclass(frozen=True)
class ReleaseLine:
    """Releases of one architecture with the same first two numbers."""

    architecture: str
    name: str
    releases: tuple[Release, ...]
    changes: tuple[tuple[Release, int], ...]
    """The releases that differ from the one before them in the line, with the number of differences; the first is
    compared with the first of the previous line."""


def parse_release(name: str, architecture: str | None = None) -> Release:
    """Return the release of `v8.5.4`, or of `new:v8.5.4` whatever `architecture` is; raise UserError as `find` does."""
    kind, colon, tag = name.rpartition(":")
    return find(tag, kind) if colon else find(name, architecture)


def full_name(release: Release) -> str:
    """Return `classic:v8.5.4`, which `parse_release` parses."""
    return f"{release.architecture}:{release.name}"


def described(features: Features, *releases: Release) -> Iterator[tuple[Behaviour, tuple[object, ...]]]:
    """Yield the behaviours that concern a changefeed, those on the wire first, with the value in each release.

    A release whose default of `enable-old-value` is false is as one where the changefeed says so.
    """
    if features.settings is not None and not all(release.old_value for release in releases):
        features = replace(features, settings=features.settings | {"enable-old-value"})
    for behaviour in behaviours():
        if features.fit(behaviour.concern):
            values = (getattr(release, behaviour.name) for release in releases)
            yield behaviour, tuple(features.restricted(behaviour.concern, value) for value in values)


def differences(before: Release, after: Release, features: Features = ANY) -> tuple[ReleaseDifference, ...]:
    """Return the behaviours in which the second release differs and that concern a changefeed, those on the wire first.

    What concerns a protocol that one of them lacks is left out: `protocols` itself differs.
    """
    return tuple(
        ReleaseDifference(behaviour, *values)
        for behaviour, values in described(features, before, after)
        if values[0] != values[1] and _in_both(behaviour.concern.protocols, before, after)
    )


def has_protocol(release: Release, features: Features) -> bool:
    """Return whether a release has the protocol of a changefeed; every release has Open Protocol, up to 5.3 as `default`."""
    return features.protocol in ("", OPEN_PROTOCOL) or bool(features.spellings & release.protocols)


def _in_both(protocols: tuple[str, ...], before: Release, after: Release) -> bool:
    """Return whether both releases have one of the protocols, if there are any."""
    return not protocols or not {OPEN_PROTOCOL, *before.protocols & after.protocols}.isdisjoint(protocols)


def lines(architecture: str | None = None, features: Features = ANY) -> tuple[ReleaseLine, ...]:
    """Return every line of one architecture or of both, in order of version; changes are those of `differences`."""
    chosen = [name for name in RELEASES if architecture in (None, name)]
    return tuple(line for name in chosen for line in _lines(name, RELEASES[name], features))


def _lines(architecture: str, releases: Mapping[str, Release], features: Features) -> Iterator[ReleaseLine]:
    above: Release | None = None
    for name in dict.fromkeys(map(_line, releases)):
        of_line = tuple(release for tag, release in releases.items() if _line(tag) == name)
        yield ReleaseLine(architecture, name, of_line, tuple(_changes(of_line, above, features)))
        above = of_line[0]


def _changes(releases: Sequence[Release], above: Release | None, features: Features) -> Iterator[tuple[Release, int]]:
    for before, release in zip((above, *releases), releases):
        count = len(differences(before, release, features)) if before else 0
        if count:
            yield release, count


def _line(tag: str) -> str:
    match = re.match(r"v\d+\.\d+", tag)
    return match[0] if match else tag


def _without(these: object, those: object) -> list[object]:
    if isinstance(these, frozenset) and isinstance(those, frozenset):
        return sorted(these - those)
    return []
