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

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.errors import ScenarioError
from simulator.files import read_text, toml
from simulator.run.plan import Script
from simulator.run.plan.cursor import Step
from simulator.run.settings import DEFAULT_RESOLVED_INTERVAL_MS, SETTINGS, Settings, merged
from simulator.run.steps import STEPS
from simulator.run.steps.derivation import SchemaChange
from simulator.run.steps.kind import StepKind, read_keys, read_step
from simulator.run.steps.snapshot import SnapshotStep


@dataclass(frozen=True)
class Scenario:
    settings: Settings
    steps: tuple[Step, ...]

    def script(self, options: Settings = Settings()) -> Script:
        """What is to be played, where options win over the file."""
        wanted = merged(options, self.settings)
        return Script(
            self.steps, wanted.over_ms, wanted.start_ts,
            wanted.resolved_interval_ms or DEFAULT_RESOLVED_INTERVAL_MS, wanted.seed or 0, wanted.speed or 0.0,
        )


def diff(before: Path, after: Path, schema_change: SchemaChange = SchemaChange()) -> Scenario:
    """The scenario of two snapshots."""
    return Scenario(Settings(), (SnapshotStep(before), SnapshotStep(after, None, schema_change)))


def load(file: Path) -> Scenario:
    """The scenario of that file; raises ScenarioError with every mistake in it, a line each."""
    text = read_text(file)
    try:
        document = toml(text)
    except ValueError as error:
        raise ScenarioError(f"scenario {file} is not TOML: {error}") from None
    mistakes: list[str] = []
    steps = document.pop("step", [])
    settings = _settings(document, file, mistakes)
    read = _steps(steps, file, mistakes)
    if mistakes:
        raise ScenarioError(*(f"scenario {file}: {mistake}" for mistake in mistakes))
    return Scenario(settings, read)


def _settings(table: dict[str, Any], file: Path, mistakes: list[str]) -> Settings:
    values = read_keys(table, SETTINGS, "", mistakes)
    if "config" in values:
        values["config"] = file.parent / values["config"]
    return Settings(**values)


def _steps(tables: object, file: Path, mistakes: list[str]) -> tuple[Step, ...]:
    found: list[tuple[StepKind, Step]] = []
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        mistakes.append("step must be a list of tables: write each step under [[step]]")
        return ()
    for number, table in enumerate(tables, 1):
        step = read_step(STEPS, number, table, file, mistakes)
        found += [step] if step else []
    if not mistakes:
        mistakes += _missing([kind for kind, _ in found])
    return tuple(step for _, step in found)


def _missing(kinds: list[StepKind]) -> list[str]:
    """What a scenario of such steps lacks."""
    if not kinds or not kinds[0].starts:
        first = " or a ".join(name for name, kind in STEPS.items() if kind.starts)
        return [f"the first [[step]] must be a {first}: the state in which the run starts"]
    if not any(kind.changes for kind in kinds[1:]):
        return ["at least two snapshots are expected: one to start from, and one that something happens on the way to"]
    return []
