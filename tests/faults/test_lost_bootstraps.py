"""The fault lose-bootstrap: rows of Simple whose schema nothing tells."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.playing import play

from simulator import Message, TiCDC
from simulator.consumer.verify import verify
from simulator.consumer.verify.options import VerifyOptions
from simulator.errors import UserError

SIMPLE = "kafka://127.0.0.1:9092/shop?protocol=simple&partition-num=2"
UNTOLD = '[[filter.event-filters]]\nmatcher = ["shop.*"]\nignore-event = ["create table"]\n'
TABLES = "CREATE TABLE shop.item (id INT PRIMARY KEY); CREATE TABLE shop.price (id INT PRIMARY KEY);"


def bootstraps(messages: list[Message]) -> list[str]:
    """The tables of those that were sent."""
    values = [message.value or b"" for message in messages]
    return [re.findall(rb'"table":"(\w+)"', value)[0].decode() for value in values if b"BOOTSTRAP" in value]


def test_bootstrap_of_a_table_does_not_come_while_the_fault_lasts() -> None:
    """Then it comes again, with those of other tables."""
    with TiCDC(sink_uri=SIMPLE, config="[sink]\nsend-bootstrap-interval-in-sec = 60") as ticdc:
        ticdc.execute(TABLES)
        ticdc.fault("lose-bootstrap", table="shop.item", for_="90s")
        ticdc.execute("INSERT INTO shop.item VALUES (1); INSERT INTO shop.price VALUES (1)")
        assert bootstraps(ticdc.messages()) == ["price", "price"]
        ticdc.wait("66s")
        assert bootstraps(ticdc.messages()) == ["price", "price"]
        ticdc.wait("66s")
        assert sorted(bootstraps(ticdc.messages())) == ["item", "item", "price", "price"]


@pytest.mark.parametrize("encoding", ["json", "avro"])
def test_verify_tells_the_rows_whose_schema_nothing_tells(tmp_path: Path, encoding: str) -> None:
    """As CREATE TABLE is filtered here."""
    (tmp_path / "changefeed.toml").write_text(UNTOLD)
    (tmp_path / "story.toml").write_text(
        f'sink-uri = "{SIMPLE}&encoding-format={encoding}"\nconfig = "changefeed.toml"\n'
        f'[[step]]\nsql = "CREATE DATABASE shop; {TABLES}"\n'
        '[[step]]\nfault = "lose-bootstrap"\n'
        '[[step]]\nsql = "INSERT INTO shop.item VALUES (1), (2)"\n'
    )
    out, truth = tmp_path / "out", tmp_path / "truth"
    assert play("run", tmp_path / "story.toml", "--fixtures", out, "--truth", truth) == 0
    failures = verify(VerifyOptions(str(out), truth=truth)).failures
    assert {failure.check: sum(failure.tables.values()) for failure in failures}["schema-unknown"] == 2


@pytest.mark.parametrize(
    ("uri", "config", "why"),
    [
        (SIMPLE.replace("simple", "open-protocol"), None, "TiCDC v8.5.3 with Open Protocol sends no BOOTSTRAP"),
        (SIMPLE, "[sink]\nsend-bootstrap-in-msg-count = 0", "the changefeed sends no BOOTSTRAP"),
    ],
)
def test_a_changefeed_without_bootstrap_cannot_lose_it(uri: str, config: str | None, why: str) -> None:
    with TiCDC(sink_uri=uri, config=config) as ticdc, pytest.raises(UserError, match=re.escape(why)):
        ticdc.fault("lose-bootstrap")
