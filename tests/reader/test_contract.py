"""A correct stream keeps the contract, restarts of the changefeed included, and each violation is found by its check."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.contract_checks import (
    KEYLESS,
    PARTITIONS,
    TABLE,
    Ddl,
    Event,
    Mark,
    Row,
    RowPlace,
    Stream,
    check_records,
    good,
    records,
    rows_of,
    stream_spec,
    ts,
)

from simulator.reader.contract import Violations
from simulator.reader.contract.across_partitions import interrupted_watermarks
from simulator.reader.contract.stream_spec import StreamSpec, stream_spec_of
from simulator.reader.records import Record
from simulator.releases import V8_5, find
from simulator.ticdc.changefeed import load

OPEN, CANAL = "open-protocol", "canal-json"
SHAPES = [(OPEN, True), (CANAL, True), (CANAL, False)]
ONCE = stream_spec(OPEN)
RESTARTS = replace(ONCE, restarts=True)


def found(stream: Stream, spec: StreamSpec = RESTARTS) -> Violations:
    return check_records(records(stream, spec.protocol, bool(spec.watermarks)), spec)[0]


def told(stream: Stream, spec: StreamSpec = RESTARTS) -> set[str]:
    """The names of the checks that tell something."""
    return checks(found(stream, spec))


def checks(violations: Violations) -> set[str]:
    return {check for check, _ in violations.counts}


@pytest.mark.parametrize(("protocol", "extension"), SHAPES)
def test_a_correct_stream_keeps_the_contract(protocol: str, extension: bool) -> None:
    assert set() == told(good(), stream_spec(protocol, extension))


# -- violations ---------------------------------------------------------------------------------------------------


def everywhere(stream: Stream, at: int, event: Event) -> None:
    for messages in stream.values():
        messages.insert(at, [event])


DROP, TRUNCATE = ("DROP TABLE `orders`", 4, "ERASE"), ("TRUNCATE TABLE `orders`", 11, "TRUNCATE")
COMMENT = ("ALTER TABLE `orders` COMMENT 'x'", 17, "ALTER")
BATCH = [Row(ts(3.5, number), 3 * number, None, "x") for number in range(17)]

BREAKS: dict[str, tuple[Callable[[Stream], object], str]] = {
    "a row in another partition": (lambda stream: stream[1].insert(3, stream[0].pop(2)), "wrong-partition"),
    "a lower watermark": (lambda stream: stream[2].append([Mark(ts(3, 0))]), "watermark-falls"),
    "a row below one": (lambda stream: stream[0].insert(-1, [Row(ts(2, 0), 3, "name 3", "x")]), "row-below-watermark"),
    "a row at a watermark": (lambda stream: stream[0].append([Row(ts(4, 0), 3, None, "x")]), "row-below-watermark"),
    "rows in another order": (lambda stream: stream[0][2].reverse(), "row-out-of-order"),
    "rows sent twice": (lambda stream: stream[0].insert(3, stream[0][2]), "row-repeated"),
    "a missing watermark": (lambda stream: stream[1].remove([Mark(ts(2, 0))]), "watermark-missing"),
    "a missing last watermark": (lambda stream: stream[2].pop(), "watermark-missing"),
    "no last watermarks": (lambda stream: [messages.pop() for messages in stream.values()], "row-uncovered"),
    "a missing statement": (lambda stream: stream[2].pop(0), "ddl-missing"),
    "statements out of order": (lambda stream: everywhere(stream, 1, Ddl(ts(-1), *DROP)), "ddl-out-of-order"),
    "a statement sent twice": (lambda stream: everywhere(stream, 1, Ddl(ts(0))), "ddl-repeated"),
    "a row before its statement": (lambda stream: everywhere(stream, 3, Ddl(ts(1, 2), *TRUNCATE)), "ddl-out-of-order"),
    "a row after its statement": (lambda stream: everywhere(stream, 2, Ddl(ts(1.5), *TRUNCATE)), "row-behind-ddl"),
    "a statement below one": (
        lambda stream: everywhere(stream, 1 << 20, Ddl(ts(3.9), *COMMENT)),
        "ddl-below-watermark",
    ),
    "a message of 17 rows": (lambda stream: stream[0].insert(-1, [*BATCH]), "too-many-events"),
    "a watermark in a statement's message": (lambda stream: stream[0][0].extend(stream[0].pop(1)), "message-mixed"),
    "a long message": (lambda stream: stream[0].insert(-1, [Row(ts(3.5), 3, None, "x" * 1100)]), "message-too-large"),
}
"""A way to break a good stream, and the check that must tell it."""

ONLY_OPEN = {"a missing statement", "a message of 17 rows", "a watermark in a statement's message"}
"""In canal-json DDL is in partition 0 alone, and a message is one event."""

IN_MILLISECONDS = "a row in another partition|rows in another order|rows sent twice|a row after its statement".split(
    "|"
)


@pytest.mark.parametrize("what", BREAKS)
def test_each_violation_is_found_by_its_check(what: str) -> None:
    """In both protocols; for some rules the milliseconds of Canal-JSON without the extension are enough."""
    stream = good()
    breaking, check = BREAKS[what]
    breaking(stream)
    assert check in told(stream, replace(ONCE, max_message_bytes=1000))
    in_canal = told(stream, replace(stream_spec(CANAL), max_message_bytes=1000))
    assert not in_canal if what in ONLY_OPEN else check in in_canal
    assert what not in IN_MILLISECONDS or check in told(stream, stream_spec(CANAL, False))


@pytest.mark.slow
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
    assert bool(told(stream, ONCE)) == wrong


@pytest.mark.slow
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
    assert (not told(stream, ONCE)) == (above and below and covered)


def test_watermarks_and_statements_are_found_where_canal_json_has_none() -> None:
    """Without the extension it has no watermarks; its statements are in partition 0 since v5.4."""
    spec = replace(stream_spec(CANAL), watermarks=False)
    assert {"watermark-unexpected"} == checks(check_records(records(good(), CANAL), spec)[0])
    stream: Stream = {partition: [[Mark(ts(0))]] for partition in range(PARTITIONS)}
    (ddl,) = records({0: [[Ddl(ts(0))]]}, CANAL)
    moved = [*records(stream, CANAL), replace(ddl, partition=1, offset=1)]
    assert {"ddl-unexpected", "ddl-missing"} == checks(check_records(moved, stream_spec(CANAL))[0])


def test_unreadable_and_foreign_messages_and_an_extra_partition_are_found() -> None:
    """Foreign messages do not look like those of the protocol."""
    damaged = Record("shop", 0, 97, 0, (1).to_bytes(8, "big") + b"broken", b"")
    junk = [Record("shop", 0, 98, 0, b"hello", b""), Record("shop", 0, 99, 0, None, b"junk")]
    elsewhere = [replace(junk[1], topic=topic, partition=partition) for topic, partition in (("shop", 7), ("x", 0))]
    violations = check_records([*records(good(), OPEN), damaged, *junk, *elsewhere], ONCE)[0]
    assert {"unreadable": 1, "foreign": 2, "partition-unknown": 2} == {
        check: count for (check, _), count in violations.counts.items()
    }
    assert {
        "rule 0, shop/0@99: not an open-protocol message: the key is null",
        "rule 0, shop/7@99: the topic has 3 partitions",
        "rule 0, x/0@99: the topic has 0 partitions",
    } <= {str(violation) for violation in violations.shown}


def test_a_message_may_be_as_long_as_the_limit() -> None:
    """Key, value and 36 bytes, as TiCDC counts them; statements have no limit."""
    stream: Stream = {partition: [[Ddl(ts(0), "x" * 500)], [Mark(ts(9, 0))]] for partition in range(PARTITIONS)}
    stream[0].insert(1, [Row(ts(1), 0, None, "x" * 200)])
    size = max(len(record.key or b"") + len(record.value or b"") for record in records(stream, OPEN)[1:2]) + 36
    assert set() == told(stream, replace(ONCE, max_message_bytes=size))
    assert {"message-too-large"} == told(stream, replace(ONCE, max_message_bytes=size - 1))


def test_a_row_of_an_unknown_table_is_found() -> None:
    """Its dispatcher cannot be recomputed."""
    (first, *_) = violations = found(good(), replace(ONCE, tables={("shop", "log"): KEYLESS})).shown
    assert {"table-unknown"} == {violation.check for violation in violations}
    assert "a row of shop.orders, a table the run does not have" == first.what


def test_all_violations_are_counted_and_some_are_kept() -> None:
    stream = behind(good(), *([Row(ts(1.5, number), 3, "a", "b")] for number in range(50)))
    violations, _ = check_records(records(stream, OPEN), RESTARTS, show=3)
    assert violations.counts["row-below-watermark", "shop.orders"] == 50
    assert [each.check for each in violations.shown].count("row-below-watermark") == 3
    assert {(each.check, each.table) for each in violations.shown} == violations.counts.keys()


# -- restarts -----------------------------------------------------------------------------------------------------


def behind(stream: Stream, *messages: Iterable[Event], partition: int = 0) -> Stream:
    """The stream with these messages before the last watermark of a partition."""
    stream[partition][-1:-1] = [[*events] for events in messages]
    return stream


NEW, OLD = Row(ts(3.5), 3, "x", "y"), Row(ts(3.2), 3, "name 3", "x")


@pytest.mark.parametrize(
    ("rows", "again", "once"),
    [
        ([OLD, NEW], set(), set()),
        ([OLD, NEW, OLD, NEW], set(), {"row-repeated", "row-out-of-order"}),
        ([OLD, NEW, OLD, OLD, NEW], set(), {"row-repeated", "row-out-of-order"}),
        ([OLD, NEW, OLD], {"older-row-last"}, {"row-repeated", "row-out-of-order"}),
        ([NEW, OLD], {"row-out-of-order"}, {"row-out-of-order"}),
    ],
)
def test_a_restart_repeats_everything_since_its_checkpoint(rows: list[Row], again: set[str], once: set[str]) -> None:
    """The newest change of a row included; where no restart is allowed, no change comes again."""
    stream = behind(good(), *([row] for row in rows))
    assert told(stream) == again
    assert told(stream, ONCE) == once


def test_what_comes_after_a_row_has_caught_up_is_no_gap_whatever_the_batches() -> None:
    later = Row(ts(3.7), 3, "z", "w"), Row(ts(3.6), 3, "y", "z")
    for rows, told_of in (([OLD, NEW, OLD, NEW, *later], set()), ([OLD, NEW, OLD, *later], {"older-row-last"})):
        of = records(behind(good(), *([row] for row in rows)), OPEN)
        found = [checks(check_records(of, RESTARTS, size=size)[0]) for size in (1, 2, 3, 1000)]
        assert found == [told_of | {"row-out-of-order"}] * 4


def test_rows_older_than_a_watermark_are_not_repeated() -> None:
    """A restart resumes from a checkpoint that no watermark exceeds."""
    stream = good()
    stream[0].append(stream[0][2])
    assert {"row-below-watermark", "row-out-of-order"} == told(stream)


def test_a_watermark_may_cover_the_repeated_older_change_alone() -> None:
    """The newer change must be repeated after it."""
    between, stream = Mark(ts(3.3, 0)), good()
    for partition in (1, 2):
        behind(stream, [between], partition=partition)
    assert told(behind(stream, [OLD], [NEW], [OLD], [between], [NEW])) == set()


def test_a_statement_and_a_watermark_may_be_repeated() -> None:
    """TiCDC repeats a statement at its checkpoint, after a watermark of the same height."""
    stream = good()
    for messages in stream.values():
        messages += [[Ddl(ts(5), *COMMENT)], [Mark(ts(5))]] * 2
    violations, (summary, *_) = check_records(records(stream, OPEN), RESTARTS)
    assert violations.counts == {}
    assert (summary.repeated_statements, len(summary.statements), len(summary.watermarks)) == (1, 2, 5)


@pytest.mark.parametrize("lacking", [(0,), (2,), (0, 1)])
def test_a_stopped_changefeed_may_leave_a_watermark_in_some_partitions(lacking: tuple[int, ...]) -> None:
    """All partitions have a later one; only a restart leaves such a stream."""
    stream = good()
    for partition in lacking:
        stream[partition].remove([Mark(ts(3, 0))])
    assert told(stream) == set()
    assert told(stream, ONCE) == {"watermark-missing"}
    assert interrupted_watermarks(check_records(records(stream, OPEN), RESTARTS)[1], RESTARTS).tolist() == [ts(3, 0)]


def test_later_watermarks_cover_missing_ones() -> None:
    """The last one is in every partition, unless the run is not complete."""
    stream = good()
    stream[1] = [message for message in stream[1] if message not in ([Mark(ts(3, 0))], [Mark(ts(4, 0))])]
    assert found(stream).counts == {("watermark-missing", ""): 2}
    stream = good()
    stream[2].pop()
    assert told(stream, replace(RESTARTS, finished=False)) == set()


def test_equal_rows_without_a_handle_key_are_repeated_only_after_others() -> None:
    """In one transaction equal rows are separate rows."""

    def log(line: str, number: float) -> bytes:
        head = {"id": 0, "database": "shop", "table": "log", "isDdl": False, "type": "INSERT", "pkNames": None}
        types = {"es": ts(number) >> 18, "sqlType": {"line": 12}, "mysqlType": {"line": "varchar"}}
        return json.dumps({**head, **types, "data": [{"line": line}], "_tidb": {"commitTs": ts(number)}}).encode()

    spec = replace(stream_spec(CANAL), restarts=True, finished=False)
    sent = [log("0", 1), log("0", 1), log("3", 2), log("0", 1), log("0", 1), log("3", 2)]
    all_records = [Record("shop", 0, offset, 0, None, value) for offset, value in enumerate(sent)]
    for size in (1, 2, 100):
        assert check_records(all_records, spec, size=size)[1][0].repeated == 3
    assert {} == check_records(all_records[:3], replace(spec, restarts=False))[0].counts


# -- parts of a stream --------------------------------------------------------------------------------------------


def test_a_stream_without_its_beginning_is_noted() -> None:
    """Messages before its first record are not reported as missing."""
    stream = good()
    block = [[event for event in events if isinstance(event, Row)] for events in stream[0][5:7]]
    stream[0][7:7] = [list[Event](events) for events in block if events]
    later = [record for record in records(stream, OPEN) if record.partition or record.offset >= 6]
    violations, (summary, *others) = check_records(later, RESTARTS)
    assert violations.counts == {}
    assert summary.headless and not any(other.headless for other in others)
    assert summary.notes == ("shop/0 begins in the middle, at offset 6: what was before it is not there",)


@pytest.mark.slow
def test_rows_follow_the_number_of_partitions_of_their_time() -> None:
    """A partition that is added needs no older watermark or statement."""
    stream, more = good(), replace(RESTARTS, partitions={"shop": PARTITIONS + 1})
    stream[PARTITIONS] = [[Mark(ts(4, 0))]]
    for row in (Row(ts(3.5, key), 100 + key, None, "late") for key in range(8)):
        behind(stream, [row], partition=row.id % (PARTITIONS + 1))
    assert told(stream, more) == set()
    stream[0].insert(stream[0].index([Mark(ts(2, 0))]), [Row(ts(1.9), 4, "name 4", "x")])
    assert told(stream, more) == {"wrong-partition"}


def test_a_partition_summary_has_progress_samples() -> None:
    """There is a sample for each watermark and for the end of each batch."""
    (summary, *_) = check_records(records(good(), OPEN), RESTARTS)[1]
    assert summary.samples.watermark.tolist() == [ts(0), ts(2, 0), ts(3, 0), ts(4, 0)]
    assert summary.samples.row.tolist()[0] == -1 and summary.samples.row.tolist()[-1] == summary.last_row


CHANGES: tuple[Callable[[list[list[Event]], int, int], None], ...] = (
    lambda messages, at, to: messages.insert(to, messages[at]),
    lambda messages, at, to: messages.insert(to, messages.pop(at)),
    lambda messages, at, to: messages.__delitem__(at),
)


@pytest.mark.slow
@settings(max_examples=15)
@given(data=st.data(), restarts=st.booleans(), size=st.integers(1, 7))
def test_batches_make_no_difference(data: st.DataObject, restarts: bool, size: int) -> None:
    """Violations and summaries are the same for any batch size."""
    stream = copy.deepcopy(good())
    for _ in range(data.draw(st.integers(1, 6))):
        messages = stream[data.draw(st.integers(0, 2))]
        places = st.integers(0, len(messages) - 1)
        data.draw(st.sampled_from(CHANGES))(messages, data.draw(places), data.draw(places))
    all_records, spec = records(stream, OPEN), replace(RESTARTS, restarts=restarts)
    (one, whole), (other, parts) = (check_records(all_records, spec, size=each) for each in (1000, size))
    first, second = (sorted(map(str, of.shown)) for of in (one, other))
    assert first == second
    assert [(each.repeated, each.rows, each.last_event, each.notes) for each in whole] == [
        (each.repeated, each.rows, each.last_event, each.notes) for each in parts
    ]


STEPS: tuple[Event, ...] = (
    *(Row(ts(3 + tenth / 10), 3, f"{tenth - 1}", f"{tenth}") for tenth in range(1, 6)),
    *(Mark(ts(3 + tenth / 10, 0)) for tenth in (3, 5)),
)


@pytest.mark.slow
@settings(max_examples=30)
@given(places=st.lists(st.integers(0, len(STEPS) - 1), max_size=15), size=st.integers(1, 7))
def test_batches_make_no_difference_to_the_changes_of_a_row(places: list[int], size: int) -> None:
    sent = records(behind(good(), *([STEPS[place]] for place in places)), OPEN)
    one, other = (sorted(map(str, check_records(sent, RESTARTS, size=each)[0].shown)) for each in (1000, size))
    assert one == other


# -- tables and dispatchers ---------------------------------------------------------------------------------------


def spec_of(partition: str, release: str = "v8.5.3", known: bool = True, columns: str = "") -> StreamSpec:
    uri = "kafka://127.0.0.1:9092/shop?protocol=open-protocol&partition-num=3"
    rule = f'{{matcher = ["*.*"], partition = "{partition}"{columns}}}'
    of = find(release) if release != V8_5.name else V8_5
    changefeed = load(uri, f"[sink]\ndispatchers = [{rule}]\n", of)
    spec = stream_spec_of(changefeed, [TABLE] if known else [], {"shop": 3}, of)
    return replace(spec, finished=False, complete=known, restarts=True)


def in_partition(partition: int, *rows: Row) -> list[Record]:
    return records({partition: [[row] for row in rows]}, OPEN)


TWO_KEYS = Row(ts(2), 1, None, "a"), Row(ts(1), 2, None, "b")
ONE_KEY = Row(ts(2), 1, "a", "b"), Row(ts(1.5), 2, None, "c"), Row(ts(1), 1, None, "a")


@pytest.mark.parametrize(
    ("release", "dispatcher", "rows", "count"),
    [
        ("v7.1.2", "index-value", TWO_KEYS, 1),
        ("v8.5.3", "index-value", TWO_KEYS, 0),
        ("v8.5.3", "index-value", ONE_KEY, 1),
        ("v8.5.3", "table", TWO_KEYS, 1),
        ("v8.5.3", "ts", TWO_KEYS, 0),
    ],
)
def test_rows_of_a_table_keep_the_releases_order(
    release: str, dispatcher: str, rows: tuple[Row, ...], count: int
) -> None:
    """Since 7.4 order is kept among rows of one partition key only; that of one row's changes always is."""
    spec = replace(spec_of(dispatcher, release), destination="not asked")
    counts = check_records(in_partition(0, *rows), spec)[0].counts
    assert counts == ({("row-out-of-order", "shop.orders"): count} if count else {})


@pytest.mark.parametrize("dispatcher", ["table", "index-value", "ts"])
def test_partitions_of_an_undefined_table_follow_from_its_messages(dispatcher: str) -> None:
    """Messages have the table's name and mark its handle key."""
    rows = [Row(ts(1, number), number, None, "a") for number in range(1, 9)]
    known, told_alone = spec_of(dispatcher), spec_of(dispatcher, known=False)
    for partition in range(3):
        first, second = (check_records(in_partition(partition, *rows), spec)[0] for spec in (known, told_alone))
        assert first.shown == second.shown
    assert sum(first.counts.values()) < 9


def test_unknown_dispatch_columns_are_noted() -> None:
    """Messages have no index names, so that index dispatchers cannot be checked."""
    spec = spec_of("index-value", known=False, columns=', index = "uk"')
    violations, (summary,) = check_records(in_partition(0, Row(ts(1), 1, None, "a")), spec)
    assert violations.counts == {}
    why = "its rows are dispatched by index uk, and its definition is not known"
    assert summary.unchecked == {("shop.orders", why): 1}
