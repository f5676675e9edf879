"""The composition: snapshots → state frames → changes → routed events → one task per core → sink → account.

One law: only this module knows the order of the stages; nothing is sent before all was read, checked and compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession

from simulator import changes, events, snapshots, split, transitions
from simulator.barriers import Meeting
from simulator.codecs import CODECS
from simulator.dispatch import Route
from simulator.dispatch.columns import hash_column
from simulator.emit import REPORT, Job, emit
from simulator.errors import DeliveryError, SnapshotError
from simulator.events import Statement
from simulator.failures import translated
from simulator.filters.rows import kept
from simulator.flush import FLUSH_BYTES
from simulator.numbered import by_number
from simulator.outputs import Output
from simulator.plan import Move, Plan
from simulator.progress import Listener
from simulator.releases import Release
from simulator.schema.keys import handle_key, visible_columns
from simulator.schema.table import Table
from simulator.sinks.records import Delivered
from simulator.snapshots.state import HashOf
from simulator.split import rows as split_rows

NOWHERE = ("", "")
"""The name, before, of a table that statements create."""

INPUT_BYTES_A_TASK = 16 << 20
"""Bytes of snapshot files that one task of the comparison holds at a time, so that memory stays flat as input grows."""


LARGE = {"text", "mediumtext", "longtext", "json", "vector"}
"""Types (BLOBs are texts, too) of which 16,384 values may have more than an Arrow column's 2 GiB."""

LONG_VARCHAR = 4096

SPARK_NO_LIMIT = (1 << 31) - 1


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
    spark.conf.set("spark.sql.shuffle.partitions", str(_shuffle_partitions(spark, plan)))
    spark.conf.set("spark.sql.execution.arrow.maxBytesPerBatch", str(_batch_bytes(plan)))
    hash_of, unique_hash_of = _hashing(plan), split_rows.unique_hash(plan.split)
    compared = [
        one for number, move in enumerate(plan.moves)
        for one in _compared(spark, move, number, seed, hash_of, unique_hash_of)
    ]
    frames = [_rows(plan, one.changes, output) for one in compared]
    frames += _broadcast(spark, plan, output, release)
    tasks = _tasks(spark, output)
    with _meeting(plan, output, tasks) as meeting:
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
            meeting.driver if meeting else None,
        )
        ordered = events.in_order(frames, tasks)
        sent = ordered.mapInArrow(partial(emit, job=job), REPORT, barrier=meeting is not None)
        _refuse_duplicates(plan, compared, observed(sent))
        reports = [json.loads(row["report"]) for row in sent.collect()]
    return _account(reports)


def _tasks(spark: SparkSession, output: Output) -> int:
    """How many tasks send, all at the same time; a cluster that is still starting is taken at its word."""
    context = spark.sparkContext
    java = context._jsc.sc()
    slots: int = java.maxNumConcurrentTasks(java.resourceProfileManager().defaultResourceProfile())
    return max(1, min(slots or context.defaultParallelism, output.destinations.total))


def _meeting(plan: Plan, output: Output, tasks: int) -> AbstractContextManager[Meeting | None]:
    """Where the tasks meet around statements, if somebody reads what they write while they write."""
    barriers = {statement.commit_ts for statement in plan.statements}
    return Meeting(tasks, 2 * len(barriers)) if barriers and output.sink == "kafka" else nullcontext()


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
    repeats: str
    """Under which name it is observed how many rows repeat the key of another."""


def _compared(
    spark: SparkSession, move: Move, number: int, seed: int, hash_of: HashOf, unique_hash_of: HashOf
) -> Iterator[Compared]:
    """The tables that stay as they are all at once, and each one that statements change."""
    if any(move.places) or not move.changed:
        old, new = (
            snapshots.state(spark, snapshot, places, hash_of, unique_hash_of)
            for snapshot, places in zip((move.before, move.after), move.places, strict=True)
        )
        repeats = f"repeats {number}"
        found = changes.diff(old, new, move.facts, move.span, seed, repeats)
        yield Compared(lambda: [old, new], found, repeats)
    if move.changed:
        yield _turned(spark, move, f"repeats {number}, changed", seed, hash_of, unique_hash_of)


def _turned(
    spark: SparkSession, move: Move, repeats: str, seed: int, hash_of: HashOf, unique_hash_of: HashOf
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
    found = transitions.diff(pairs, move.facts, move.span, move.turn, seed, hash_of, unique_hash_of, repeats)
    return Compared(lambda: list(transitions.states(pairs, hash_of, unique_hash_of)), found, repeats)


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
        sent = split_rows.ranked(filtered(changed), plan.split)
    elif plan.split.release.filters_halves:
        sent = filtered(split_rows.halves(changed, plan.split))
    else:
        sent = split_rows.halves(filtered(changed), plan.split)
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


def _refuse_duplicates(plan: Plan, compared: Sequence[Compared], observed: Mapping[str, list[int]]) -> None:
    """Raises SnapshotError where the comparison met a key twice in one snapshot, and looks which one it is."""
    keyed = by_number([bool(handle_key(physical.table)) for physical in plan.tables], "table")
    for one in compared:
        # Of what Spark knows to be empty from the start it observes nothing.
        repeated, *_ = observed.get(one.repeats, [0])
        for state in one.states() if repeated else ():
            for table, image in changes.duplicates(state.where(keyed), limit=1):
                raise SnapshotError(_duplicate_text(plan.tables[table].table, image))


def _duplicate_text(table: Table, image: bytes) -> str:
    cells = dict(zip((column.name for column in visible_columns(table)), image.split(b"\xff"), strict=True))
    key = ", ".join(f"{name}={cells[name].decode('utf-8', 'backslashreplace')}" for name in handle_key(table))
    return (
        f"duplicate key in a snapshot: table {table.schema}.{table.name} has several rows with {key}; "
        "a handle key must be unique"
    )


def _shuffle_partitions(spark: SparkSession, plan: Plan) -> int:
    return max(2 * spark.sparkContext.defaultParallelism, plan.input_bytes // INPUT_BYTES_A_TASK)


def _batch_bytes(plan: Plan) -> int:
    """Where a batch of events ends by its bytes; Spark then measures after each row, which narrow rows are spared."""
    types = {column.type for physical in plan.tables for column in visible_columns(physical.table)}
    wide = any(type.name in LARGE or type.length > LONG_VARCHAR for type in types)
    return FLUSH_BYTES if wide else SPARK_NO_LIMIT


def _account(reports: list[dict[str, Any]]) -> Account:
    delivered = [Delivered(**one) for report in reports for one in report["delivered"]]
    if any(report["alone"] for report in reports) and all(one.error is None for one in delivered):
        raise DeliveryError("the tasks that send have lost each other at a statement, which was not sent")
    rows = {(table, op, to): count for report in reports for table, op, to, count in report["changes"]}
    return Account(tuple(sorted(delivered, key=lambda one: (one.topic, one.partition))), rows)
