"""Image pairs as hashes, enough to see that a row has nothing wrong.

A stream that is right needs no more than that: its image pairs neither move between processes nor are sorted. Rows of
which hashes do not show it are suspects, and only their image pairs are looked at (`neighbours`), so that findings are
the same. Two different images have equal hashes once in 2^64.

    DIGEST_SCHEMA  image pairs (`frame`), with 64-bit hashes in place of images: 0 where the row does not exist

`check` is the old_check of the pair. `exact` is as there; `odd` is whether hashes do not tell what a pair leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from simulator.columns.cells import Mask
from simulator.columns.change_frame import Ints, ints
from simulator.columns.hashing import fingerprints, stable_order
from simulator.reader.replay.frame import ANY, BEGIN, END, FINDING_SCHEMA, NEVER, SAME, ImagePairSource, Report
from simulator.reader.replay.neighbours import TableKnowledge
from simulator.reader.replay.normalize import as_mask
from simulator.reader.replay.table_timeline import NO_TABLE

DIGEST_SCHEMA = pa.schema(
    [
        ("row_hash", pa.int64()),
        ("table", pa.int32()),
        ("commit_ts", pa.int64()),
        ("rank", pa.int8()),
        ("sequence", pa.int64()),
        ("partition_index", pa.int32()),
        ("check", pa.int8()),
        ("exact", pa.int8()),
        ("odd", pa.int8()),
        ("old", pa.int64()),
        ("new", pa.int64()),
    ]
)

PIECE_SCHEMA = pa.schema([("part", pa.int32()), ("digests", pa.binary())])
"""Digests on their way to the task that checks a part of all rows, in Arrow's format of messages."""

SETTLED_SCHEMA = pa.schema([("counts", pa.binary()), ("suspects", pa.binary())])

PIECE = 1 << 18
"""Digests that a task holds back before it divides them into parts."""

MOST = 3_000_000
"""Digests of a part that fit into the memory of a task; a row that changes more often is compared sorted."""

SUSPECTS = 1 << 18
"""Rows that are looked at by themselves; if there are more, all are."""


def digests(pairs: pa.RecordBatch) -> pa.RecordBatch:
    """Convert image pairs (IMAGE_PAIR_SCHEMA)."""
    same = ("row_hash", "table", "commit_ts", "rank", "sequence", "partition_index")
    columns = {name: pairs.column(name) for name in same}
    columns["check"] = pairs.column("old_check")
    columns["exact"] = pairs.column("exact").cast(pa.int8())
    columns["odd"] = pa.array((ints(pairs, "dropped_at") != NEVER).astype(np.int8))
    columns |= {side: pa.array(_hashes(pairs.column(side))) for side in ("old", "new")}
    return pa.RecordBatch.from_arrays([columns[name] for name in DIGEST_SCHEMA.names], schema=DIGEST_SCHEMA)


def divided(pairs: Iterable[pa.RecordBatch], parts: int) -> Iterator[pa.RecordBatch]:
    """Yield the digests of image pairs (PIECE_SCHEMA), all those of a row in one of so many parts."""
    waiting: list[pa.RecordBatch] = []
    for batch in pairs:
        waiting.append(digests(batch))
        if sum(map(len, waiting)) >= PIECE:
            yield _pieces(waiting, parts)
            waiting = []
    if waiting:
        yield _pieces(waiting, parts)


def _pieces(batches: Sequence[pa.RecordBatch], parts: int) -> pa.RecordBatch:
    rows = pa.concat_batches(batches)
    part = ((ints(rows, "row_hash").view(np.uint64) >> np.uint64(32)) % np.uint64(parts)).astype(np.uint16)
    order = np.argsort(part, kind="stable")
    ordered, bounds = rows.take(pa.array(order)), np.searchsorted(part[order], np.arange(parts + 1))
    there = np.flatnonzero(np.diff(bounds)).tolist()
    pieces = [ordered.slice(bounds[number], bounds[number + 1] - bounds[number]).serialize() for number in there]
    return pa.RecordBatch.from_arrays(
        [pa.array(there, pa.int32()), pa.array([piece.to_pybytes() for piece in pieces], pa.binary())],
        schema=PIECE_SCHEMA,
    )


