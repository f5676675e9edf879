"""The command `compare`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from simulator.cli.output import show_json, show_lines, warn
from simulator.errors import UserError, printable
from simulator.limits import counted
from simulator.reader.compare import StreamComparison, compare_storages, compare_streams
from simulator.reader.compared_events import EVERYTHING, ComparedEvent, Difference
from simulator.reader.records import check_protocol
from simulator.reader.storage import is_storage

DIFFERENT = 1
"""The exit code of streams that differ."""

WIDTH = 200
"""Characters of an event's text that are shown."""


def compare(
    a: str,
    b: str,
    protocol: str | None,
    exact: bool,
    considered: tuple[str, ...],
    limit: int,
    config: Path | None,
    as_json: bool,
) -> int:
    """Run the command and return its exit code; raises SimulatorError."""
    ignored = EVERYTHING - set(EVERYTHING if exact else considered)
    stored = [source for source in (a, b) if is_storage(source)]
    if len(stored) == 1:
        raise UserError(f"{stored[0]} has files of a storage sink, and the other stream is none of files")
    if stored and protocol or config and not stored:
        raise UserError(
            f"{'--protocol' if stored else '--config'} has no effect: the streams are {'' if stored else 'no '}files on storage"
        )
    for source in (a, b):
        check_protocol(protocol, source)
    if stored:
        comparison = compare_storages(a, b, config, ignored, limit)
    else:
        comparison = compare_streams(a, b, protocol, ignored, limit=limit, warn=warn)
    with suppress(BrokenPipeError):  # the reader of standard output needs no more lines
        if as_json:
            show_json(_document(comparison))
        else:
            show_lines(_lines(comparison))
    return 0 if comparison.equal else DIFFERENT


def _lines(comparison: StreamComparison) -> Iterator[str]:
    for difference in comparison.differences:
        yield printable(f"{_place(difference)} {_what(difference)}")
    if comparison.more:
        yield f"… and {comparison.more:,} more"
    yield from map(printable, comparison.partitions)
    count = len(comparison.differences) + comparison.more + len(comparison.partitions)
    verdict = "equal" if comparison.equal else counted(count, "difference")
    messages = " and ".join(f"{count:,}" for count in comparison.messages)
    yield f"{verdict}: {messages} messages, {comparison.same_bytes:,} of them with the same bytes"


def _place(difference: Difference) -> str:
    event = difference.place
    offsets = f"{difference.a.offset if difference.a else '-'}/{difference.b.offset if difference.b else '-'}"
    return f"{event.topic}/{event.partition}@{offsets} {event.table}"


def _what(difference: Difference) -> str:
    if difference.what:
        return difference.what
    text = difference.place.text
    side = "A" if difference.b is None else "B"
    return f"only in {side}: {text if len(text) <= WIDTH else f'{text[:WIDTH]}…'}"


def _document(comparison: StreamComparison) -> dict[str, Any]:
    return {
        "equal": comparison.equal,
        "messages": dict(zip("ab", comparison.messages, strict=True)),
        "same_bytes": comparison.same_bytes,
        "differences": [
            {
                "topic": difference.place.topic,
                "partition": difference.place.partition,
                "table": difference.place.table,
                "what": difference.what or f"only in {'A' if difference.b is None else 'B'}",
                "a": _event(difference.a),
                "b": _event(difference.b),
            }
            for difference in comparison.differences
        ],
        "more": comparison.more,
        "partitions": comparison.partitions,
    }


def _event(event: ComparedEvent | None) -> dict[str, Any] | None:
    if event is None:
        return None
    return {
        "offset": event.offset,
        "commit_ts": event.commit_ts,
        "key": _parsed(event.key),
        "value": _parsed(event.value),
    }


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
