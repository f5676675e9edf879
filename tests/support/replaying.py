"""Replays recorded streams, in this process and without any batches of more than one partition."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial

import pyarrow as pa

from simulator.consumer.decode.batches import StreamDecoder
from simulator.consumer.decode.row_images import row_images
from simulator.consumer.engines import in_process
from simulator.consumer.records import Record, TopicPartition
from simulator.consumer.replay.digests import digests, only, settle
from simulator.consumer.replay.frame import ImagePairSource, Report
from simulator.consumer.replay.image_pairs import ImagePairBuilder, SkippedChanges
from simulator.consumer.replay.neighbours import TableKnowledge
from simulator.consumer.replay.normalize import LikeNull, nothing_like_null
from simulator.consumer.replay.outcome import ReplayOutcome, summarize_findings, table_knowledge
from simulator.consumer.replay.states import StateRows, state_table_numbers
from simulator.consumer.replay.stream_statements import stream_statements
from simulator.consumer.replay.table_timeline import TableTimeline, table_timeline
from simulator.ticdc.codecs.codec import Fidelity
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.model.table import Table, visible_columns
from support.contract_checks import record_batches

Rows = Mapping[tuple[str, str], Sequence[bytes]]
"""Row images by table."""

SHOWN = 10


def replayed(
    stream: Iterable[Record],
    protocol: str,
    tables: Iterable[Table],
    before: Rows | None = None,
    after: Rows | None = None,
    fidelity: Fidelity = Fidelity(),
    restarts: bool = True,
    known: Collection[tuple[str, str]] | None = None,
    beside: Collection[tuple[str, str]] = (),
    ends: Iterable[Table] | None = None,
    like_null: LikeNull = nothing_like_null,
) -> ReplayOutcome:
    """What the replay of a stream finds; `tables` are there when it begins, with the rows `before`, or at its end
    (`ends`). Rows of tables that are `beside` are not expected, and may be there."""
    partitions: dict[TopicPartition, list[Record]] = {}
    for record in stream:
        partitions.setdefault((record.topic, record.partition), []).append(record)
    decoding = StreamDecoder(protocol)
    batches = [decoding.decoded(*record_batches(part, len(part))) for part in partitions.values()]
    found = table_timeline(stream_statements(batches), [*tables] or None, known, ends)
    replaying, left = ImagePairBuilder(found, fidelity, row_images, like_null=like_null), SkippedChanges()

    def halved(number: int, tell: Report) -> Iterator[pa.RecordBatch]:
        return replaying.image_pairs(batches[number], decoding.layouts, number, left)

    sources: list[ImagePairSource] = [partial(halved, number) for number in range(len(batches))]
    sources += [state_source(found, before, False, like_null)] if before else []
    sources += [state_source(found, after, True, like_null)] if after else []
    expected = table_knowledge(found, range(len(found.tables)) if after is not None else (), restarts)
    ended = [
        number
        for number, history in enumerate(found.tables)
        if history.gone is not None or (history.table.schema, history.table.name) in beside
    ]
    expected.ends[ended] = False
    findings = in_process.replay_in_process(sources, expected, SHOWN, lambda value: None)
    outcome = summarize_findings(findings, found, expected, left, list(partitions), SHOWN)
    skipped = deepcopy(left)
    by_digests = summarize_findings(
        replayed_by_digests(sources, expected), found, expected, skipped, list(partitions), SHOWN
    )
    assert by_digests == outcome
    return outcome


def replayed_by_digests(sources: Sequence[ImagePairSource], expected: TableKnowledge) -> list[pa.RecordBatch]:
    """The findings as Spark comes to them: image pairs are looked at only where digests do not show a row right."""
    pairs = [batch for source in sources for batch in source(lambda value: None)]
    settled = settle([digests(batch) for batch in reversed(pairs)], expected)
    looked_at: list[ImagePairSource] = [partial(only, source, settled.rows) for source in sources]
    return [*settled.counts, *in_process.replay_in_process(looked_at, expected, SHOWN, lambda value: None)]


def state_source(found: TableTimeline, rows: Rows, is_after: bool, like_null: LikeNull) -> ImagePairSource:
    """The images of a state, in the tables' definitions then."""

    def read(tell: Report) -> Iterator[pa.RecordBatch]:
        numbers = state_table_numbers(found, is_after)
        for name, of_table in rows.items():
            number = numbers[object_key(*name)]
            history = found.tables[number]
            table = history.definitions[-1 if is_after else 0].table
            names = [column.name for column in visible_columns(table)]
            yield from StateRows(number, history, is_after, like_null).image_pairs(
                pa.array(of_table, pa.binary()), names
            )

    return read