def settle_pieces(batches: Iterable[pa.RecordBatch], expected: TableKnowledge) -> Settled:
    """Check all digests of a part (PIECE_SCHEMA), if they are not too many."""
    waiting, count = list[pa.RecordBatch](), 0
    for piece in (piece for batch in batches for piece in batch.column("digests")):
        read = pa.ipc.read_record_batch(piece.as_buffer(), DIGEST_SCHEMA)
        count += len(read)
        if count > MOST:
            waiting.clear()
        else:
            waiting.append(read)
    return settle(waiting, expected) if count <= MOST else Settled(rows=None)


def _hashes(images: pa.Array) -> Ints:
    if images.null_count == len(images):
        return np.zeros(len(images), np.int64)
    hashes: Ints = fingerprints(images).view(np.int64)
    hashes[hashes == 0] = 1
    return hashes if not images.null_count else np.where(as_mask(images.is_valid()), hashes, 0)


@dataclass(frozen=True)
class Settled:
    """What digests show: the counts of rows with nothing wrong, and the hashes of all others."""

    counts: list[pa.RecordBatch] = field(default_factory=list)
    """FINDING_SCHEMA."""

    rows: Ints | None = field(default_factory=lambda: np.zeros(0, np.int64))
    """The suspects, ascending; None if they are more than SUSPECTS."""

    def packed(self) -> pa.RecordBatch:
        """Return this as a row of SETTLED_SCHEMA."""
        counts = pa.Table.from_batches(self.counts, FINDING_SCHEMA).combine_chunks().to_batches()
        packed = b"".join(batch.serialize().to_pybytes() for batch in counts)
        rows = None if self.rows is None else self.rows.tobytes()
        return pa.RecordBatch.from_pylist([{"counts": packed, "suspects": rows}], SETTLED_SCHEMA)

    @staticmethod
    def of(parts: pa.Table) -> Settled:
        """Return the sum of all parts (SETTLED_SCHEMA)."""
        counts = [pa.ipc.read_record_batch(part, FINDING_SCHEMA) for part in parts["counts"].to_pylist() if part]
        suspects = parts["suspects"].to_pylist()
        if None in suspects:
            return Settled(counts, None)
        rows = np.sort(np.frombuffer(b"".join(suspects), np.int64))
        return Settled(counts, rows if len(rows) <= SUSPECTS else None)


def settle(batches: Sequence[pa.RecordBatch], expected: TableKnowledge) -> Settled:
    """Check all digests (DIGEST_SCHEMA) of some rows, in any order."""
    whole = pa.Table.from_batches(batches, DIGEST_SCHEMA).combine_chunks().to_batches()
    if not whole:
        return Settled()
    rows = _Digests(whole[0].take(pa.array(_order(whole[0]))), expected)
    good = ~rows.of_rows(rows.wrong())
    counted = good & (rows.table > NO_TABLE)
    counts = [
        {"check": check, "table": number, "count": count}
        for check, numbers in rows.counters()
        for number, count in enumerate(np.bincount(rows.table[counted], numbers[counted], 0).astype(int).tolist())
        if count
    ]
    suspects = np.unique(rows.row_hash[~good])
    return Settled(
        [pa.RecordBatch.from_pylist(counts, FINDING_SCHEMA)], suspects if len(suspects) <= SUSPECTS else None
    )


def only(source: ImagePairSource, suspects: Ints | None, report: Report) -> Iterator[pa.RecordBatch]:
    """Yield the image pairs of suspects (ascending hashes) from a source that has reported before."""
    for batch in source(lambda value: None):
        if suspects is None:
            yield batch
            continue
        chosen = np.isin(ints(batch, "row_hash"), suspects)
        if chosen.any():
            yield batch.filter(pa.array(chosen))


def _order(rows: pa.RecordBatch) -> Ints:
    """Return the order of rows and times. Those of most rows lie in order already."""
    hashes = ints(rows, "row_hash").view(np.uint64)
    order = stable_order(hashes)
    names = ("commit_ts", "rank", "sequence", "partition_index")
    falls, tie = np.zeros(len(order), np.bool_), _goes_on(hashes[order])
    for values in (ints(rows, name)[order] for name in names):
        steps = np.diff(values, prepend=values[:1])
        falls |= tie & (steps < 0)
        tie = tie & (steps == 0)
    if falls.any():
        places = np.flatnonzero(np.isin(hashes[order], hashes[order][falls]))
        some = order[places]
        order[places] = some[np.lexsort([*(ints(rows, name)[some] for name in reversed(names)), hashes[some]])]
    return order


def _goes_on(hashes: npt.NDArray[np.integer[Any]]) -> Mask:
    """Return which digests are of the same row as the one before."""
    mask: Mask = np.concatenate(([False], hashes[1:] == hashes[:-1]))
    return mask


