"""The messages of the codecs and dispatchers keep the contract for any rule and protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.contract_checks import find_violations
from support.oracle import compare, events, in_commit_order, replay, state_of

from simulator.columns import cells
from simulator.consumer.contract.stream_spec import stream_spec_of
from simulator.consumer.decode import protocol_of
from simulator.consumer.records import Record
from simulator.releases import V8_5
from simulator.ticdc.changefeed import load
from simulator.ticdc.changefeed.model import Changefeed
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.codecs.row_changes import RowChanges
from simulator.ticdc.dispatch import choose_partitions, dispatch_hashes, route, router
from simulator.tidb.ddl.definitions.from_sql import create_table

TABLE = create_table(
    "CREATE TABLE `items` (`id` BIGINT UNSIGNED PRIMARY KEY, `e` ENUM('a','b\\'c'), `s` SET('x','y','z'), `f` FLOAT,"
    " `d` DOUBLE NOT NULL, `n` DECIMAL(10,2), `t` DATETIME(3), `v` VARBINARY(10), `b` BLOB, `x` TEXT, `j` JSON,"
    " `k` BIT(9), `y` YEAR)",
    "shop",
)
COLUMNS = tuple(column.name for column in TABLE.columns)
START = 1_735_689_600_000 << 18
PARTITIONS = 5

URIS = {
    "open-protocol": "kafka://127.0.0.1:9092/shop?protocol=open-protocol&partition-num=5&max-batch-size=4",
    "canal-json": "kafka://127.0.0.1:9092/shop?protocol=canal-json&partition-num=5&enable-tidb-extension=true",
    "canal-json without extension": "kafka://127.0.0.1:9092/shop?protocol=canal-json&partition-num=5",
}
RULES = {
    "table": '{matcher = ["*.*"], partition = "table"}',
    "index-value": '{matcher = ["shop.*"], partition = "index-value", topic = "{schema}_{table}"}',
    "columns": '{matcher = ["*.*"], partition = "columns", columns = ["E", "d"]}',
    "ts": '{matcher = ["*.*"], partition = "ts"}',
}

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
latin = st.binary(max_size=5).map(lambda data: data.decode("latin-1"))
number = st.integers(-(10**9), 10**9)
ROWS = st.tuples(
    st.none() | st.sampled_from(["a", "b'c"]),
    st.none() | st.sampled_from(["", "x", "x,z"]),
    st.none() | st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.none() | number.map(lambda value: f"{value / 100:.2f}"),
    st.none() | st.just("2024-05-06 07:08:09.010"),
    st.none() | latin,
    st.none() | latin,
    st.none() | texts,
    st.none() | st.just('{"a": [1, "<"]}'),
    st.none() | st.integers(0, 511).map(str),
    st.none() | st.sampled_from(["0", "2024"]),
)
Values = tuple[str | None, ...]


@dataclass(frozen=True)
class Change:
    ts: int
    before: Values | None
    after: Values | None


def image(values: Values | None) -> bytes | None:
    if values is None:
        return None
    return b"\xff".join(b"\xfe" if text is None else text.encode() for text in values)


def changes(data: Sequence[tuple[Values, Values | None]]) -> list[Change]:
    """For each pair an INSERT, then an UPDATE or a DELETE of it; rows of one `id` are one row."""
    found = []
    for place, (first, then) in enumerate(data):
        row_id = str((1 << 63) + place * 7)
        found.append(Change(START + (place << 18 | 1), None, (row_id, *first)))
        found.append(Change(START + (1000 + place << 18 | 1), (row_id, *first), then and (row_id, *then)))
    return sorted(found, key=lambda change: change.ts)


def stream(changefeed: Changefeed, rows: Sequence[Change]) -> dict[tuple[str, int], list[Record]]:
    """What the codecs make of the rows, where the dispatchers put them, and a last watermark."""
    to, codec = route(router(changefeed), TABLE), CODECS[changefeed.codec.protocol]
    parts: dict[int, list[Change]] = {partition: [] for partition in range(PARTITIONS)}
    for row in rows:
        values = dict(zip(COLUMNS, row.after or row.before or (), strict=True))
        hashed, row_id = dispatch_hashes(to, TABLE, cells.columns([values])), pa.nulls(1, pa.int64())
        parts[int(choose_partitions(to, hashed, np.array([row.ts]), row_id, PARTITIONS)[0])].append(row)
    found = {}
    mark = codec.watermark(START + (9999 << 18), changefeed.codec, V8_5)
    for partition, part in parts.items():
        messages = encoded(changefeed, part) + ([] if mark is None else [codec.message(mark, changefeed.codec, V8_5)])
        found[to.topic, partition] = [
            Record(to.topic, partition, offset, 0, *message) for offset, message in enumerate(messages)
        ]
    return found


def encoded(changefeed: Changefeed, part: Sequence[Change]) -> list[tuple[bytes | None, bytes]]:
    if not part:
        return []
    codec = CODECS[changefeed.codec.protocol]
    ids = [int((row.after or row.before or ("0",))[0] or 0) - (1 << 64) for row in part]
    images = (
        pa.array([image(row.before) for row in part], pa.binary()),
        pa.array([image(row.after) for row in part], pa.binary()),
    )
    rows = RowChanges(TABLE, None, pa.array([row.ts for row in part], pa.int64()), pa.array(ids, pa.int64()), *images)
    made = codec.encode(rows, changefeed.codec, V8_5)
    framed = codec.frame(made, np.zeros(len(part), np.int64), changefeed.codec, V8_5)
    keys = [None] * len(framed.values) if framed.keys is None else framed.keys.to_pylist()
    return list(zip(keys, framed.values.to_pylist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("uri", URIS)
@settings(max_examples=15, deadline=None)
@given(data=st.lists(st.tuples(ROWS, st.none() | ROWS), min_size=1, max_size=8))
def test_codecs_and_dispatchers_keep_the_contract(
    uri: str, rule: str, data: list[tuple[Values, Values | None]]
) -> None:
    """All points hold, and a replay from nothing leads to the final rows."""
    changefeed = load(URIS[uri], f"[sink]\ndispatchers = [{RULES[rule]}]\n")
    rows = changes(data)
    parts = stream(changefeed, rows)
    spec = stream_spec_of(changefeed, [TABLE], {topic: PARTITIONS for topic, _ in parts})
    assert [] == list(find_violations((record for part in parts.values() for record in part), spec))
    left = [(row.after[0], image(row.after)) for row in rows if row.after is not None]
    gone = {row.before[0] for row in rows if row.before is not None and row.after is None}
    expected = state_of((TABLE, last) for row_id, last in dict(left).items() if row_id not in gone and last is not None)
    done = replay(in_commit_order(events(part, spec) for part in parts.values()), {}, spec.tables)
    assert [] == [*done.violations, *compare(done.state, expected, spec.tables)]


@pytest.mark.parametrize("rule", ["index-value", "columns", "ts"])
def test_a_row_in_a_wrong_partition_violates_its_rule(rule: str) -> None:
    """No other rule is violated."""
    changefeed = load(URIS["open-protocol"], f"[sink]\ndispatchers = [{RULES[rule]}]\n")
    row: Values = ("a", None, None, "1.5", *[None] * 8)
    parts = stream(changefeed, changes([(row, None)]))
    spec = stream_spec_of(changefeed, [TABLE], {topic: PARTITIONS for topic, _ in parts})
    turned = [
        Record(topic, (partition + 1) % PARTITIONS, record.offset, 0, record.key, record.value)
        for (topic, partition), part in parts.items()
        for record in part
    ]
    assert {1} == {violation.rule for violation in find_violations(turned, spec)}


def test_a_spec_follows_its_changefeed() -> None:
    """Watermarks, batches and DDL depend on protocol and extension."""
    found = {uri: stream_spec_of(load(text), [TABLE], {"shop": PARTITIONS}) for uri, text in URIS.items()}
    assert {
        "open-protocol": (True, True, 4),
        "canal-json": (True, False, 1),
        "canal-json without extension": (False, False, 1),
    } == {uri: (spec.watermarks, spec.ddl_in_every_partition, spec.max_batch_size) for uri, spec in found.items()}


def test_the_protocol_is_recognised_from_a_message() -> None:
    """`inspect` depends on it."""
    for uri, text in URIS.items():
        row: Values = ("a", None, None, "1.5", *[None] * 8)
        ((key, value), *_) = encoded(load(text), changes([(row, None)]))
        assert uri.startswith(protocol_of(key, value))
