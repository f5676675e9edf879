"""What a consumer may rely on (design: the contract), checked on a recorded stream with a decoder of its own.

One law: a rule sees the stream once, each partition in offset order, and remembers no more than tables, partitions and
watermarks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from simulator.read.contract.order import commit_order, ddl_order, row_order, watermark_order
from simulator.read.contract.placement import ddl_everywhere, destinations, sizes, watermarks_everywhere
from simulator.read.contract.replay import Replayed, in_commit_order, replay
from simulator.read.contract.schema_changes import definitions
from simulator.read.contract.state import State, compare, state_of, unknown
from simulator.read.contract.stream import Checker, Message, Placed, Violation, events, messages
from simulator.read.contract.stream_spec import StreamSpec, stream_spec_of
from simulator.read.records import Record

__all__ = [
    "Message", "Placed", "RULES", "Replayed", "State", "Checker", "StreamSpec", "Violation", "check", "commit_order",
    "compare", "ddl_everywhere", "ddl_order", "definitions", "destinations", "events", "in_commit_order", "messages",
    "replay", "row_order", "sizes", "state_of", "stream_spec_of", "unknown", "watermark_order", "watermarks_everywhere",
]


RULES = {
    "destinations": destinations,
    "watermark order": watermark_order,
    "commit order": commit_order,
    "row order": row_order,
    "watermarks everywhere": watermarks_everywhere,
    "ddl order": ddl_order,
    "ddl everywhere": ddl_everywhere,
    "sizes": sizes,
}
"""What can be told from the stream alone: points 1 to 6 of the contract; point 7 is `replay` and `compare`."""


def check(records: Iterable[Record], spec: StreamSpec) -> Iterator[Violation]:
    """Every breach of points 1 to 6, as the stream is read; those that only its end shows come last."""
    steps: Mapping[str, Checker] = {name: rule(spec) for name, rule in RULES.items()}
    for message in messages(records, spec):
        if isinstance(message, Violation):
            yield message
            continue
        for step in steps.values():
            yield from step(message)
    for step in steps.values():
        yield from step(None)
