"""Vector files on disk: which there are, of what kind, for which release. Contents are read, not chosen among.

A name says `<kind>.<architecture>-<release>[.<protocol>][.random].jsonl`, or `facts.<kind>.jsonl` where each line names
the releases it holds for. Any of them may end in `.gz`.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from simulator.releases import DEFAULT as DEFAULT_RELEASE
from simulator.releases import RELEASES, Release, find

DEFAULT = Path(__file__).parent.parent.parent / "vectors"

UNRELEASED = "unreleased"
"""The `since` of what only the development branch has."""


@dataclass(frozen=True)
class Vector:
    path: Path
    line: int
    release: Release
    data: Mapping[str, Any]

    @property
    def file(self) -> str:
        return self.path.name

    @property
    def name(self) -> str:
        """What the test is called: file and id, or file and line."""
        line = f"{self.data['id']}#{self.line}" if "id" in self.data else f"line {self.line}"
        return f"{self.file}: {line} {self.release.name}" if self.file.startswith("facts") else f"{self.file}: {line}"


def files(directory: Path) -> list[Path]:
    """Every vector file, by name."""
    return sorted(path for path in directory.iterdir() if path.name.endswith((".jsonl", ".jsonl.gz")))


def kind(path: Path) -> str:
    """`rows`, `facts.dispatch`, …"""
    first, second = path.name.split(".")[:2]
    return f"facts.{second}" if first == "facts" else first


OF_ALL_RELEASES = frozenset(
    {
        "facts.allow_list",
        "facts.column_types",
        "facts.config",
        "facts.ddl_statements",
        "facts.event_filter",
        "facts.literals",
        "facts.rename",
        "facts.update_split",
        "facts.validation",
    }
)
"""Kinds of facts that are checked for the first and the last release of each architecture that they hold for, and for
the default release."""

UNDATED = frozenset({"facts.validation"})
"""Kinds of facts that are known of the last release alone where they have no `since`."""

OF_LAST_RELEASES = frozenset({"facts.dispatch", "facts.table_filter", "facts.topics"})
"""Kinds of facts that are checked for the last release of each architecture that they hold for, and for the default
release: they are TiCDC's tests of that one."""


def is_about(kind: str, data: Mapping[str, Any], release: Release) -> bool:
    """Whether the release has what the fact is about: event filters came with 6.2, Canal-JSON with 4.0.9 and its
    watermarks with 5.4."""
    if kind == "facts.event_filter":
        return bool(release.event_filter_names)
    if kind == "facts.literals" and data["protocol"] == "canal-json":
        return release.tidb_extension if data["kind"] == "watermark" else "canal-json" in release.protocols
    return True


def of_unknown_release(path: Path) -> bool:
    """Whether the file is for a release that the simulator does not have."""
    return kind(path) == path.name.split(".")[0] and _release(path) is None


def _release(path: Path) -> Release | None:
    found = re.match(r"\w+\.(\w+)-(v\d+\.\d+\.\d+)\.", path.name)
    return RELEASES.get(found.group(1), {}).get(found.group(2)) if found else None


def vectors(path: Path) -> Iterator[Vector]:
    """A vector for each line of a release's file, and for each fact and release that it is checked for."""
    of_file = _release(path)
    opened = gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")
    with opened as lines:
        for number, line in enumerate(lines, 1):
            data = json.loads(line)
            for release in [of_file] if of_file else of_fact(kind(path), data):
                yield Vector(path, number, release, data)


def of_fact(kind: str, data: Mapping[str, Any]) -> list[Release]:
    """The releases that a fact is checked for."""
    if "since" not in data:
        return [find(data["release"], data["architecture"])]
    if data["since"] == UNRELEASED:
        return [find(DEFAULT_RELEASE)]
    found = [release for release in releases_of(data) if is_about(kind, data, release)]
    assert found, f"a vector that no release is checked for: {data}"
    dated = kind in OF_ALL_RELEASES and (kind not in UNDATED or data["since"] is not None)
    first = reversed(found if dated else [])
    kept = {release.architecture: release for release in first}, {release.architecture: release for release in found}
    default = [release for release in (find(DEFAULT_RELEASE),) if holds(data, release)]
    return list(dict.fromkeys([*(release for ends in kept for release in ends.values()), *default]))


def releases_of(data: Mapping[str, Any]) -> list[Release]:
    """Every release that a fact holds for."""
    return [release for releases in RELEASES.values() for release in releases.values() if holds(data, release)]


def holds(data: Mapping[str, Any], release: Release) -> bool:
    """Whether a fact is about that release: its architecture, and since and until or a line of back-ports."""
    if data["architecture"] not in ("both", release.architecture):
        return False
    since, until, own = data["since"], data.get("until"), _numbers(release.name)
    if "-" in release.name:
        return release.name in (since, until)
    if (since is None or _numbers(since) <= own) and (until is None or own <= _numbers(until)):
        return True
    return any(_in_line(line, own) for line in data.get("other_release_lines") or ())


def _in_line(line: str, own: tuple[int, ...]) -> bool:
    """`v7.1.3+` is 7.1.3 and later of 7.1, `v7.5.7` that release alone."""
    first = _numbers(line.rstrip("+"))
    return own[:2] == first[:2] and own >= first if line.endswith("+") else own == first


@cache
def _numbers(name: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", name)[:3]))
