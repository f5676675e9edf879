"""Plays a plan in this process into memory, before it is sent.

The messages equal those of the run, except if a broker allows only smaller messages.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulator.engines import in_process
from simulator.engines.tasks import send
from simulator.engines.tasks.progress import Reporter
from simulator.faults.pipeline import InjectedFaults, Injection
from simulator.releases import Release
from simulator.run import execute, outputs
from simulator.run.plan import Plan
from simulator.sinks.memory import Message
from simulator.ticdc.changefeed import Changefeed


def rehearse(
    plan: Plan, changefeed: Changefeed, release: Release, seed: int
) -> tuple[list[Message], Sequence[Injection]]:
    """Return all messages of the run and the faults injected; raises SimulatorError as a run in process does."""
    messages: list[Message] = []
    output = outputs.MemoryOutput(changefeed, messages)
    work = execute.work_of(plan, output.for_plan(plan), release, seed, 0.0, None)
    rows, owned, spec = in_process.ordered_rows(work, True)
    faults = InjectedFaults(plan.faults, seed)
    faults.begin(spec)
    send.feed(rows, owned, spec, output.sink, lambda: True, Reporter(None), None, faults)
    output.close()
    return messages, faults.injections
