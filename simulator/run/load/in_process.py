"""A load run in this process: no Java, one task that has all partitions.

One law: rows, statements and watermarks go through one sink, so that they are in their order wherever that writes.
"""

from __future__ import annotations

from simulator.run.load.feed import Feed
from simulator.run.load.prepared import Sender
from simulator.run.progress import Reporter
from simulator.signals import Asked
from simulator.sinks.records import Sink


def run(feed: Feed, sink: Sink, asked: Asked, reporter: Reporter) -> None:
    """Sends the windows that the feed gives, until it gives no more; raises SimulatorError. The sink is the feed's."""
    sender = Sender(sink, reporter)
    try:
        while (window := feed.next()) is not None:
            every = range(window.stretch.job.destinations.total)
            feed.sent(window, [sender.send(window, every, asked)])
    finally:
        sender.stop()
