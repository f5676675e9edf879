"""Illegal faults: each breaks one rule, and changes nothing else."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from support.contract_checks import find_violations, with_definitions

from simulator import Message, TiCDC
from simulator.api.session import records
from simulator.cli import run
from simulator.consumer.contract.stream_spec import stream_spec_of
from simulator.consumer.event_lines import lines
from simulator.consumer.records import read_records
from simulator.errors import UserError
from simulator.faults import FAULTS
from simulator.faults.kind import KAFKA
from simulator.releases import find
from simulator.ticdc.changefeed import load

OPEN = "kafka://127.0.0.1:9092/shop?protocol=open-protocol&partition-num=2"
CANAL = "kafka://127.0.0.1:9092/shop?protocol=canal-json&partition-num=2&enable-tidb-extension=true"
BY_KEY = '[sink]\ndispatchers = [{matcher = ["*.*"], partition = "index-value"}]\n'
RELEASE = "v8.5.3"
ILLEGAL = [
    name
    for name, kind in FAULTS.items()
    if not kind.legal and KAFKA in kind.sinks and name not in ("lose-bootstrap", "unknown-schema")
]
"""Those that Open Protocol can have."""

BEFORE = """
CREATE DATABASE shop;
CREATE TABLE shop.item (id INT PRIMARY KEY, stock INT);
CREATE TABLE shop.price (id INT PRIMARY KEY, cents INT);
INSERT INTO shop.item VALUES (1, 5), (2, 6);
"""
AFTER = """
INSERT INTO shop.price VALUES (1, 150);
INSERT INTO shop.item VALUES (3, 7), (4, 8), (5, 9);
UPDATE shop.item SET stock = stock - 1;
"""


@cache
def sent(uri: str, fault: str = "", **keys: object) -> Sequence[Message]:
    """Return a story, with a fault if one is named."""
    with TiCDC(RELEASE, sink_uri=uri, config=BY_KEY) as ticdc:
        ticdc.execute(BEFORE)
        messages = ticdc.messages()
        if fault:
            ticdc.fault(fault, **keys)
        else:
            ticdc.wait("1ms")
        ticdc.execute(AFTER)
        messages += ticdc.messages()
        ticdc.execute("DELETE FROM shop.item WHERE id = 1")
        return messages + ticdc.messages()


def told(messages: Sequence[Message]) -> list[str]:
    """Return their contents in order, without offsets."""
    return [line.partition("@")[0] + " " + line.partition(" ")[2] for line in lines(records(messages))]


def breaches(messages: Sequence[Message], uri: str) -> set[str]:
    """Return the checks of the contract that the stream fails; restarts are legal."""
    release = find(RELEASE)
    spec = stream_spec_of(load(uri, BY_KEY, release), (), {"shop": 2}, restarts=True, release=release)
    spec = with_definitions(spec, records(messages))
    return {violation.check for violation in find_violations(records(messages), spec)}


FITTING = [(uri, name) for name in ILLEGAL for uri in (OPEN, CANAL) if not (uri == CANAL and name == "truncated-batch")]
EXPECTED = {
    "lose-row": set(),
    "row-below-watermark": {"row-below-watermark"},
    "watermark-falls": {"watermark-falls"},
    "wrong-partition": {"wrong-partition"},
    "old-row-after-new": {"older-row-last"},
    "corrupt-json": {"unreadable"},
    "truncated-batch": {"unreadable"},
    "unknown-type": {"unreadable"},
}
"""By fault, the checks that must notice it; a lost row is noticed where rows are compared."""


@pytest.mark.parametrize("uri", [OPEN, CANAL])
def test_without_a_fault_the_story_keeps_the_contract(uri: str) -> None:
    assert set() == breaches(sent(uri), uri)


@pytest.mark.parametrize(("uri", "name"), FITTING)
def test_each_illegal_fault_breaks_its_own_rule_and_touches_one_event(uri: str, name: str) -> None:
    right, wrong = Counter(told(sent(uri))), sent(uri, name)

    assert EXPECTED[name] == breaches(wrong, uri)
    assert (right - Counter(told(wrong))).total() <= 1
    assert (Counter(told(wrong)) - right).total() <= 1
    assert told(wrong) != told(sent(uri))


def test_a_lost_row_is_the_next_one_of_its_table() -> None:
    lost = Counter(told(sent(CANAL))) - Counter(told(sent(CANAL, "lose-row", table="shop.item")))

    assert ["shop/0 455000614504235009 2025-01-01T00:00:00.007Z INSERT shop.item id=3 stock=7"] == list(lost)


def test_a_watermark_falls_as_far_as_it_is_told_to() -> None:
    more = Counter(told(sent(OPEN, "watermark-falls", by="5s"))) - Counter(told(sent(OPEN)))

    assert ["shop/0 455000613194039296 2024-12-31T23:59:55.009Z WATERMARK"] == list(more)


def test_the_older_of_two_changes_that_are_sent_together_changes_places_with_the_newer_one(tmp_path: Path) -> None:
    file = tmp_path / "old.toml"
    file.write_text(
        f"""
