"""The truth of a run: a snapshot of the rows that a correct consumer holds at a watermark, with metadata of the run."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.run.plan import Plan
from simulator.ticdc.rules import ChangefeedRules


@dataclass(frozen=True)
class PlayedRun:
    """A run whose truth is asked for."""

    command: str
    name: str
    """What was played, as the user called it."""

    plan: Plan
    rules: ChangefeedRules
    seed: int
