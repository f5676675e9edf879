"""`releases`: what a release does, and what changes between two."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from simulator import releases as known
from simulator.cli.release_tables import show_differences, show_lines, show_release
from simulator.cli.show import show_json
from simulator.releases.behaviours import Behaviour, behaviours
from simulator.releases.compare import Difference, Line, differences, lines, named
from simulator.releases.release import Release


@click.command()
@click.argument("first", metavar="[A", required=False)
@click.argument("second", metavar="[B]]", required=False)
@click.option(
    "--architecture", type=click.Choice(list(known.RELEASES)), help="Of releases that do not say theirs as new:TAG."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document, for programs.")
def releases(first: str | None, second: str | None, architecture: str | None, as_json: bool) -> None:
    """What TiCDC releases do, and what changes from one to another.

    Without arguments: all lines of releases, and where behaviours change. With A: everything that release does. With A
    and B: what B does otherwise, what is on the wire first. A release is a tag, v8.5.4; where both architectures have
    it the classic one is meant, new:v8.5.4 is the other.

    \b
    ticdc-sim releases v6.5.0 v8.5.3
    ticdc-sim releases v8.5.4 new:v8.5.4
    """
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
