"""Findings of the replay checks: every one is counted, and the first examples of each check and table are kept.

The kept examples depend on their place in the stream only, not on how rows are distributed over tasks.
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

    def count(self, what: str, table: Ints, where: Mask) -> None:
        """Count rows without keeping examples."""
        numbers, counts = np.unique(table[where], return_counts=True)
        for number, count in zip(numbers.tolist(), counts.tolist()):
            self.counts[what, number] += count

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
