"""Checks of a stream in memory: its partitions one after another, then across partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from simulator.consumer.contract.across_partitions import check_across_partitions, choose_reading, partition_count_spans
from simulator.consumer.contract.checks import PartitionChecks
from simulator.consumer.contract.stream_spec import StreamSpec
from simulator.consumer.contract.summary import PartitionSummary
from simulator.consumer.contract.violations import Violation, Violations, merge_violations
from simulator.consumer.decode.batches import StreamDecoder
from simulator.consumer.frame import RECORD_SCHEMA, record_batch
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
        checks = PartitionChecks(place, spec, show)
        for batch in record_batches(records, size):
            checks.take(decoding.decoded(batch), decoding.layouts, batch)
        summaries.append(checks.end())
    return summaries


def record_batches(records: Sequence[Record], size: int = BATCH) -> Iterator[pa.RecordBatch]:
    """Convert the records of a partition to batches of RECORD_SCHEMA."""
    for first in range(0, len(records), size):
        part = records[first : first + size]
        yield record_batch([getattr(record, name) for record in part] for name in RECORD_SCHEMA.names)
