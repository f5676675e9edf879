"""The plans that come with the package, by their names.

One law: a preset is a plan file like any other; what `--print-plan` shows can be saved, changed and played.
"""

from __future__ import annotations

from pathlib import Path

from simulator.errors import UserError, did_you_mean
from simulator.files import read_text
from simulator.run.library import LIBRARY

DIRECTORY = LIBRARY / "load"


def names() -> tuple[str, ...]:
    """In alphabetical order."""
    return tuple(sorted(path.stem for path in DIRECTORY.glob("*.toml")))


def file_of(name: str) -> Path:
    """The preset of that name; raises UserError."""
    if name not in names():
        raise UserError(f"no preset {name!r}.{did_you_mean(name, names())} Presets: {', '.join(names())}")
    return DIRECTORY / f"{name}.toml"


def text_of(name: str) -> str:
    """Its file, comments and all; raises UserError."""
    return read_text(file_of(name))
