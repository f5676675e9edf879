"""Everything that happens in a run, in one event frame: row changes, statements, watermarks, each with its destination.

One law: a destination is one Kafka partition, numbered through all topics; one Spark task owns it from start to end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial, reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from simulator.dispatch import Route
from simulator.dispatch.columns import partition_column
from simulator.numbered import by_number
from simulator.tso import FOREVER, LOGICAL_BITS, Timeline

ROW, DDL, WATERMARK = 0, 1, 2
"""Also the order of events of one commit-ts."""

COLUMNS = (
    "commit_ts long, kind byte, table int, op byte, handle binary, row_id long, hash int, destination int, "
    "before binary, after binary"
)


@dataclass(frozen=True)
class Destinations:
    """The Kafka partitions of a run."""

    topics: tuple[str, ...]
    counts: tuple[int, ...]
    """Partitions of each topic."""

    active: tuple[tuple[int, int], ...] = ()
    """From which to which TSO each topic has watermarks; always, where nothing is said."""

    @property
    def first(self) -> tuple[int, ...]:
        """The destination that partition 0 of each topic is."""
        return tuple(sum(self.counts[:topic]) for topic in range(len(self.counts)))

    @property
    def total(self) -> int:
        return sum(self.counts)

    def of_topic(self, name: str) -> range:
        """All destinations of a topic."""
        topic = self.topics.index(name)
        return range(self.first[topic], self.first[topic] + self.counts[topic])

    @property
    def watermarked(self) -> list[tuple[int, int]]:
        """From which to which TSO each destination has watermarks."""
        spans = self.active or ((0, FOREVER),) * len(self.counts)
        return [span for span, count in zip(spans, self.counts, strict=True) for _ in range(count)]

    def where(self, destination: int) -> tuple[int, int]:
        """Index of the topic, and partition."""
        topic = max(index for index, first in enumerate(self.first) if first <= destination)
        return topic, destination - self.first[topic]


@dataclass(frozen=True)
class Statement:
    """A DDL event's place in the frame: `index` finds it in the run's list."""

    commit_ts: int
    index: int
    destinations: Sequence[int]


def rows(changes: DataFrame, routes: Sequence[Route], destinations: Destinations) -> DataFrame:
    """Row changes with the partition that TiCDC's dispatcher gives them."""
    counts = dict(zip(destinations.topics, destinations.counts, strict=True))
    first = dict(zip(destinations.topics, destinations.first, strict=True))
    cells = (F.col(name) for name in ("table", "hash", "commit_ts", "row_id"))
    partition = partition_column(routes, counts, *cells)
    return changes.select(
        "commit_ts",
        F.lit(ROW).cast("byte").alias("kind"),
        "table",
        "op",
        "handle",
        "row_id",
        "hash",
        (partition + by_number([first[route.topic] for route in routes], "table")).cast("int").alias("destination"),
        "before",
        "after",
        *(["rank"] if "rank" in changes.columns else []),
    )


def statements(
    spark: SparkSession, events: Iterable[Statement], with_watermark: bool, destinations: Destinations
) -> DataFrame:
    """DDL events, each broadcast to its destinations, and the watermark that follows each at once."""
    cells = [(event.commit_ts, DDL, event.index, to) for event in events for to in event.destinations]
    if with_watermark:
        cells += [
            (commit_ts, WATERMARK, 0, to)
            for commit_ts in sorted({cell[0] for cell in cells})
            for to, (since, until) in enumerate(destinations.watermarked)
            if since <= commit_ts <= until
        ]
    return _bare(spark.createDataFrame(cells, "commit_ts long, kind int, table int, destination int"))


def watermarks(spark: SparkSession, timeline: Timeline, destinations: Destinations) -> DataFrame:
    """One watermark for each interval and active destination, and the final one above everything."""
    numbers = spark.range(1, timeline.watermark_count() + 2, numPartitions=1)
    physical = F.least(F.lit(timeline.start_ms) + F.col("id") * timeline.resolved_interval_ms, F.lit(timeline.end_ms))
    each = numbers.select(
        F.shiftleft(physical, LOGICAL_BITS).alias("commit_ts"),
        F.lit(WATERMARK).alias("kind"),
        F.lit(0).alias("table"),
        F.explode(F.sequence(F.lit(0), F.lit(destinations.total - 1))).alias("destination"),
    )
    since, until = zip(*destinations.watermarked, strict=True)
    first, last = by_number(since, "destination"), by_number(until, "destination")
    return _bare(each.where(F.col("commit_ts").between(first, last)))


def in_order(frames: Iterable[DataFrame], tasks: int) -> DataFrame:
    """All events, one Spark partition per task, each in the order in which TiCDC would have sent it.

    Rows of one commit-ts go by their `rank`, where they have one, and otherwise by `op`.
    """
    together = reduce(partial(DataFrame.unionByName, allowMissingColumns=True), frames)
    placed = together.repartitionById(tasks, F.pmod("destination", F.lit(tasks)))
    ranked = "rank" in together.columns
    inside = ("rank", "table", "handle", "op") if ranked else ("op", "table", "handle")
    found = placed.sortWithinPartitions("commit_ts", "kind", *inside, "destination")
    return found.drop("rank", "handle")


def _bare(frame: DataFrame) -> DataFrame:
    """Events that are not rows, with the columns of rows left empty."""
    fields = [field.split() for field in COLUMNS.split(", ")]
    present = set(frame.columns)
    return frame.select(
        *((F.col(name) if name in present else F.lit(None)).cast(kind).alias(name) for name, kind in fields)
    )
