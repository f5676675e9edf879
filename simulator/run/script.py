"""What a user asks to be played, from `diff` or from a scenario file.

One law: values only; nothing is looked up here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PLACES = ("start", "middle", "end")


@dataclass(frozen=True)
class SchemaChange:
    """How the tables' definitions become those of the next snapshot, where they differ."""

    file: Path | None = None
    """Statements to play; without it they are derived."""

    at: str = "middle"
    """Where in the step's time they run: `start`, `middle`, or `end`, which leaves its last tenth behind them."""

    renamed: tuple[str, ...] = ()
    """`old=new`, a column or a table, as the user writes it; only for statements that are derived."""


@dataclass(frozen=True)
class Becomes:
    """A step: the snapshot in `directory` becomes the new state, its changes spread over so much simulated time."""

    directory: Path
    over_ms: int
    schema_change: SchemaChange = SchemaChange()


@dataclass(frozen=True)
class Wait:
    """A step: so much simulated time passes, and only watermarks with it."""

    milliseconds: int


@dataclass(frozen=True)
class Script:
    """The snapshot to start from, and what happens then."""

    start: Path
    steps: tuple[Becomes | Wait, ...]
    start_ts: int | None = None
    resolved_interval_ms: int = 1000
    seed: int = 0
    speed: float = 0.0
