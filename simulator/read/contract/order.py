"""Points 2, 3 and 5: what comes after what inside one partition."""

from __future__ import annotations

from collections.abc import Iterator

from simulator.read.contract.stream import Checker, Message, Violation, at, each, place_of
from simulator.read.contract.stream_spec import StreamSpec
from simulator.read.decode import DdlEvent, RowEvent, Watermark, is_exact, time_of
from simulator.read.records import Place
from simulator.ticdc.table_info import handle_key


def watermark_order(spec: StreamSpec) -> Checker:
    """Point 2: watermarks never fall, and a row is strictly above every earlier one."""
    low: dict[Place, int] = {}

    def step(message: Message | None) -> Iterator[Violation]:
        for message, event, _ in each(message):
            mark, ts = low.get(place_of(message), -1), time_of(event)
            if isinstance(event, Watermark):
                if ts < mark:
                    yield at(2, message, f"watermark {ts} after watermark {mark}")
                low[place_of(message)] = max(mark, ts)
            elif isinstance(event, RowEvent) and ts <= mark:
                yield at(2, message, f"a row of {_name(event)} at {ts}, not above the earlier watermark {mark}")
    return step


def commit_order(spec: StreamSpec) -> Checker:
    """Point 3: per physical table and partition the commit-ts of first emissions never falls, and each comes once.

    A table without handle key may hold equal rows, so that two equal changes of it are no repetition.
    """
    high: dict[tuple[Place, str, str, int | None], int] = {}

    def step(message: Message | None) -> Iterator[Violation]:
        for message, event, again in each(message):
            if not isinstance(event, RowEvent):
                continue
            ts, key = time_of(event), (place_of(message), event.schema, event.table, event.ptn)
            if again and not spec.restarts and _has_handle(event, spec):
                yield at(3, message, f"a row of {_name(event)} at {ts} that was already sent")
            if ts < high.get(key, -1) and not (again and spec.restarts):
                yield at(3, message, f"a row of {_name(event)} at {ts} after one at {high[key]}")
            high[key] = max(high.get(key, -1), ts)
    return step


def row_order(spec: StreamSpec) -> Checker:
    """Point 3: at one commit-ts the DELETEs, UPDATEs and INSERTs of a physical table stand in the release's order."""
    last: dict[tuple[Place, str, str, int | None], tuple[int, int, str]] = {}

    def step(message: Message | None) -> Iterator[Violation]:
        for message, event, again in each(message):
            stage = _stage(event, spec) if isinstance(event, RowEvent) and not again else None
            if stage is None or not isinstance(event, RowEvent):
                continue
            ts, key = time_of(event), (place_of(message), event.schema, event.table, event.ptn)
            then, before, op = last.get(key, (-1, -1, ""))
            if then == ts and before > stage:
                yield at(3, message, f"{event.op} of a row of {_name(event)} at {ts} after {op} at the same")
            last[key] = ts, stage, event.op
    return step


def _stage(event: RowEvent, spec: StreamSpec) -> int | None:
    """Where the change stands among those of its commit-ts; None where that is not told."""
    table = spec.table(event)
    if table is None or spec.stages is None or not is_exact(event):
        return None
    if table.partitioning is not None and event.ptn is None:
        return None
    return spec.stages(table).get(event.op)


def ddl_order(spec: StreamSpec) -> Checker:
    """Point 5: DDL in commit-ts order, not below a watermark, after each row ≤ C and before rows > C of its tables."""
    low: dict[Place, int] = {}
    last: dict[Place, int] = {}
    rows: dict[tuple[Place, str], dict[str, int]] = {}
    done: dict[tuple[Place, str, str], int] = {}

    def statement(message: Message, ddl: DdlEvent, again: bool) -> Iterator[Violation]:
        place, ts = place_of(message), time_of(ddl)
        of_schema = rows.get((place, ddl.schema), {})
        of_tables = [of_schema.get(ddl.table, -1)] if ddl.table else list(of_schema.values())
        marks = {"DDL at": last.get(place, -1), "a row of its table at": max(of_tables, default=-1)}
        for kind, mark in marks.items():
            if ts < mark and not (again and spec.restarts):
                yield at(5, message, f"DDL at {ts} after {kind} {mark}: {ddl.query}")
        if ts < low.get(place, -1):
            yield at(5, message, f"DDL at {ts} below the earlier watermark {low[place]}: {ddl.query}")
        last[place] = max(last.get(place, -1), ts)
        done[place, ddl.schema, ddl.table] = max(done.get((place, ddl.schema, ddl.table), -1), ts)

    def row(message: Message, event: RowEvent, again: bool) -> Iterator[Violation]:
        place, ts = place_of(message), time_of(event)
        limit = max(done.get((place, event.schema, table), -1) for table in (event.table, ""))
        if (ts < limit or ts == limit and is_exact(event)) and not (again and spec.restarts):
            yield at(5, message, f"a row of {_name(event)} at {ts} after the DDL at {limit}")
        of_schema = rows.setdefault((place, event.schema), {})
        of_schema[event.table] = max(of_schema.get(event.table, -1), ts)

    def step(message: Message | None) -> Iterator[Violation]:
        for message, event, again in each(message):
            if isinstance(event, Watermark):
                low[place_of(message)] = max(low.get(place_of(message), -1), event.ts)
            elif isinstance(event, DdlEvent):
                yield from statement(message, event, again)
            else:
                yield from row(message, event, again)
    return step


def _has_handle(event: RowEvent, spec: StreamSpec) -> bool:
    table = spec.table(event)
    return table is not None and bool(handle_key(table))


def _name(event: RowEvent) -> str:
    return f"{event.schema}.{event.table}"
