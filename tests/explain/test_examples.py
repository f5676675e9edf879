"""`ticdc-sim releases A B --examples`: an event for each difference on the wire that shows it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from support.playing import said

from simulator.explain.examples import EXAMPLES, select_example
from simulator.explain.playback import play
from simulator.releases import RELEASES, Release, ReleaseDifference, behaviours, differences, find

WIRE = [behaviour.name for behaviour in behaviours() if behaviour.on_the_wire]
UNSEEN = {name for name in EXAMPLES if not EXAMPLES[name]}
"""Behaviours that no rows of a TiDB show."""


def neighbours() -> Iterator[tuple[Release, Release]]:
    """Releases that follow each other, those that both architectures have, and the last beta with the first release."""
    for releases in RELEASES.values():
        every = list(releases.values())
        yield from zip(every, every[1:])
    classic, new = RELEASES.values()
    yield from ((classic[tag], new[tag]) for tag in classic.keys() & new.keys())
    yield list(new.values())[-1], next(iter(new.values()))


def upgrades() -> Iterator[tuple[ReleaseDifference, Release, Release]]:
    """Every change of a behaviour on the wire from one value to another, once."""
    seen = set()
    for before, after in neighbours():
        for difference in differences(before, after):
            change = (difference.behaviour.name, difference.before, difference.after)
            if difference.behaviour.on_the_wire and change not in seen:
                seen.add(change)
                yield difference, before, after


def test_every_behaviour_on_the_wire_has_an_example_and_no_other() -> None:
    assert list(EXAMPLES) == WIRE


@pytest.mark.slow
def test_every_change_between_neighbouring_releases_is_shown() -> None:
    """The outputs differ while all else is as in one of the two releases."""
    found = [(select_example(*upgrade), *upgrade) for upgrade in upgrades()]

    assert {difference.behaviour.name for _, difference, _, _ in found} == set(WIRE)
    assert {difference.behaviour.name for example, difference, _, _ in found if example is None} == UNSEEN
    assert UNSEEN == {"canal_compares_texts"}
    said = {
        line for example, *_ in found if example for output in (example.before, example.after) for line in output.said
    }
    assert [line for line in said if "ERROR" in line] == []
    assert [
        difference.behaviour.name
        for example, difference, before, after in found
        if example and (example.before == example.after or example.base not in (before, after))
    ] == []


@pytest.mark.slow
def test_an_example_is_the_output_of_the_release() -> None:
    before, after = find("v6.5.6"), find("v8.5.3")
    for difference in differences(before, after):
        found = select_example(difference, before, after) if difference.behaviour.on_the_wire else None
        if found:
            assert (found.before if found.base == before else found.after) == play(found.example, found.base)


def test_examples_are_shown_to_people() -> None:
    lines = said("releases", "v7.5.1", "v7.5.2", "--examples").out.split("\n\n")[0].splitlines()
    assert lines[:4] == [
        "primary_is_unique: Whether columns of the primary index also get the UniqueKey bit",
        "  given   CREATE TABLE t (id INT, PRIMARY KEY (id) NONCLUSTERED)",
        "  event   INSERT INTO t VALUES (1)",
        "  else as in v7.5.1 (classic)",
    ]
    assert lines[4].startswith("  v7.5.1: ") and lines[4].endswith(' {"u":{"id":{"t":3,"h":true,"f":27,"v":1}}}')
    assert lines[5].startswith("  v7.5.2: ") and lines[5].endswith(' {"u":{"id":{"t":3,"h":true,"f":11,"v":1}}}')


@pytest.mark.slow
def test_releases_of_one_tag_are_distinguished() -> None:
    out = said("releases", "v8.5.4", "new:v8.5.4", "--examples").out
    assert "\n  v8.5.4 (classic): " in out and "\n  v8.5.4 (new): " in out and ": ticdc/" in out


def test_programs_get_the_bytes() -> None:
    """JSON has hex and text, with the events; behaviours that are not on the wire have none."""
    out = said("releases", "v7.5.1", "v7.5.2", "--examples", "--json").out
    found = {told["name"]: told for told in json.loads(out)["differences"]}
    example = found["primary_is_unique"]["example"]
    message = example["from"]["messages"][0]
    assert example["events"] == ["INSERT INTO t VALUES (1)"] and example["base"]["release"] == "v7.5.1"
    assert bytes.fromhex(message["value"]["hex"])[8:] == b'{"u":{"id":{"t":3,"h":true,"f":27,"v":1}}}'
    assert [name for name, told in found.items() if ("example" in told) != told["on_the_wire"]] == []
