"""The composition: plan → the work of an engine → account.

One law: the same work gives the same records whichever engine does it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from simulator.changes import Clock
from simulator.codecs import CODECS
from simulator.emit import Job, TaskReport
from simulator.engines.work import Engine, Work
from simulator.errors import DeliveryError
from simulator.marks import Marks, Statement
from simulator.outputs import Output
from simulator.plan import Move, Plan
from simulator.progress import Listener
from simulator.releases import Release
from simulator.sinks.records import Delivered
from simulator.snapshots import Reading
from simulator.stages import Comparison, Rules, Step


@dataclass(frozen=True)
class Account:
    """What a run sent."""

    delivered: tuple[Delivered, ...]
    changes: Mapping[tuple[int, int, int], int]
    """(table, op, destination) → rows"""

    shuffles: int
    """How often rows were moved between tasks: 1, or 2 where the partition of a row is known only when it is
    compared."""

    sending: float
    """Seconds from the first record that any task gave its sink to the last acknowledgement."""


def run(
    engine: Engine, plan: Plan, output: Output, release: Release, seed: int, speed: float, listener: Listener | None
) -> Account:
    """Plays the plan into the output; raises SimulatorError for whatever is wrong with the input."""
    work = _work(plan, output, release, seed, speed, listener)
    return _account(engine(work), work.shuffles)


def _work(
    plan: Plan, output: Output, release: Release, seed: int, speed: float, listener: Listener | None
) -> Work:
    """What the engine is to do."""
    marks = _marks(plan, output, release)
    job = Job(
        plan.tables, plan.routes, plan.statements, marks, replace(output.options, claim_check_seed=seed), release,
        output.sink, output.settings, speed, plan.timeline.start_ms, listener.driver if listener else None,
        tuple(marks.barriers.tolist()) if output.sink == "kafka" else (),
    )
    rules = Rules(
        plan.tables, plan.routes, plan.event_filters, plan.ignored_start_ts, plan.split, output.destinations
    )
    steps = tuple(_step(move) for move in plan.moves)
    comparison = Comparison(plan.tables, _clock(plan, seed), steps)
    before, after = (
        tuple(one for number, move in enumerate(plan.moves) for one in readings(move, number))
        for readings in (_before, _after)
    )
    return Work(before, after, comparison, rules, job, plan.input_bytes)


def _clock(plan: Plan, seed: int) -> Clock:
    return Clock(seed, np.array(plan.salts, np.uint32).view(np.int32), tuple(move.span for move in plan.moves))


def _step(move: Move) -> Step:
    return Step(move.turn, {
        index: one.transition for one in move.changed for index in one.transition.after.indexes
    })


def _before(move: Move, number: int) -> Iterator[Reading]:
    """Tables that do not outlive the step are not read: DROP TABLE takes their rows without an event for each."""
    found = move.before.by_name
    for name, place in move.places[0].items():
        if name in found and move.places[1].keys() and set(place.indexes) & move.present:
            yield Reading(found[name], place, move.before.csv, number)
    for one in move.changed:
        if one.before is not None:
            yield Reading(found[one.before], one.transition.before, move.before.csv, number, one.transition)


def _after(move: Move, number: int) -> Iterator[Reading]:
    found = move.after.by_name
    for name, place in move.places[1].items():
        if name in found:
            yield Reading(found[name], place, move.after.csv, number)
    for one in move.changed:
        yield Reading(found[one.after], one.transition.after, move.after.csv, number)


def _marks(plan: Plan, output: Output, release: Release) -> Marks:
    """Statements and watermarks."""
    to, options = output.destinations, output.options
    watermarks = CODECS[options.protocol].watermark(0, options, release) is not None
    placed = tuple(
        Statement(event.commit_ts, index, ddl_destinations(to.of_topic(topic), options.protocol, release))
        for index, (event, topic) in enumerate(zip(plan.statements, plan.statement_topics, strict=True))
    )
    return Marks(placed, plan.timeline, watermarks, release.watermark_after_ddl, to)


def ddl_destinations(topic: range, protocol: str, release: Release) -> range:
    """Where a statement goes in its topic: Canal-JSON's to partition 0, other protocols' to all."""
    return topic[:1] if protocol == "canal-json" and release.canal_ddl_in_partition_0 else topic


def _account(reports: Sequence[TaskReport], shuffles: int) -> Account:
    delivered = [_delivered(one) for report in reports for one in report.delivered]
    if any(report.alone for report in reports) and all(one.error is None for one in delivered):
        raise DeliveryError("the tasks that send have lost each other at a statement, which was not sent")
    rows = {(table, op, to): count for report in reports for table, op, to, count in report.changes}
    spans = [report.sending for report in reports if report.sending]
    sending = max(0.0, max(end for _, end in spans) - min(begin for begin, _ in spans)) if spans else 0.0
    return Account(tuple(sorted(delivered, key=lambda one: (one.topic, one.partition))), rows, shuffles, sending)


def _delivered(account: Mapping[str, object]) -> Delivered:
    return Delivered(**account)
