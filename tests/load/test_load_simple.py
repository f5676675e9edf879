"""Load runs of Simple: the driver sends BOOTSTRAP between windows, whichever task sends the rows."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from support.playing import play

from simulator.reader.records import read_records
from simulator.reader.verify import verify
from simulator.reader.verify.options import VerifyOptions
from simulator.reader.verify.verification import RIGHT

URI = "kafka://127.0.0.1:9092/t?protocol=simple&partition-num=3&encoding-format="
PLAN = """
seed = 7
rows-per-second = 500
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


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["json", "avro"])
def test_every_row_has_a_schema_that_was_told_before_it(tmp_path: Path, encoding: str) -> None:
    """BOOTSTRAP comes first in every partition, and again after so many rows; a table that is emptied has a new id, and
    so its own."""
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "changefeed.toml").write_text("[sink]\nsend-bootstrap-in-msg-count = 400\n")
    out, truth = tmp_path / "out", tmp_path / "truth"
    to = ("--sink-uri", URI + encoding, "--config", tmp_path / "changefeed.toml", "--master", "none")
    options = ("--duration", "5s", "--rate", "max", "--fixtures", out, "--truth", truth)
    assert play("load", tmp_path / "plan.toml", *to, *options) == 0
    verification = verify(VerifyOptions(str(out), truth=truth))
    assert verification.verdict == RIGHT, verification.failures
    if encoding == "avro":
        return
    first, told = dict[tuple[int, int], int](), Counter[tuple[int, str, int]]()
    for record in read_records(str(out)):
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
