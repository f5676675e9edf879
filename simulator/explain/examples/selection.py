"""Selects the smallest event whose messages differ between two releases because of one behaviour.

All other behaviours are those of one base release, so that the two outputs differ for that reason alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from simulator.explain.examples.messages import PLACES, SHARED, SPLITS
from simulator.explain.examples.playback import ExampleOutput, ReleaseExample, play
from simulator.explain.examples.rows import CANAL_ROWS, OPEN_ROWS, ROWS
from simulator.explain.examples.statements import SENDING, TEXTS
from simulator.releases import RELEASES, Release
from simulator.releases.compare import ReleaseDifference

EXAMPLES: Mapping[str, tuple[ReleaseExample, ...]] = {
    **ROWS,
    **OPEN_ROWS,
    **CANAL_ROWS,
    **PLACES,
    **SPLITS,
    **SHARED,
    **TEXTS,
    **SENDING,
}
"""By the field of Release; several if no single event shows all its values."""


@dataclass(frozen=True)
class SelectedExample:
    example: ReleaseExample
    base: Release
    """The release of all other behaviours."""

    before: ExampleOutput
    after: ExampleOutput


def select_example(difference: ReleaseDifference, before: Release, after: Release) -> SelectedExample | None:
    """Return an example of a difference between two releases; None if no event shows it in any release."""
    for base in _bases(before, after):
        for example in EXAMPLES.get(difference.behaviour.name, ()):
            outputs = [
                play(example, _with_behaviour(base, difference, value))
                for value in (difference.before, difference.after)
            ]
            if outputs[0] != outputs[1]:
                return SelectedExample(example, base, *outputs)
    return None


def _bases(before: Release, after: Release) -> Iterator[Release]:
    """Yield the two releases, then the latest ones, for differences that both hide."""
    yield from (before, after)
    for releases in RELEASES.values():
        yield from reversed(list(releases.values()))


def _with_behaviour(base: Release, difference: ReleaseDifference, value: object) -> Release:
    changed: dict[str, Any] = {difference.behaviour.name: value}
    return replace(base, **changed)
