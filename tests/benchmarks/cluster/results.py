"""What came out of runs: a line of JSON for each, in a file that later runs continue, and a table of them."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Attempt:
    """One start of the command."""

    code: int | None
    """None if it hung."""

    said: str
    """Its last line."""


@dataclass
class Outcome:
    """Of one run."""

    what: str
    """What was harmed."""

    at: float | None
    """Seconds after the start."""

    attempts: list[Attempt]
    seconds: float
    recovered: float | None
    """The longest time without a new watermark from the fault on; of a verification, the time to the verdict."""

    wrong: str
    """Empty if nothing is."""

    counts: dict[str, int] = field(default_factory=dict)
    """Lost, misordered and repeated messages; none of a verification."""

    command: str = ""
    kill: str = ""
    workers: int = 0
    seed: int = 0
    number: int = 0

    @property
    def kind(self) -> tuple[str, str, int]:
        return self.kill, self.command, self.workers


def keep(file: Path, outcome: Outcome) -> None:
    """Add a line."""
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(asdict(outcome)) + "\n")


def read(file: Path) -> list[Outcome]:
    """All lines of a file; none if there is no file."""
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return [_outcome(json.loads(line)) for line in lines]


def _outcome(document: dict[str, Any]) -> Outcome:
    return Outcome(**{**document, "attempts": [Attempt(**each) for each in document["attempts"]]})


HEADS = "killed | command | workers | runs | wrong | lost | misordered | again above | again below | resumed | seconds to recover"


def table(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """In Markdown, a line for what was killed, the command and the number of workers."""
    kinds: dict[tuple[str, str, int], list[Outcome]] = {}
    for outcome in outcomes:
        kinds.setdefault(outcome.kind, []).append(outcome)
    yield f"| {HEADS} |"
    yield f"|{'---|' * (HEADS.count('|') + 1)}"
    for kind, runs in sorted(kinds.items()):
        counts = [
            sum(run.counts.get(name, 0) for run in runs)
            for name in ("lost", "misordered", "again_above", "again_below")
        ]
        seconds = [run.recovered for run in runs if run.recovered is not None]
        cells = (
            *kind,
            len(runs),
            sum(bool(run.wrong) for run in runs),
            *(counts if any(run.counts for run in runs) else "––––"),
            sum(len(run.attempts) - 1 for run in runs),
            f"{statistics.median(seconds):.1f}, at most {max(seconds):.1f}" if seconds else "–",
        )
        yield f"| {' | '.join(map(str, cells))} |"
