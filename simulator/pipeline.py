"""The composition: snapshots → state frames → changes → routed events → one task per core → sink → account.

One law: only this module knows the order of the stages; nothing is sent before all was read, checked and compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from simulator import changes, events, snapshots, split, transitions
from simulator.changes import Counts
from simulator.codecs import CODECS
from simulator.dispatch import Route, hash_column
from simulator.emit import REPORT, Job, duplicate_text, emit
from simulator.errors import SnapshotError
from simulator.events import Statement
from simulator.failures import translated
from simulator.filters.rows import kept
from simulator.outputs import Output
from simulator.plan import Move, Plan
from simulator.progress import Listener
from simulator.releases import Release
from simulator.schema.keys import handle_key
from simulator.schema.table import Table
from simulator.sinks.records import Delivered
from simulator.snapshots.state import HashOf

NOWHERE = ("", "")
"""The name, before, of a table that statements create."""

INPUT_BYTES_A_TASK = 16 << 20
"""Bytes of snapshot files that one task of the comparison holds at a time, so that memory stays flat as input grows."""


@dataclass(frozen=True)
class Account:
    """What a run sent."""

    delivered: tuple[Delivered, ...]
    changes: Mapping[tuple[int, int, int], int]
    """(table, op, destination) → rows"""


@translated()
def run(
    spark: SparkSession,
    plan: Plan,
    output: Output,
    release: Release,
    seed: int,
    speed: float,
    listener: Listener | None,
) -> Account:
    """Plays the plan into the output; raises SimulatorError for whatever its tasks found wrong with the input."""
    tasks = max(1, min(spark.sparkContext.defaultParallelism, output.destinations.total))
    spark.conf.set("spark.sql.shuffle.partitions", str(_shuffle_partitions(spark, plan)))
    job = Job(
        plan.tables,
        plan.routes,
        plan.statements,
        output.destinations,
        replace(output.options, claim_check_seed=seed),
        release,
        output.sink,
        output.settings,
        speed,
        plan.timeline.start_ms,
        listener.driver if listener else None,
    )
    hash_of, unique_hash_of = _hashing(plan), split.unique_hash(plan.split)
    compared = [
        one for number, move in enumerate(plan.moves)
        for one in _compared(spark, move, number, seed, hash_of, unique_hash_of)
    ]
    frames = [_rows(plan, one.changes, output) for one in compared]
    frames += _broadcast(spark, plan, output, release)
    sent = events.in_order(frames, tasks).mapInArrow(partial(emit, job=job), REPORT)
    _refuse_duplicates(plan, compared, observed(sent))
    reports = [json.loads(row["report"]) for row in sent.collect()]
    return _account(reports)


def observed(frame: DataFrame) -> dict[str, Any]:
    """Runs everything up to the last shuffle, the one that hands each task its events, and gives what was observed.

    Spark's adaptive execution does so by itself when the frame is collected; asked ahead, it leaves a moment in which
    nothing has been sent and all has been compared.
    """
    execution = frame._jdf.queryExecution()
    execution.executedPlan().finalPhysicalPlan()
    found, metrics = {}, execution.observedMetrics().iterator()
    while metrics.hasNext():
        pair = metrics.next()
        found[pair._1()] = [pair._2().getLong(place) for place in range(pair._2().length())]
    return found


@dataclass(frozen=True)
class Compared:
    """Two states of some tables, and what changed between them."""

    states: Callable[[], list[DataFrame]]
    """The state frames of both, for a closer look."""

    changes: DataFrame
    counts: Counts


def _compared(
    spark: SparkSession, move: Move, number: int, seed: int, hash_of: HashOf, unique_hash_of: HashOf
) -> Iterator[Compared]:
    """The tables that stay as they are all at once, and each one that statements change."""
    if any(move.places) or not move.changed:
        old, new = (
            snapshots.state(spark, snapshot, places, hash_of, unique_hash_of)
            for snapshot, places in zip((move.before, move.after), move.places, strict=True)
        )
        counts = _counts(f"{number}")
        found = changes.diff(old, new, move.facts, move.span, seed, counts)
        yield Compared(lambda: [old, new], found, counts)
    if move.changed:
        yield _turned(spark, move, _counts(f"{number}, changed"), seed, hash_of, unique_hash_of)


def _turned(
    spark: SparkSession, move: Move, counts: Counts, seed: int, hash_of: HashOf, unique_hash_of: HashOf
) -> Compared:
    """The tables whose definitions change on the way."""
    pairs = [
        (
            one.transition,
            snapshots.rows(spark, move.before, one.before or NOWHERE, one.transition.before, hash_of, unique_hash_of),
            snapshots.rows(spark, move.after, one.after, one.transition.after, hash_of, unique_hash_of),
        )
        for one in move.changed
    ]
    found = transitions.diff(pairs, move.facts, move.span, move.turn, seed, hash_of, unique_hash_of, counts)
    return Compared(lambda: list(transitions.states(pairs, hash_of, unique_hash_of)), found, counts)


def _hashing(plan: Plan) -> HashOf:
    """The dispatcher's hash of any version of a table."""
    routes = {id(physical.table): route for physical, route in zip(plan.tables, plan.routes, strict=True)}

    def hash_of(table: Table, columns: Mapping[str, Column]) -> Column:
        route: Route = routes[id(table)]
        return hash_column(route, table, columns)

    return hash_of


