"""The plans that come with the package. A preset is an ordinary plan file: save the output of `--print-plan` and change
it.
"""

from __future__ import annotations

from pathlib import Path

from simulator.errors import UserError, did_you_mean
from simulator.files import read_text
from simulator.run.library import LIBRARY

DIRECTORY = LIBRARY / "load"


def preset_names() -> tuple[str, ...]:
    """Return the names in alphabetical order."""
    return tuple(sorted(path.stem for path in DIRECTORY.glob("*.toml")))


def preset_file(name: str) -> Path:
    """Return the file of a preset; raise UserError if there is none."""
    if name not in preset_names():
        raise UserError(f"no preset {name!r}.{did_you_mean(name, preset_names())} Presets: {', '.join(preset_names())}")
    return DIRECTORY / f"{name}.toml"


def preset_text(name: str) -> str:
    """Return the text of a preset, comments included; raise UserError if there is none."""
    return read_text(preset_file(name))
