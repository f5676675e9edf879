"""The scenarios and load plans that come with the package, by name. An existing file takes precedence over a name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from simulator.errors import UserError, did_you_mean
from simulator.files import STANDARD_STREAM, parse_toml, read_text
from simulator.run.scenario import ABOUT, About, read_about

PACKAGE = Path(__file__).parents[1]

LIBRARY = PACKAGE / "scenarios" if (PACKAGE / "scenarios").is_dir() else PACKAGE.parent / "scenarios"
"""In the package where it is installed from a wheel; beside it in a checkout and in an editable install."""

PRESETS = LIBRARY / "load"


@dataclass(frozen=True)
class Shipped:
    """A scenario of the library."""

    name: str
    file: Path
    about: About
    release: str
    """The release that the file sets; empty for the simulator's default."""


@cache
def shipped() -> Mapping[str, Shipped]:
    """Return all scenarios by name, in alphabetical order."""
    return {scenario.name: scenario for scenario in _read_all(LIBRARY)}


def find(name: str) -> Shipped:
    """Return the scenario of that name; raises UserError."""
    scenario = shipped().get(name)
    if scenario is None:
        raise UserError(f"no scenario {name!r}.{did_you_mean(name, shipped())} `ticdc-sim scenarios` lists them")
    return scenario


def file_of(path: Path) -> Path:
    """Return the path itself, or the library's file for the name of a scenario; raises UserError."""
    if path == STANDARD_STREAM or path.exists() or path.suffix or len(path.parts) != 1:
        return path
    return find(path.name).file


def preset_names() -> tuple[str, ...]:
    """Return the names of the plans of `ticdc-sim load` in alphabetical order."""
    return tuple(sorted(path.stem for path in PRESETS.glob("*.toml")))


def preset_file(name: str) -> Path:
    """Return the plan of that name, which is an ordinary plan file; raises UserError."""
    if name not in preset_names():
        raise UserError(f"no preset {name!r}.{did_you_mean(name, preset_names())} Presets: {', '.join(preset_names())}")
    return PRESETS / f"{name}.toml"


def _read_all(directory: Path) -> Iterator[Shipped]:
    for file in sorted(directory.glob("*.toml")):
        document = parse_toml(read_text(file))
        if "step" in document:
            yield Shipped(file.stem, file, read_about(document.get(ABOUT, {}), str, []), _release(document))


def _release(document: Mapping[str, Any]) -> str:
    return ":".join(filter(None, (document.get(key) for key in ("architecture", "release"))))
