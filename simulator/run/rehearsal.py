"""A run played in this process into memory, before it is sent anywhere.

One law: the messages are those that the run itself sends, but that a broker may take smaller ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulator.releases import Release
from simulator.run import emit, open_outputs, pipeline
from simulator.run.engines import in_process
from simulator.run.faults.passage import Injection
from simulator.run.plan import Plan
from simulator.run.progress import Reporter
from simulator.sinks.memory import Message
from simulator.ticdc.changefeed import Changefeed


def rehearsed(
    plan: Plan, changefeed: Changefeed, release: Release, seed: int
) -> tuple[list[Message], Sequence[Injection]]:
    """Everything that the run sends, and when faults began in it; raises SimulatorError as a run in process does."""
    messages: list[Message] = []
    output = open_outputs.to_memory(changefeed, messages)
    work = pipeline.work_of(plan, output.of(plan), release, seed, 0.0, None)
    rows, owned, job = in_process.ordered(work, True)
    passage = in_process.passage_of(plan.faults, seed, job)
    emit.give(rows, owned, job, output.sink, lambda: True, Reporter(None), None, passage)
    output.close()
    return messages, passage.injections if passage else ()
