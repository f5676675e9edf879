"""The plans that come with the package, by their names.

One law: a preset is a plan file like any other; what `--print-plan` shows can be saved, changed and played.
"""

from __future__ import annotations

from pathlib import Path

from simulator.errors import UserError, did_you_mean
from simulator.files import read_text
from simulator.run.library import LIBRARY

DIRECTORY = LIBRARY / "load"


def preset_names() -> tuple[str, ...]:
    """In alphabetical order."""
    return tuple(sorted(path.stem for path in DIRECTORY.glob("*.toml")))


def preset_file(name: str) -> Path:
    """The preset of that name; raises UserError."""
    if name not in preset_names():
        raise UserError(f"no preset {name!r}.{did_you_mean(name, preset_names())} Presets: {', '.join(preset_names())}")
    return DIRECTORY / f"{name}.toml"


def preset_text(name: str) -> str:
    """Its file, comments and all; raises UserError."""
    return read_text(preset_file(name))
