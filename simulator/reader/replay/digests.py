"""Image pairs as hashes, enough to see that a row has nothing wrong.

A stream that is right needs no more than that: its image pairs neither move between processes nor are sorted. Rows that
break a rule by their hashes are suspects, and only their image pairs are looked at (`neighbours`), so that findings are
the same. Two different images have equal hashes once in 2^64.

    DIGEST_SCHEMA  image pairs (`replay`) without handles and offsets, with 64-bit hashes in place of images
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
from simulator.reader.replay import BEGIN, END, FINDING_SCHEMA, Findings, ImagePairSource, Report, as_mask
from simulator.reader.replay.row_rules import KeyedRows, KeylessRows, TableKnowledge, count_changes, equal_images

DIGEST_SCHEMA = pa.schema(
    [
        ("row_hash", pa.int64()),
        ("table", pa.int32()),
        ("commit_ts", pa.int64()),
        ("rank", pa.int8()),
        ("sequence", pa.int64()),
        ("partition_index", pa.int32()),
        ("exact", pa.bool_()),
        ("old_check", pa.int8()),
        ("dropped_at", pa.int64()),
        ("old", pa.int64()),
        ("new", pa.int64()),
    ]
)

PIECE_SCHEMA = pa.schema([("part", pa.int32()), ("digests", pa.binary())])
"""Digests on their way to the task that checks a part of all rows, in Arrow's format of messages."""

VERDICT_SCHEMA = pa.schema([("counts", pa.binary()), ("suspects", pa.binary())])

PIECE = 1 << 18
"""Digests that a task holds back before it divides them into parts."""

MOST = 3_000_000
"""Digests of a part that fit into the memory of a task; a row that changes more often is compared sorted."""

SUSPECTS = 1 << 18
"""Rows that are looked at by themselves; if there are more, all are."""


def digests(pairs: pa.RecordBatch) -> pa.RecordBatch:
    """Convert image pairs (IMAGE_PAIR_SCHEMA)."""
    hashes = {side: _hashes(pairs.column(side)) for side in ("old", "new")}
    columns = [hashes.get(name) or pairs.column(name) for name in DIGEST_SCHEMA.names]
    return pa.RecordBatch.from_arrays(columns, schema=DIGEST_SCHEMA)


def _hashes(images: pa.Array) -> pa.Array:
    if images.null_count == len(images):
        return pa.nulls(len(images), pa.int64())
    missing = images.is_null().to_numpy(zero_copy_only=False) if images.null_count else None
    return pa.array(fingerprints(images).view(np.int64), mask=missing)


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


def check_digest_pieces(batches: Iterable[pa.RecordBatch], expected: TableKnowledge) -> DigestVerdict:
    """Check all digests of a part (PIECE_SCHEMA), if they are not too many."""
    waiting, count = list[pa.RecordBatch](), 0
    for piece in (piece for batch in batches for piece in batch.column("digests")):
        read = pa.ipc.read_record_batch(piece.as_buffer(), DIGEST_SCHEMA)
        count += len(read)
        if count > MOST:
            waiting.clear()
        else:
            waiting.append(read)
    return check_digests(waiting, expected) if count <= MOST else DigestVerdict(rows=None)


@dataclass(frozen=True)
class DigestVerdict:
    """What digests show: the counts of rows with nothing wrong, and the hashes of all others."""

    counts: list[pa.RecordBatch] = field(default_factory=list)
    """FINDING_SCHEMA."""

    rows: Ints | None = field(default_factory=lambda: np.zeros(0, np.int64))
    """The suspects, ascending; None if they are more than SUSPECTS."""

    def packed(self) -> pa.RecordBatch:
        """Return this as a row of VERDICT_SCHEMA."""
        counts = pa.Table.from_batches(self.counts, FINDING_SCHEMA).combine_chunks().to_batches()
        packed = b"".join(batch.serialize().to_pybytes() for batch in counts)
        rows = None if self.rows is None else self.rows.tobytes()
        return pa.RecordBatch.from_pylist([{"counts": packed, "suspects": rows}], VERDICT_SCHEMA)

    @staticmethod
    def of(parts: pa.Table) -> DigestVerdict:
        """Return the sum of all parts (VERDICT_SCHEMA)."""
        counts = [pa.ipc.read_record_batch(part, FINDING_SCHEMA) for part in parts["counts"].to_pylist() if part]
        suspects = parts["suspects"].to_pylist()
        if None in suspects:
            return DigestVerdict(counts, None)
        rows = np.sort(np.frombuffer(b"".join(suspects), np.int64))
        return DigestVerdict(counts, rows if len(rows) <= SUSPECTS else None)


