"""Point 1: recomputing the dispatcher gives the topic and partition a row is in."""

from __future__ import annotations

from collections.abc import Iterator

from simulator.errors import UserError
from simulator.read.contract.messages import Message, Step, Terms, Violation, at, place_of
from simulator.read.decode import RowEvent


def destinations(terms: Terms) -> Step:
    def step(message: Message | None) -> Iterator[Violation]:
        for event in message.events if message else ():
            if message and isinstance(event, RowEvent):
                yield from _misplaced(message, event, terms)
    return step


def _misplaced(message: Message, event: RowEvent, terms: Terms) -> Iterator[Violation]:
    name = f"{event.schema}.{event.table}"
    table = terms.table(event)
    if table is None:
        yield at(1, message, f"a row of {name}, a table the run does not have")
        return
    try:
        wanted = terms.destination(event, table)
    except UserError as error:
        yield at(1, message, f"a row of {name} cannot be dispatched: {error}")
        return
    if wanted is not None and wanted != place_of(message):
        yield at(1, message, f"a row of {name} that belongs in {wanted[0]}/{wanted[1]}")