def _before(values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    before: npt.NDArray[np.generic] = np.concatenate((values[:1], values[:-1]))
    return before


class _Digests:
    """Digests in order, beside what `neighbours` and `keyless_rows` ask of image pairs."""

    def __init__(self, rows: pa.RecordBatch, expected: TableKnowledge) -> None:
        self._rows, self._expected = rows, expected
        self.row_hash, self.table, self.ts = (ints(rows, name) for name in ("row_hash", "table", "commit_ts"))
        self.old, self.new = ints(rows, "old"), ints(rows, "new")
        self.goes_on = _goes_on(self.row_hash)
        self.keyed, self.known, self.ends = (
            expected.of(values, self.table) for values in (expected.keyed, expected.known, expected.ends)
        )
        self.begins, self.is_end = self.ts == BEGIN, self.ts == END
        self.change = ~self.begins & ~self.is_end
        self.last = np.concatenate((~self.goes_on[1:], [True]))
        self.group = np.cumsum(~self.goes_on) - 1
        at_once = self.goes_on & self.change & (np.diff(self.ts, prepend=0) == 0)
        self._at_once = at_once & (np.diff(ints(rows, "rank"), prepend=0) == 0)

    def of_rows(self, wrong: Mask) -> Mask:
        """Return all digests of the rows that one of these is of."""
        rows = np.zeros(int(self.group[-1]) + 1, np.bool_)
        rows[self.group[wrong]] = True
        mask: Mask = rows[self.group]
        return mask

    def wrong(self) -> Mask:
        """Return which digests show that something may be wrong with their row."""
        wrong: Mask = ints(self._rows, "odd") != 0
        wrong |= self.goes_on & (np.diff(self.table, prepend=0) != 0)
        wrong |= np.where(self.keyed, self._keyed(), self._keyless())
        return wrong

    def counters(self) -> Iterator[tuple[str, Ints]]:
        """Yield the counters of `Findings` that are no differences, as what each digest adds."""
        yield "expected", self.is_end.astype(np.int64)
        yield "untouched", (self.is_end & self.keyed & ~self._certain).astype(np.int64)
        there = self._leaves | self.is_end & self._certain
        net, _ = self._net
        yield "found", np.where(self.keyed, there, self.last * np.maximum(net, 0))

    @property
    def _certain(self) -> Mask:
        return self.goes_on | self.known

    @property
    def _leaves(self) -> Mask:
        leaves: Mask = self.last & (self.new != 0) & ~self.is_end
        return leaves

    def _keyed(self) -> Mask:
        """Tables with a handle key, as `NeighbourComparison` has it."""
        rows, old, new = self._rows, self.old, self.new
        check, exact = ints(rows, "check"), ints(rows, "exact") != 0
        was = np.where(self.goes_on, _before(new), 0)
        at_once = self._at_once & exact
        again = at_once & (old == _before(old)) & (new == was)
        strict = self.change & ~again & self._certain & (check != ANY)
        wrong: Mask = at_once & ~again
        wrong |= strict & (old != was) & ~((old == 0) & (check == SAME) & (new == was))
        wrong |= self.is_end & self._certain & (old != was)
        wrong |= self.goes_on & self.begins & (_before(self.ts) == BEGIN)
        wrong |= self._leaves & self.ends
        if not self._expected.in_order:  # the images may tell another order in a millisecond
            wrong |= self.goes_on & self.change & ~exact & (np.diff(self.ts, prepend=0) == 0)
        return wrong

    def _keyless(self) -> Mask:
        """Other tables, as `KeylessRowChecks` has it."""
        net, doubtful = self._net
        expected = np.bincount(self.group, self.is_end)[self.group]
        ends = self.ends & self.known
        wrong: Mask = doubtful | self.known & np.where(ends, net != expected, net < 0)
        return wrong

    @property
    def _net(self) -> tuple[Ints, Mask]:
        """Return how often the row of each digest is there at the end, and the changes that may be repeated ones."""
        sequence = ints(self._rows, "sequence")
        again = self._at_once & (np.diff(ints(self._rows, "partition_index"), prepend=-2) == 0)
        same = again & (sequence >= 0) & (np.diff(sequence, prepend=-1) == 0)
        sign = np.where(self.new != 0, 1, -1) * (~self.is_end & ~same)
        net = np.bincount(self.group, sign).astype(np.int64)
        return net[self.group], again & (sequence < 0) & self._expected.restarts
