"""Streams of Simple are verified: their rows have the types of the table schemas that messages before them told."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from support.playing import play

from simulator.consumer.event_lines import lines
from simulator.consumer.records import read_records
from simulator.consumer.verify import verify
from simulator.consumer.verify.options import VerifyOptions
from simulator.consumer.verify.verification import RIGHT, UNPROVED

STORY = """
sink-uri = "kafka://127.0.0.1:9092/t?protocol=simple&partition-num=2&encoding-format={encoding}{more}"
[[step]]
sql = '''
CREATE TABLE a (id BIGINT UNSIGNED PRIMARY KEY, s VARCHAR(9), b BLOB, vb VARBINARY(5), n DECIMAL(9,2), e ENUM('x','y'),
  st SET('p','q'), f FLOAT, d DOUBLE, bt BIT(9), ts TIMESTAMP NULL, dt DATETIME(3), t TIME(2), j JSON, y YEAR, data INT,
  wide BIT(64));
INSERT INTO a VALUES (18446744073709551615, 'é"', x'00ff', 'ab', -1.5, 'y', 'p,q', 0.1, 1e300, 5, '2024-01-01 00:00:00',
  '2024-01-01 00:00:00.123', '-01:00:00.50', '{{"a": 1}}', 2024, 1, 18446744073709551615);
INSERT INTO a (id) VALUES (2);
UPDATE a SET s = 'z', f = 3.5e-20 WHERE id > 3;
ALTER TABLE a ADD COLUMN k INT NOT NULL DEFAULT 7 FIRST;
UPDATE a SET k = 8;
INSERT INTO a (id) VALUES (3);
DELETE FROM a WHERE id = 2;
RENAME TABLE a TO c;
UPDATE c SET data = data + 1;
'''
"""


def stream(home: Path, encoding: str = "json", more: str = "") -> tuple[Path, Path]:
    """Fixtures of the story and their truth."""
    (home / "story.toml").write_text(STORY.format(encoding=encoding, more=more))
    assert play("run", home / "story.toml", "--fixtures", home / "out", "--truth", home / "truth") == 0
    return home / "out", home / "truth"


@pytest.mark.parametrize(
    ("encoding", "more"),
    [("json", ""), ("avro", ""), ("json", "&large-message-handle-compression=lz4&large-message-handle-option=none")],
)
def test_a_stream_is_right_in_either_encoding(tmp_path: Path, encoding: str, more: str) -> None:
    """With and without compression; the rows are those of the truth."""
    found, truth = stream(tmp_path, encoding, more)
    verification = verify(VerifyOptions(str(found), truth=truth))
    assert verification.verdict == RIGHT, verification.failures
    assert [(table.table, table.expected, table.different) for table in verification.compared] == [("test.c", 2, 0)]


def test_a_row_whose_schema_was_not_told_is_a_violation(tmp_path: Path) -> None:
    """Once the statement that tells it is gone, and BOOTSTRAP with it."""
    found, truth = stream(tmp_path)
    for path in found.rglob("*.jsonl"):
        kept = [
            line for line in path.read_text().splitlines() if not any(word in line for word in ("CREATE", "BOOTSTRAP"))
        ]
        path.write_text("".join(f"{line}\n" for line in kept))
    verification = verify(VerifyOptions(str(found), truth=truth))
    checks = {failure.check: failure for failure in verification.failures}
    assert "schema-unknown" in checks
    assert "version" in str(checks["schema-unknown"]) and "test.a was not told before" in str(checks["schema-unknown"])


def test_inspect_shows_bytes_and_bootstrap(tmp_path: Path) -> None:
    """Bytes as bytes, since the schema is known; every message has a line."""
    found, _ = stream(tmp_path)
    records = [record for record in read_records(str(found)) if record.partition == 0]
    shown = [*lines(records)]
    assert len(shown) == len(records)
    assert any("BOOTSTRAP test.a version " in line for line in shown)
    assert any("INSERT test.a b=0x00ff" in line for line in shown)
    as_json = [json.loads(line) for line in lines(records, as_json=True)]
    assert {"event": "BOOTSTRAP", "schema": "test", "table": "a"}.items() <= as_json[2].items()
    alone = [line for record in records if b'"INSERT"' in (record.value or b"") for line in lines([record])]
    assert all(line.endswith("(its table schema was not told before)") for line in alone)


MOVED = """
sink-uri = "kafka://127.0.0.1:9092/t?protocol=simple&encoding-format={encoding}"
architecture = "{architecture}"
release = "v8.5.8"
[[step]]
sql = '''
CREATE TABLE p (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10));
CREATE TABLE x (id INT PRIMARY KEY);
INSERT INTO x VALUES (2);
ALTER TABLE p EXCHANGE PARTITION p0 WITH TABLE x;
INSERT INTO x VALUES (4);
'''
"""


@pytest.mark.parametrize(("encoding", "architecture"), [("json", "new"), ("avro", "new"), ("avro", "classic")])
def test_a_table_may_have_another_id_after_a_statement(tmp_path: Path, encoding: str, architecture: str) -> None:
    """It has that of a partition after EXCHANGE PARTITION, of which the rows are not told."""
    (tmp_path / "story.toml").write_text(MOVED.format(encoding=encoding, architecture=architecture))
    assert play("run", tmp_path / "story.toml", "--fixtures", tmp_path / "out", "--truth", tmp_path / "truth") == 0

    verification = verify(VerifyOptions(str(tmp_path / "out"), truth=tmp_path / "truth"))
    assert verification.verdict == UNPROVED, verification.failures


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [("BOOTSTRAP", b'"version":4', b'"version":3'), ("BOOTSTRAP", b'"tableID":1', b'"tableID":2')],
)
def test_a_message_beside_the_rows_is_compared(tmp_path: Path, kind: str, old: bytes, new: bytes) -> None:
    """With its version and its id."""
    found, truth = stream(tmp_path)
    for path in found.rglob("*.jsonl"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            value = base64.b64decode(line["value"])
            if f'"type":"{kind}"'.encode() in value:
                line["value"] = base64.b64encode(value.replace(old, new)).decode()
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    verification = verify(VerifyOptions(str(found), truth=truth))
    assert {failure.check for failure in verification.failures} == {"message-different"}
