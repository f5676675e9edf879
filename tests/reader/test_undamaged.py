"""`verify` of streams as TiCDC sends them, whose messages lose something or look odd: never WRONG, and UNPROVED with the reason
where messages do not tell.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from support.playing import play

from simulator.reader.verify import verify
from simulator.reader.verify.options import VerifyOptions
from simulator.reader.verify.verification import RIGHT, UNPROVED, WRONG, Verification

TIMED = "enable-tidb-extension=true"
BY_TABLE = 'dispatchers = [{matcher = ["*.*"], topic = "{schema}_{table}"}]\n'
BY_COLUMN = 'dispatchers = [{matcher = ["*.*"], partition = "columns", columns = ["v"]}]\n'
REGISTRY = 'schema-registry = "http://127.0.0.1:8081"\n'
NO_DROP = '[[filter.event-filters]]\nmatcher = ["test.t"]\nignore-event = ["drop table"]\n'

RENAMED = """CREATE TABLE a (id INT PRIMARY KEY); CREATE TABLE b (id INT PRIMARY KEY); INSERT INTO a VALUES (1);
INSERT INTO b VALUES (2); RENAME TABLE a TO x, b TO y; INSERT INTO x VALUES (11); INSERT INTO y VALUES (12)"""
EXCHANGED = """CREATE TABLE p (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (10));
CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO p VALUES (1); INSERT INTO t VALUES (2);
ALTER TABLE p EXCHANGE PARTITION a WITH TABLE t; INSERT INTO p VALUES (3); DELETE FROM t WHERE id = 1"""
TO_ANOTHER = """CREATE DATABASE s; CREATE TABLE a (id INT PRIMARY KEY); INSERT INTO a VALUES (1); ALTER TABLE a RENAME TO s.a;
UPDATE s.a SET id = 2; RENAME TABLE s.a TO test.b; INSERT INTO b VALUES (3)"""
OUT = """CREATE TABLE t_a (id INT PRIMARY KEY); INSERT INTO t_a VALUES (1); RENAME TABLE t_a TO old; INSERT INTO old VALUES (2);
CREATE TABLE t_b (id INT PRIMARY KEY); INSERT INTO t_b VALUES (1)"""
LARGE = """CREATE TABLE t (id INT PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'a'); UPDATE t SET v = REPEAT('b', 900);
UPDATE t SET v = REPEAT('c', 900)"""
DROPPED_DATABASE = """CREATE DATABASE s; CREATE TABLE s.a (id INT PRIMARY KEY); INSERT INTO s.a VALUES (1); DROP DATABASE s;
CREATE TABLE b (id INT PRIMARY KEY); INSERT INTO b VALUES (3)"""
DROPPED = """CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); DROP TABLE t;
CREATE TABLE u (id INT PRIMARY KEY); INSERT INTO u VALUES (1)"""
DEFAULTS = """CREATE TABLE t (id INT PRIMARY KEY, v INT DEFAULT 5); INSERT INTO t VALUES (1, NULL), (2, 5), (3, 7);
UPDATE t SET v = NULL WHERE id = 3"""
WORDS = """CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9)); INSERT INTO t VALUES (1, 'null'), (2, NULL), (3, 'x'), (4, '');
UPDATE t SET v = NULL WHERE id = 1; UPDATE t SET v = 'null' WHERE id = 3"""
WORD_KEY = (
    "CREATE TABLE t (v VARCHAR(9) PRIMARY KEY, n INT); INSERT INTO t VALUES ('null', 1), ('x', 2); UPDATE t SET n = 3"
)
MOVED = """CREATE TABLE t (id INT PRIMARY KEY, v INT, u INT UNIQUE); INSERT INTO t VALUES (1, 1, 1), (2, 2, 2);
UPDATE t SET v = v + 1; UPDATE t SET u = u + 10"""
ROUNDED_KEY = """CREATE TABLE t (d DECIMAL(30,10) PRIMARY KEY, v INT); INSERT INTO t VALUES (1.5, 1),
(12345678901234567890.0000000001, 2), (12345678901234567890.0000000002, 3); UPDATE t SET v = v + 1"""


def recorded(home: Path, sql: str, protocol: str, release: str, config: str) -> None:
    (home / "story.sql").write_text(sql, "utf-8")
    (home / "changefeed.toml").write_text(config)
    architecture, _, tag = release.rpartition(":")
    uri = f"kafka://127.0.0.1:9092/t?protocol={protocol}"
    of = ("--release", tag, "--architecture", architecture or "classic", "--config", home / "changefeed.toml")
    outputs = ("--fixtures", home / "out", "--truth", home / "truth")
    assert play("run", home / "story.sql", "--sink-uri", uri, *of, *outputs) == 0


def verified(home: Path) -> Verification:
    return verify(VerifyOptions(str(home / "out"), truth=home / "truth", master="none"))


@pytest.mark.parametrize(
    ("sql", "protocol", "release", "config", "verdict", "why"),
    [
        (RENAMED, f"avro&{TIMED}", "v8.5.3", f"[sink]\n{REGISTRY}", UNPROVED, "several tables of one topic"),
        (RENAMED, "avro", "v7.5.4", f"[sink]\n{REGISTRY}", UNPROVED, "several tables of one topic"),
        (EXCHANGED, "avro", "v8.5.3", f"[sink]\n{REGISTRY}", UNPROVED, "several tables of one topic"),
        (RENAMED, "simple", "v8.5.3", f"[sink]\n{BY_TABLE}", RIGHT, ""),
        (RENAMED, "simple&encoding-format=avro", "new:v8.5.4", f"[sink]\n{BY_TABLE}", RIGHT, ""),
        (TO_ANOTHER, "simple", "v7.5.4", f"[sink]\n{BY_TABLE}", RIGHT, ""),
        (TO_ANOTHER, "simple&encoding-format=avro", "new:v8.5.8", f"[sink]\n{BY_TABLE}", RIGHT, ""),
        (OUT, "open-protocol", "v5.4.3", "[filter]\nrules = ['test.t*']\n", UNPROVED, "took it out of the changefeed"),
        (OUT, "open-protocol", "v8.5.3", "[filter]\nrules = ['test.t*']\n", RIGHT, ""),
        (EXCHANGED, "maxwell", "v5.4.3", "enable-old-value = false\n", UNPROVED, "took rows out of it"),
        (DROPPED_DATABASE, f"canal-json&{TIMED}", "v7.5.4", f"[sink]\n{BY_TABLE}", RIGHT, ""),
        (DROPPED_DATABASE, "open-protocol", "new:v8.5.4", f"[sink]\n{BY_TABLE}", RIGHT, ""),
        (TO_ANOTHER, "simple", "v7.6.0", f"[sink]\n{BY_TABLE}", RIGHT, ""),
        (DROPPED, f"canal-json&{TIMED}", "v7.5.4", f"[sink]\n{BY_TABLE}{NO_DROP}", RIGHT, ""),
        (DROPPED, "open-protocol", "new:v8.5.4", f"[sink]\n{BY_TABLE}{NO_DROP}", RIGHT, ""),
        (DEFAULTS, "debezium", "v8.5.3", f"[sink]\n{BY_COLUMN}", UNPROVED, "by which they are dispatched"),
        (WORDS, f"canal-json&{TIMED}", "new:v8.5.4", "", RIGHT, ""),
        (WORDS, f"canal-json&{TIMED}", "new:v8.5.4", f"[sink]\n{BY_COLUMN}", UNPROVED, "by which they are dispatched"),
        (WORD_KEY, f"canal-json&{TIMED}", "new:v8.5.4", "", UNPROVED, "do not tell its handle key"),
        (WORD_KEY, f"canal-json&{TIMED}", "new:v8.5.7", "", RIGHT, ""),
        (MOVED, "maxwell", "v7.5.4", "[sink]\ndelete-only-output-handle-key-columns = true\n", RIGHT, ""),
        (ROUNDED_KEY, "debezium", "v8.5.3", "", UNPROVED, "do not tell its handle key"),
    ],
)
def test_what_ticdc_sends_is_not_wrong(
    sql: str, protocol: str, release: str, config: str, verdict: str, why: str, tmp_path: Path
) -> None:
    recorded(tmp_path, sql, protocol, release, config)
    found = verified(tmp_path)
    assert (found.verdict, found.failures) == (verdict, ())
    assert any(why in each.why for each in found.unproved) or not why


@pytest.mark.parametrize(
    ("sql", "protocol", "release", "config", "old", "new", "check"),
    [
        (RENAMED, "simple", "v8.5.3", f"[sink]\n{BY_TABLE}", b'"id":"11"', b'"id":"13"', "row-missing"),
        (
            DROPPED,
            f"canal-json&{TIMED}",
            "v7.5.4",
            f"[sink]\n{BY_TABLE}{NO_DROP}",
            b'"id":"1"',
            b'"id":"2"',
            "row-missing",
        ),
        (WORDS, f"canal-json&{TIMED}", "new:v8.5.4", "", b'"v":null', b'"v":"y"', "row-different"),
        (MOVED, "maxwell", "v7.5.4", "", b'"u":11', b'"u":13', "row-different"),
    ],
)
def test_a_value_that_was_not_sent_is_wrong_there(
    sql: str, protocol: str, release: str, config: str, old: bytes, new: bytes, check: str, tmp_path: Path
) -> None:
    recorded(tmp_path, sql, protocol, release, config)
    for path in (tmp_path / "out").rglob("*.jsonl"):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(f"{json.dumps(_replaced(record, old, new))}\n" for record in records))
    found = verified(tmp_path)
    assert found.verdict == WRONG
    assert check in {failure.check for failure in found.failures}


def _replaced(record: dict[str, object], old: bytes, new: bytes) -> dict[str, object]:
    value = base64.b64decode(str(record["value"] or ""))
    return record | {"value": base64.b64encode(value.replace(old, new)).decode() or None}


def test_a_row_in_a_file_may_have_old_values_that_its_message_has_not(tmp_path: Path) -> None:
    """With only-output-updated-columns, whose messages leave out a handle key that did not change."""
    large = (
        f'large-message-handle-option = "claim-check"\nclaim-check-storage-uri = "{(tmp_path / "claims").as_uri()}"\n'
    )
    protocol = "open-protocol&max-message-bytes=800&only-output-updated-columns=true"
    recorded(tmp_path, LARGE, protocol, "v8.5.3", f"[sink.kafka-config.large-message-handle]\n{large}")
    found = verified(tmp_path)
    assert (found.verdict, found.failures) == (RIGHT, ())


def test_a_schema_that_no_topic_tells_is_missed(tmp_path: Path) -> None:
    """Rows after a RENAME have the schema that its statement tells in the topic of the old name."""
    recorded(tmp_path, RENAMED, "simple", "v8.5.3", f"[sink]\n{BY_TABLE}")
    uri = "kafka://127.0.0.1:9092/t?protocol=simple"

    def checks() -> set[str]:
        options = VerifyOptions(
            str(tmp_path / "out"), after=str(tmp_path / "truth"), sink_uri=uri, config=tmp_path / "changefeed.toml"
        )
        return {failure.check for failure in verify(options).failures}

    assert checks() == set()
    for path in (tmp_path / "out").rglob("*.jsonl"):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        left = [each for each in records if b"RENAME" not in base64.b64decode(each["value"] or "")]
        numbered = (each | {"offset": offset} for offset, each in enumerate(left))
        path.write_text("".join(f"{json.dumps(record)}\n" for record in numbered))
    assert "schema-unknown" in checks()
