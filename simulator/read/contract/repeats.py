"""Which events a partition had before: what is sent again after a restart.

One law: memory does not grow with the stream.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TypeAlias

from simulator.read.decode import DdlEvent, Event, RowEvent, Watermark
from simulator.read.records import Record
from simulator.tso import compose

Place: TypeAlias = "tuple[str, int]"
"""Topic and partition."""

WINDOW = 1 << 17
"""At least so many of a partition's last rows are remembered where no watermark lets go of them."""


def repeats() -> Callable[[Record, tuple[Event, ...]], frozenset[int]]:
    """Tells which events a partition had before.

    Rows are remembered until a watermark covers them: TiCDC resumes from a checkpoint that no emitted watermark exceeds
    (tiflow v8.5 cdc/owner/changefeed.go), so nothing older comes again. DDL is remembered for good.
    """
    rows: dict[Place, dict[int, int]] = {}
    statements: dict[Place, set[DdlEvent]] = {}

    def again(record: Record, found: tuple[Event, ...]) -> frozenset[int]:
        place, repeated = (record.topic, record.partition), []
        for number, event in enumerate(found):
            if isinstance(event, Watermark):
                rows[place] = {one: ts for one, ts in rows.get(place, {}).items() if ts > event.ts}
            elif isinstance(event, DdlEvent):
                before = statements.setdefault(place, set())
                repeated += [number] if event in before else []
                before.add(event)
            else:
                seen, one = rows.setdefault(place, {}), fingerprint(event)
                repeated += [number] if one in seen else []
                seen[one] = time_of(event)
                if len(seen) > 2 * WINDOW:
                    rows[place] = dict(islice(seen.items(), WINDOW, None))
        return frozenset(repeated)
    return again


def fingerprint(event: RowEvent) -> int:
    """A row change as one number, the same for the same change within this process."""
    images = (tuple(image.items()) if image else None for image in (event.before, event.after))
    return hash((time_of(event), event.schema, event.table, event.op, event.rid, *images))


def time_of(event: Event) -> int:
    """The TSO; where canal-json has none, that of the beginning of its millisecond."""
    if isinstance(event, Watermark):
        return event.ts
    return event.commit_ts if event.commit_ts is not None else compose(event.es or 0)
