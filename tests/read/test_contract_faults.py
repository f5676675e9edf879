"""Faults at work in a run: a stream with those that TiCDC shows keeps the contract, the others are told by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from support.oracle import definitions, events, in_commit_order

from simulator.read.contract import Found, checked, stream_spec_of
from simulator.read.records import Record
from simulator.simulated import TiCDC
from simulator.ticdc.changefeed import load

URIS = {
    "open-protocol": "kafka://127.0.0.1:9092/shop?protocol=open-protocol&partition-num=3",
    "canal-json": "kafka://127.0.0.1:9092/shop?protocol=canal-json&partition-num=3&enable-tidb-extension=true",
}
RULES = {"table": "[sink]\n", "index-value": '[sink]\ndispatchers = [{matcher = ["*.*"], partition = "index-value"}]\n'}

ILLEGAL = {
    "row-below-watermark": {"row-below-watermark"}, "watermark-falls": {"watermark-falls"},
    "wrong-partition": {"wrong-partition"}, "corrupt-json": {"unreadable"}, "truncated-batch": {"unreadable"},
    "unknown-type": {"unreadable"}, "old-row-after-new": {"row-out-of-order", "older-row-last"},
}
"""A fault that no TiCDC shows -> the checks of which one at least must tell it. What is lost only a replay misses."""

LEGAL: Mapping[str, Mapping[str, Any]] = {
    "restart": {}, "partial-broadcast": {"of": "watermark", "partitions": 2}, "repeat-watermark": {},
    "late-partition": {"partition": 1, "by": "1s", "for": "2s"}, "table-order": {},
    "move-table": {"table": "shop.orders"},
    "batch": {"events": 2}, "add-partitions": {"partitions": 5}, "checkpoint-lag": {"for": "4s"},
}


def stream(protocol: str, rule: str, fault: str, keys: Mapping[str, Any]) -> Found:
    """What is told of a run with the fault in its middle."""
    uri = URIS[protocol]
    with TiCDC(sink_uri=uri, config=RULES[rule]) as ticdc:
        ticdc.execute("CREATE DATABASE shop; USE shop; CREATE TABLE orders (id INT PRIMARY KEY, v INT);"
                      "CREATE TABLE items (id INT PRIMARY KEY, v INT)")
        for step in range(6):
            if step == 3:
                ticdc.fault(fault, **keys)
            for table in ("orders", "items"):
                values = ", ".join(f"({step * 10 + number}, 0)" for number in range(6))
                ticdc.execute(f"INSERT INTO {table} (id, v) VALUES {values}; UPDATE {table} SET v = v + 1")
            if step == 4:
                ticdc.execute("ALTER TABLE orders ADD COLUMN w INT")
            ticdc.wait("700ms")
        ticdc.wait("7s")
        messages = ticdc.messages()
    sent = [Record(each.topic, each.partition, each.offset, 0, each.key, each.value) for each in messages]
    counts = {"shop": max(3, 1 + max(record.partition for record in sent))}
    spec = replace(stream_spec_of(load(uri, RULES[rule]), (), counts), restarts=True)
    parts = [[record for record in sent if record.partition == number] for number in range(counts["shop"])]
    tables = definitions(in_commit_order(events(part, spec) for part in parts), {})
    return checked(sent, replace(spec, later=tables))[0]


WAYS = [("open-protocol", "index-value"), ("canal-json", "table")]
BATCHED = {"batch", "truncated-batch"}
"""Faults of messages with several events, which canal-json does not have."""


def cases(faults: Iterable[str]) -> list[tuple[str, str, str]]:
    return [(fault, *way) for fault in faults for way in (WAYS[:1] if fault in BATCHED else WAYS)]


@pytest.mark.parametrize(("fault", "protocol", "rule"), cases(LEGAL))
def test_a_fault_that_ticdc_shows_keeps_the_contract(fault: str, protocol: str, rule: str) -> None:
    """Rows and statements that come again are no breach."""
    assert stream(protocol, rule, fault, LEGAL[fault]).shown == ()


@pytest.mark.parametrize(("fault", "protocol", "rule"), cases(ILLEGAL))
def test_a_fault_that_it_does_not_show_is_told_by_name(fault: str, protocol: str, rule: str) -> None:
    """By one check at least that says what it is."""
    assert {check for check, _ in stream(protocol, rule, fault, {}).counts} & ILLEGAL[fault]
