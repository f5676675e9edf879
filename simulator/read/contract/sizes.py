"""Point 6: messages of rows within `max-message-bytes` as TiCDC counts them, and within `max-batch-size` events.

DDL and watermarks have no limit of TiCDC's (tiflow v8.5 pkg/sink/codec/open/open_protocol_encoder.go).
"""

from __future__ import annotations

from collections.abc import Iterator

from simulator.read.contract.messages import Message, Step, Terms, Violation, at
from simulator.read.decode import RowEvent


def sizes(terms: Terms) -> Step:
    def step(message: Message | None) -> Iterator[Violation]:
        if message is None or not all(isinstance(event, RowEvent) for event in message.events):
            yield from _mixed(message)
            return
        if message.size > terms.max_message_bytes and not (terms.large_rows and len(message.events) == 1):
            yield at(6, message, f"{message.size} bytes, more than max-message-bytes = {terms.max_message_bytes}")
        if len(message.events) > terms.max_batch_size:
            yield at(6, message, f"{len(message.events)} events, more than max-batch-size = {terms.max_batch_size}")
    return step


def _mixed(message: Message | None) -> Iterator[Violation]:
    if message is not None and len(message.events) > 1:
        yield at(6, message, "a DDL or watermark that shares its message")
