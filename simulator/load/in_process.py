"""Load in one process, without Java: one task owns all destinations."""

from __future__ import annotations

from simulator.load.feed import Feed
from simulator.load.windows.sender import WindowSender


def run(feed: Feed, sender: WindowSender) -> None:
    """Send windows until there are no more; raise DeliveryError. The feed and the sender may share a sink."""
    try:
        while (window := feed.next()) is not None:
            owned = range(window.epoch.spec.destinations.total)
            feed.sent(window, [sender.send(window, owned, feed.stop_request)])
    finally:
        sender.stop()
