"""Vector files on disk: which there are, of what kind, for which release. One law: contents are read, not chosen among.

A name says `<kind>.<architecture>-<release>[.<protocol>][.random].jsonl`, or `facts.<kind>.jsonl` where each line names
the releases it holds for. Any of them may end in `.gz`.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.releases import RELEASES, Release

DEFAULT = Path(__file__).parent / "vectors"


@dataclass(frozen=True)
class Vector:
    file: str
    line: int
    release: Release
    data: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What the test is called: file and id, or file and line."""
        line = f"{self.data['id']}#{self.line}" if "id" in self.data else f"line {self.line}"
        return f"{self.file}: {line}"


def files(directory: Path) -> list[Path]:
    """Every vector file, by name."""
    return sorted(path for path in directory.iterdir() if path.name.endswith((".jsonl", ".jsonl.gz")))


def kind(path: Path) -> str:
    """`rows`, `facts.dispatch`, …"""
    first, second = path.name.split(".")[:2]
    return f"facts.{second}" if first == "facts" else first


def of_unknown_release(path: Path) -> bool:
    """Whether the file is for a release that the simulator does not have."""
    return kind(path) == path.name.split(".")[0] and _release(path) is None


def _release(path: Path) -> Release | None:
    found = re.match(r"\w+\.(\w+)-(v\d+\.\d+\.\d+)\.", path.name)
    release = RELEASES.get(found.group(2)) if found else None
    return release if release and found and release.architecture == found.group(1) else None


def vectors(path: Path) -> Iterator[Vector]:
    """A vector for each line and release that the line holds for."""
    of_file = _release(path)
    opened = gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")
    with opened as lines:
        for number, line in enumerate(lines, 1):
            data = json.loads(line)
            for release in [of_file] if of_file else RELEASES.values():
                if of_file or holds(data, release):
                    yield Vector(path.name, number, release, data)


def holds(data: Mapping[str, Any], release: Release) -> bool:
    """Whether a fact is about that release: its architecture, and since and until or a line of back-ports."""
    if data["architecture"] not in ("both", release.architecture):
        return False
    since, until, own = data["since"], data["until"], _numbers(release.name)
    if (since is None or _numbers(since) <= own) and (until is None or own <= _numbers(until)):
        return True
    return any(_in_line(line, own) for line in data.get("other_release_lines") or ())


def _in_line(line: str, own: tuple[int, ...]) -> bool:
    """`v7.1.3+` is 7.1.3 and later of 7.1, `v7.5.7` that release alone."""
    first = _numbers(line.rstrip("+"))
    return own[:2] == first[:2] and own >= first if line.endswith("+") else own == first


def _numbers(name: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", name)[:3]))
