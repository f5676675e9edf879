"""Digests of image pairs on their way between the tasks of Spark. `support.replaying` holds their findings against those
of image pairs, for every stream that a test replays."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from simulator.reader.replay import END, digests, image_pair_batch
from simulator.reader.replay.digests import VERDICT_SCHEMA, DigestVerdict, check_digest_pieces, check_digests, divided
from simulator.reader.replay.row_rules import TableKnowledge

KNOWN = TableKnowledge(np.array([2]), np.array([True]), np.array([True]), np.array([True]))
ROWS = 1000
WRONG = (7, 500)


def pairs(ts: int, old: list[bytes | None], new: list[bytes | None]) -> pa.RecordBatch:
    handles = pa.array([b"%d" % row for row in range(len(old))])
    sides = {"old": pa.array(old, pa.binary()), "new": pa.array(new, pa.binary())}
    return image_pair_batch(0, handles, commit_ts=pa.repeat(pa.scalar(ts, pa.int64()), len(old)), **sides)


@pytest.fixture
def stream() -> list[pa.RecordBatch]:
    """Rows that are inserted and changed; two are not expected as they are."""
    first, second = ([b"%d\xff%s" % (row, text) for row in range(ROWS)] for text in (b"a", b"b"))
    expected: list[bytes | None] = [b"%d\xffc" % row if row in WRONG else image for row, image in enumerate(second)]
    nothing: list[bytes | None] = [None] * ROWS
    return [pairs(END, expected, nothing), pairs(20, [*first], [*second]), pairs(10, nothing, [*first])]


def shown(verdict: DigestVerdict) -> tuple[Counter[str], list[int]]:
    assert verdict.rows is not None
    counts = Counter[str]()
    for row in (row for batch in verdict.counts for row in batch.to_pylist()):
        counts[row["check"]] += row["count"]
    return counts, verdict.rows.tolist()


def in_parts(stream: list[pa.RecordBatch], parts: int) -> DigestVerdict:
    """What tasks find that check a part each."""
    pieces = [piece for batch in stream for piece in divided([batch], parts)]
    found = []
    for number in range(parts):
        mine = [piece.filter(pa.array(np.asarray(piece["part"]) == number)) for piece in pieces]
        found.append(check_digest_pieces(mine, KNOWN).packed())
    return DigestVerdict.of(pa.Table.from_batches(found, VERDICT_SCHEMA))


def test_rows_that_are_not_as_expected_are_suspects(stream: list[pa.RecordBatch]) -> None:
    counts, suspects = shown(check_digests([digests.digests(batch) for batch in stream], KNOWN))
    assert sorted(stream[0]["row_hash"][row].as_py() for row in WRONG) == suspects
    assert {"expected": ROWS - 2, "found": ROWS - 2} == counts


def test_tasks_find_together_what_one_finds(stream: list[pa.RecordBatch]) -> None:
    """Their counts add up, and each suspect is one of some task."""
    assert shown(check_digests([digests.digests(batch) for batch in stream], KNOWN)) == shown(in_parts(stream, 5))


def test_a_part_too_large_for_its_task_is_sorted(stream: list[pa.RecordBatch], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "MOST", ROWS)
    assert in_parts(stream, 2).rows is None
    assert in_parts(stream, 5).rows is not None


@pytest.mark.slow
def test_too_many_suspects_are_all_rows(stream: list[pa.RecordBatch], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "SUSPECTS", 1)
    assert in_parts(stream, 1).rows is None
    assert in_parts(stream, 200).rows is None
