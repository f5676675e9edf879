"""What a restart of the changefeed may do to a stream, and what partial streams show."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.contract_checks import check_records
from support.contract_stream import TABLE, Ddl, Event, Mark, Row, Stream, good, records, stream_spec, ts

from simulator.consumer.contract.across_partitions import interrupted_watermarks
from simulator.consumer.contract.stream_spec import StreamSpec, stream_spec_of
from simulator.consumer.contract.violations import CHECKS, Violations
from simulator.consumer.records import Record
from simulator.releases import V8_5, find
from simulator.ticdc.changefeed import load

OPEN, CANAL = "open-protocol", "canal-json"
RESTARTS = replace(stream_spec(OPEN), restarts=True)


def found(stream: Stream, spec: StreamSpec = RESTARTS) -> Violations:
    return check_records(records(stream, spec.protocol, bool(spec.watermarks)), spec)[0]


def told(stream: Stream, spec: StreamSpec = RESTARTS) -> set[str]:
    """The names of the checks that tell something."""
    return {check for check, _ in found(stream, spec).counts}


def behind(stream: Stream, *messages: list[Event], partition: int = 0) -> Stream:
    """The stream with these messages before the last watermark of a partition."""
    stream[partition][-1:-1] = messages
    return stream


NEW, OLD = Row(ts(3.5), 3, "x", "y"), Row(ts(3.2), 3, "name 3", "x")


def test_an_older_change_repeated_alone_is_found() -> None:
    """A restart repeats everything since its checkpoint, including the newest change."""
    once: list[list[Event]] = [[OLD], [NEW]]

    assert told(behind(good(), *once)) == set()
    assert told(behind(good(), *once, *once)) == set()
    assert told(behind(good(), *once, [OLD], *once)) == set()
    assert told(behind(good(), *once, [OLD])) == {"older-row-last"}
    assert found(behind(good(), *once, [OLD])).counts == {("older-row-last", "shop.orders"): 1}


def test_a_new_older_change_after_a_newer_one_is_out_of_order() -> None:
    """This holds with and without restarts."""
    assert told(behind(good(), [NEW], [OLD])) == {"row-out-of-order"}


def test_a_watermark_may_cover_the_repeated_older_change_alone() -> None:
    """The newer change must be repeated after it."""
    between: list[Event] = [Mark(ts(3.3, 0))]
    everywhere = good()
    for partition in (1, 2):
        behind(everywhere, between, partition=partition)

    assert told(behind(everywhere, [OLD], [NEW], [OLD], between, [NEW])) == set()


def test_a_statement_and_a_watermark_may_be_repeated() -> None:
    """TiCDC repeats a statement at its checkpoint, after a watermark of the same height."""
    stream = good()
    for messages in stream.values():
        messages += [[Ddl(ts(5), "ALTER TABLE `orders` COMMENT 'x'", 17, "ALTER")], [Mark(ts(5))]] * 2

    assert told(stream) == set()
    summary = check_records(records(stream, OPEN), RESTARTS)[1][0]
    assert (summary.repeated_statements, len(summary.statements), len(summary.watermarks)) == (1, 2, 5)


@pytest.mark.parametrize("lacking", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)])
def test_a_stopped_changefeed_may_leave_a_watermark_in_some_partitions(lacking: tuple[int, ...]) -> None:
    """All partitions have a later one; only a restart leaves such a stream."""
    stream = good()
    for partition in lacking:
        stream[partition].remove([Mark(ts(3, 0))])

    assert told(stream) == set()
    assert told(stream, replace(RESTARTS, restarts=False)) == {"watermark-missing"}
    assert interrupted_watermarks(check_records(records(stream, OPEN), RESTARTS)[1], RESTARTS).tolist() == [ts(3, 0)]


def test_missing_last_watermarks_of_a_partition_are_found() -> None:
    """No later watermark covers the missing ones."""
    stream = good()
    lost = [message for message in stream[1] if isinstance(message[0], Mark)][1:]
    stream[1] = [message for message in stream[1] if message not in lost]

    assert found(stream).counts == {("watermark-missing", ""): len(lost)}
    assert len(lost) > 1


def test_the_last_watermark_is_in_every_partition() -> None:
    """Otherwise the run is not complete."""
    stream = good()
    stream[2].pop()

    assert told(stream) == {"watermark-missing"}
    assert told(stream, replace(RESTARTS, finished=False)) == set()


def test_equal_rows_without_a_handle_key_are_repeated_only_after_others() -> None:
    """In one transaction equal rows are separate rows."""

    def log(line: str, number: float) -> bytes:
        document = {
            "id": 0,
            "database": "shop",
            "table": "log",
            "isDdl": False,
            "type": "INSERT",
            "pkNames": None,
            "es": ts(number) >> 18,
            "sqlType": {"line": 12},
            "mysqlType": {"line": "varchar"},
            "data": [{"line": line}],
            "old": None,
            "_tidb": {"commitTs": ts(number)},
        }
        return json.dumps(document).encode()

    spec = replace(stream_spec(CANAL), restarts=True, finished=False)
    sent = [log("0", 1), log("0", 1), log("3", 2), log("0", 1), log("0", 1), log("3", 2)]
    all_records = [Record("shop", 0, offset, 0, None, value) for offset, value in enumerate(sent)]
    for size in (1, 2, 100):
        assert check_records(all_records, spec, size=size)[1][0].repeated == 3


# -- parts of a stream ------------------------------------------------------------------------------------------------


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


def grown(stream: Stream, partitions: int = 4) -> Stream:
    """A stream whose topic had one partition less until its third second; new rows go by the new number."""
    number = partitions - 1
    made: Stream = dict(stream.items())
    made[number] = [[Mark(ts(4, 0))]]
    for row in (Row(ts(3.5, key), 100 + key, None, "late") for key in range(8)):
        made[row.id % partitions][-1:-1] = [[row]]
    return made


def test_a_topic_with_an_added_partition_keeps_the_contract() -> None:
    """Rows follow the number of partitions of their time, and the new partition needs no older watermark or
    statement."""
    assert told(grown(good()), replace(RESTARTS, partitions={"shop": 4})) == set()


def test_an_old_row_in_an_added_partition_is_found() -> None:
    """At the time of the row there were fewer partitions."""
    stream = grown(good())
    behind_rows = stream[0].index([Mark(ts(2, 0))])
    stream[0].insert(behind_rows, [Row(ts(1.9), 4, "name 4", "x")])

    assert told(stream, replace(RESTARTS, partitions={"shop": 4})) == {"wrong-partition"}


def test_all_violations_are_counted_and_some_are_kept() -> None:
    """All violations are counted, however many there are."""
    stream = behind(good(), *([cast(Event, Row(ts(1.5, number), 3, "a", "b"))] for number in range(50)))
    violations, _ = check_records(records(stream, OPEN), RESTARTS, show=3)

    assert violations.counts["row-below-watermark", "shop.orders"] == 50
    assert [each.check for each in violations.shown].count("row-below-watermark") == 3
    assert {(each.check, each.table) for each in violations.shown} == violations.counts.keys()


CHANGES: tuple[Callable[[list[list[Event]], int, int], None], ...] = (
    lambda messages, at, to: messages.insert(to, messages[at]),
    lambda messages, at, to: messages.insert(to, messages.pop(at)),
    lambda messages, at, to: messages.__delitem__(at),
)


@pytest.mark.slow
@settings(max_examples=60)
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

    assert one.counts == other.counts
    assert sorted(map(str, one.shown)) == sorted(map(str, other.shown))
    assert [(each.repeated, each.rows, each.last_event, each.notes) for each in whole] == [
        (each.repeated, each.rows, each.last_event, each.notes) for each in parts
    ]


# -- tables and dispatchers ---------------------------------------------------------------------------------------


def spec_of(partition: str, release: str = "v8.5.3", known: bool = True, columns: str = "") -> StreamSpec:
    uri = "kafka://127.0.0.1:9092/shop?protocol=open-protocol&partition-num=3"
    rule = f'{{matcher = ["*.*"], partition = "{partition}"{columns}}}'
    found = find(release) if release != V8_5.name else V8_5
    changefeed = load(uri, f"[sink]\ndispatchers = [{rule}]\n", found)
    spec = stream_spec_of(changefeed, [TABLE] if known else [], {"shop": 3}, release=found, finished=False)
    return replace(spec, complete=known, restarts=True)


def in_partition(spec: StreamSpec, partition: int, *rows: Row) -> list[Record]:
    return list(records({partition: [[row] for row in rows]}, OPEN))


@pytest.mark.parametrize(
    ("release", "dispatcher", "expected"),
    [
        ("v7.1.2", "index-value", {"row-out-of-order"}),
        ("v8.5.3", "index-value", set()),
        ("v8.5.3", "table", {"row-out-of-order"}),
        ("v8.5.3", "ts", set()),
    ],
)
def test_rows_of_one_table_keep_the_order_of_the_release(release: str, dispatcher: str, expected: set[str]) -> None:
    """Since 7.4 order is kept among rows of one partition key only."""
    rows = Row(ts(2), 1, None, "a"), Row(ts(1), 2, None, "b")
    spec = replace(spec_of(dispatcher, release), destination="not asked")
    violations, _ = check_records(in_partition(spec, 0, *rows), spec)

    assert {check for check, _ in violations.counts} == expected


def test_rows_of_one_key_always_keep_their_order() -> None:
    """The order of one row's changes holds for every dispatcher."""
    spec = replace(spec_of("index-value"), destination="not asked")
    rows = Row(ts(2), 1, "a", "b"), Row(ts(1.5), 2, None, "c"), Row(ts(1), 1, None, "a")

    assert check_records(in_partition(spec, 0, *rows), spec)[0].counts == {("row-out-of-order", "shop.orders"): 1}


