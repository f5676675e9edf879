"""The kinds of steps of a scenario, by the key that names each."""

from __future__ import annotations

from simulator.run.steps import expect, fault, generate, snapshot, sql, wait
from simulator.run.steps.kind import StepKind

STEPS: dict[str, StepKind] = {
    "sql": sql.TEXT_KIND,
    "sql-file": sql.FILE_KIND,
    "snapshot": snapshot.KIND,
    "generate": generate.KIND,
    "wait": wait.KIND,
    "expect": expect.KIND,
    "fault": fault.KIND,
}
