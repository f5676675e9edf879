"""Load runs of Simple: the driver sends BOOTSTRAP between windows, whichever task sends the rows."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from support.playing import play

from simulator.consumer.records import Record, read_records
from simulator.consumer.verify import verify
from simulator.consumer.verify.options import VerifyOptions
from simulator.consumer.verify.verification import RIGHT

URI = "kafka://127.0.0.1:9092/t?protocol=simple&partition-num=3&encoding-format="
PLAN = """
seed = 7
rows-per-second = 3000
rows-per-transaction = {min = 1, max = 6}
[[table]]
definition = "CREATE TABLE shop.often (id BIGINT PRIMARY KEY, name VARCHAR(40))"
rows = 50
weight = 9
[[table]]
definition = "CREATE TABLE shop.seldom (id BIGINT PRIMARY KEY, name VARBINARY(40))"
rows = 20
[[ddl]]
every = "2s"
kinds = ["add-column", "truncate"]
"""


def loaded(home: Path, encoding: str, duration: str = "7s") -> tuple[list[Record], Path]:
    """The records of a run, and its truth."""
    (home / "plan.toml").write_text(PLAN)
    truth = home / "truth"
    options = ("--duration", duration, "--rate", "max", "--master", "none", "--sink-uri", URI + encoding)
    assert play("load", home / "plan.toml", *options, "--fixtures", home / "out", "--truth", truth) == 0
    return list(read_records(str(home / "out"))), truth


@pytest.mark.parametrize("encoding", ["json", "avro"])
def test_a_load_of_simple_is_right(tmp_path: Path, encoding: str) -> None:
    """With statements in between; every row has a schema that was told before it."""
    _, truth = loaded(tmp_path, encoding)
    verification = verify(VerifyOptions(str(tmp_path / "out"), truth=truth))
    assert verification.verdict == RIGHT, verification.failures


def test_bootstrap_comes_first_and_after_ten_thousand_rows(tmp_path: Path) -> None:
    """In every partition; a table that is emptied has a new id, and so its own."""
    records, _ = loaded(tmp_path, "json")
    first, told = dict[tuple[int, int], int](), Counter[tuple[int, str, int]]()
    for record in records:
        message = json.loads(record.value or b"")
        if message["type"] == "BOOTSTRAP":
            schema = message["tableSchema"]
            told[record.partition, schema["table"], schema["tableID"]] += 1
            first.setdefault((record.partition, schema["tableID"]), record.offset)
        elif "data" in message or "old" in message:
            assert first[record.partition, message["tableID"]] < record.offset
    assert {partition for partition, _, _ in told} == {0, 1, 2}
    assert len({number for _, _, number in told}) > 2
    assert max(told.values()) > 1
