"""What a kind of step in a scenario file is, and how a `[[step]]` is read.

One law: every mistake in a step is reported, not only the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.errors import UserError, did_you_mean
from simulator.run.plan.cursor import Step
from simulator.run.settings import Key


@dataclass(frozen=True)
class KeyGroup:
    """Keys of a step besides the one that names its kind."""

    keys: Mapping[str, Key]
    misplaced: str
    """What is wrong with them in a step of another kind, and in the first one unless `first`."""

    first: bool = False
    """Whether the first step of a scenario may have them."""


@dataclass(frozen=True)
class StepKind:
    """A kind of step."""

    read: Callable[[Any], Any]
    """The value of the key that names the kind; raises UserError."""

    step: Callable[[Any, Mapping[str, Any], Path], Step]
    """From that value, those of `groups` by field, and the scenario file."""

    groups: tuple[KeyGroup, ...] = ()
    starts: bool = False
    """Whether a run may start with it."""

    changes: bool = False
    """Whether something happens in it."""


def read_step(
    kinds: Mapping[str, StepKind], number: int, table: Mapping[str, Any], file: Path, mistakes: list[str]
) -> tuple[StepKind, Step] | None:
    """The step of that number, from 1; None where it is none, which `mistakes` then say."""
    where = f"step {number}: "
    groups: list[KeyGroup] = []
    for kind in kinds.values():
        groups += (group for group in kind.groups if group not in groups)
    known = {name: Key(name, kind.read) for name, kind in kinds.items()}
    for group in groups:
        known |= group.keys
    values = read_keys(table, known, where, mistakes)
    named = [name for name in kinds if name in table]
    if len(named) != 1:
        mistakes.append(f"{where}exactly one of {', '.join(kinds)} is expected")
    for group in groups:
        given = [key for key in group.keys if key in table]
        if given and (number == 1 and not group.first or any(group not in kinds[name].groups for name in named)):
            mistakes.append(f"{where}{given[0]}: {group.misplaced}")
    if len(named) != 1 or named[0] not in values:
        return None
    kind = kinds[named[0]]
    return kind, kind.step(values[named[0]], values, file)


def read_keys(table: Mapping[str, Any], known: Mapping[str, Key], where: str, mistakes: list[str]) -> dict[str, Any]:
    """The values that can be, by field; what is wrong with the others is added to `mistakes`, after `where`."""
    values = {}
    for key, value in table.items():
        if key not in known:
            mistakes.append(f"{where}unknown key {key!r}.{did_you_mean(key, known)} Known: {', '.join(known)}")
            continue
        try:
            values[known[key].field] = known[key].read(value)
        except UserError as error:
            mistakes.append(f"{where}{key}: {error}")
    return values