@pytest.mark.parametrize("dispatcher", ["table", "index-value", "ts"])
def test_partitions_of_an_undefined_table_follow_from_its_messages(dispatcher: str) -> None:
    """Messages have the table's name and mark its handle key."""
    rows = [Row(ts(1, number), number, None, "a") for number in range(1, 9)]
    known, told_alone = spec_of(dispatcher), spec_of(dispatcher, known=False)
    for partition in range(3):
        first, second = (check_records(in_partition(spec, partition, *rows), spec)[0] for spec in (known, told_alone))
        assert first.shown == second.shown
    assert sum(first.counts.values()) < 9


def test_unknown_dispatch_columns_are_noted() -> None:
    """Messages have no index names, so that index dispatchers cannot be checked."""
    spec = spec_of("index-value", known=False, columns=', index = "uk"')
    violations, (summary,) = check_records(in_partition(spec, 0, Row(ts(1), 1, None, "a")), spec)

    assert violations.counts == {}
    assert summary.unchecked == {
        ("shop.orders", "its rows are dispatched by index uk, and its definition is not known"): 1
    }


def test_foreign_messages_are_distinguished_from_damaged_ones() -> None:
    """Foreign messages do not look like those of the protocol."""
    values = {0: b"hello", 1: None, 2: (1).to_bytes(8, "big") + b"broken"}
    strangers = [Record("shop", 0, offset, 0, value, b"") for offset, value in values.items()]

    assert check_records(strangers, RESTARTS)[0].counts == {("foreign", ""): 2, ("unreadable", ""): 1}


def test_every_check_is_known_by_name() -> None:
    """Every check has its point of the contract."""
    stream = good()
    stream[0].append(stream[0][2])
    stream[1].insert(3, stream[0].pop(3))

    assert {(each.check, each.rule) for each in found(stream, replace(RESTARTS, restarts=False)).shown} <= {
        (name, check.point) for name, check in CHECKS.items()
    }


def test_a_partition_summary_has_progress_samples() -> None:
    """There is a sample for each watermark and for the end of each batch."""
    (summary, *_) = check_records(records(good(), OPEN), RESTARTS)[1]

    assert summary.samples.watermark.tolist() == [ts(0), ts(2, 0), ts(3, 0), ts(4, 0)]
    assert summary.samples.row.tolist()[0] == -1 and summary.samples.row.tolist()[-1] == summary.last_row
