"""Point 7: replaying the stream on the state before gives the state after.

An event older than what its row already shows changes nothing, so rows that come again or from another
partition do no harm. Old images are held against the state as long as events are given in commit order.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from simulator.consumer.contract.violations import Violation
from simulator.consumer.decode import EMPTYING, TRUNCATING, DdlEvent, Image, RowEvent, Watermark, before_image, time_of
from simulator.consumer.records import TopicPartition
from simulator.errors import DdlError, UserError
from simulator.ticdc.codecs.codec import Fidelity
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import Column, Name, Table
from simulator.tidb.model.types import family
from support.decoded import row_text
from support.oracle.schema_changes import changed, there
from support.oracle.state import HIDDEN, Handle, State, alike, count, handle_of, image_of
from support.oracle.stream import Placed

RANK = {"DELETE": 0, "UPDATE": 1, "INSERT": 2}


@dataclass(frozen=True)
class Replayed:
    """What a replay led to."""

    state: State
    violations: list[Violation] = field(default_factory=list)
    """Rows whose old image was not what the table held."""


Doubts: TypeAlias = "dict[tuple[str, str, Handle, int], Violation]"
"""INSERTs of rows that were there: wrong if no other partition deletes the row at the same time."""


@dataclass(frozen=True)
class Version:
    """The last change of a row."""

    ts: int
    place: TopicPartition
    op: str
    over: bytes | None = None
    """What the row held that an INSERT found there: to be deleted in another partition, by the other half of an
    UPDATE."""


def in_commit_order(partitions: Iterable[Iterable[Placed]]) -> Iterator[Placed]:
    """The events of several partitions as one stream; inside a partition their order stays."""
    return heapq.merge(*partitions, key=_rank)


def replay(
    events: Iterable[Placed], before: State, tables: Mapping[Name, Table], fidelity: Fidelity = Fidelity()
) -> Replayed:
    """The state after the events; `before` itself stays as it is.

    Where the release and its options leave UPDATEs without old values, an INSERT may replace a row; values that are
    doubtful are unknown in the state.
    """
    done = Replayed({name: dict(rows) for name, rows in before.items()})
    versions: dict[Name, dict[Handle, Version]] = {}
    emptied: dict[Name, int] = {}
    known, applied = there(tables.values()), set[tuple[int, str]]()
    doubts: Doubts = {}
    for placed in events:
        event = placed.event
        if placed.repeated or isinstance(event, Watermark):
            continue
        if isinstance(event, DdlEvent):
            _emptied(event, done.state, versions, emptied)
            if event.type not in TRUNCATING and (time_of(event), event.query) not in applied:
                applied.add((time_of(event), event.query))
                try:
                    known = changed(event, known, done.state)
                except DdlError as error:
                    done.violations.append(_wrong(placed, f"{event.query}: {error}"))
        elif time_of(event) > emptied.get((event.schema, event.table), -1):
            table = known.table(event.schema, event.table)
            done.violations.extend(_apply(placed, event, done.state, versions, doubts, table, fidelity))
    done.violations.extend(doubts.values())
    return done


def _apply(
    placed: Placed,
    event: RowEvent,
    state: State,
    versions: dict[Name, dict[Handle, Version]],
    doubts: Doubts,
    table: Table | None,
    fidelity: Fidelity,
) -> Iterator[Violation]:
    name = event.schema, event.table
    rows = state.setdefault(name, {})
    if table is None:
        yield _wrong(placed, f"a row of {'.'.join(name)}, a table that is not known")
        return
    try:
        old, new = before_texts(event, table, fidelity), _texts(event.after, table, fidelity)
        if not handle_key(table):
            for texts, by in ((old, -1), (new, 1)):
                if texts is not None:
                    count(rows, texts, table, by)
            return
        replaces = old is None and (not fidelity.old_values or event.only_handle)
        if old is None and new is not None and fidelity.hides_unchanged_updates:
            handle = handle_of(new, table)
            replaces = replaces or not [*_held(handle, new, table, rows.get(handle))]
        for text in _change(placed, event, (old, new), table, rows, versions.setdefault(name, {}), doubts, replaces):
            yield _wrong(placed, f"{event.op} of {'.'.join(name)}, {text}")
    except KeyError as error:
        yield _wrong(placed, f"{event.op} of {'.'.join(name)} that cannot be replayed: it does not have column {error}")
    except UserError as error:
        yield _wrong(placed, f"{event.op} of {'.'.join(name)} that cannot be replayed: {error}")


def _change(
    placed: Placed,
    event: RowEvent,
    images: tuple[dict[str, str | None] | None, dict[str, str | None] | None],
    table: Table,
    rows: dict[Handle, bytes],
    versions: dict[Handle, Version],
    doubts: Doubts,
    replaces: bool,
) -> Iterator[str]:
    old, new = images
    version = Version(time_of(event), (placed.topic, placed.partition), event.op)
    was, now = (None if texts is None else handle_of(texts, table) for texts in (old, new))
    if now is not None and not _stale(versions.get(now), version):
        current = rows.get(now)
        if current is not None and was != now and not replaces:
            version = replace(version, over=current)
            what = f"{event.op} of {event.schema}.{event.table}, row {_key(now)} was already there"
            doubts[event.schema, event.table, now, version.ts] = _wrong(placed, what)
        assert new is not None
        image = image_of(new, table, None if event.only_handle else current)
        yield from _held(now, old, table, current) if old is not None and was == now else []
        rows[now], versions[now] = image, version
    if was is not None and was != now:
        known = versions.get(was)
        if not _stale(known, version):
            yield from _held(was, old or {}, table, rows.pop(was, None))
            versions[was] = version
        elif known and known.ts == version.ts and doubts.pop((event.schema, event.table, was, known.ts), None):
            yield from _held(was, old or {}, table, known.over)


def _held(handle: Handle, old: Mapping[str, str | None], table: Table, current: bytes | None) -> Iterator[str]:
    if current is None:
        yield f"row {_key(handle)} was not there"
    elif not alike(image_of(old, table, current), current):
        yield f"row {_key(handle)} was not as its old image says"


def _stale(known: Version | None, version: Version) -> bool:
    """Whether the row shows something later; halves of one split change may come from two partitions, DELETE first."""
    if known is None or known.ts != version.ts or known.place == version.place:
        return known is not None and known.ts > version.ts
    return RANK[known.op] > RANK[version.op]


def _emptied(
    event: DdlEvent, state: State, versions: dict[Name, dict[Handle, Version]], emptied: dict[Name, int]
) -> None:
    name, ts = (event.schema, event.table), time_of(event)
    if event.type not in EMPTYING or emptied.get(name, -1) >= ts:
        return
    emptied[name] = ts
    later = {handle for handle, version in versions.get(name, {}).items() if version.ts > ts}
    state[name] = {handle: image for handle, image in state.get(name, {}).items() if handle in later}


def before_texts(event: RowEvent, table: Table, fidelity: Fidelity) -> dict[str, str | None] | None:
    """The old row as far as it is known; doubt about what an UPDATE changed is not about the rest."""
    known, changed = _texts(before_image(event), table, fidelity), _texts(event.before, table, fidelity, changed=True)
    return known if known is None or event.after is None else {**known, **(changed or {})}


def _texts(
    image: Image | None, table: Table, fidelity: Fidelity, changed: bool = False
) -> dict[str, str | None] | None:
    if image is None:
        return None
    columns = {column.name: column for column in table.columns}
    return {
        name: HIDDEN if _doubtful(text, columns[name], changed, fidelity) else text
        for name, text in row_text(image, table).items()
    }


def _doubtful(text: str | None, column: Column, changed: bool, fidelity: Fidelity) -> bool:
    """Whether a value may stand for another one; `changed` is whether it is an old one that an UPDATE changed."""
    if text is None:
        return family(column.type) in (fidelity.old_nulls if changed else fidelity.nulls)
    return fidelity.whole_seconds and family(column.type) == "time" and column.type.decimal > 0


def _rank(placed: Placed) -> tuple[int, int]:
    event = placed.event
    return time_of(event), RANK[event.op] if isinstance(event, RowEvent) else len(RANK)


def _key(handle: Handle) -> str:
    return ", ".join(map(str, handle))


def _wrong(placed: Placed, what: str) -> Violation:
    return Violation("old-image", placed.topic, placed.partition, placed.offset, what)
