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
        document: dict[str, Any] = {"lines": [_line(one) for one in found]}
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
    every = [_behaviour(one) | {"value": _plain(getattr(release, one.name))} for one in behaviours()]
    return _name(release) | {"behaviours": every}


def _comparison(before: Release, after: Release, changed: tuple[Difference, ...]) -> dict[str, Any]:
    return {"from": _name(before), "to": _name(after), "differences": [_difference(one) for one in changed]}


def _difference(one: Difference) -> dict[str, Any]:
    shown = _behaviour(one.behaviour) | {"from": _plain(one.before), "to": _plain(one.after)}
    sets = {"added": one.added, "removed": one.removed} if isinstance(one.after, frozenset) else {}
    return shown | sets


def _behaviour(one: Behaviour) -> dict[str, Any]:
    return {
        "name": one.name,
        "chapter": one.chapter,
        "section": one.section,
        "on_the_wire": one.on_the_wire,
        "meaning": one.meaning,
        "documentation": one.documentation,
        "sources": list(one.sources),
    }


def _name(release: Release) -> dict[str, Any]:
    return {"release": release.name, "architecture": release.architecture}


def _plain(value: object) -> object:
    return sorted(value) if isinstance(value, frozenset) else value
