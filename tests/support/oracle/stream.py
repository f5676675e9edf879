"""The stream as a consumer looks at it: decoded events in their place, and which of them came before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from simulator.consumer.contract.stream_spec import StreamSpec
from simulator.consumer.decode import DdlEvent, Event, RowEvent, Watermark, decode, fetch_claim_check, time_of
from simulator.consumer.records import Record, TopicPartition
from simulator.errors import UserError


@dataclass(frozen=True)
class Placed:
    """One event and where it lies."""

    topic: str
    partition: int
    offset: int
    event: Event
    repeated: bool = False
    """Whether it is sent again after a restart."""


def events(records: Iterable[Record], spec: StreamSpec) -> Iterator[Placed]:
    """The events of the messages that can be read, one by one; those of claim-check are whole where their files are."""
    again = repeats()
    for record in records:
        if not 0 <= record.partition < spec.partitions.get(record.topic, 0):
            continue
        try:
            decoded = decode(record.key, record.value, spec.protocol)
        except UserError:
            continue
        found = tuple(_fetched(event, spec) for event in decoded)
        repeated = again(record, found)
        for number, event in enumerate(found):
            came_before = number in repeated and spec.restarts
            yield Placed(record.topic, record.partition, record.offset, event, came_before)


def _fetched(event: Event, spec: StreamSpec) -> Event:
    if spec.stored is not None and isinstance(event, RowEvent) and event.stored_at:
        with suppress(UserError):
            return fetch_claim_check(event, spec.stored, spec.protocol)
    return event


WINDOW = 1 << 17
"""At least so many of a partition's last rows are remembered where no watermark lets go of them."""


def repeats() -> Callable[[Record, tuple[Event, ...]], frozenset[int]]:
    """Tells which events a partition had before.

    Rows are remembered until a watermark covers them: TiCDC resumes from a checkpoint that no emitted watermark exceeds
    (tiflow v8.5 cdc/owner/changefeed.go), so nothing older comes again. DDL is remembered for good.
    """
    rows: dict[TopicPartition, dict[int, int]] = {}
    statements: dict[TopicPartition, set[DdlEvent]] = {}

    def again(record: Record, found: tuple[Event, ...]) -> frozenset[int]:
        place, repeated = (record.topic, record.partition), []
        for number, event in enumerate(found):
            if isinstance(event, Watermark):
                rows[place] = {change: ts for change, ts in rows.get(place, {}).items() if ts > event.ts}
            elif isinstance(event, DdlEvent):
                before = statements.setdefault(place, set())
                repeated += [number] if event in before else []
                before.add(event)
            else:
                seen, change = rows.setdefault(place, {}), fingerprint(event)
                repeated += [number] if change in seen else []
                seen[change] = time_of(event)
                if len(seen) > 2 * WINDOW:
                    rows[place] = dict(islice(seen.items(), WINDOW, None))
        return frozenset(repeated)

    return again


def fingerprint(event: RowEvent) -> int:
    """A row change as one number, the same for the same change within this process."""
    images = (tuple(image.items()) if image else None for image in (event.before, event.after))
    return hash((time_of(event), event.schema, event.table, event.op, event.rid, *images))
