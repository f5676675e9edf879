"""A scenario file, TOML: settings, then steps in order. One law: every mistake in a file is reported at once.

sink-uri = "kafka://127.0.0.1:9092/shop?protocol=canal-json"
over = "1m"

[[step]]
snapshot = "monday"     # a directory, relative to this file; the first one is where the run starts

[[step]]
wait = "30s"            # only watermarks

[[step]]
snapshot = "tuesday"    # its difference to the state before, spread over …
over = "10m"
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simulator import tso
from simulator.errors import ScenarioError, UserError, did_you_mean, masked
from simulator.files import beside, read_text, toml
from simulator.run.script import Becomes, PLACES, SchemaChange, Script, Wait

DEFAULT_OVER = "1m"


@dataclass(frozen=True)
class Settings:
    """What the command line's options and a scenario's settings both say; None is unsaid."""

    sink_uri: str | None = None
    config: Path | None = None
    release: str | None = None
    architecture: str | None = None
    start_ts: int | None = None
    over_ms: int | None = None
    resolved_interval_ms: int | None = None
    speed: float | None = None
    seed: int | None = None


@dataclass(frozen=True)
class Scenario:
    settings: Settings
    start: Path
    steps: tuple[Becomes | Wait, ...]

    def script(self, options: Settings) -> Script:
        """What is to be played, where options win over the file."""
        said = merged(options, self.settings)
        over_ms = said.over_ms or tso.duration_ms(DEFAULT_OVER)
        steps = tuple(
            replace(step, over_ms=step.over_ms or over_ms) if isinstance(step, Becomes) else step
            for step in self.steps
        )
        return Script(
            self.start, steps, said.start_ts, said.resolved_interval_ms or 1000, said.seed or 0, said.speed or 0.0
        )


def diff(before: Path, after: Path, schema_change: SchemaChange = SchemaChange()) -> Scenario:
    """The scenario of two snapshots."""
    return Scenario(Settings(), before, (Becomes(after, 0, schema_change),))


def merged(options: Settings, file: Settings) -> Settings:
    """Each setting from the options, else from the file."""
    pairs = {name: (getattr(options, name), getattr(file, name)) for name in Settings.__dataclass_fields__}
    return Settings(**{name: other if mine is None else mine for name, (mine, other) in pairs.items()})


def load(path: Path) -> Scenario:
    """The scenario of that file; raises ScenarioError with every mistake in it, a line each."""
    text = read_text(path)
    try:
        document = toml(text)
    except ValueError as error:
        raise ScenarioError(f"scenario {path} is not TOML: {error}") from None
    return _Reader(path).scenario(document)


def speed(text: str) -> float:
    """`max`, or how many simulated seconds pass in a real one; raises UserError. 0.0 stands for max."""
    if text == "max":
        return 0.0
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise UserError(f"bad speed {text!r}: expected max, or a number above 0 such as 1 (real time) or 10")
    return value


class _Reader:
    """Collects mistakes while it reads one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._mistakes: list[str] = []

    def scenario(self, document: dict[str, Any]) -> Scenario:
        steps = document.pop("step", [])
        settings = Settings(**self._fields(document, "", SETTINGS))
        read = [self._step(number, step) for number, step in enumerate(steps, 1)] if self._are_steps(steps) else []
        if not self._mistakes and (not read or not isinstance(read[0], Becomes)):
            self._mistakes.append("the first [[step]] must be a snapshot: the state in which the run starts")
        if not self._mistakes and not any(isinstance(step, Becomes) for step in read[1:]):
            self._mistakes.append(
                "at least two snapshots are expected: one to start from, and one that something happens on the way to"
            )
        if self._mistakes:
            raise ScenarioError(*(f"scenario {self._path}: {mistake}" for mistake in self._mistakes))
        first = read[0]
        assert isinstance(first, Becomes)
        return Scenario(settings, first.directory, tuple(step for step in read[1:] if step is not None))

    def _are_steps(self, steps: object) -> bool:
        good = isinstance(steps, list) and all(isinstance(step, dict) for step in steps)
        if not good:
            self._mistakes.append("step must be a list of tables: write each step under [[step]]")
        return good

    def _step(self, number: int, step: dict[str, Any]) -> Becomes | Wait | None:
        where = f"step {number}: "
        values = self._fields(step, where, STEP)
        if ("snapshot" in step) == ("wait" in step):
            self._mistakes.append(f"{where}exactly one of snapshot, wait is expected")
        if "over" in step and (number == 1 or "wait" in step):
            self._mistakes.append(f"{where}over: only a snapshot that follows another takes time")
        said = [key for key in ("ddl", "ddl-at", "rename") if key in step]
        if said and (number == 1 or "wait" in step):
            self._mistakes.append(f"{where}{said[0]}: only a snapshot that follows another can have other definitions")
        if "wait" in values:
            return Wait(values["wait"])
        if "snapshot" in values:
            file = self._path.parent / values["ddl"] if "ddl" in values else None
            change = SchemaChange(file, values.get("ddl_at", "middle"), values.get("rename", ()))
            return Becomes(beside(self._path, values["snapshot"]), values.get("over_ms", 0), change)
        return None

    def _fields(
        self, table: dict[str, Any], where: str, known: dict[str, tuple[str, Callable[[Any], Any]]]
    ) -> dict[str, Any]:
        values = {}
        for key, value in table.items():
            if key not in known:
                self._mistakes.append(
                    f"{where}unknown key {key!r}.{did_you_mean(key, known)} Known: {', '.join(known)}"
                )
                continue
            name, read = known[key]
            try:
                values[name] = read(value)
            except UserError as error:
                self._mistakes.append(f"{where}{key}: {error}")
        if isinstance(values.get("config"), str):
            values["config"] = self._path.parent / values["config"]
        return values


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise UserError(f"expected text, got {masked(repr(value))}")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise UserError(f"expected a list of texts such as ['name=full_name'], got {value!r}")
    return tuple(value)


def _place(value: object) -> str:
    if value not in PLACES:
        raise UserError(f"expected one of {', '.join(PLACES)}, got {value!r}")
    return str(value)


def seed(value: object) -> int:
    """A seed; raises UserError."""
    if not isinstance(value, int) or isinstance(value, bool) or not -(1 << 63) <= value < 1 << 63:
        raise UserError(f"bad seed {value!r}: expected a whole number of 64 bits")
    return value


SETTINGS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "sink-uri": ("sink_uri", _text),
    "config": ("config", _text),
    "release": ("release", _text),
    "architecture": ("architecture", _text),
    "start-ts": ("start_ts", lambda value: tso.start_ts(str(value))),
    "over": ("over_ms", lambda value: tso.duration_ms(_text(value))),
    "resolved-interval": ("resolved_interval_ms", lambda value: tso.duration_ms(_text(value))),
    "speed": ("speed", lambda value: speed(str(value))),
    "seed": ("seed", seed),
}
"""Key in the file → field of Settings, and how its value is read."""

STEP: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "snapshot": ("snapshot", _text),
    "wait": ("wait", lambda value: tso.duration_ms(_text(value))),
    "over": ("over_ms", lambda value: tso.duration_ms(_text(value))),
    "ddl": ("ddl", _text),
    "ddl-at": ("ddl_at", _place),
    "rename": ("rename", _texts),
}
