"""Counts and sizes as messages show them: `1 row change`, `2 row changes`, `591 bytes`, `2.2 MiB`."""

from __future__ import annotations

import re

UNITS = ((10_000 << 20, 1 << 30, "GiB"), (0.05 * (1 << 20), 1 << 20, "MiB"), (1 << 10, 1 << 10, "KiB"), (0, 1, "bytes"))
"""From how many bytes on a unit is used, its bytes, and its name."""


def counted(number: int, thing: str) -> str:
    """Return a count with its noun, in the plural unless it is one."""
    return f"{number:,} {noun(number, thing)}"


def noun(number: int, thing: str) -> str:
    """Return the noun of a count; of several words the last one changes."""
    if number == 1:
        return thing
    if re.search(r"[^aeiou]y$", thing):
        return f"{thing[:-1]}ies"
    return f"{thing}es" if thing.endswith(("s", "x", "ch", "sh")) else f"{thing}s"


def sized(number: float) -> str:
    """Return a number of bytes, mostly in MiB, and in the unit that shows more than zero."""
    width, unit = unit_of(number)
    return f"{number / width:,.1f} {unit}" if width > 1 else counted(round(number), "byte")


def unit_of(number: float) -> tuple[int, str]:
    """Return the bytes and the name of the unit for so many bytes."""
    return next((width, unit) for least, width, unit in UNITS if number >= least)
