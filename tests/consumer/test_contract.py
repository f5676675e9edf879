"""A correct stream keeps the contract, and each violation is found by its check."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.contract_checks import find_violations
from support.contract_stream import (
    KEYLESS,
    PARTITIONS,
    TABLE,
    TABLES,
    Ddl,
    Event,
    Mark,
    Row,
    RowPlace,
    Stream,
    good,
    records,
    rows_of,
    stream_spec,
    ts,
    with_other_value,
    without_row,
)
from support.oracle import compare, events, in_commit_order, replay, state_of
from support.oracle.state import State

from simulator.consumer.contract.stream_spec import StreamSpec
from simulator.consumer.contract.violations import Violation
from simulator.consumer.records import Record
from simulator.tidb.ddl.definitions.from_sql import create_table

OPEN, CANAL = "open-protocol", "canal-json"
SHAPES = [(OPEN, True), (CANAL, True), (CANAL, False)]


def broken(stream: Stream, protocol: str = OPEN, extension: bool = True, **changes: object) -> list[Violation]:
    asked = replace(stream_spec(protocol, extension), **changes)  # type: ignore[arg-type]
    return list(find_violations(records(stream, protocol, extension), asked))


def rules(violations: list[Violation]) -> set[int]:
    return {violation.rule for violation in violations}


@pytest.mark.parametrize(("protocol", "extension"), SHAPES)
def test_a_correct_stream_keeps_the_contract(protocol: str, extension: bool) -> None:
    """This holds in both protocols, with watermarks and without."""
    assert [] == broken(good(), protocol, extension)


def wrong_partition(stream: Stream) -> None:
    stream[1].insert(3, stream[0].pop(2))


def lower_watermark(stream: Stream) -> None:
    stream[2].append([Mark(ts(3, 0))])


def row_below_a_watermark(stream: Stream) -> None:
    stream[0].insert(-1, [Row(ts(2, 0), 3, "name 3", "x")])


def row_at_a_watermark(stream: Stream) -> None:
    stream[0].append([Row(ts(4, 0), 3, None, "x")])


def swapped_rows(stream: Stream) -> None:
    stream[0][2].reverse()


def row_sent_twice(stream: Stream) -> None:
    stream[0].insert(3, stream[0][2])


def missing_watermark(stream: Stream) -> None:
    stream[1] = [events for events in stream[1] if events != [Mark(ts(2, 0))]]


def missing_last_watermarks(stream: Stream) -> None:
    for messages in stream.values():
        messages.pop()


def missing_statement(stream: Stream) -> None:
    del stream[2][0]


def statements_out_of_order(stream: Stream) -> None:
    for messages in stream.values():
        messages.insert(1, [Ddl(ts(-1), "DROP TABLE `orders`", 4, "ERASE")])


def row_before_its_statement(stream: Stream) -> None:
    for messages in stream.values():
        messages.insert(3, [Ddl(ts(1, 2), "TRUNCATE TABLE `orders`", 11, "TRUNCATE")])


def row_after_its_statement(stream: Stream) -> None:
    for messages in stream.values():
        messages.insert(2, [Ddl(ts(1.5), "TRUNCATE TABLE `orders`", 11, "TRUNCATE")])


def statement_below_a_watermark(stream: Stream) -> None:
    for messages in stream.values():
        messages.append([Ddl(ts(3.9), "ALTER TABLE `orders` COMMENT 'x'", 17, "ALTER")])


def batch_too_long(stream: Stream) -> None:
    stream[0].insert(-1, [Row(ts(3.5, number), 3 * number, None, "x") for number in range(17)])


def message_too_long(stream: Stream) -> None:
    stream[0].insert(-1, [Row(ts(3.5), 3, None, "x" * 1100)])


BREAKS: dict[Callable[[Stream], None], int] = {
    wrong_partition: 1,
    lower_watermark: 2,
    row_below_a_watermark: 2,
    row_at_a_watermark: 2,
    swapped_rows: 3,
    row_sent_twice: 3,
    missing_watermark: 4,
    missing_last_watermarks: 4,
    missing_statement: 5,
    statements_out_of_order: 5,
    row_before_its_statement: 5,
    row_after_its_statement: 5,
    statement_below_a_watermark: 5,
    batch_too_long: 6,
    message_too_long: 6,
}
"""A way to break a good stream -> the rule that must tell it."""

ONLY_OPEN = {missing_statement, batch_too_long}
"""In canal-json DDL is in partition 0 alone, and a message is one event."""


@pytest.mark.parametrize("breaking", BREAKS, ids=lambda breaking: breaking.__name__)
@pytest.mark.parametrize("protocol", [OPEN, CANAL])
def test_a_broken_stream_violates_the_right_rule(breaking: Callable[[Stream], None], protocol: str) -> None:
    """The violation names the right rule and location."""
    stream = good()
    breaking(stream)
    found = broken(stream, protocol, max_message_bytes=1000)
    if protocol == CANAL and breaking in ONLY_OPEN:
        assert [] == found
    else:
        assert BREAKS[breaking] in rules(found)


@pytest.mark.parametrize("breaking", [wrong_partition, swapped_rows, row_sent_twice, row_after_its_statement])
def test_without_watermarks_milliseconds_are_enough(breaking: Callable[[Stream], None]) -> None:
    """Canal-JSON without the extension has only `es`."""
    stream = good()
    breaking(stream)
    assert BREAKS[breaking] in rules(broken(stream, CANAL, extension=False))


def test_an_unexpected_watermark_is_found() -> None:
    """Without the extension Canal-JSON has no watermarks."""
    found = list(find_violations(records(good(), CANAL, True), stream_spec(CANAL, False)))
    assert {4} == rules(found)


def test_canal_statements_belong_in_partition_0() -> None:
    """This holds since v5.4."""
    stream: Stream = {0: [[Mark(ts(0))]], 1: [[Mark(ts(0))]], 2: [[Mark(ts(0))]]}
    (ddl,) = records({0: [[Ddl(ts(0))]]}, CANAL)
    found = list(find_violations([*records(stream, CANAL), replace(ddl, partition=1, offset=1)], stream_spec(CANAL)))
    assert [5, 5] == [violation.rule for violation in found]
    assert found[0].what.startswith("DDL outside partition 0: CREATE") and found[1].what.startswith("no DDL at")


def test_an_unreadable_message_and_an_extra_partition_are_found() -> None:
    """Both violate rule 0, and the reason is given."""
    places = ("shop", 0, 99), ("shop", 7, 0), ("x", 0, 0)
    junk = [Record(topic, partition, offset, 0, None, b"junk") for topic, partition, offset in places]
    found = list(find_violations([*records(good(), OPEN), *junk], stream_spec(OPEN)))
    assert [
        "rule 0, shop/0@99: not an open-protocol message: the key is null",
        "rule 0, shop/7@0: the topic has 3 partitions",
        "rule 0, x/0@0: the topic has 0 partitions",
    ] == [str(violation) for violation in found]


def test_rows_repeated_after_a_restart_are_allowed() -> None:
    """Rows may be repeated if no watermark covers them and restarts are expected."""
    stream = good()
    for messages in stream.values():
        messages[-1:-1] = copy.deepcopy(messages[messages.index([Mark(ts(3, 0))]) + 1 : -1])
    assert [] == broken(stream, restarts=True)
    assert {3} == rules(broken(stream))


def test_rows_older_than_a_watermark_are_not_repeated() -> None:
    """A restart resumes from a checkpoint that no watermark exceeds."""
    stream = good()
    stream[0].append(stream[0][2])
    assert {2, 3} == rules(broken(stream, restarts=True))


@given(st.data())
def test_a_row_in_a_wrong_place_is_found(data: st.DataObject) -> None:
    """A row is found in another partition, after a watermark, or after a later row of its table."""
    stream = good()
    partition, message, place, row = data.draw(st.sampled_from(rows_of(stream)))
    to = data.draw(st.integers(0, PARTITIONS - 1))
    at = data.draw(st.integers(2, len(stream[to]) - 1))
    stream[partition][message].remove(row)
    inside = [other for events in stream[to][:at] for other in events]
    later = [other for other in inside if other.ts >= row.ts and not isinstance(other, Ddl)]
    following = [other for events in stream[to][at:] for other in events if isinstance(other, Row)]
    stream[to].insert(at, [row])
    stream[partition] = [events for events in stream[partition] if events]
    wrong = to != partition or bool(later) or any(other.ts < row.ts for other in following)
    assert bool(broken(stream)) == wrong


@given(st.sampled_from(rows_of(good())), st.integers(-4000, 4000))
def test_a_wrong_commit_ts_is_found(where: RowPlace, by: int) -> None:
    """A row keeps the contract only between its neighbours."""
    stream = good()
    partition, message, place, row = where
    changed = replace(row, ts=row.ts + (by << 18))
    flat = [event for events in stream[partition] for event in events]
    at = flat.index(row)
    stream[partition][message][place] = changed
    above = all(event.ts < changed.ts if isinstance(event, Mark) else event.ts <= changed.ts for event in flat[:at])
    below = all(event.ts >= changed.ts for event in flat[at + 1 :] if isinstance(event, Row))
    covered = changed.ts < ts(4, 0)
    assert (not broken(stream)) == (above and below and covered)


def after(stream: Stream) -> State:
    state: dict[int, str] = {}
    for *_, row in sorted(rows_of(stream), key=lambda item: item[3].ts):
        state.pop(row.id, None)
        if row.after is not None:
            state[row.id] = row.after
    return state_of((TABLE, f"{number}".encode() + b"\xff" + name.encode()) for number, name in state.items())


def replayed(
    stream: Stream,
    protocol: str = OPEN,
    extension: bool = True,
    before: State | None = None,
    asked: StreamSpec | None = None,
) -> list[Violation]:
    used = asked or stream_spec(protocol, extension)
    all_records = records(stream, protocol, extension)
    parts = (events([record for record in all_records if record.partition == number], used) for number in stream)
    done = replay(in_commit_order(parts), before or {}, TABLES)
    return [*done.violations, *compare(done.state, after(good()), TABLES)]


@pytest.mark.parametrize(("protocol", "extension"), SHAPES)
def test_replaying_a_correct_stream_gives_the_final_rows(protocol: str, extension: bool) -> None:
    """Every old image equals the row in the table."""
    assert [] == replayed(good(), protocol, extension)


@given(st.sampled_from(rows_of(good())), st.sampled_from(SHAPES))
def test_a_missing_row_change_is_found(where: RowPlace, shape: tuple[str, bool]) -> None:
    """The final rows or the next old image show the missing change."""
    assert {7} == rules(replayed(without_row(where), *shape))


@given(st.sampled_from(rows_of(good())), st.sampled_from(["before", "after"]))
def test_a_changed_value_is_found(where: RowPlace, which: str) -> None:
    """A wrong new image shows in the final rows, a wrong old one in the row before."""
    stream = with_other_value(where, which)
    assert stream is None or {7} == rules(replayed(stream))


def test_repeated_rows_change_nothing() -> None:
    """Rows repeated after a restart do not change the replay."""
    stream = good()
    for messages in stream.values():
        messages[-1:-1] = copy.deepcopy(messages[messages.index([Mark(ts(3, 0))]) + 1 : -1])
    assert [] == replayed(stream, asked=replace(stream_spec(OPEN), restarts=True))


def test_a_difference_names_table_row_and_column() -> None:
    """Each difference is one line."""
    expected = state_of([(TABLE, b"1\xffa"), (TABLE, b"2\xff\xfe"), (KEYLESS, b"x"), (KEYLESS, b"x")])
    state = state_of([(TABLE, b"1\xffb"), (TABLE, b"3\xffc"), (KEYLESS, b"x")])
    assert [
        "rule 7: shop.log, row x: is there 1 times, 2 expected",
        "rule 7: shop.orders, row 2: is missing after the replay",
        "rule 7: shop.orders, row 1: name is 'b', 'a' expected",
        "rule 7: shop.orders, row 3: is left after the replay and should not be",
    ] == [str(violation) for violation in compare(state, expected, TABLES)]


def test_dropping_a_table_empties_it_once() -> None:
    """The statement is in every partition; rows after a new CREATE TABLE stay."""
    drop: list[Event] = [Ddl(ts(5), "DROP TABLE `orders`", 4, "ERASE")]
    create: list[Event] = [Ddl(ts(6))]
    stream = good()
    for messages in stream.values():
        messages += [drop, create]
    stream[1].append([Row(ts(7), 1, None, "again")])
    used = stream_spec(OPEN)
    merged = in_commit_order(events(part, used) for part in split(stream))
    one_by_one = (event for part in split(stream) for event in events(part, used))
    for found in (merged, one_by_one):
        assert {("1",): b"1\xffagain"} == replay(found, {}, TABLES).state["shop", "orders"]


def split(stream: Stream) -> list[list[Record]]:
    found = records(stream, OPEN)
    return [[record for record in found if record.partition == number] for number in stream]


def test_floating_point_text_is_compared_as_numbers() -> None:
    """`1e21`, Go's `1e+21` and the digits written out are equal; FLOAT is compared with 32 bits."""
    table = create_table("CREATE TABLE `f` (`id` INT PRIMARY KEY, `d` DOUBLE, `f` FLOAT)", "shop")
    images = b"1\xff1e21\xff3.14", b"1\xff1000000000000000000000\xff3.140000104904175"
    first, second = (state_of([(table, image)]) for image in images)
    assert [] == list(compare(first, second, {("shop", "f"): table}))


