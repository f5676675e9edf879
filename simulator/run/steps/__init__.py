"""The kinds of steps of a scenario, by the key that names each."""

from __future__ import annotations

from simulator.registry import Registry
from simulator.run.steps.kind import StepKind

STEPS = Registry[StepKind](
    {
        "sql": "simulator.run.steps.sql:TEXT_KIND",
        "sql-file": "simulator.run.steps.sql:FILE_KIND",
        "snapshot": "simulator.run.steps.snapshot:KIND",
        "generate": "simulator.run.steps.generate:KIND",
        "wait": "simulator.run.steps.kind:WAIT",
        "expect": "simulator.run.steps.expect:KIND",
        "fault": "simulator.run.steps.fault:KIND",
    }
)
