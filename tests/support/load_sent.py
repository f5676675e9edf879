"""What windows of a load plan send, in this process."""

from __future__ import annotations

from collections.abc import Iterator

from simulator.consumer.records import Record
from simulator.engines.tasks.messages import encode_flush
from simulator.engines.tasks.send import flusher
from simulator.load.epochs.epoch import Pace, Window
from simulator.load.epochs.epochs import PreparedLoad, epoch_control_events, schema_epochs
from simulator.load.windows.sending import window_messages
from simulator.run.outputs import Output
from simulator.sinks.memory import MemorySink, Message
from support.load_plans import at


def between(prepared: PreparedLoad, output: Output, first_ms: int, end_ms: int, step_ms: int = 400) -> Iterator[Window]:
    """Windows from one millisecond to another."""
    for epoch in schema_epochs(prepared, output, first_ms):
        last = end_ms if epoch.end_ms is None else min(end_ms, epoch.end_ms)
        while first_ms < last:
            yield Window(epoch, first_ms, min(last, first_ms + step_ms), Pace(0.0, 0.0))
            first_ms = min(last, first_ms + step_ms)
        if first_ms == end_ms:
            return


def sent(prepared: PreparedLoad, output: Output, first_ms: int, end_ms: int) -> list[Record]:
    """All records behind the watermark of the first millisecond, up to that of the last."""
    messages: list[Message] = []
    sink = MemorySink(messages, output.destinations.topics)
    for window in between(prepared, output, first_ms, end_ms):
        for made in window_messages(window, range(output.destinations.total)):
            sink.write(made.records)
        behind = at(prepared, output, window.end_ms)
        for flush in flusher(behind.spec, eager=False)([epoch_control_events(behind, window.end_ms)]):
            sink.write(encode_flush(flush, behind.spec).records)
    return [
        Record(message.topic, message.partition, message.offset, message.timestamp, message.key, message.value)
        for message in messages
    ]
