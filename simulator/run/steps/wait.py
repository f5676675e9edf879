"""The step `wait`: simulated time passes, and only watermarks with it."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.run.plan.cursor import Addition, Cursor, Planning
from simulator.run.steps.kind import StepKind
from simulator.settings import DURATION, to_duration_ms


@dataclass(frozen=True)
class WaitStep:
    milliseconds: int

    def plan(self, cursor: Cursor, planning: Planning) -> tuple[Cursor, Addition]:
        """Nothing but later."""
        return cursor.passed(self.milliseconds), Addition()


KIND = StepKind(
    to_duration_ms,
    lambda milliseconds, _, place: WaitStep(milliseconds),
    says="Simulated time passes, and only watermarks with it.",
    type=DURATION,
)