sink-uri = "{CANAL}"
[[step]]
sql = "CREATE DATABASE shop; CREATE TABLE shop.item (id INT PRIMARY KEY, stock INT)"
[[step]]
fault = "old-row-after-new"
[[step]]
sql = "INSERT INTO shop.item VALUES (1, 5), (2, 6); UPDATE shop.item SET stock = 9 WHERE id = 2"
""",
        "utf-8",
    )
    assert run(["run", str(file), "--fixtures", str(tmp_path / "out")]) == 0
    rows = [line.partition("Z ")[2] for line in lines(read_records(str(tmp_path / "out"))) if "shop.item id" in line]

    assert [
        "INSERT shop.item id=1 stock=5",
        "UPDATE shop.item id=2 stock: 6→9",
        "INSERT shop.item id=2 stock=6",
    ] == rows


def test_fixtures_say_of_a_message_that_cannot_be_read_that_there_is_nothing_in_it(tmp_path: Path) -> None:
    with TiCDC(sink_uri=CANAL, fixtures=tmp_path / "out") as ticdc:
        ticdc.execute("CREATE TABLE shop.item (id INT PRIMARY KEY)")
        ticdc.fault("corrupt-json")
        ticdc.execute("INSERT INTO shop.item VALUES (1)")
    text = "".join(path.read_text("utf-8") for path in sorted((tmp_path / "out" / "shop").iterdir()))

    assert [[]] == [line["events"] for line in map(json.loads, text.splitlines()) if not line["events"]]


@pytest.mark.parametrize("name", [name for name in ILLEGAL if name != "watermark-falls"])
def test_a_fault_that_meets_nothing_says_so(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The falling watermark is the last one."""
    file = tmp_path / "late.toml"
    file.write_text(
        f"""
sink-uri = "{OPEN}"
[[step]]
sql = "CREATE DATABASE shop; CREATE TABLE shop.item (id INT PRIMARY KEY); INSERT INTO shop.item VALUES (1)"
[[step]]
fault = "{name}"
""",
        "utf-8",
    )

    assert run(["run", str(file), "--fixtures", str(tmp_path / "out")]) == 0

    assert f"fault {name}: nothing came that it waits for" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("uri", "fault", "why"),
    [
        (CANAL, "truncated-batch", "TiCDC v8.5.3 with Canal-JSON puts each row into a message of its own"),
        (CANAL.replace("true", "false"), "row-below-watermark", "sends no watermarks here: enable-tidb-extension=true"),
        (CANAL.replace("true", "false"), "watermark-falls", "sends no watermarks here: enable-tidb-extension=true"),
        (OPEN.replace("num=2", "num=1"), "wrong-partition", "the topic has one partition"),
    ],
)
def test_what_the_changefeed_cannot_show_is_refused(uri: str, fault: str, why: str) -> None:
    with TiCDC(RELEASE, sink_uri=uri) as ticdc, pytest.raises(UserError, match=re.escape(why)):
        ticdc.fault(fault)


def test_a_table_is_named_with_its_database() -> None:
    with TiCDC() as ticdc, pytest.raises(UserError, match="expected a table with its database, such as shop.item"):
        ticdc.fault("lose-row", table="item")
