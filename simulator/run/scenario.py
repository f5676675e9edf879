"""A scenario file: TOML with settings, then steps in order; or plain SQL, which is one step under default settings.

    sink-uri = "kafka://127.0.0.1:9092/shop?protocol=canal-json"
    over = "1m"

    [[step]]
    snapshot = "monday"     # a directory, relative to this file; the first one is where the run starts

    [[step]]
    wait = "30s"            # only watermarks

    [[step]]
    sql = "UPDATE shop.item SET stock = 0"

    [[step]]
    snapshot = "tuesday"    # its difference to the state before, spread over …
    over = "10m"

The table `[about]` tells its story, references and releases, and does not change what is sent. All mistakes in a file
are reported at once, each with its line. An existing file takes precedence over a scenario or load plan of that name that
comes with the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from simulator.errors import ScenarioError, UserError, did_you_mean, mask_secrets
from simulator.files import STANDARD_STREAM, parse_toml, read_content, read_standard_input, read_text
from simulator.releases import parse_release
from simulator.run.plan import RunSpec
from simulator.run.plan.step import ScenarioStep
from simulator.run.steps import STEPS
from simulator.run.steps.derivation import SchemaChangeOptions
from simulator.run.steps.kind import ReadStep, StepPlace, line_of, read_keys, read_step
from simulator.run.steps.snapshot import SnapshotStep
from simulator.run.steps.sql import SqlStep
from simulator.settings import (
    DEFAULT_RESOLVED_INTERVAL_MS,
    SETTINGS,
    TEXT,
    TEXTS,
    Key,
    Settings,
    TableLines,
    key_lines,
    merged,
    to_bool,
    to_text,
    to_texts,
)
from simulator.sources.snapshots import TextFormat

ABOUT = "about"


@dataclass(frozen=True)
class About:
    title: str = ""
    story: str = ""
    consumer: str = ""
    """What a correct consumer does."""

    wrong: str = ""
    """The symptom of a wrong consumer."""

    threads: tuple[str, ...] = ()
    """Issues that ask for it, such as `tiflow#11297`."""

    releases: tuple[str, ...] = ()
    """Releases that it is meant for, such as `v8.5.3` and `new:v8.5.7`; empty for any."""

    legal: bool = True
    """False for a stream that TiCDC would not send, as a test of a checker."""


def _to_releases(value: object) -> tuple[str, ...]:
    """Return names of existing releases; raises UserError."""
    for name in to_texts(value):
        parse_release(name)
    return to_texts(value)


KEYS: Mapping[str, Key] = {
    "title": Key("title", to_text, TEXT, "The scenario in a few words."),
    "story": Key("story", to_text, TEXT, "What happens, and why it matters."),
    "consumer": Key("consumer", to_text, TEXT, "What a right consumer does."),
    "wrong": Key("wrong", to_text, TEXT, "What a wrong consumer would show."),
    "threads": Key("threads", to_texts, TEXTS, "Who asked for it, such as tiflow#11297."),
    "releases": Key("releases", _to_releases, TEXTS, "Releases it is meant for, such as v8.5.3 and new:v8.5.7."),
    "legal": Key("legal", to_bool, {"type": "boolean"}, "False for a stream that TiCDC would not send."),
}


def read_about(table: object, where: Callable[[str], str], mistakes: list[str]) -> About:
    """Parse the table, and add its mistakes to `mistakes`, each after the position that `where` gives for the key."""
    if not isinstance(table, dict):
        mistakes.append(f"{where(ABOUT)}about: expected a table of {', '.join(KEYS)}, got {mask_secrets(repr(table))}")
        return About()
    values: dict[str, Any] = read_keys(table, KEYS, where, mistakes)
    for name, value in values.items():
        if isinstance(value, str):
            values[name] = " ".join(value.split())  # several lines are one paragraph
    return About(**values)


@dataclass(frozen=True)
class Scenario:
    settings: Settings
    steps: tuple[ScenarioStep, ...]
    names: tuple[str, ...] = ()
    """The names of the steps, empty for steps without one; an empty tuple if no step has a name."""

    about: About = About()
    file: Path | None = None
    """Where it was read."""

    @property
    def inputs(self) -> Iterator[tuple[str, Path]]:
        """The files and directories that are read for it, each with what it is."""
        if self.file is not None:
            yield "the scenario", self.file
        for step in self.steps:
            if isinstance(step, SnapshotStep):
                yield "a snapshot", step.directory
                if step.schema_change.file is not None:
                    yield "a file of statements", step.schema_change.file
            elif isinstance(step, SqlStep) and step.place:
                yield "a file of SQL", Path(step.place)

    @property
    def has_snapshots(self) -> bool:
        return any(isinstance(step, SnapshotStep) for step in self.steps)

    def run_spec(self, options: Settings = Settings(), first: str | None = None, last: str | None = None) -> RunSpec:
        """Return the steps and settings of a run; `options` override the file's settings.

        The run sends from the step `first` up to the step `last`, each a number or a name. Raises ScenarioError for a
        missing step.
        """
        settings = merged(options, self.settings)
        start = 0 if first is None else self._number("--from", first) - 1
        end = len(self.steps) if last is None else self._number("--until", last)
        if end <= start:
            raise ScenarioError(f"--until {last}: this step comes before --from {first}")
        return RunSpec(
            self.steps[:end],
            settings.over_ms,
            settings.start_ts,
            settings.resolved_interval_ms or DEFAULT_RESOLVED_INTERVAL_MS,
            settings.seed or 0,
            settings.speed or 0.0,
            start,
        )

    def _number(self, option: str, text: str) -> int:
        """Return the number of a step, from 1."""
        if text and text in self.names:
            return self.names.index(text) + 1
        if text.isdecimal() and len(text) < 9 and 1 <= int(text) <= len(self.steps):
            return int(text)
        names = self.names or ("",) * len(self.steps)
        steps = ", ".join(f"{number} {name}".rstrip() for number, name in enumerate(names, 1))
        hint = did_you_mean(text, filter(None, self.names))
        raise ScenarioError(f"{option} {text!r}: no such step.{hint} Steps: {steps}")


def diff(
    before: Path,
    after: Path,
    schema_change: SchemaChangeOptions = SchemaChangeOptions(),
    format: TextFormat = TextFormat(),
) -> Scenario:
    """Return the scenario of two snapshots, whose text files have that format."""
    steps = SnapshotStep(before, format=format), SnapshotStep(after, None, schema_change, format)
    return Scenario(Settings(), steps)


def load(file: Path, charset: str | None = None) -> Scenario:
    """Read a scenario, or SQL from a file or standard input; raises ScenarioError with a line for each mistake.

    SQL may have another character set than UTF-8; raises UserError for one of a scenario.
    """
    if file.suffix.lower() == ".sql" or file == STANDARD_STREAM:
        return _of_sql(file, charset or "utf8mb4")
    if charset is not None:
        raise UserError(f"--charset {charset} is about a file of SQL: {file} is a scenario, which is UTF-8")
    text = read_text(file)
    try:
        document = parse_toml(text)
    except ValueError as error:
        sql = "" if file.suffix.lower() == ".toml" else " (a file of plain SQL has the suffix .sql)"
        raise ScenarioError(f"scenario {file} is not TOML: {error}{sql}") from None
    top, tables = key_lines(text, "step")
    mistakes: list[str] = []
    steps = document.pop("step", [])
    about = read_about(document.pop(ABOUT, {}), lambda key: line_of(top, ABOUT), mistakes)
    settings = _settings(document, file, top, mistakes)
    parsed = _steps(steps, file, tables, mistakes)
    if mistakes:
        raise ScenarioError(*(f"scenario {file}: {mistake}" for mistake in mistakes))
    return Scenario(settings, tuple(step.step for step in parsed), tuple(step.name for step in parsed), about, file)


def _of_sql(file: Path, charset: str) -> Scenario:
    from simulator.run.steps.sql import of_script
    from simulator.sources.snapshots.quoting import text_of

    try:
        if file == STANDARD_STREAM:
            return Scenario(
                Settings(), (of_script(text_of(read_standard_input(), charset, "standard input"), "standard input"),)
            )
        return Scenario(Settings(), (of_script(text_of(read_content(file), charset, str(file)), str(file)),), file=file)
    except UserError as error:
        raise ScenarioError(*error.args) from None


def _settings(table: dict[str, Any], file: Path, lines: TableLines, mistakes: list[str]) -> Settings:
    values = read_keys(table, SETTINGS, lambda key: line_of(lines, key), mistakes)
    if "config" in values:
        values["config"] = file.parent / values["config"]
    return Settings(**values)


def _steps(tables: object, file: Path, lines: list[TableLines], mistakes: list[str]) -> list[ReadStep]:
    steps: list[ReadStep] = []
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        mistakes.append("step must be a list of tables: write each step under [[step]]")
        return []
    line_numbers = lines if len(lines) == len(tables) else [None] * len(tables)
    for number, (table, table_lines) in enumerate(zip(tables, line_numbers, strict=True), 1):
        step = read_step(STEPS, table, StepPlace(file, number, table_lines), mistakes)
        steps += [step] if step else []
    if not mistakes:
        mistakes += _missing(steps)
    names = [step.name for step in steps if step.name]
    mistakes += (f"name {name!r} is that of several steps" for name in dict.fromkeys(names) if names.count(name) > 1)
    return steps


def _missing(steps: list[ReadStep]) -> list[str]:
    """Return a message if the steps lack a start or a change."""
    if not steps or not steps[0].kind.starts:
        first = ", ".join(name for name, kind in STEPS.items() if kind.starts)
        return [f"the first [[step]] must be one of {first}: the state in which the run starts"]
    if not steps[0].kind.alone and not any(step.kind.changes for step in steps[1:]):
        return ["nothing happens: after the first snapshot, another one or SQL is expected"]
    return []


PACKAGE = Path(__file__).parents[1]

LIBRARY = PACKAGE / "scenarios" if (PACKAGE / "scenarios").is_dir() else PACKAGE.parent / "scenarios"
"""In the package where it is installed from a wheel; beside it in a checkout and in an editable install."""

PRESETS = LIBRARY / "load"


@dataclass(frozen=True)
class Shipped:
    """A scenario of the library."""

    name: str
    file: Path
    about: About
    release: str
    """The release that the file sets; empty for the simulator's default."""


