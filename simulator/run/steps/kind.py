"""The kinds of steps in scenario files, the smallest of which is `wait`, and the parser of a `[[step]]`, which reports every
mistake with its line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simulator.errors import UserError, did_you_mean
from simulator.run.plan.step import PlanContext, RunPosition, ScenarioStep, StepResult
from simulator.settings import DURATION, TEXT, Key, KeyLine, TableLines, to_duration_ms, to_text

NAME = "name"
NAME_KEY = Key(NAME, to_text, TEXT, "What --from and --until call the step.")
"""A key of every kind of step."""


@dataclass(frozen=True)
class StepPlace:
    """The position of a step in its file."""

    file: Path
    number: int
    """From 1."""

    lines: TableLines | None = None
    """None if they are unknown, as in a list of steps without headers."""

    def line_of_text(self, key: str) -> int:
        """Return the line on which the value of a key begins."""
        keys = self.lines.keys if self.lines else {}
        return keys.get(key, KeyLine(1, 1)).text

    def where(self, key: str = "") -> str:
        """Return the prefix of a message about a key, or about the whole step."""
        return f"{line_of(self.lines, key)}step {self.number}: "


def line_of(lines: TableLines | None, key: str = "") -> str:
    if lines is None:
        return ""
    known = lines.keys.get(key)
    return f"line {known.line if known else lines.line}: "


@dataclass(frozen=True)
class KeyGroup:
    """Keys of a step besides the one that names its kind."""

    keys: Mapping[str, Key]
    misplaced: str
    """The message for these keys in a step of another kind, and in the first step unless `first`."""

    first: bool = False
    """Whether the first step of a scenario may have these keys."""


@dataclass(frozen=True)
class StepVariant:
    """A value of the key that names a kind, with keys of its own."""

    says: str
    keys: Mapping[str, Key]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class StepKind:
    read: Callable[[Any], Any]
    """Converts the value of the key that names the kind; raises UserError."""

    step: Callable[[Any, Mapping[str, Any], StepPlace], ScenarioStep]
    """Creates the step from that value, the values of `groups` by field, and its position; raises UserError."""

    groups: tuple[KeyGroup, ...] = ()
    starts: bool = False
    """Whether a run may start with it."""

    changes: bool = False
    """Whether the step changes rows or tables, at least behind another step."""

    alone: bool = False
    """Whether it does so as the only step."""

    says: str = ""
    """Its description, for editors."""

    type: Mapping[str, Any] = field(default_factory=lambda: TEXT)
    """The JSON Schema of the value of the key that names it."""

    variants: Mapping[str, StepVariant] = field(default_factory=dict)
    """By value of that key, for editors."""


@dataclass(frozen=True)
class WaitStep:
    milliseconds: int

    def plan(self, position: RunPosition, context: PlanContext) -> tuple[RunPosition, StepResult]:
        """Advance the time."""
        return position.passed(self.milliseconds), StepResult()


WAIT = StepKind(
    to_duration_ms,
    lambda milliseconds, _, place: WaitStep(milliseconds),
    says="Simulated time passes, and only watermarks with it.",
    type=DURATION,
)


@dataclass(frozen=True)
class ReadStep:
    kind: StepKind
    step: ScenarioStep
    name: str


def read_step(
    kinds: Mapping[str, StepKind], table: Mapping[str, Any], place: StepPlace, mistakes: list[str]
) -> ReadStep | None:
    """Parse a step; add its mistakes to `mistakes` and return None if there are any."""
    known = {name: Key(name, kind.read) for name, kind in kinds.items()} | {NAME: NAME_KEY}
    spelled_name = _spelled_name(kinds, table)
    for group in (group for kind in kinds.values() for group in kind.groups):
        known |= {key: value for key, value in group.keys.items() if key not in spelled_name}
    values = read_keys(table, known, place.where, mistakes)
    if len(spelled_name) != 1:
        mistakes.append(f"{place.where()}exactly one of {', '.join(kinds)} is expected")
    mistakes += _misplaced(kinds, spelled_name, table, place)
    if len(spelled_name) != 1 or spelled_name[0] not in values:
        return None
    kind, before = kinds[spelled_name[0]], len(mistakes)
    try:
        step = kind.step(values[spelled_name[0]], values, place)
    except UserError as error:
        mistakes += (f"{place.where(spelled_name[0])}{spelled_name[0]}: {each}" for each in error.args)
    return ReadStep(kind, step, values.get(NAME, "")) if len(mistakes) == before else None


def _spelled_name(kinds: Mapping[str, StepKind], table: Mapping[str, Any]) -> list[str]:
    """Return the keys that name the kind: one, without mistakes. What names a kind may be a key of another one."""
    given = [name for name in kinds if name in table]
    beside = {key for name in given for group in kinds[name].groups for key in group.keys}
    return [name for name in given if name not in beside]


def _misplaced(
    kinds: Mapping[str, StepKind], spelled_name: list[str], table: Mapping[str, Any], place: StepPlace
) -> list[str]:
    """Return a message for each group of keys that belong to another kind, or not to the first step."""
    first_keys: dict[str, str] = {}
    own = {key: group for name in spelled_name for group in kinds[name].groups for key in group.keys}
    others = {key: group for kind in reversed([*kinds.values()]) for group in kind.groups for key in group.keys}
    for key in (key for key in table if key in others and key not in spelled_name):
        group = own.get(key, others[key])
        if key not in own and spelled_name or place.number == 1 and not group.first:
            first_keys.setdefault(group.misplaced, key)
    return [f"{place.where(key)}{key}: {misplaced}" for misplaced, key in first_keys.items()]


def read_keys(
    table: Mapping[str, Any], known: Mapping[str, Key], where: Callable[[str], str], mistakes: list[str]
) -> dict[str, Any]:
    """Return the valid values by field, and add a message for each other key to `mistakes`."""
    values = {}
    for key, value in table.items():
        if key not in known:
            mistakes.append(f"{where(key)}unknown key {key!r}.{did_you_mean(key, known)} Known: {', '.join(known)}")
            continue
        try:
            values[known[key].field] = known[key].read(value)
        except UserError as error:
            mistakes += (f"{where(key)}{key}: {mistake}" for mistake in error.args)
    return values
