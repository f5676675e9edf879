"""Streams of Simple are verified: their rows have the types of the table schemas that messages before them told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.playing import play

from simulator.consumer.event_lines import lines
from simulator.consumer.records import read_records
from simulator.consumer.verify import verify
from simulator.consumer.verify.options import VerifyOptions
from simulator.consumer.verify.verification import RIGHT

STORY = """
sink-uri = "kafka://127.0.0.1:9092/t?protocol=simple&partition-num=2&encoding-format={encoding}{more}"
[[step]]
sql = '''
CREATE TABLE a (id BIGINT UNSIGNED PRIMARY KEY, s VARCHAR(9), b BLOB, vb VARBINARY(5), n DECIMAL(9,2), e ENUM('x','y'),
  st SET('p','q'), f FLOAT, d DOUBLE, bt BIT(9), ts TIMESTAMP NULL, dt DATETIME(3), t TIME(2), j JSON, y YEAR, data INT);
INSERT INTO a VALUES (18446744073709551615, 'é"', x'00ff', 'ab', -1.5, 'y', 'p,q', 0.1, 1e300, 5, '2024-01-01 00:00:00',
  '2024-01-01 00:00:00.123', '-01:00:00.50', '{{"a": 1}}', 2024, 1);
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
