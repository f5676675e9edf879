"""What is wrong with rows: all of it counted, the first of each kind kept.

One law: what is kept does not depend on how rows are spread over tasks, only on where they lie in the stream.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask
from simulator.columns.change_frame import Ints, by_table, ints
from simulator.consumer.replay.frame import FINDING_SCHEMA

FIRST = [("commit_ts", "ascending"), ("place", "ascending"), ("offset", "ascending"), ("handle", "ascending")]
"""By which examples come first."""


@dataclass
class Findings:
    """Counts and examples, growing."""

    show: int
    counts: Counter[tuple[str, int]] = field(default_factory=Counter)
    examples: dict[tuple[str, int], pa.RecordBatch] = field(default_factory=dict)

    def add(
        self, check: str, rows: pa.RecordBatch, where: Mask, found: pa.Array | None, wanted: pa.Array | None
    ) -> None:
        """Halves that fail a check; beside each what the row was, and what it should have been."""
        places = np.flatnonzero(where)
        for table, at in by_table(ints(rows, "table")[places]):
            self._add(check, table, rows, places[at], found, wanted)

    def _add(
        self,
        check: str,
        table: int,
        rows: pa.RecordBatch,
        places: Ints,
        found: pa.Array | None,
        wanted: pa.Array | None,
    ) -> None:
        self.counts[check, table] += len(places)
        order = np.lexsort([ints(rows, name)[places] for name in ("offset", "place", "commit_ts")])
        kept = pa.array(places[order[: self.show]])
        count, images = (
            len(kept),
            [pa.nulls(len(kept), pa.binary()) if side is None else side.take(kept) for side in (found, wanted)],
        )
        made = pa.RecordBatch.from_arrays(
            [
                pa.repeat(check, count),
                pa.repeat(pa.scalar(table, pa.int32()), count),
                pa.nulls(count, pa.int64()),
                *(rows.column(name).take(kept) for name in ("commit_ts", "place", "offset", "handle")),
                *images,
            ],
            schema=FINDING_SCHEMA,
        )
        self.keep(check, table, made)

    def keep(self, check: str, table: int, examples: pa.RecordBatch) -> None:
        """Examples (FINDINGS), of which the first stay."""
        before = self.examples.get((check, table))
        both = examples if before is None else pa.concat_batches([before, examples])
        self.examples[check, table] = both.take(pc.sort_indices(both, sort_keys=FIRST)[: self.show])

    def count(self, what: str, table: Ints, where: Mask) -> None:
        """Rows that are counted alone."""
        numbers, counts = np.unique(table[where], return_counts=True)
        for number, count in zip(numbers.tolist(), counts.tolist()):
            self.counts[what, number] += count

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All of it as FINDINGS."""
        counts = [
            {"check": check, "table": table, "count": count} for (check, table), count in sorted(self.counts.items())
        ]
        yield pa.RecordBatch.from_pylist(counts, FINDING_SCHEMA)
        yield from self.examples.values()


def merge_findings(batches: Iterable[pa.RecordBatch], show: int) -> Findings:
    """What several tasks found."""
    found = Findings(show)
    for batch in batches:
        counted = pc.is_valid(batch.column("count"))
        for row in batch.filter(counted).select(["check", "table", "count"]).to_pylist():
            found.counts[row["check"], row["table"]] += row["count"]
        examples = batch.filter(pc.invert(counted))
        keys = zip(examples.column("check").to_pylist(), examples.column("table").to_pylist())
        places: dict[tuple[str, int], list[int]] = {}
        for place, key in enumerate(keys):
            places.setdefault(key, []).append(place)
        for (check, table), at in places.items():
            found.keep(check, table, examples.take(pa.array(at)))
    return found
