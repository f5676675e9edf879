"""Findings of the replay checks: every one is counted, and the first examples of each check and table are kept.

The kept examples depend on their place in the stream only, not on how rows are distributed over tasks.

A table whose definition is unknown is replayed by the column names and the handle key in its messages. The effect of
a statement on it is unknown, so that it starts anew after each. Images begin with a marker of their layout, since
images of different layouts are not compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.columns.cells import Mask
from simulator.columns.change_frame import Ints, by_table, ints
from simulator.reader.decode.row_texts import MEMBERS, table_from_layout
from simulator.reader.frame import Layout
from simulator.reader.replay.frame import FINDING_SCHEMA
from simulator.reader.replay.normalize import as_mask, is_unknown, may_be_equal
from simulator.reader.replay.table_timeline import NO_TABLE, ReplayedTable, TableHistory
from simulator.tidb.model.types import TYPES

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


MARKER_SIZE = 8
"""Bytes of a layout marker."""

CODES = frozenset(TYPES[name].code for name in MEMBERS)
MOST = 1 << 30
"""Numbers for such tables, downwards from NO_TABLE."""


@dataclass(frozen=True)
class UndefinedTable:
    """An undefined table between two statements about it."""

    layout: Layout
    since: int
    """Commit-ts of the statement before."""

    @property
    def number(self) -> int:
        """Return a number below NO_TABLE, the same in every task. Collisions are harmless, since handles include the
        name."""
        return NO_TABLE - 1 - crc32(self._name) % MOST

    def handles(self, images: pa.Array) -> pa.Array:
        """Return the handles of images; null where there is no image or a cell of the handle key is unknown."""
        if images.null_count == len(images):
            return pa.nulls(len(images), pa.binary())
        there, names = images.drop_null(), self.layout.names
        cells = [row_image.cell(there, len(names), names.index(name)) for name in sorted(self.layout.keys)]
        hidden = np.logical_or.reduce([is_unknown(cell) for cell in cells])
        made = pc.binary_join_element_wise(self._name, row_image.pack(cells), b"\0")
        return row_image.restore_nulls(pc.if_else(pa.array(hidden), pa.scalar(None, pa.binary()), made), images)

    @property
    def _name(self) -> bytes:
        return f"{self.layout.schema}.{self.layout.table}\0{self.since}".encode("utf-8", "surrogatepass")


def has_key(layout: Layout) -> bool:
    """Return whether the messages identify rows."""
    return bool(layout.keys) and set(layout.keys) <= set(layout.names)


def layout_marker(layout: Layout) -> bytes:
    """Return the prefix of the images of a layout."""
    return b"%08x" % crc32(repr((layout.names, layout.types)).encode("utf-8", "surrogatepass"))


def add_marker(images: pa.Array, layout: Layout) -> pa.Array:
    return pc.binary_join_element_wise(layout_marker(layout), images, b"\xff")


def remove_marker(image: bytes) -> bytes:
    return image[MARKER_SIZE + 1 :]


def marked_may_be_equal(images: pa.Array, others: pa.Array) -> Mask:
    """Return whether images with markers may be of one row."""
    mask = np.ones(len(images), np.bool_)
    marks = pc.binary_slice(images, 0, MARKER_SIZE)
    same = np.flatnonzero(as_mask(pc.equal(marks, pc.binary_slice(others, 0, MARKER_SIZE))))
    encoded = marks.take(pa.array(same)).dictionary_encode()
    for number in range(len(encoded.dictionary)):
        places = same[np.asarray(encoded.indices) == number]
        one, other = (side.take(pa.array(places)) for side in (images, others))
        mask[places] = may_be_equal(one, other, one[0].as_py().count(b"\xff") + 1)
    return mask


def layout_history(layout: Layout) -> TableHistory:
    """Return the table as its messages describe it."""
    return TableHistory((ReplayedTable(-1, table_from_layout(layout)),), False)


def without_members(layout: Layout) -> frozenset[str]:
    """Return the columns whose values are not ENUM or SET numbers; an empty ENUM or SET may be sent as NULL."""
    return frozenset(
        name
        for name, kind in zip(layout.names, layout.types, strict=True)
        if kind not in CODES and str(kind).split("(")[0].lower() not in MEMBERS
    )


def last_statement_before(touched: Ints, ts: Ints) -> Ints:
    """Return the last statement before each commit-ts; -1 for none."""
    known = np.concatenate(([-1], touched))
    statements: Ints = known[np.searchsorted(touched, ts, "left")]
    return statements
