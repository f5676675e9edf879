"""Each fault in a run, then `verify`: what TiCDC shows is right, the rest is told by the fault's own check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simulator.cli import run
from simulator.faults import FAULTS
from simulator.faults.kind import KAFKA

PROTOCOLS = {"open-protocol": "protocol=open-protocol", "canal-json": "protocol=canal-json&enable-tidb-extension=true"}
CHANGEFEED = """
[sink]
dispatchers = [{matcher = ["*.*"], partition = "index-value"}]
[sink.kafka-config.large-message-handle]
large-message-handle-option = "handle-key-only"
"""
KEYS = {
    "batch": "events = 2",
    "message-size": 'table = "shop.item"\ncolumn = "name"',
    "add-partitions": "partitions = 4",
    "partial-broadcast": 'of = "watermark"\npartitions = 1',
    "late-partition": 'partition = 1\nby = "1s"\nfor = "2s"',
    "move-table": 'table = "shop.item"',
    "checkpoint-lag": 'for = "2s"',
}
TOLD = {
    "lose-row": "row-not-there",
    "row-below-watermark": "row-below-watermark",
    "watermark-falls": "watermark-falls",
    "wrong-partition": "wrong-partition",
    "old-row-after-new": "row-out-of-order",
    "corrupt-json": "unreadable",
    "truncated-batch": "unreadable",
    "unknown-type": "unreadable",
}
"""By fault that is not legal, the check that tells it."""

BATCHES = {"batch", "truncated-batch"}
"""Faults of messages with several rows, which Canal-JSON has not."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "protocol"),
    [
        (name, protocol)
        for name, kind in FAULTS.items()
        if KAFKA in kind.sinks
        for protocol in PROTOCOLS
        if (name not in BATCHES or protocol == "open-protocol") and name not in ("lose-bootstrap", "unknown-schema")
    ],
)
def test_a_run_with_a_fault_is_verified(
    name: str, protocol: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "changefeed.toml").write_text(CHANGEFEED, "utf-8")
    (tmp_path / "story.toml").write_text(
        f"""
sink-uri = "kafka://127.0.0.1:9092/shop?{PROTOCOLS[protocol]}&partition-num=2&max-message-bytes=3000"
config = "changefeed.toml"
[[step]]
sql = '''
CREATE DATABASE shop; CREATE TABLE shop.item (id INT PRIMARY KEY, stock INT, name VARCHAR(4000));
CREATE TABLE shop.price (id INT PRIMARY KEY, cents INT);
INSERT INTO shop.item VALUES (1, 5, 'a'), (2, 6, 'b'); INSERT INTO shop.price VALUES (1, 150), (2, 175)'''
[[step]]
wait = "2s"
[[step]]
sql = "UPDATE shop.item SET stock = 4"
[[step]]
fault = "{name}"
{KEYS.get(name, "")}
[[step]]
sql = '''
INSERT INTO shop.item VALUES (3, 7, 'x'), (4, 8, 'y'); UPDATE shop.item SET stock = stock + 1;
BEGIN; UPDATE shop.price SET cents = cents + 1; DELETE FROM shop.item WHERE id = 1; COMMIT'''
[[step]]
wait = "1500ms"
[[step]]
sql = '''
ALTER TABLE shop.item ADD COLUMN sold INT; UPDATE shop.item SET stock = 0; INSERT INTO shop.price VALUES (3, 99)'''
[[step]]
wait = "3s"
""",
        "utf-8",
    )
    out, truth = str(tmp_path / "out"), str(tmp_path / "truth")
    assert run(["run", str(tmp_path / "story.toml"), "--fixtures", out, "--truth", truth]) == 0
    capsys.readouterr()

    code = run(["verify", out, "--truth", truth, "--json"])

    found = json.loads(capsys.readouterr().out)
    told = {failure["check"] for failure in found["failures"]}
    cut = any(each["what"].startswith("values of") for each in found["not_checked"])  # rows with the handle key alone
    legal = (4, "unproved") if cut else (0, "right")
    assert (code, found["verdict"]) == (legal if FAULTS[name].legal else (1, "wrong"))
    assert {TOLD[name]} <= told if name in TOLD else not told
