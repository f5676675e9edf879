"""`ticdc-sim releases A B --examples`: an event for each difference on the wire that shows it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from simulator.cli import run
from simulator.explain.examples.playback import play
from simulator.explain.examples.selection import EXAMPLES, select_example
from simulator.releases import RELEASES, Release, find
from simulator.releases.compare import ReleaseDifference, differences
from simulator.releases.release import behaviours

WIRE = [behaviour.name for behaviour in behaviours() if behaviour.on_the_wire]
DIFFERENT = "primary_is_unique"


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
    """The examples are in the order of Release."""
    assert list(EXAMPLES) == WIRE


@pytest.mark.slow
def test_every_change_between_neighbouring_releases_is_shown() -> None:
    """The outputs differ while all else is as in one of the two releases."""
    found = [(select_example(*upgrade), *upgrade) for upgrade in upgrades()]

    assert {difference.behaviour.name for _, difference, _, _ in found} == set(WIRE)
    assert [difference.behaviour.name for example, difference, _, _ in found if example is None] == []
    assert [
        difference.behaviour.name
        for example, difference, before, after in found
        if example and (example.before == example.after or example.base not in (before, after))
    ] == []


@pytest.mark.slow
def test_an_example_is_the_output_of_the_release() -> None:
    """The output of the base release contains nothing hybrid."""
    before, after = find("v6.5.6"), find("v8.5.3")
    for difference in differences(before, after):
        found = select_example(difference, before, after) if difference.behaviour.on_the_wire else None
        if found:
            assert (found.before if found.base == before else found.after) == play(found.example, found.base)


def test_examples_are_shown_to_people(capsys: pytest.CaptureFixture[str]) -> None:
    """Tables, events and the output of both releases are shown."""
    assert run(["releases", "v7.5.1", "v7.5.2", "--examples"]) == 0

    said = capsys.readouterr().out.split("\n\n")[0].splitlines()
    assert said[:4] == [
        "primary_is_unique: Whether columns of the primary index also get the UniqueKey bit",
        "  given   CREATE TABLE t (id INT, PRIMARY KEY (id) NONCLUSTERED)",
        '  event   INSERT t {"id": 1}',
        "  else as in v7.5.1 (classic)",
    ]
    assert said[4].startswith("  v7.5.1: ") and said[4].endswith(' {"u":{"id":{"t":3,"h":true,"f":27,"v":1}}}')
    assert said[5].startswith("  v7.5.2: ") and said[5].endswith(' {"u":{"id":{"t":3,"h":true,"f":11,"v":1}}}')


@pytest.mark.slow
def test_releases_of_one_tag_are_distinguished(capsys: pytest.CaptureFixture[str]) -> None:
    """They are named with their architectures; messages of several partitions have their location."""
    assert run(["releases", "v8.5.4", "new:v8.5.4", "--examples"]) == 0

    said = capsys.readouterr().out
    assert "\n  v8.5.4 (classic): " in said and "\n  v8.5.4 (new): " in said and ": ticdc/" in said


def test_programs_get_the_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON has hex and text, with the events; behaviours that are not on the wire have none."""
    assert run(["releases", "v7.5.1", "v7.5.2", "--examples", "--json"]) == 0

    found = {told["name"]: told for told in json.loads(capsys.readouterr().out)["differences"]}
    example = found[DIFFERENT]["example"]
    message = example["from"]["messages"][0]
    assert example["events"] == ['INSERT t {"id": 1}'] and example["base"]["release"] == "v7.5.1"
    assert bytes.fromhex(message["value"]["hex"])[8:] == b'{"u":{"id":{"t":3,"h":true,"f":27,"v":1}}}'
    assert [name for name, told in found.items() if ("example" in told) != told["on_the_wire"]] == []


def test_examples_need_two_releases(capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise it is an error of the user."""
    assert run(["releases", "v7.5.1", "--examples"]) == 2
    assert capsys.readouterr().err == ("ticdc-sim: --examples needs two releases: ticdc-sim releases A B --examples\n")
