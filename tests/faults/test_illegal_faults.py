"""Faults that no TiCDC has: each breaks one rule, and changes nothing else."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from support.playing import BY_KEY, play

from simulator import TiCDC
from simulator.errors import UserError
from simulator.faults import FAULTS
from simulator.faults.kind import KAFKA
from simulator.reader.event_lines import lines
from simulator.reader.records import read_records
from simulator.reader.verify import verify
from simulator.reader.verify.options import VerifyOptions

OPEN = "kafka://127.0.0.1:9092/shop?protocol=open-protocol&partition-num=2"
CANAL = "kafka://127.0.0.1:9092/shop?protocol=canal-json&partition-num=2&enable-tidb-extension=true"
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


Sent = Callable[..., Path]


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Sent:
    """Returns the fixtures of a story, with a fault if one is named; beside them is their truth."""

    @cache
    def played(uri: str, fault: str = "", **keys: object) -> Path:
        out = tmp_path_factory.mktemp("sent") / "out"
        with TiCDC(RELEASE, sink_uri=uri, config=BY_KEY, fixtures=out) as ticdc:
            ticdc.execute(BEFORE)
            ticdc.messages()
            ticdc.fault(fault, **keys) if fault else ticdc.wait("1ms")
            ticdc.execute(AFTER)
            ticdc.messages()
            ticdc.execute("DELETE FROM shop.item WHERE id = 1")
            ticdc.truth(out.with_name("truth"))
        return out

    return played


def contents(fixtures: Path) -> list[str]:
    """Return what `inspect` shows of them, in order, without offsets."""
    return [line.partition("@")[0] + " " + line.partition(" ")[2] for line in lines(read_records(str(fixtures)))]


def breaches(fixtures: Path) -> set[str]:
    """Return the checks that fail."""
    options = VerifyOptions(str(fixtures), truth=fixtures.with_name("truth"), master="none")
    return {failure.check for failure in verify(options).failures}


EVERY = [(uri, name) for name in ILLEGAL for uri in (OPEN, CANAL) if not (uri == CANAL and name == "truncated-batch")]
EXPECTED = {
    "lose-row": {"row-missing"},
    "row-below-watermark": {"row-below-watermark"},
    "watermark-falls": {"watermark-falls"},
    "wrong-partition": {"wrong-partition"},
    "old-row-after-new": {"older-row-last"},
    "corrupt-json": {"unreadable", "row-missing"},
    "truncated-batch": {"unreadable", "row-missing"},
    "unknown-type": {"unreadable", "row-missing"},
}
"""By fault, the checks that notice it."""


@pytest.mark.slow
@pytest.mark.parametrize("uri", [OPEN, CANAL])
def test_without_a_fault_the_story_is_right(sent: Sent, uri: str) -> None:
    assert breaches(sent(uri)) == set()


@pytest.mark.slow
@pytest.mark.parametrize(("uri", "name"), EVERY)
def test_each_illegal_fault_breaks_its_own_rule_and_touches_one_event(sent: Sent, uri: str, name: str) -> None:
    right, wrong = contents(sent(uri)), contents(sent(uri, name))

    assert breaches(sent(uri, name)) == EXPECTED[name]
    assert (Counter(right) - Counter(wrong)).total() <= 1
    assert (Counter(wrong) - Counter(right)).total() <= 1
    assert wrong != right


@pytest.mark.slow
def test_a_lost_row_is_the_next_one_of_its_table_and_a_watermark_falls_as_far_as_it_is_told_to(sent: Sent) -> None:
    def changed(uri: str, name: str, **keys: object) -> tuple[list[str], list[str]]:
        right, wrong = Counter(contents(sent(uri))), Counter(contents(sent(uri, name, **keys)))
        return list(right - wrong), list(wrong - right)

    lost = ["shop/0 455000614504235009 2025-01-01T00:00:00.007Z INSERT shop.item id=3 stock=7"]
    assert changed(CANAL, "lose-row", table="shop.item") == (lost, [])
    fallen = ["shop/0 455000613194039296 2024-12-31T23:59:55.009Z WATERMARK"]
    assert changed(OPEN, "watermark-falls", by="5s") == ([], fallen)


def scenario(directory: Path, uri: str, *steps: str, config: str = "") -> Path:
    (directory / "changefeed.toml").write_text(config)
    file = directory / "faults.toml"
    head = f'sink-uri = "{uri}"\nconfig = "changefeed.toml"\n'
    file.write_text(head + "".join(f"[[step]]\n{step}\n" for step in steps), "utf-8")
    return file


def test_the_older_of_two_changes_that_are_sent_together_changes_places_with_the_newer_one(tmp_path: Path) -> None:
    file = scenario(
        tmp_path,
        CANAL,
        'sql = "CREATE DATABASE shop; CREATE TABLE shop.item (id INT PRIMARY KEY, stock INT)"',
        'fault = "old-row-after-new"',
        'sql = "INSERT INTO shop.item VALUES (1, 5), (2, 6); UPDATE shop.item SET stock = 9 WHERE id = 2"',
    )
    assert play("run", file, "--fixtures", tmp_path / "out") == 0
    rows = [line.partition("Z ")[2] for line in lines(read_records(str(tmp_path / "out"))) if "shop.item id" in line]

    new, old = "UPDATE shop.item id=2 stock: 6→9", "INSERT shop.item id=2 stock=6"
    assert rows == ["INSERT shop.item id=1 stock=5", new, old]


def test_fixtures_say_of_a_message_that_cannot_be_read_that_there_is_nothing_in_it(tmp_path: Path) -> None:
    with TiCDC(sink_uri=CANAL, fixtures=tmp_path / "out") as ticdc:
        ticdc.execute("CREATE TABLE shop.item (id INT PRIMARY KEY)")
        ticdc.fault("corrupt-json")
        ticdc.execute("INSERT INTO shop.item VALUES (1)")
    text = "".join(path.read_text("utf-8") for path in sorted((tmp_path / "out" / "shop").iterdir()))

    assert [line["events"] for line in map(json.loads, text.splitlines()) if not line["events"]] == [[]]


def test_faults_that_meet_nothing_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [name for name in ILLEGAL if name != "watermark-falls"]
    table = "CREATE DATABASE shop; CREATE TABLE shop.item (id INT PRIMARY KEY); INSERT INTO shop.item VALUES (1)"
    file = scenario(tmp_path, OPEN, f'sql = "{table}"', *(f'fault = "{name}"' for name in names))

    assert play("run", file, "--fixtures", tmp_path / "out") == 0

    said = " ".join(capsys.readouterr().err.split())
    assert [name for name in names if f"fault {name}: nothing came that it waits for" not in said] == []


SIMPLE = "kafka://127.0.0.1:9092/shop?protocol=simple&partition-num=2"
UNTOLD = '[[filter.event-filters]]\nmatcher = ["shop.*"]\nignore-event = ["create table"]\n'
TABLES = "CREATE TABLE shop.item (id INT PRIMARY KEY); CREATE TABLE shop.price (id INT PRIMARY KEY);"


@pytest.mark.parametrize(
    ("uri", "config", "fault", "why"),
    [
        (CANAL, None, "truncated-batch", "TiCDC v8.5.3 with Canal-JSON puts each row into a message of its own"),
        *(
            (CANAL.replace("true", "false"), None, fault, "sends no watermarks here: enable-tidb-extension=true")
            for fault in ("row-below-watermark", "watermark-falls")
        ),
        (OPEN.replace("num=2", "num=1"), None, "wrong-partition", "the topic has one partition"),
        (OPEN, None, "lose-bootstrap", "TiCDC v8.5.3 with Open Protocol sends no BOOTSTRAP"),
        (SIMPLE, "[sink]\nsend-bootstrap-in-msg-count = 0", "lose-bootstrap", "the changefeed sends no BOOTSTRAP"),
    ],
)
def test_what_the_changefeed_cannot_show_is_refused(uri: str, config: str | None, fault: str, why: str) -> None:
    with TiCDC(RELEASE, sink_uri=uri, config=config) as ticdc, pytest.raises(UserError, match=re.escape(why)):
        ticdc.fault(fault)


@pytest.mark.slow
def test_bootstrap_of_a_table_does_not_come_while_the_fault_lasts() -> None:

    def bootstraps() -> list[str]:
        values = [message.value or b"" for message in ticdc.messages()]
        return [re.findall(rb'"table":"(\w+)"', value)[0].decode() for value in values if b"BOOTSTRAP" in value]

    with TiCDC(sink_uri=SIMPLE, config="[sink]\nsend-bootstrap-interval-in-sec = 60") as ticdc:
        ticdc.execute(TABLES)
        ticdc.fault("lose-bootstrap", table="shop.item", for_="90s")
        ticdc.execute("INSERT INTO shop.item VALUES (1); INSERT INTO shop.price VALUES (1)")
        assert bootstraps() == ["price", "price"]
        ticdc.wait("66s")
        assert bootstraps() == ["price", "price"]
        ticdc.wait("66s")
        assert sorted(bootstraps()) == ["item", "item", "price", "price"]


@pytest.mark.parametrize("encoding", ["json", "avro"])
def test_verify_tells_the_rows_whose_schema_nothing_tells(tmp_path: Path, encoding: str) -> None:
    """As CREATE TABLE is filtered here."""
    steps = (
        f'sql = "CREATE DATABASE shop; {TABLES}"',
        'fault = "lose-bootstrap"',
        'sql = "INSERT INTO shop.item VALUES (1), (2)"',
    )
    file = scenario(tmp_path, f"{SIMPLE}&encoding-format={encoding}", *steps, config=UNTOLD)
    out, truth = tmp_path / "out", tmp_path / "truth"
    assert play("run", file, "--fixtures", out, "--truth", truth) == 0
    failures = verify(VerifyOptions(str(out), truth=truth)).failures
    assert {failure.check: sum(failure.tables.values()) for failure in failures}["schema-unknown"] == 2