def check_digests(batches: Sequence[pa.RecordBatch], expected: TableKnowledge) -> DigestVerdict:
    """Check all digests (DIGEST_SCHEMA) of some rows, in any order."""
    whole = pa.Table.from_batches(batches, DIGEST_SCHEMA).combine_chunks().to_batches()
    if not whole:
        return DigestVerdict()
    rows = whole[0].take(pa.array(_order(whole[0])))
    keyed = expected.of(expected.keyed, ints(rows, "table"))
    verdicts = [
        check_rows(_chosen(rows, mask), expected)
        for check_rows, mask in ((_check_keyed, keyed), (_check_keyless, ~keyed))
        if mask.any()
    ]
    suspects = np.unique(np.concatenate([_shared(rows), *(wrong for wrong, _ in verdicts)]))
    findings = Findings(0)
    for counter, table, hashes, numbers in (counter for _, counters in verdicts for counter in counters):
        findings.count(counter, table, numbers * ~np.isin(hashes, suspects) if len(suspects) else numbers)
    return DigestVerdict([*findings.batches()], suspects if len(suspects) <= SUSPECTS else None)


Count = tuple[str, Ints, Ints, Mask | Ints]
"""A counter, and the table and hash of each row with what it adds."""


def _check_keyed(rows: pa.RecordBatch, expected: TableKnowledge) -> tuple[Ints, Iterator[Count]]:
    """Return which rows of tables with a handle key are suspects, and what all of them count."""
    hashes, ts = ints(rows, "row_hash"), ints(rows, "commit_ts")
    goes_on = _goes_on(hashes)
    checked = KeyedRows(rows, goes_on, expected)
    wrong = np.logical_or.reduce([difference.where for difference in checked.differences(equal_images)])
    if not expected.in_order:  # the images may tell another order in a millisecond
        wrong |= goes_on & ~as_mask(rows.column("exact")) & (ts != BEGIN) & (ts != END) & (np.diff(ts, prepend=0) == 0)
    return hashes[wrong], ((counter, checked.table, hashes, where) for counter, where in checked.counts())


def _check_keyless(rows: pa.RecordBatch, expected: TableKnowledge) -> tuple[Ints, Iterator[Count]]:
    """Return which rows of tables without a handle key are suspects, and what all of them count."""
    goes_on = _goes_on(ints(rows, "row_hash"))
    starts = np.flatnonzero(~goes_on)
    added = count_changes(rows, goes_on, expected.restarts)
    hashes, table = (ints(rows, name)[starts] for name in ("row_hash", "table"))
    checked = KeylessRows(table, np.add.reduceat(added, starts, axis=1), expected)
    wrong = np.logical_or.reduce([difference.where for difference in checked.differences()])
    return hashes[wrong], ((counter, table, hashes, numbers) for counter, numbers in checked.counts())


def _chosen(rows: pa.RecordBatch, mask: Mask) -> pa.RecordBatch:
    return rows if mask.all() else rows.filter(pa.array(mask))


def _shared(rows: pa.RecordBatch) -> Ints:
    """Return the hashes that rows of several tables have."""
    hashes = ints(rows, "row_hash")
    shared: Ints = hashes[_goes_on(hashes) & (np.diff(ints(rows, "table"), prepend=0) != 0)]
    return shared


def pairs_of_suspects(source: ImagePairSource, suspects: Ints | None, report: Report) -> Iterator[pa.RecordBatch]:
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
