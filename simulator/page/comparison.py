"""What differs in two streams of a page.

Streams of one protocol are compared as `ticdc-sim compare` does. Those of two protocols by what their messages say: the
kind of each event, its table, its rows, its statement.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from simulator.errors import printable
from simulator.page.messages import Decoded, Feed
from simulator.reader.compare.events import EVERYTHING, ComparedEvent, Identities, StreamMessage, differences, events_of
from simulator.reader.decode import DdlEvent, RowEvent, Watermark, before_image
from simulator.reader.event_lines import as_dict

Place = tuple[str, int]
"""A topic, empty if there is only one, and a partition."""

MOST_SHOWN = 500
"""Differences that are told."""


def compare_feeds(a: Feed, b: Feed) -> dict[str, Any]:
    """Return the differences of two feeds: the numbers of the messages, null where one is missing, and what differs."""
    alike = a.protocol == b.protocol
    sides = [_by_place(feed, alike) for feed in (a, b)]
    identities, found, events = Identities(), list[dict[str, Any]](), 0
    for place in sorted(sides[0].keys() | sides[1].keys()):
        one, other = (side.get(place, []) for side in sides)
        events += max(len(one), len(other))
        for difference in differences(one, other, identities):
            numbers = [event and event.offset for event in (difference.a, difference.b)]
            found.append({"a": numbers[0], "b": numbers[1], "what": printable(difference.what)})
    what = "in bytes, but for times and ids" if alike else "in what the messages say"
    return {"differences": found[:MOST_SHOWN], "count": len(found), "events": events, "what": what}


def _by_place(feed: Feed, alike: bool) -> dict[Place, list[ComparedEvent]]:
    """Return the events of each partition; their offsets are the numbers of their messages."""
    messages = list(feed.messages)
    single = len({decoded.message.topic for decoded in messages}) <= 1
    places = defaultdict[Place, list[ComparedEvent]](list)
    for decoded in messages:
        message = decoded.message
        place = ("" if single else message.topic, message.partition)
        if decoded.unreadable:
            places[place].append(ComparedEvent(*place, decoded.number, message.commit_ts, "", "", decoded.unreadable))
        elif alike:
            sent = StreamMessage(*place, decoded.number, message.key, message.value, message.commit_ts)
            places[place] += events_of(sent, feed.protocol, EVERYTHING, feed.schemas)
        else:
            places[place] += _said(decoded, place)
    return places


def _said(decoded: Decoded, place: Place) -> Iterator[ComparedEvent]:
    """Yield events as what any protocol can say of them."""
    for event in decoded.events:
        if not isinstance(event, Watermark):
            table = f"{event.schema}.{event.table}"
            text = json.dumps(_members(event), ensure_ascii=False)
            yield ComparedEvent(*place, decoded.number, decoded.message.commit_ts, table, "", text)


def _members(event: RowEvent | DdlEvent) -> dict[str, Any]:
    """Return what is compared: a row in full, with its columns in one order, or the statement."""
    if isinstance(event, DdlEvent):
        return {"event": "DDL", "query": event.query}
    members = as_dict(replace(event, before=before_image(event)))
    images = (members[side] and dict(sorted(members[side].items())) for side in ("before", "after"))
    return {"event": members["event"], **dict(zip(("before", "after"), images, strict=True))}
