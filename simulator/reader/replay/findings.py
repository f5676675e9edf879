"""Findings of the replay checks, and what is noted of row changes beside their image pairs.

Every finding is counted, and the first examples of each check and table are kept. The kept examples depend on their place
in the stream only, not on how rows are distributed over tasks. The sums of row changes are held against those that were
sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask
from simulator.columns.change_frame import DELETE, Ints, by_table, ints
from simulator.columns.hashing import KINDS, ChangeSum, ChangeSums, add_sums, fingerprints, sums_by_group
from simulator.reader.events import Layout
from simulator.reader.replay.frame import FINDING_SCHEMA
from simulator.reader.replay.normalize import has_lost_bytes
from simulator.tidb.model.table import Table
from simulator.tidb.model.types import family

FIRST = [("commit_ts", "ascending"), ("partition_index", "ascending"), ("offset", "ascending"), ("handle", "ascending")]
"""Sort keys of the examples."""


@dataclass
class Findings:
    show: int
    counts: Counter[tuple[str, int]] = field(default_factory=Counter)
    examples: dict[tuple[str, int], pa.RecordBatch] = field(default_factory=dict)

    def add(
        self, check: str, rows: pa.RecordBatch, where: Mask, actual: pa.Array | None, expected: pa.Array | None
    ) -> None:
        """Add the image pairs that fail a check. `actual` has the actual image of each row, `expected` the expected
        one."""
        places = np.flatnonzero(where)
        for table, at in by_table(ints(rows, "table")[places]):
            of_table = places[at]
            self.counts[check, table] += len(of_table)
            order = np.lexsort([ints(rows, name)[of_table] for name in ("offset", "partition_index", "commit_ts")])
            kept = pa.array(of_table[order[: self.show]])
            count = len(kept)
            columns = [
                pa.repeat(check, count),
                pa.repeat(pa.scalar(table, pa.int32()), count),
                pa.nulls(count, pa.int64()),
                *(rows.column(name).take(kept) for name in ("commit_ts", "partition_index", "offset", "handle")),
                *(pa.nulls(count, pa.binary()) if side is None else side.take(kept) for side in (actual, expected)),
            ]
            self.add_examples(check, table, pa.RecordBatch.from_arrays(columns, schema=FINDING_SCHEMA))

    def add_examples(self, check: str, table: int, examples: pa.RecordBatch) -> None:
        """Add examples (FINDING_SCHEMA), and keep the first `show` of them all."""
        before = self.examples.get((check, table))
        both = examples if before is None else pa.concat_batches([before, examples])
        self.examples[check, table] = both.take(pc.sort_indices(both, sort_keys=FIRST)[: self.show])

    def count(self, what: str, table: Ints, numbers: Mask | Ints) -> None:
        """Add what each row counts to a counter of its table."""
        places = np.flatnonzero(numbers)
        for number, at in by_table(table[places]):
            self.counts[what, number] += int(numbers[places[at]].sum())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all counts and examples as FINDING_SCHEMA."""
        counts = [
            {"check": check, "table": table, "count": count} for (check, table), count in sorted(self.counts.items())
        ]
        yield pa.RecordBatch.from_pylist(counts, FINDING_SCHEMA)
        yield from self.examples.values()


def merge_findings(batches: Iterable[pa.RecordBatch], show: int) -> Findings:
    findings = Findings(show)
    for batch in batches:
        counted = pc.is_valid(batch.column("count"))
        for row in batch.filter(counted).select(["check", "table", "count"]).to_pylist():
            findings.counts[row["check"], row["table"]] += row["count"]
        examples = batch.filter(pc.invert(counted))
        places: dict[tuple[str, int], list[int]] = {}
        keys = zip(examples.column("check").to_pylist(), examples.column("table").to_pylist())
        for place, key in enumerate(keys):
            places.setdefault(key, []).append(place)
        for (check, table), at in places.items():
            findings.add_examples(check, table, examples.take(pa.array(at)))
    return findings


@dataclass
class SkippedChanges:
    """Row changes without an image pair, counted by table number (NO_TABLE for none), table name and reason."""

    rows: Counter[tuple[int, str, str]] = field(default_factory=Counter)
    layouts: dict[int, dict[bytes, Layout]] = field(default_factory=dict)
    """Layouts of undefined tables, by table number and layout marker."""

    unknown: Counter[tuple[int, str]] = field(default_factory=Counter)
    """New values that nothing tells, by table number and column."""

    keys: set[tuple[int, str]] = field(default_factory=set)
    """Unique keys of which row changes do not tell who has which value, by number, with the reason."""

    sums: dict[tuple[str, str], ChangeSum] = field(default_factory=dict)
    """Of all row changes."""

    def add(self, number: int, table: str, why: str, count: int) -> None:
        if count:
            self.rows[number, table, why] += count

    def include(self, other: SkippedChanges) -> None:
        """Add the changes that another task skipped."""
        self.rows.update(other.rows)
        self.unknown.update(other.unknown)
        self.keys |= other.keys
        add_sums(self.sums, other.sums)
        for number, layouts in other.layouts.items():
            self.layouts.setdefault(number, {}).update(layouts)


def with_told_times(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows (EVENT_SCHEMA) with the commit-ts of their messages in further columns, before others take its
    place."""
    return rows.append_column("told_ts", rows.column("commit_ts")).append_column("timed", rows.column("exact"))


class SentImages:
    """Rows of one layout, of which the images become known little by little."""

    def __init__(self, rows: pa.RecordBatch, layout: Layout) -> None:
        self._rows, self._name = rows, f"{layout.schema}.{layout.table}"
        self._hashes, self._told = np.zeros(len(rows), np.uint64), np.zeros(len(rows), np.bool_)

    def put(self, places: Ints, table: Table, touched: Ints, before: pa.Array, after: pa.Array) -> None:
        """Note the normalized images of rows at these places, whose table has that definition.

        They are not told where TiDB may have another spelling, or in a millisecond with a statement on the table.
        """
        if any(family(column.type) == "float" for column in table.columns):
            return
        images = pc.coalesce(after, before)
        ts, exact = ints(self._rows, "commit_ts")[places], np.asarray(self._rows.column("exact"))[places]
        doubtful = ~exact & np.isin(ts, touched)
        self._hashes[places], self._told[places] = fingerprints(images), ~(has_lost_bytes(images) | doubtful)

    def sums(self, milliseconds: bool) -> ChangeSums:
        """Return the sums of the rows; `milliseconds` is whether these are all that messages tell of commit-ts."""
        ts, exact = ("told_ts", "timed") if "timed" in self._rows.schema.names else ("commit_ts", "exact")
        deleted = (ints(self._rows, "op") == DELETE).astype(np.int64)
        timed = np.asarray(self._rows.column(exact)) | milliseconds
        sums = sums_by_group(deleted, ints(self._rows, ts), self._hashes, timed, self._told)
        return {(self._name, KINDS[group]): each for group, each in sums.items()}