def _rows(plan: Plan, changed: DataFrame, output: Output) -> DataFrame:
    """The row changes that are sent, each with its destination; those of a run that splits UPDATEs with their rank."""
    tables = [physical.table for physical in plan.tables]

    def filtered(frame: DataFrame) -> DataFrame:
        return kept(frame, tables, plan.event_filters, plan.ignored_start_ts)

    if not split.splits(tables, plan.split):
        sent = split.ranked(filtered(changed), plan.split)
    elif plan.split.release.filters_halves:
        sent = filtered(split.halves(changed, plan.split))
    else:
        sent = split.halves(filtered(changed), plan.split)
    return events.rows(sent, plan.routes, output.destinations)


def _broadcast(spark: SparkSession, plan: Plan, output: Output, release: Release) -> list[DataFrame]:
    """Statements and watermarks."""
    to, options = output.destinations, output.options
    codec = CODECS[options.protocol]
    resolves = codec.watermark(0, options, release) is not None
    placed = [
        Statement(event.commit_ts, index, ddl_destinations(to.of_topic(topic), options.protocol, release))
        for index, (event, topic) in enumerate(zip(plan.statements, plan.statement_topics, strict=True))
    ]
    follows = resolves and release.watermark_after_ddl
    frames = [events.statements(spark, placed, follows, to)] if placed else []
    return frames + ([events.watermarks(spark, plan.timeline, to)] if resolves else [])


def ddl_destinations(topic: range, protocol: str, release: Release) -> range:
    """Where a statement goes in its topic: Canal-JSON's to partition 0, other protocols' to all."""
    return topic[:1] if protocol == "canal-json" and release.canal_ddl_in_partition_0 else topic


def _counts(number: str) -> Counts:
    return Counts(f"before {number}", f"after {number}", f"joined {number}")


def _refuse_duplicates(plan: Plan, compared: Sequence[Compared], observed: Mapping[str, list[int]]) -> None:
    """Raises SnapshotError where the join met a row more often than a snapshot has it: its key is there twice.

    Rows without a counterpart are met once each. Their task sees that they have one key, unless they are dispatched by
    something else: those tables are looked through.
    """
    scattered = _scattered(plan)
    for one in compared:
        # Of what Spark knows to be empty from the start it observes nothing.
        read = [*observed.get(one.counts.before, [0]), *observed.get(one.counts.after, [0])]
        once = observed.get(one.counts.joined, [0, 0]) == read
        for state in one.states() if scattered or not once else ():
            suspect = state.where(F.col("table").isin(scattered)) if once else state
            for table, image in changes.duplicates(suspect, limit=1):
                raise SnapshotError(duplicate_text(plan.tables[table], image))


def _scattered(plan: Plan) -> list[int]:
    """Tables whose rows of one key may lie in several partitions."""
    return [
        index
        for index, (physical, route) in enumerate(zip(plan.tables, plan.routes, strict=True))
        if (key := handle_key(physical.table)) and not {column for _, column in route.hashed if column} <= set(key)
    ]


def _shuffle_partitions(spark: SparkSession, plan: Plan) -> int:
    return max(2 * spark.sparkContext.defaultParallelism, plan.input_bytes // INPUT_BYTES_A_TASK)


def _account(reports: list[dict[str, Any]]) -> Account:
    delivered = [Delivered(**one) for report in reports for one in report["delivered"]]
    rows = {(table, op, to): count for report in reports for table, op, to, count in report["changes"]}
    return Account(tuple(sorted(delivered, key=lambda one: (one.topic, one.partition))), rows)
