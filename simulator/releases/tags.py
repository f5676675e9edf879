"""The tags of TiCDC's releases, and ranges of them as text: `4.0.6–6.1.5, 6.6; new 8.5.4`.

A range is of the classic architecture unless `new` stands before it; what follows `; ` begins anew. `6.6` is the whole
line, `4.0.6–6.5` ends with the last release of 6.5, `6.5.4+` goes to the newest release. A range has every release
between its ends by version, those of lines that TiCDC ported back to among them. `classic` and `new` alone are all
releases of an architecture. A beta is in no range but by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

CLASSIC = {
    **{"4.0": range(17), "5.0": range(7), "5.1": range(6), "5.2": range(5), "5.3": range(5), "5.4": range(4)},
    **{"6.0": range(1), "6.1": range(8), "6.2": range(1), "6.3": range(1), "6.4": range(1), "6.5": range(13)},
    **{"6.6": range(1), "7.0": range(1), "7.1": range(7), "7.2": range(1), "7.3": range(1), "7.4": range(1)},
    **{"7.5": range(9), "7.6": range(1), "8.0": range(1), "8.1": range(3), "8.2": range(1), "8.3": range(1)},
    **{"8.4": range(1), "8.5": range(9)},
}
"""The lines of pingcap/tiflow, and the patches of each."""

NEW = {"8.5": range(4, 9), "26.3": range(1, 5)}
"""Those of pingcap/ticdc. 8.5.8 is as its branch stood ten days before the tag (release-8.5, 799216ba3, 17 August 2026)."""

BETAS = ("9.0.0-beta.1", "9.0.0-beta.2.pre")
"""Of pingcap/ticdc."""

FullName = tuple[str, str]
"""Architecture and tag of a release."""


def _of_lines(lines: Mapping[str, Sequence[int]]) -> tuple[str, ...]:
    return tuple(f"{line}.{patch}" for line, patches in lines.items() for patch in patches)


TAGS = {"classic": _of_lines(CLASSIC), "new": _of_lines(NEW)}
"""In order of version, without betas."""

EVERY = {"classic": TAGS["classic"], "new": (*TAGS["new"], *BETAS)}
"""The same with betas, which come last."""


@cache
def releases_in(ranges: str) -> frozenset[FullName]:
    """Return the releases of ranges; raises ValueError for a text that is none."""
    return frozenset(release for part in ranges.split("; ") for release in _of_part(part))


def _of_part(part: str) -> Iterator[FullName]:
    """Return the releases of ranges of one architecture."""
    architecture = "new" if part.startswith("new") else "classic"
    tags = EVERY[architecture] if part == architecture else _of_ranges(part.removeprefix("new "), TAGS[architecture])
    return ((architecture, f"v{tag}") for tag in tags)


def _of_ranges(ranges: str, tags: tuple[str, ...]) -> Iterator[str]:
    for text in ranges.split(", "):
        yield from [text] if text in BETAS else _between(text, tags)


def _between(text: str, tags: tuple[str, ...]) -> Sequence[str]:
    found = re.fullmatch(r"([\d.]+)(?:–([\d.]+)|(\+))?", text)
    if found is None:
        raise ValueError(f"{text!r} is no range of releases")
    first, last, open_end = found.groups()
    start = _of(first, tags)[0]
    end = len(tags) - 1 if open_end else _of(last or first, tags)[-1]
    return tags[start : end + 1]


@cache
def _of(text: str, tags: tuple[str, ...]) -> list[int]:
    """Return the places of a release, or of those of a line."""
    places = [place for place, tag in enumerate(tags) if tag == text or tag.rpartition(".")[0] == text]
    if not places:
        raise ValueError(f"{text!r} is neither a release nor a line")
    return places
