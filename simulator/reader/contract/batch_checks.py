"""Points 1, 2, 3, 5 and 6 for the events of a batch: their partition, their order and the size of their messages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from simulator.columns.cells import Mask
from simulator.columns.change_frame import DDL, ROW, WATERMARK, Ints, ints
from simulator.errors import UserError
from simulator.limits import counted
from simulator.reader.contract.change_window import NEVER, highest_before
from simulator.reader.contract.destinations import DispatchRows, PartitionCountSpan, RowDestinations
from simulator.reader.contract.events import EventArrays, RowGroup
from simulator.reader.contract.stream_spec import StreamSpec
from simulator.reader.decode import is_sequential
from simulator.reader.records import TopicPartition
from simulator.reader.truth_metadata import BroadcastDdl
from simulator.tso import FOREVER

OPERATIONS = ("DELETE", "UPDATE", "INSERT")

UNTIMED = "their topic got more partitions, and messages do not tell whether it had them by then"


def check_watermarks(events: EventArrays) -> None:
    """Points 2 and 4: watermarks never fall, and a row is above every earlier one; some changefeeds have none."""
    marks, rows, low, ts = events.at(WATERMARK), events.rows, events.low, events.ts
    events.report(
        "watermark-falls", marks[ts[marks] < low[marks]], lambda at: f"watermark {ts[at]} after watermark {low[at]}"
    )
    if events.spec.watermarks is False:
        events.report(
            "watermark-unexpected",
            marks,
            lambda at: f"watermark {ts[at]} in a stream that has none: enable-tidb-extension is off",
        )
    events.report(
        "row-below-watermark",
        rows[ts[rows] <= low[rows]],
        lambda at: f"a row of {events.name(at)} at {ts[at]}, not above the earlier watermark {low[at]}",
    )


class PhysicalTableOrder:
    """The highest commit-ts so far, and the last row, in each physical table."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, int | None], int] = {}
        self._high = self._ts = self._stage = np.zeros(0, np.int64)

    def of(self, tables: Ints, ptn: Ints, partitioned: Mask) -> Ints:
        """Return numbers of the physical tables of rows; `ptn` applies where a row is `partitioned`."""
        ids, places = np.unique(np.where(partitioned, ptn, NEVER), return_inverse=True)
        pairs, back = np.unique(tables * len(ids) + places, return_inverse=True)
        numbers = [self._number(int(pair) // len(ids), int(ids[pair % len(ids)])) for pair in pairs]
        groups: Ints = np.array(numbers, np.int64)[back]
        return groups

    def _number(self, table: int, ptn: int) -> int:
        number = self._numbers.setdefault((table, ptn), len(self._numbers))
        if number == len(self._high):
            self._high, self._ts, self._stage = (
                np.append(each, np.full(number + 8, NEVER)) for each in (self._high, self._ts, self._stage)
            )
        return number

    def state(self, low: int, names: Sequence[str]) -> list[object]:
        """Return that by which later rows above the watermark `low` are checked."""
        places = {(names[table], ptn): place for (table, ptn), place in self._numbers.items()}
        return [
            (*key, *(int(each[place]) for each in (self._high, self._ts, self._stage)))
            for key, place in sorted(places.items())
            if self._high[place] > low
        ]

    def highest(self, groups: Ints, ts: Ints) -> Ints:
        """Return the highest commit-ts in the same table before each row."""
        before = self._high[groups]
        if (np.diff(ts) < 0).any():
            before = np.maximum(before, highest_before(groups, ts))
        elif len(ts):
            before = np.maximum(before, NEVER)  # they rise, so that none is below one of the batch
        np.maximum.at(self._high, groups, ts)
        return before

    def last(self, groups: Ints, ts: Ints, stages: Ints) -> tuple[Ints, Ints]:
        """Return commit-ts and stage of the previous row of the same table."""
        order = np.argsort(groups, kind="stable")
        first = np.concatenate(([True], np.diff(groups[order]) != 0))
        previous = []
        for known, values in ((self._ts, ts), (self._stage, stages)):
            before = np.empty_like(values)
            before[order] = np.where(first, known[groups[order]], np.roll(values[order], 1))
            previous.append(before)
            known[groups[order]] = values[order]
        return previous[0], previous[1]


class StatementOrder:
    """Point 5: DDL is in commit-ts order, not below a watermark, and between the rows ≤ C and > C of its tables."""

    def __init__(self) -> None:
        self.seen: dict[BroadcastDdl, int] = {}
        """Number of occurrences of each statement."""

        self._last = -1
        self._rows: dict[tuple[str, str], int] = {}
        """The highest commit-ts of a row by table."""

        self._done: dict[tuple[str, str], int] = {}
        """The highest commit-ts of a statement by table; statements about a database have an empty table name."""

    def state(self, low: int) -> list[object]:
        """Return that by which later statements and rows that are not below the watermark `low` are checked."""
        above = ({name: ts for name, ts in each.items() if ts >= low} for each in (self._rows, self._done))
        seen = [repr(ddl) for ddl in self.seen if ddl.commit_ts >= low]
        return [max(self._last, low), *(sorted(each.items()) for each in above), sorted(seen)]

    def take(self, events: EventArrays, repeated: Mask, schemas: list[tuple[str, str]]) -> None:
        """Check the statements of a batch; `repeated` marks repeated rows."""
        begin = 0
        for at in [*events.at(DDL).tolist(), len(events.ts)]:
            self._take_rows(events, np.arange(begin, at), repeated, schemas)
            if at < len(events.ts):
                self._take_statement(events, at)
            begin = at + 1

    def _take_rows(self, events: EventArrays, span: Ints, repeated: Mask, schemas: list[tuple[str, str]]) -> None:
        rows = span[events.table[span] >= 0]
        if not len(rows):
            return
        tables, ts = events.table[rows], events.ts[rows]
        there = np.unique(tables).tolist()
        tops = np.full(len(schemas), NEVER)
        np.maximum.at(tops, tables, ts)
        limits = np.full(len(schemas), NEVER)
        for number in there:
            name = schemas[number]
            self._rows[name] = max(self._rows.get(name, -1), int(tops[number]))
            limits[number] = max(self._done.get(name, -1), self._done.get((name[0], ""), -1))
        limit = limits[tables]
        late = (ts < limit) | (ts == limit) & events.exact[rows]
        if events.spec.restarts:
            late &= ~repeated[rows]
        statement = dict(zip(rows[late].tolist(), limit[late].tolist(), strict=True))
        events.report(
            "row-behind-ddl",
            rows[late],
            lambda at: f"a row of {events.name(at)} at {events.ts[at]} after the DDL at {statement[at]}",
        )

    def _take_statement(self, events: EventArrays, at: int) -> None:
        ddl, low, spec = events.statement(at), int(events.low[at]), events.spec
        repeated = ddl in self.seen
        self.seen[ddl] = self.seen.get(ddl, 0) + 1
        ts, name, where = ddl.commit_ts, (ddl.schema, ddl.table), np.array([at])
        if repeated and not spec.restarts:
            events.report("ddl-repeated", where, lambda _: f"DDL at {ts}, which was already sent: {ddl.text}")
        of_tables = (
            [self._rows.get(name, -1)]
            if ddl.table
            else [high for (schema, _), high in self._rows.items() if schema == ddl.schema]
        )
        for kind, mark in (("DDL at", self._last), ("a row of its table at", max(of_tables, default=-1))):
            if ts < mark and not (repeated and spec.restarts):
                events.report(
                    "ddl-out-of-order", where, partial("DDL at {0} after {1} {2}: {3}".format, ts, kind, mark, ddl.text)
                )
        if ts < low:
            events.report(
                "ddl-below-watermark", where, lambda _: f"DDL at {ts} below the earlier watermark {low}: {ddl.text}"
            )
        if events.place[1] and spec.ddl_in_every_partition is False:
            events.report("ddl-unexpected", where, lambda _: f"DDL outside partition 0: {ddl.text}")
        self._last = max(self._last, ts)
        self._done[name] = max(self._done.get(name, -1), ts)


def check_operation_order(
    events: EventArrays, rows: Ints, groups: Ints, stages: Ints, known: PhysicalTableOrder
) -> None:
    """Point 3: at one commit-ts the DELETEs, UPDATEs and INSERTs of a physical table are in the release's order.
    `stages` has the place of each row in that order, or -1 if there is none or the row is repeated."""
    ordered = np.flatnonzero(stages >= 0)
    if not len(ordered):
        return
    ts, op = events.ts[rows[ordered]], events.op
    coded = stages[ordered] * len(OPERATIONS) + op[rows[ordered]]
    before, last = known.last(groups[ordered], ts, coded)
    wrong = (before == ts) & (last // len(OPERATIONS) > stages[ordered])
    after = dict(zip(rows[ordered[wrong]].tolist(), (last[wrong] % len(OPERATIONS)).tolist(), strict=True))
    events.report(
        "operation-order",
        rows[ordered[wrong]],
        lambda at: (
            f"{OPERATIONS[op[at]]} of a row of {events.name(at)} at {events.ts[at]} after "
            f"{OPERATIONS[after[at]]} at the same"
        ),
    )


def check_partitions(events: EventArrays, rows: Ints, alike: RowGroup) -> tuple[Ints | None, Mask | None]:
    """Point 1: recomputing the dispatcher gives the partition that a row is in.

    Returns the hashes by which TiCDC groups the rows besides the table, and which of them are unknown; None if there
    are none.
    """
    where, name, spec = rows[alike.at], alike.name, events.spec
    if not alike.defined and spec.complete:
        events.report("table-unknown", where, lambda at: f"a row of {name}, a table the run does not have")
        return None, None
    destination, unchecked = spec.destination if alike.defined else spec.by_layout, events.summary.unchecked
    if spec.files:
        return None, None
    if isinstance(destination, str):
        unchecked[name, destination] += len(where)
        return None, None
    dispatch_rows = DispatchRows(alike.layout, alike.cells, events.ts[where], events.exact[where])
    try:
        destinations = destination(alike.table, dispatch_rows)
    except (UserError, ValueError) as error:  # ValueError: a text that is no value of its column's type
        why = str(error)
        events.report("cannot-dispatch", where, lambda at: f"a row of {name} cannot be dispatched: {why}")
        return None, None
    if isinstance(destinations, str):
        unchecked[name, destinations] += len(where)
        return None, None
    unknown, topic = destinations.unknown_rows, destinations.topic
    known = np.ones(len(where), np.bool_) if unknown is None else ~unknown
    timed = dispatch_rows.exact if is_sequential(spec.protocol) else np.ones(len(where), np.bool_)
    right, partitions, surely = _right(destinations, events.place, dispatch_rows.commit_ts, timed, spec)
    wrong = np.flatnonzero(known & ~right)
    belongs = {
        at: topic if partition < 0 else f"{topic}/{partition}"
        for at, partition in zip(where[wrong].tolist(), partitions[wrong].tolist(), strict=True)
    }
    events.report("wrong-partition", where[wrong], lambda at: f"a row of {name} that belongs in {belongs[at]}")
    if not known.all():
        unchecked[name, destinations.why] += int((~known).sum())
    if doubtful := int((known & right & ~surely).sum()):
        unchecked[name, UNTIMED] += doubtful
    return destinations.keys, ~known


def _right(
    destinations: RowDestinations, place: TopicPartition, ts: Ints, timed: Mask, spec: StreamSpec
) -> tuple[Mask, Ints, Mask]:
    """Return which rows are in the right partition, the right partitions, and which rows are right whatever their time.

    Rows that are not `timed` may be of any time.
    """
    topic = destinations.topic
    spans = spec.grown.get(topic) or (PartitionCountSpan(-1, FOREVER, spec.partitions.get(topic, 0)),)
    right, partitions, surely = np.zeros(len(ts), np.bool_), np.full(len(ts), -1), np.ones(len(ts), np.bool_)
    for span in spans:
        if span.count:
            at = destinations.among(span.count)
            inside = (ts > span.after) & (ts <= span.until) | ~timed
            partitions = np.where(inside, at, partitions)
            right |= inside & (at == place[1])
            surely &= timed | (at == place[1])
    return right & (topic == place[0]), partitions, surely


def check_sizes(events: EventArrays) -> None:
    """Point 6: messages of rows are within TiCDC's limits, and DDL and watermarks have messages of their own."""
    spec, (count, number, size) = events.spec, (ints(events.batch, name) for name in ("events", "number", "size"))
    first, several = number == 0, count > 1
    other = np.unique(events.offset[several & (events.kind != ROW)])
    mixed = np.isin(events.offset, other) if len(other) else np.zeros(len(count), np.bool_)
    events.report(
        "message-mixed",
        np.flatnonzero(mixed & first),
        lambda at: "a DDL or watermark that shares its message",
        by_table=False,
    )
    rows = first & (events.kind == ROW) & ~mixed
    size = size + spec.record_overhead
    large = rows & (size > spec.max_message_bytes)
    if spec.large_rows:
        large &= several
    events.report(
        "message-too-large",
        np.flatnonzero(large),
        lambda at: f"{counted(size[at], 'byte')}, more than max-message-bytes = {spec.max_message_bytes}",
    )
    events.report(
        "too-many-events",
        np.flatnonzero(rows & (count > spec.max_batch_size)),
        lambda at: f"{counted(count[at], 'event')}, more than max-batch-size = {spec.max_batch_size}",
    )
