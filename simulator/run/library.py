"""The scenarios that come with the package, by their names.

One law: a file that is there wins over a scenario of that name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from simulator.errors import UserError, did_you_mean
from simulator.files import parse_toml, read_text
from simulator.run.scenario_about import ABOUT, About, read_about

LIBRARY = (Path(__file__).parent.parent / "scenarios").resolve()


@dataclass(frozen=True)
class Shipped:
    """A scenario of the library."""

    name: str
    file: Path
    about: About
    release: str
    """The one that it is played under where nothing is said; empty for the simulator's own default."""


@cache
def shipped() -> Mapping[str, Shipped]:
    """All of them by name, in alphabetical order."""
    return {scenario.name: scenario for scenario in _found(LIBRARY)}


def find(name: str) -> Shipped:
    """The scenario of that name; raises UserError."""
    found = shipped().get(name)
    if found is None:
        raise UserError(f"no scenario {name!r}.{did_you_mean(name, shipped())} `ticdc-sim scenarios` lists them")
    return found


def file_of(path: Path) -> Path:
    """The file itself, or that of the library's scenario where there is no such file; raises UserError."""
    if path.exists() or path.suffix or len(path.parts) != 1:
        return path
    return find(path.name).file


def _found(directory: Path) -> Iterator[Shipped]:
    for file in sorted(directory.glob("*.toml")):
        document = parse_toml(read_text(file))
        if "step" in document:
            yield Shipped(file.stem, file, read_about(document.get(ABOUT, {}), str, []), _release(document))


def _release(document: Mapping[str, Any]) -> str:
    given = (document.get(key) for key in ("architecture", "release"))
    return ":".join(filter(None, given))