def test_a_message_may_be_as_long_as_the_limit() -> None:
    """Key, value and 36 bytes, as TiCDC counts them; statements have no limit."""
    stream: Stream = {partition: [[Ddl(ts(0), "x" * 500)], [Mark(ts(9, 0))]] for partition in range(PARTITIONS)}
    stream[0].insert(1, [Row(ts(1), 0, None, "x" * 200)])
    size = max(len(record.key or b"") + len(record.value or b"") for record in records(stream, OPEN)[1:2]) + 36
    assert [] == broken(stream, max_message_bytes=size)
    assert {6} == rules(broken(stream, max_message_bytes=size - 1))


def test_a_row_of_an_unknown_table_is_found() -> None:
    """Its dispatcher cannot be recomputed."""
    found = broken(good(), tables={("shop", "log"): KEYLESS})
    assert {1} == rules(found) and "a row of shop.orders, a table the run does not have" == found[0].what


def test_rows_without_a_handle_key_are_counted() -> None:
    """Equal rows of such a table are separate rows, in the stream and in the final state."""
    row = b'{"ts":%d,"scm":"shop","tbl":"log","t":1}' % ts(1)
    value = b'{"u":{"line":{"t":15,"f":64,"v":"0"}}}'
    message = framed_key(row), len(value).to_bytes(8, "big") + value
    twice = [Record("shop", 0, offset, 0, *message) for offset in range(2)]
    marks = [Record("shop", number, 9, 0, framed_key(b'{"ts":%d,"t":3}' % ts(2, 0)), bytes(8)) for number in range(3)]
    assert [] == list(find_violations([*twice, *marks], stream_spec(OPEN)))
    done = replay(events(twice, stream_spec(OPEN)), state_of([(KEYLESS, b"0")]), TABLES)
    assert [] == list(compare(done.state, state_of([(KEYLESS, b"0")] * 3), TABLES))


def framed_key(text: bytes) -> bytes:
    return (1).to_bytes(8, "big") + len(text).to_bytes(8, "big") + text
