"""Points 4, 5 and 7 across partitions: watermarks and statements that some partitions have and others lack, and sums of row
changes, which do not depend on their order.

The partition summaries are enough for these checks; no record is read again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from simulator.columns.cells import Mask
from simulator.columns.change_frame import Ints
from simulator.columns.hashing import BOOTSTRAPS, CHANGES, DELETES, ChangeSum, ChangeSums
from simulator.reader.contract import NEVER, SHOW, PartitionSummary, Violation, ViolationCounter, Violations
from simulator.reader.contract.destinations import PartitionCountSpan, Span
from simulator.reader.contract.stream_spec import StreamSpec
from simulator.reader.contract.table_schemas import misplaced_bootstraps, other_bootstraps, other_ids
from simulator.reader.records import TopicPartition
from simulator.reader.truth_metadata import BroadcastDdl, ExpectedStatement
from simulator.tso import FOREVER


def check_across_partitions(summaries: Iterable[PartitionSummary], spec: StreamSpec, show: int = SHOW) -> Violations:
    summaries = list(summaries)
    tally, topics = ViolationCounter(show), topic_summaries(summaries, spec)
    for violation in (*other_ids(summaries, spec), *misplaced_bootstraps(_from_start(topics), spec)):
        tally.add(violation)
    if spec.watermarks:
        _check_missing_watermarks(tally, topics, spec)
        if spec.finished:
            _check_uncovered_rows(tally, topics)
    if spec.statements is None:
        _check_missing_statements(tally, topics, spec)
    else:
        _check_expected_statements(tally, topics, spec.statements, spec)
    return tally.found()


@dataclass(frozen=True)
class TopicSummary:
    name: str
    partitions: tuple[PartitionSummary, ...]
    """All partitions that the topic should have, by number."""

    since: tuple[int, ...]
    """For each partition, the commit-ts from which on it must have what others have; -1 from the start."""

    low: int = field(default=NEVER)
    """The lowest commit-ts of all."""

    spans: tuple[Span, ...] = ((NEVER, FOREVER),)
    """When the topic had tables, and so watermarks, as far as it is known."""

    def has_tables(self, marks: Ints) -> Mask:
        """Return at which watermarks the topic had tables."""
        inside = [(marks > since) & (marks <= until) for since, until in self.spans]
        mask: Mask = np.any(inside, axis=0) & (marks >= self.low)
        return mask


def topic_summaries(summaries: Iterable[PartitionSummary], spec: StreamSpec) -> list[TopicSummary]:
    """Return the topics that have messages; a partition without a summary is empty."""
    by_topic: dict[str, dict[int, PartitionSummary]] = defaultdict(dict)
    for each in summaries:
        by_topic[each.place[0]][each.place[1]] = each
    topics = []
    for name, parts in by_topic.items():
        lows = [part.low for part in parts.values() if part.low != NEVER]
        if not lows:
            continue
        every = tuple(
            parts.get(number) or PartitionSummary((name, number)) for number in range(spec.partitions.get(name, 0))
        )
        topics.append(TopicSummary(name, every, _required_since(every), min(lows), _spans(name, every, spec)))
    return topics


def _from_start(topics: Iterable[TopicSummary]) -> list[PartitionSummary]:
    """Return the partitions of which nothing is missing at the start."""
    return [part for topic in topics for part, since in zip(topic.partitions, topic.since) if since == NEVER]


def _spans(topic: str, partitions: Iterable[PartitionSummary], spec: StreamSpec) -> tuple[Span, ...]:
    """Return when a topic had tables. Where nobody tells, all of them may have left with its last event."""
    if spec.topic_spans is not None and topic in spec.topic_spans:
        return spec.topic_spans[topic]
    last, left = max((part.last_event for part in partitions), default=(FOREVER, False))
    return ((NEVER, last if left else FOREVER),)


def complete(summaries: Sequence[PartitionSummary], spec: StreamSpec) -> int:
    """Return the watermark that every partition has reached, without topics that all their tables left; 0 for none."""
    by_topic: dict[str, list[PartitionSummary]] = defaultdict(list)
    for each in summaries:
        by_topic[each.place[0]].append(each)
    active = [
        each for topic, parts in by_topic.items() if _spans(topic, parts, spec)[-1][1] == FOREVER for each in parts
    ]
    return min(map(last_watermark, active or summaries), default=0)


def last_watermark(summary: PartitionSummary) -> int:
    """Return the last watermark, or 0."""
    return int(summary.watermarks[-1]) if len(summary.watermarks) else 0


def _required_since(partitions: Sequence[PartitionSummary]) -> tuple[int, ...]:
    """A partition that starts in the middle, or was added later, must have nothing before its first watermark."""
    begin = _initial_partition_count(partitions)
    return tuple(
        int(part.watermarks[0]) if len(part.watermarks) and (part.headless or number >= begin) else NEVER
        for number, part in enumerate(partitions)
    )


def _initial_partition_count(partitions: Sequence[PartitionSummary]) -> int:
    """Return the number of partitions at the start. A partition that was added later has nothing up to the last
    watermark before its own first one."""
    marks = [part.watermarks for part in partitions if len(part.watermarks)]
    if not marks:
        return len(partitions)
    every = np.unique(np.concatenate(marks))
    added = [
        len(part.watermarks) > 0 and part.low > _watermark_before(every, int(part.watermarks[0])) for part in partitions
    ]
    count = len(partitions)
    while count > 1 and added[count - 1] and not partitions[count - 1].headless:
        count -= 1
    return count


def _watermark_before(marks: Ints, ts: int) -> int:
    """Return the last watermark before that one; FOREVER if it is the first."""
    at = int(np.searchsorted(marks, ts))
    return int(marks[at - 1]) if at else FOREVER


def partition_count_spans(
    summaries: Iterable[PartitionSummary], spec: StreamSpec
) -> dict[str, tuple[PartitionCountSpan, ...]]:
    """Return when topics had how many partitions (`StreamSpec.grown`), for topics with rows in wrong partitions that
    seem to have grown.

    New partitions receive rows after the last watermark that they lack and before the first that they have.
    """
    every, topic_spans = list(summaries), {}
    wrong = {summary.place[0] for summary in every if misplaced_rows(summary)}
    for topic in topic_summaries([summary for summary in every if summary.place[0] in wrong], spec):
        since = np.maximum.accumulate(np.array(topic.since)) if topic.since else np.zeros(0, np.int64)
        begin = _initial_partition_count(topic.partitions)
        steps = sorted({int(ts) for ts in since[begin:]})
        if not steps:
            continue
        marks = np.unique(np.concatenate([part.watermarks for part in topic.partitions]))
        counts = [begin, *(int(np.searchsorted(since, ts, "right")) for ts in steps)]
        after = [NEVER, *(_watermark_before(marks, ts) for ts in steps)]
        topic_spans[topic.name] = tuple(
            PartitionCountSpan(low, high, count)
            for low, high, count in zip(after, [*steps, FOREVER], counts, strict=True)
        )
    return topic_spans


def misplaced_rows(summary: PartitionSummary) -> int:
    """Return the number of rows in wrong partitions."""
    return sum(count for (check, _), count in summary.found.counts.items() if check == "wrong-partition")


def choose_reading(one: Sequence[PartitionSummary], other: Sequence[PartitionSummary]) -> list[PartitionSummary]:
    """Return for each topic the reading with fewer misplaced rows; the first reading wins a tie. The `other` reading
    assumed that topics grew."""
    counts = [Counter[str](), Counter[str]()]
    for count, summaries in zip(counts, (one, other), strict=True):
        for each in summaries:
            count[each.place[0]] += misplaced_rows(each)
    chosen = {each.place[0] for each in other if counts[1][each.place[0]] < counts[0][each.place[0]]}
    return [
        *(each for each in one if each.place[0] not in chosen),
        *(each for each in other if each.place[0] in chosen),
    ]


def _check_missing_watermarks(tally: ViolationCounter, topics: Sequence[TopicSummary], spec: StreamSpec) -> None:
    """Point 4: every watermark is in every partition of every topic that is active by then. A topic that ends with DROP
    or RENAME TABLE may have no more."""
    missing = _missing_by_partition(topics, spec)
    broken = _interrupted(topics, missing, spec)
    for place, every in missing.items():
        lacking = np.setdiff1d(every, broken, assume_unique=True)
        kept = lacking[: tally.room("watermark-missing")].tolist()
        for ts in kept:
            what = f"no watermark {ts}, which other partitions have"
            tally.add(Violation("watermark-missing", *place, None, what))
        tally.more("watermark-missing", "", len(lacking) - len(kept))


def interrupted_watermarks(summaries: Iterable[PartitionSummary], spec: StreamSpec) -> Ints:
    """Return the watermarks that only some partitions have, because TiCDC stopped while it sent them."""
    topics = topic_summaries(summaries, spec)
    return _interrupted(topics, _missing_by_partition(topics, spec), spec)


def _missing_by_partition(topics: Sequence[TopicSummary], spec: StreamSpec) -> dict[TopicPartition, Ints]:
    """Return the watermarks that each partition should have and lacks."""
    of_topics = {
        topic.name: np.unique(np.concatenate([part.watermarks for part in topic.partitions]))
        for topic in topics
        if topic.partitions
    }
    if not of_topics or not spec.watermarks:
        return {}
    every, missing = np.unique(np.concatenate(list(of_topics.values()))), {}
    for topic in topics:
        required = np.union1d(every[topic.has_tables(every)], of_topics.get(topic.name, every[:0]))
        for part, since in zip(topic.partitions, topic.since, strict=True):
            missing[part.place] = _missing_in_partition(part, since, required, spec)
    return {place: lacking for place, lacking in missing.items() if len(lacking)}


def _missing_in_partition(part: PartitionSummary, since: int, required: Ints, spec: StreamSpec) -> Ints:
    if len(required) == len(part.watermarks):
        return np.zeros(0, np.int64)  # it has no others
    watermarks = required[required >= since]
    if not spec.finished:
        watermarks = watermarks[watermarks <= (part.watermarks[-1] if len(part.watermarks) else NEVER)]
    missing: Ints = np.setdiff1d(watermarks, part.watermarks, assume_unique=True)
    return missing


def _interrupted(topics: Sequence[TopicSummary], missing: Mapping[TopicPartition, Ints], spec: StreamSpec) -> Ints:
    """Return the missing watermarks that a restart explains: at most one topic has them in part, all others have them
    completely or not at all, and every partition has a later one.

    TiCDC sends a watermark to topic after topic, to all partitions of a topic at once, and each message succeeds or
    fails by itself: any of them may have it when TiCDC stops (tiflow: pkg/sink/kafka/factory.go SendMessages,
    cdc/sink/ddlsink/mq/mq_ddl_sink.go WriteCheckpointTs; ticdc: downstreamadapter/sink/kafka/sink.go sendCheckpoint).
    It need not be repeated, since TiCDC then sends the newest one (tiflow: cdc/owner/ddl_sink.go writeCheckpointTs).
    """
    if not spec.restarts or not missing:
        return np.zeros(0, np.int64)
    every = np.unique(np.concatenate(list(missing.values())))
    may, partly = np.ones(len(every), np.bool_), np.zeros(len(every), np.int64)
    for topic in topics:
        if not topic.partitions:
            continue
        owed = topic.has_tables(every)
        has = np.stack(
            [
                np.isin(every, part.watermarks) | (every < since)
                for part, since in zip(topic.partitions, topic.since, strict=True)
            ]
        )
        later = np.all(
            [every < (part.watermarks[-1] if len(part.watermarks) else NEVER) for part in topic.partitions], axis=0
        )
        may &= ~owed | later | has.all(axis=0)
        partly += owed & has.any(axis=0) & ~has.all(axis=0)
    watermarks: Ints = every[may & (partly <= 1)]
    return watermarks


def _check_uncovered_rows(tally: ViolationCounter, topics: Sequence[TopicSummary]) -> None:
    """Point 4: the last watermark of a finished run covers every row."""
    parts = [part for topic in topics for part in topic.partitions]
    mark = max((int(part.watermarks[-1]) for part in parts if len(part.watermarks)), default=NEVER)
    for part in parts:
        if part.last_row > mark:
            what = f"no watermark covers the row at {part.last_row}"
            tally.add(Violation("row-uncovered", *part.place, None, what))


def _check_missing_statements(tally: ViolationCounter, topics: Sequence[TopicSummary], spec: StreamSpec) -> None:
    """Point 5: DDL is in every partition of its topic, or in partition 0 alone."""
    for topic in topics:
        partitions = topic.partitions if spec.ddl_in_every_partition else topic.partitions[:1]
        has = {part.place[1]: frozenset(part.statements) for part in partitions}
        for ddl in dict.fromkeys(statement for part in topic.partitions for statement in part.statements):
            for part, since in zip(partitions, topic.since):
                if ddl in has[part.place[1]] or ddl.commit_ts <= since:
                    continue
                if ddl.commit_ts < _read_until(part, spec):
                    tally.add(Violation("ddl-missing", *part.place, None, f"no DDL at {ddl.commit_ts}: {ddl.text}"))


def _check_expected_statements(
    tally: ViolationCounter, topics: Sequence[TopicSummary], expected: Iterable[ExpectedStatement], spec: StreamSpec
) -> None:
    """Point 5: DDL is in every partition of its topic, or in partition 0 alone, as it was sent, and there is no other.

    Of a statement with another text, only that is said.
    """
    of_topics: dict[str, dict[int, list[BroadcastDdl]]] = {}
    for each in expected:
        of_topics.setdefault(each.topic, {}).setdefault(each.commit_ts, []).append(each.sent)
    known = {topic.name: topic for topic in topics}
    for name in {**known, **of_topics}:
        topic, sent = known.get(name) or _empty_topic(name, spec), of_topics.get(name, {})
        receiving = len(topic.partitions) if spec.ddl_in_every_partition else 1
        for number, (part, since) in enumerate(zip(topic.partitions, topic.since, strict=True)):
            others = defaultdict[int, list[BroadcastDdl]](list)
            for ddl in (ddl for ddl in part.statements if ddl not in sent.get(ddl.commit_ts, ())):
                others[ddl.commit_ts].append(ddl)
            for ts, strange in others.items():
                instead = [ddl for ddl in sent.get(ts, ()) if ddl not in part.statements]
                for place, ddl in enumerate(strange):
                    was = _differs(ddl, instead[place]) if place < len(instead) else "it was not sent"
                    tally.add(Violation("ddl-different", *part.place, None, f"DDL at {ts}: {ddl.text}: {was}"))
            read = _read_until(part, spec)
            for ts, owed in sent.items() if number < receiving else ():
                missing = [ddl for ddl in owed if ddl not in part.statements][len(others.get(ts, ())) :]
                for ddl in missing if since < ts < read else ():
                    tally.add(Violation("ddl-missing", *part.place, None, f"no DDL at {ts}: {ddl.text}"))


def _empty_topic(name: str, spec: StreamSpec) -> TopicSummary:
    """Return a topic without messages."""
    every = tuple(PartitionSummary((name, number)) for number in range(spec.partitions.get(name, 1)))
    return TopicSummary(name, every, (NEVER,) * len(every))


def _differs(ddl: BroadcastDdl, sent: BroadcastDdl) -> str:
    """Return in what a statement differs from the one that was sent."""
    if ddl.text != sent.text:
        return f"sent was {sent.text}"
    names = ((ddl.schema, sent.schema, "database"), (ddl.table, sent.table, "table"), (ddl.type, sent.type, "type"))
    return "; ".join(f"{name} is {one!r}, {other!r} was sent" for one, other, name in names if one != other)


def _read_until(part: PartitionSummary, spec: StreamSpec) -> int:
    """Return the commit-ts below which a partition has everything that it will ever have."""
    if spec.finished or not spec.watermarks:
        return FOREVER
    return int(part.watermarks[-1]) if len(part.watermarks) else NEVER


NAMES = {CHANGES: "INSERTs and UPDATEs", DELETES: "DELETEs"}


def rows_found(summaries: Sequence[PartitionSummary]) -> int:
    """Return the number of row changes, without those that are repeated.

    Without commit-ts equal changes count as several, as nothing tells whether one came again.
    """
    return sum(sum(each.rows.values()) - each.repeated * each.exact for each in summaries)


def rows_sent(sent: ChangeSums) -> int:
    return sum(each.rows for (_, kind), each in sent.items() if kind != BOOTSTRAPS)


def check_sent_changes(
    summaries: Sequence[PartitionSummary],
    found: ChangeSums,
    sent: ChangeSums,
    show: int = SHOW,
    redefined: Collection[str] = (),
    spec: StreamSpec | None = None,
) -> Violations:
    """Compare the row changes `found` with those that were sent. Where some are repeated, only their number tells.

    In `redefined` tables nothing tells which definition a row without commit-ts had, and so the text of its values.
    """
    found = {
        (table, kind): replace(each, values=None) if table in redefined else each
        for (table, kind), each in found.items()
    }
    tally = ViolationCounter(show)
    for violation in other_bootstraps(summaries, sent, spec):
        tally.add(violation)
    every, here = rows_sent(sent), rows_found(summaries)
    if not any(each.repeated for each in summaries):
        for violation in _different_sums(found, sent, sum(each.bare_deletes for each in summaries)):
            tally.add(violation)
    elif here < every and not any(each.untimed for each in summaries):
        what = f"row changes: sent {every:,}, here {here:,}"
        tally.add(Violation("changes-missing", "", None, None, what))
    return tally.found()


def _different_sums(found: ChangeSums, sent: ChangeSums, bare_deletes: int) -> Iterator[Violation]:
    kinds = {CHANGES} if 0 < bare_deletes == _missing_deletes(found, sent) else set(NAMES)
    for (table, kind), expected in sorted(sent.items()):
        actual = found.get((table, kind), ChangeSum())
        if kind not in kinds or actual.times is None and actual.rows > expected.rows:
            continue  # without commit-ts it is not known which of them came again
        if actual.rows != expected.rows:
            check = "changes-missing" if actual.rows < expected.rows else "changes-different"
            what = f"{NAMES[kind]} of {table}: sent {expected.rows:,}, here {actual.rows:,}"
            yield Violation(check, "", None, None, what, table)
        elif actual.times not in (expected.times, None):
            what = (
                f"{NAMES[kind]} of {table}: {actual.rows:,}, of which at least one has another commit-ts than was sent"
            )
            yield Violation("changes-different", "", None, None, what, table)
        elif actual.images not in (expected.images, None) or actual.values not in (expected.values, None):
            what = f"{NAMES[kind]} of {table}: {actual.rows:,}, of which at least one has another value than was sent"
            yield Violation("changes-different", "", None, None, what, table)


def _missing_deletes(found: ChangeSums, sent: ChangeSums) -> int:
    """Return how many DELETEs of known tables are missing; those without key and value do not tell their table."""
    return sum(each.rows - found.get(name, ChangeSum()).rows for name, each in sent.items() if name[1] == DELETES)
