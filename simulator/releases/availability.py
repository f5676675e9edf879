"""The availability of settings: whether a release has one, and which releases have it, in words.

A setting that no release lists exists in all of them; a setting in a table that a release does not have does not exist
there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

from simulator.releases.release import RELEASES, Release, behaviours

OPTIONS = next(behaviour for behaviour in behaviours() if behaviour.name == "options")

TRACKED = frozenset[str]().union(*OPTIONS.elements.values())
"""All settings that some releases have and others do not."""


def has(release: Release, option: str) -> bool:
    """Return whether the release has `?parameter` of the sink-uri, or a dotted key or table of changefeed.toml."""
    parts = option.split(".")
    within = {".".join(parts[: count + 1]) for count in range(len(parts))}
    return not within & TRACKED - release.options


def releases_with(option: str) -> str:
    """Return which releases have a setting: `since v7.3.0 (and v6.5.4+, v7.1.2+)`, `in v7.2.0`, `since v8.5.4 (new
    architecture)`."""
    classic, new = (_spans(architecture, lambda release: has(release, option)) for architecture in ("classic", "new"))
    if not classic:
        return f"{new} (new architecture)"
    if not new and classic.startswith("since"):
        return f"{classic} (classic architecture)"
    whole = all(has(release, option) for release in _releases("new"))
    return classic if whole or not new else f"{classic}, {new} of the new architecture"


def describe_releases(release: Release, chosen: Callable[[Release], bool]) -> str:
    """Return the chosen releases of that release's architecture in words; empty if there are none."""
    return _spans(release.architecture, chosen)


def _spans(architecture: str, chosen: Callable[[Release], bool]) -> str:
    releases = _releases(architecture)
    runs = list(_runs(releases, chosen))
    open_end = [run for run in runs if run[1] == releases[-1].name]
    others = [_span(*run, releases) for run in runs if run not in open_end]
    if not open_end:
        return f"in {', '.join(others)}" if others else ""
    return f"since {open_end[0][0]}" + (f" (and {', '.join(others)})" if others else "")


def _releases(architecture: str) -> list[Release]:
    """Return the releases in order, without betas."""
    return [release for release in RELEASES[architecture].values() if "-" not in release.name]


def _runs(releases: list[Release], chosen: Callable[[Release], bool]) -> Iterator[tuple[str, str]]:
    for wanted, run in groupby(releases, chosen):
        names = [release.name for release in run]
        if wanted:
            yield names[0], names[-1]


def _span(first: str, last: str, releases: list[Release]) -> str:
    """Return `v7.2.0` for one release, `v7.1.2+` to the end of its line, or `v4.0.0–v7.3.0`."""
    line = first.rpartition(".")[0]
    of_line = [release.name for release in releases if release.name.rpartition(".")[0] == line]
    if first == last:
        return first
    return f"{first}+" if last == of_line[-1] else f"{first}–{last}"
