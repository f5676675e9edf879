"""Checks of a stream in memory: its partitions one after another, then across partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from simulator.columns.change_frame import ints
from simulator.consumer.contract.across_partitions import check_across_partitions, choose_reading, partition_count_spans
from simulator.consumer.contract.checks import PartitionChecks
from simulator.consumer.contract.pieces import CheckedPiece, joined_pieces
from simulator.consumer.contract.stream_spec import StreamSpec
from simulator.consumer.contract.summary import PartitionSummary
from simulator.consumer.contract.violations import Violation, Violations, merge_violations
from simulator.consumer.decode.batches import StreamDecoder
from simulator.consumer.frame import RECORD_SCHEMA, Layout, record_batch
from simulator.consumer.records import Record, TopicPartition

BATCH = 1 << 14
ALL = 1 << 20
"""More violations than anyone reads."""


def find_violations(records: Iterable[Record], spec: StreamSpec) -> Iterator[Violation]:
    """Yield every violation of points 1 to 6, by partition; those across partitions come last."""
    yield from check_records(records, spec, ALL)[0].shown


def check_records(
    records: Iterable[Record], spec: StreamSpec, show: int = ALL, size: int = BATCH
) -> tuple[Violations, list[PartitionSummary]]:
    """Return the violations and the partition summaries; `size` records are decoded at a time."""
    parts: dict[TopicPartition, list[Record]] = {}
    for record in records:
        parts.setdefault((record.topic, record.partition), []).append(record)
    summaries = _check_partitions(parts, spec, show, size)
    if spans := partition_count_spans(summaries, spec):
        summaries = choose_reading(summaries, _check_partitions(parts, replace(spec, grown=spans), show, size))
    return merge_violations(
        [*(summary.found for summary in summaries), check_across_partitions(summaries, spec, show)], show
    ), summaries


def _check_partitions(
    parts: dict[TopicPartition, list[Record]], spec: StreamSpec, show: int, size: int
) -> list[PartitionSummary]:
    decoding = StreamDecoder(spec.protocol, spec.stored)
    summaries = []
    for place, records in parts.items():
        checks, batches = PartitionChecks(place, spec, show), list(record_batches(records, size))
        events = [decoding.decoded(batch) for batch in batches]
        for decoded, batch in zip(events, batches, strict=True):
            checks.take(decoded, decoding.layouts, batch)
        summaries.append(checks.end())
        for number in {2, 1 + len(records) // 7} - {1}:
            every = pa.concat_batches(events), pa.concat_batches(batches)
            joined = check_in_pieces(place, *every, decoding.layouts, spec, show, number)
            assert joined is None or comparable(joined) == comparable(summaries[-1])
    return summaries


def check_in_pieces(
    place: TopicPartition,
    events: pa.RecordBatch,
    records: pa.RecordBatch,
    layouts: Sequence[Layout],
    spec: StreamSpec,
    show: int,
    number: int,
) -> PartitionSummary | None:
    """The summary of a partition in so many pieces, before each of which the two before it are read; None where they do
    not fit."""
    offsets, bounds = ints(events, "offset"), np.linspace(0, len(records), number + 1).astype(int)
    at = np.searchsorted(offsets, np.append(ints(records, "offset"), offsets[-1] + 1)[bounds]).tolist()
    pieces = []
    for piece in range(number):
        checks, begin = PartitionChecks(place, spec, show), None
        if piece:
            checks.take(events.slice(at[max(piece - 2, 0)], at[piece] - at[max(piece - 2, 0)]), layouts, records)
            begin = checks.state()
            checks.begin_piece()
        checks.take(events.slice(at[piece], at[piece + 1] - at[piece]), layouts, records)
        end = checks.state()
        pieces.append(CheckedPiece(checks.end(), begin, end))
    return joined_pieces(pieces, show)


def comparable(summary: PartitionSummary) -> PartitionSummary:
    """A summary without what depends on batches: the samples, and the order of examples and counts."""
    found = summary.found
    shown = tuple(sorted(found.shown, key=lambda each: (each.offset or -1, each.check, each.what)))
    return replace(
        summary,
        found=replace(found, shown=shown),
        watermarks=summary.watermarks.tolist(),
        samples=None,  # type: ignore[arg-type]
    )


def record_batches(records: Sequence[Record], size: int = BATCH) -> Iterator[pa.RecordBatch]:
    """Convert the records of a partition to batches of RECORD_SCHEMA."""
    for first in range(0, len(records), size):
        part = records[first : first + size]
        yield record_batch([getattr(record, name) for record in part] for name in RECORD_SCHEMA.names)
