"""`releases`: what a release does, and what changes between two."""

from __future__ import annotations

from functools import partial
from typing import Any

from simulator.cli.output import show_json
from simulator.cli.release_tables import show_differences, show_lines, show_release
from simulator.releases.behaviour import Behaviour
from simulator.releases.compare import Difference, Line, differences, lines, named
from simulator.releases.release import Release, behaviours


def releases(first: str | None, second: str | None, architecture: str | None, as_json: bool) -> None:
    """All lines of releases, or all of one release, or what the second does otherwise."""
    if first is None:
        found = lines(architecture)
        document: dict[str, Any] = {"lines": [_line(line) for line in found]}
        show = partial(show_lines, found)
    elif second is None:
        release = named(first, architecture)
        document, show = _release(release), partial(show_release, release)
    else:
        before, after = named(first, architecture), named(second, architecture)
        changed = differences(before, after)
        document, show = _comparison(before, after, changed), partial(show_differences, before, after, changed)
    if as_json:
        show_json(document)
    else:
        show()


def _line(line: Line) -> dict[str, Any]:
    return {
        "architecture": line.architecture,
        "line": line.name,
        "releases": [release.name for release in line.releases],
        "changes": [{"release": release.name, "behaviours": count} for release, count in line.changes],
    }


def _release(release: Release) -> dict[str, Any]:
    every = [_behaviour(behaviour) | {"value": _plain(getattr(release, behaviour.name))} for behaviour in behaviours()]
    return _name(release) | {"behaviours": every}


def _comparison(before: Release, after: Release, changed: tuple[Difference, ...]) -> dict[str, Any]:
    return {"from": _name(before), "to": _name(after), "differences": list(map(_difference, changed))}


def _difference(difference: Difference) -> dict[str, Any]:
    shown = _behaviour(difference.behaviour) | {"from": _plain(difference.before), "to": _plain(difference.after)}
    sets = {"added": difference.added, "removed": difference.removed} if isinstance(difference.after, frozenset) else {}
    return shown | sets


def _behaviour(behaviour: Behaviour) -> dict[str, Any]:
    return {
        "name": behaviour.name,
        "chapter": behaviour.chapter,
        "section": behaviour.section,
        "on_the_wire": behaviour.on_the_wire,
        "meaning": behaviour.meaning,
        "documentation": behaviour.documentation,
        "sources": list(behaviour.sources),
    }


def _name(release: Release) -> dict[str, Any]:
    return {"release": release.name, "architecture": release.architecture}


def _plain(value: object) -> object:
    return sorted(value) if isinstance(value, frozenset) else value
