"""The checks of a stream that lies in memory: all partitions one after another, then what they are to each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from simulator.consumer.contract.across_partitions import better, spans_of, together
from simulator.consumer.contract.checks import Checks
from simulator.consumer.contract.stream_spec import StreamSpec
from simulator.consumer.contract.summary import PartitionSummary
from simulator.consumer.contract.violations import Found, Violation, joined
from simulator.consumer.decode.batches import Decoding
from simulator.consumer.frame import RECORDS
from simulator.consumer.records import Place, Record

BATCH = 1 << 14
ALL = 1 << 20
"""More violations than anybody looks at."""


def check(records: Iterable[Record], spec: StreamSpec) -> Iterator[Violation]:
    """Every breach of points 1 to 6, by partition; those that only all partitions show come last."""
    yield from checked(records, spec, ALL)[0].shown


def checked(
    records: Iterable[Record], spec: StreamSpec, show: int = ALL, size: int = BATCH
) -> tuple[Found, list[PartitionSummary]]:
    """What is wrong, and what is left of each partition; so many records are decoded at a time."""
    parts: dict[Place, list[Record]] = {}
    for record in records:
        parts.setdefault((record.topic, record.partition), []).append(record)
    summaries = _checked(parts, spec, show, size)
    if spans := spans_of(summaries, spec):
        summaries = better(summaries, _checked(parts, replace(spec, grown=spans), show, size))
    return joined([*(summary.found for summary in summaries), together(summaries, spec, show)], show), summaries


def _checked(parts: dict[Place, list[Record]], spec: StreamSpec, show: int, size: int) -> list[PartitionSummary]:
    decoding = Decoding(spec.protocol, spec.stored)
    summaries = []
    for place, records in parts.items():
        checks = Checks(place, spec, show)
        for batch in batches(records, size):
            checks.take(decoding.decoded(batch), decoding.layouts, batch)
        summaries.append(checks.end())
    return summaries


def batches(records: Sequence[Record], size: int = BATCH) -> Iterator[pa.RecordBatch]:
    """Records of a partition as RECORDS."""
    for first in range(0, len(records), size):
        part = records[first : first + size]
        columns = ([getattr(record, name) for record in part] for name in RECORDS.names)
        yield pa.RecordBatch.from_arrays(
            [pa.array(values, kind) for values, kind in zip(columns, RECORDS.types, strict=True)], schema=RECORDS
        )
