"""Points 2, 3 and 5: the order inside one partition."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from simulator.columns.cells import Mask
from simulator.columns.change_frame import DDL, WATERMARK, Ints
from simulator.reader.contract.change_window import NEVER, highest_before
from simulator.reader.contract.events import EventArrays
from simulator.reader.contract.summary import BroadcastDdl

OPERATIONS = ("DELETE", "UPDATE", "INSERT")


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
