"""Selects the smallest event whose messages differ between two releases because of one behaviour.

All other behaviours are those of one base release, so that the two outputs differ for that reason alone. An example is
shown as lines for people, or as JSON for programs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from simulator.errors import UserError
from simulator.explain.message_examples import PLACES, SENDING, SHARED, SPLITS, TEXTS
from simulator.explain.playback import OPEN, ExampleOutput, ReleaseExample, play
from simulator.explain.row_examples import (
    AVRO_ROWS,
    CANAL_ROWS,
    DEBEZIUM_ROWS,
    MAXWELL_ROWS,
    OPEN_ROWS,
    ROWS,
    SIMPLE_ROWS,
)
from simulator.reader.decode import DECODERS, protocol_of
from simulator.reader.event_lines import as_text
from simulator.releases import RELEASES, Release, ReleaseDifference
from simulator.sinks.memory import Message
from simulator.tidb.parser.script import split_script

EXAMPLES: Mapping[str, tuple[ReleaseExample, ...]] = {
    **ROWS,
    **OPEN_ROWS,
    **CANAL_ROWS,
    **AVRO_ROWS,
    **DEBEZIUM_ROWS,
    **MAXWELL_ROWS,
    **PLACES,
    **SPLITS,
    **SHARED,
    **TEXTS,
    **SENDING,
    **SIMPLE_ROWS,
}
"""By the field of Release; several if no single event shows all its values."""


@dataclass(frozen=True)
class SelectedExample:
    example: ReleaseExample
    base: Release
    """The release of all other behaviours."""

    before: ExampleOutput
    after: ExampleOutput


def select_example(difference: ReleaseDifference, before: Release, after: Release) -> SelectedExample | None:
    """Return an example of a difference between two releases; None if no event shows it in any release."""
    for base in _bases(before, after):
        for example in EXAMPLES.get(difference.behaviour.name, ()):
            outputs = [
                play(example, _with_behaviour(base, difference, value))
                for value in (difference.before, difference.after)
            ]
            if outputs[0] != outputs[1]:
                return SelectedExample(example, base, *outputs)
    return None


def _bases(before: Release, after: Release) -> Iterator[Release]:
    """Yield the two releases, then the latest ones, for differences that both hide."""
    yield from (before, after)
    for releases in RELEASES.values():
        yield from reversed(list(releases.values()))


def _with_behaviour(base: Release, difference: ReleaseDifference, value: object) -> Release:
    changed: dict[str, Any] = {difference.behaviour.name: value}
    return replace(base, **changed)


FEW = 3
"""Number of events of a message, and of messages, up to which all are shown."""


def example_lines(selected: SelectedExample, names: tuple[str, str], base: str) -> Iterator[str]:
    """Yield the tables and events of an example, then the output of each release under its name."""
    example = selected.example
    yield f"  given   {example.given}"
    yield f"  event   {example.script}"
    if example.uri != OPEN:
        yield f"  uri     {example.uri}"
    if example.config:
        yield f"  config  {example.config.replace(chr(10), '; ')}"
    for label, value in (("tz", example.time_zone), ("job", example.job_text)):
        if value:
            yield f"  {label:<7} {value}"
    yield f"  else as in {base}"
    outputs = (selected.before, selected.after)
    places = {(message.topic, message.partition) for output in outputs for message in output.messages}
    for name, output in zip(names, outputs, strict=True):
        for line in output_lines(output, len(places) > 1):
            yield f"  {name}: {line}"


def output_lines(output: ExampleOutput, placed: bool) -> Iterator[str]:
    """Yield a line for each message, with its location if `placed`, then the other output."""
    for message in output.messages:
        where = f"{message.topic}/{message.partition} " if placed else ""
        yield where + " + ".join(_event_texts(message))
    yield from output.said
    if not output.messages and not output.said:
        yield "nothing"


def _event_texts(message: Message) -> list[str]:
    """Return the events of a message as text; of many the first ones, and their number."""
    try:
        texts = DECODERS[protocol_of(message.key, message.value)].texts(message.key, message.value)
    except (UserError, ValueError):
        texts = ((message.key, message.value),)
    every = [" ".join("" if data is None else as_text(data) for data in pair).strip() for pair in texts]
    return every if len(every) <= FEW else [every[0], f"{len(every) - 1:,} more"]


def example_as_dict(selected: SelectedExample) -> Mapping[str, Any]:
    """Return everything as JSON members, bytes in hex and as text."""
    example = selected.example
    return {
        "tables": example.given,
        "events": [statement.text for statement in split_script(example.script)],
        **({"job_text": example.job_text} if example.job_text else {}),
        "sink_uri": example.uri,
        "config": example.config,
        "base": {"release": selected.base.name, "architecture": selected.base.architecture},
        "from": _output(selected.before),
        "to": _output(selected.after),
    }


def _output(output: ExampleOutput) -> Mapping[str, Any]:
    return {"messages": list(map(_message, output.messages)), "said": list(output.said)}


def _message(message: Message) -> Mapping[str, Any]:
    place = {"topic": message.topic, "partition": message.partition, "offset": message.offset}
    return place | {"key": _bytes(message.key), "value": _bytes(message.value)}


def _bytes(data: bytes | None) -> Mapping[str, str] | None:
    return None if data is None else {"hex": data.hex(), "text": as_text(data)}
