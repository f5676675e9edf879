"""In a replay each old image equals the previous new image, and the last images are the expected rows."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.contract_checks import (
    KEYLESS,
    TABLES,
    Ddl,
    Event,
    Row,
    RowPlace,
    Stream,
    good,
    records,
    rows_of,
    ts,
    with_other_value,
    without_row,
)
from support.playing import Rows, replayed

from simulator.consumer.replay.outcome import ReplayOutcome

OPEN, CANAL = "open-protocol", "canal-json"
SHAPES = [(OPEN, True), (CANAL, True), (CANAL, False)]
ORDERS = ("shop", "orders")


def left(stream: Stream) -> dict[tuple[str, str], list[bytes]]:
    """The rows that its changes lead to."""
    state: dict[int, str] = {}
    for *_, row in sorted(rows_of(stream), key=lambda item: item[3].ts):
        state.pop(row.id, None)
        if row.after is not None:
            state[row.id] = row.after
    return {ORDERS: [f"{number}\xff{name}".encode("latin-1") for number, name in state.items()]}


def replay(stream: Stream, protocol: str = OPEN, extension: bool = True, after: Rows | None = None) -> ReplayOutcome:
    expected = left(good()) if after is None else after
    return replayed(records(stream, protocol, extension), protocol, TABLES.values(), after=expected)


def failed(outcome: ReplayOutcome) -> dict[str, int]:
    return {check: count for (check, _), count in outcome.counts.items()}


@pytest.mark.parametrize(("protocol", "extension"), SHAPES)
def test_a_correct_stream_leads_to_the_final_rows(protocol: str, extension: bool) -> None:
    """Every old image equals the row in the table, and all rows are counted."""
    found = replay(good(), protocol, extension)
    assert ({}, {}) == (found.counts, found.not_compared)
    assert [("shop.log", 0, 0), ("shop.orders", 6, 6)] == [
        (each.table, each.expected, each.found) for each in found.tables
    ]


@pytest.mark.slow
@settings(max_examples=15)
@given(st.sampled_from(rows_of(good())), st.sampled_from(SHAPES), st.sampled_from(["before", "after"]))
def test_a_lost_row_change_and_a_changed_value_are_found(where: RowPlace, shape: tuple[str, bool], image: str) -> None:
    """In the final rows, or in the next old image."""
    assert {} != replay(without_row(where), *shape).counts
    changed = with_other_value(where, image)
    assert changed is None or {} != replay(changed, *shape).counts


@pytest.mark.slow
def test_repeated_rows_change_nothing() -> None:
    stream = good()
    for messages in stream.values():
        messages[-1:-1] = copy.deepcopy(messages[2:-1])
    for shape in SHAPES:
        assert {} == replay(stream, *shape).counts


def test_an_insert_of_an_existing_row_is_found() -> None:
    """An UPDATE of a row that does not exist is found, too."""
    stream = good()
    stream[0].insert(-1, [Row(ts(3.9), 0, None, "again"), Row(ts(3.9), 99, "never", "now")])
    stream[0].insert(-1, [Row(ts(3.95), 0, "again", "new 0"), Row(ts(3.95), 99, "now", None)])
    assert {"row-already-there": 1, "row-not-there": 1} == failed(replay(stream))


def test_two_changes_at_one_commit_ts_contradict_each_other() -> None:
    stream = good()
    stream[0].insert(-1, [Row(ts(3.9), 0, "new 0", "a"), Row(ts(3.9), 0, "new 0", "b")])
    assert 1 == failed(replay(stream))["two-changes"]


def test_a_row_that_moves_between_partitions_is_followed() -> None:
    """DELETE and INSERT of one commit-ts are one step, whichever is read first."""
    stream = good()
    stream[0].insert(-1, [Row(ts(3.9), 0, None, "new 0")])
    stream[1].insert(-1, [Row(ts(3.9), 0, "new 0", None)])
    assert {} == replay(stream).counts


@pytest.mark.slow
def test_a_dropped_table_starts_empty_again() -> None:
    stream = good()
    drop: list[Event] = [Ddl(ts(5), "DROP TABLE `orders`", 4, "ERASE")]
    for messages in stream.values():
        messages += [drop, [Ddl(ts(6))]]
    stream[1].append([Row(ts(7), 0, None, "again")])
    assert {} == replay(stream, after={ORDERS: [b"0\xffagain"]}).counts
    stream[1].append([Row(ts(8), 2, "new 2", None)])
    assert {"row-not-there": 1} == failed(replay(stream, after={ORDERS: [b"0\xffagain"]}))


def test_old_images_of_unknown_initial_rows_are_accepted() -> None:
    """This holds if the rows at the start are unknown."""
    stream: Stream = {0: [[Row(ts(1), 1, "a", "b")], [Row(ts(2), 1, "c", "d")]]}
    found = replayed(records(stream, OPEN), OPEN, TABLES.values(), after={ORDERS: [b"1\xffd", b"7\xffx"]}, known=())
    assert {"old-image": 1} == failed(found)
    assert "shop.orders, row 1: name was 'b', the old image says 'c'" == found.examples[0].what
    (table,) = (table for table in found.tables if table.table == "shop.orders")
    assert (2, None, 1) == (table.expected, table.found, table.untouched)


def test_rows_without_a_handle_key_are_counted() -> None:
    found = replayed(
        [], OPEN, [KEYLESS], before={("shop", "log"): [b"x", b"y", b"y"]}, after={("shop", "log"): [b"x", b"x", b"z"]}
    )
    assert {"row-missing": 2, "row-left": 1} == failed(found)
    assert sorted(example.what for example in found.examples) == [
        "shop.log, row x: is there 1 times, 2 expected",
        "shop.log, row y: is there 2 times, 0 expected",
        "shop.log, row z: is there 0 times, 1 expected",
    ]
