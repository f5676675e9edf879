"""The step `wait`: simulated time passes, in which only watermarks are sent."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.run.plan.step import PlanContext, RunPosition, StepResult
from simulator.run.steps.kind import StepKind
from simulator.settings import DURATION, to_duration_ms


@dataclass(frozen=True)
class WaitStep:
    milliseconds: int

    def plan(self, position: RunPosition, context: PlanContext) -> tuple[RunPosition, StepResult]:
        """Advance the time."""
        return position.passed(self.milliseconds), StepResult()


KIND = StepKind(
    to_duration_ms,
    lambda milliseconds, _, place: WaitStep(milliseconds),
    says="Simulated time passes, and only watermarks with it.",
    type=DURATION,
)