@cache
def shipped() -> Mapping[str, Shipped]:
    """Return all scenarios by name, in alphabetical order."""
    return {scenario.name: scenario for scenario in _read_shipped(LIBRARY)}


def find_shipped(name: str) -> Shipped:
    """Return the scenario of that name; raises UserError."""
    scenario = shipped().get(name)
    if scenario is None:
        raise UserError(f"no scenario {name!r}.{did_you_mean(name, shipped())} `ticdc-sim scenarios` lists them")
    return scenario


def file_of(path: Path) -> Path:
    """Return the path itself, or the library's file for the name of a scenario; raises UserError."""
    if path == STANDARD_STREAM or path.exists() or path.suffix or len(path.parts) != 1:
        return path
    return find_shipped(path.name).file


def preset_names() -> tuple[str, ...]:
    """Return the names of the plans of `ticdc-sim load` in alphabetical order."""
    return tuple(sorted(path.stem for path in PRESETS.glob("*.toml")))


def preset_file(name: str) -> Path:
    """Return the plan of that name, which is an ordinary plan file; raises UserError."""
    if name not in preset_names():
        raise UserError(f"no preset {name!r}.{did_you_mean(name, preset_names())} Presets: {', '.join(preset_names())}")
    return PRESETS / f"{name}.toml"


def _read_shipped(directory: Path) -> Iterator[Shipped]:
    for file in sorted(directory.glob("*.toml")):
        document = parse_toml(read_text(file))
        if "step" in document:
            yield Shipped(file.stem, file, read_about(document.get(ABOUT, {}), str, []), _release(document))


def _release(document: Mapping[str, Any]) -> str:
    return ":".join(filter(None, (document.get(key) for key in ("architecture", "release"))))
