"""Streams of Avro are verified: rows without a commit-ts count where they are in their partition."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.playing import play

from simulator.consumer.verify import verify
from simulator.consumer.verify.options import VerifyOptions
from simulator.consumer.verify.verification import RIGHT, UNPROVED, Verification

EXTENSION = "&enable-tidb-extension=true"
CONFIG = """
[sink]
schema-registry = "http://127.0.0.1:8081"
dispatchers = [{matcher = ["*.*"], topic = "{schema}_{table}", partition = "index-value"}]
"""
SQL = """
CREATE TABLE test.`a b` (`i d` BIGINT UNSIGNED PRIMARY KEY, s VARCHAR(9), b BLOB, n DECIMAL(38,18), e ENUM('x','y'),
  st SET('p','q'), f FLOAT, d DOUBLE, bt BIT(9), ts TIMESTAMP NULL, t TIME(2), j JSON, y YEAR);
INSERT INTO test.`a b` VALUES (18446744073709551615, 'é"', x'00ff', 12345678901234567890.123456789012345678, 'y', 'p,q',
  0.1, 1e300, 5, '2024-01-01 00:00:00', '-01:00:00.50', '{"a": 1}', 2024);
INSERT INTO test.`a b` (`i d`) VALUES (2), (3), (4);
UPDATE test.`a b` SET s = 'z', f = 3.5e-20 WHERE `i d` > 3;
DELETE FROM test.`a b` WHERE `i d` = 2;
INSERT INTO test.`a b` (`i d`, s) VALUES (2, 'again');
DELETE FROM test.`a b` WHERE `i d` = 3;
UPDATE test.`a b` SET `i d` = 5 WHERE `i d` = 4;
"""


@dataclass(frozen=True)
class Stream:
    """Fixtures, and their truth."""

    out: Path
    truth: Path

    def verified(self, restarts: bool = True) -> Verification:
        return verify(VerifyOptions(str(self.out), truth=self.truth, restarts=restarts))

    def partition_of(self, rows: int) -> Path:
        """A partition with at least so many rows."""
        return next(path for path in sorted(self.out.rglob("*.jsonl")) if len(path.read_text().splitlines()) >= rows)


def stream(
    home: Path,
    more: str = EXTENSION,
    architecture: str = "classic",
    dispatcher: str = "index-value",
    release: str = "v8.5.7",
    config: str = "",
    sql: str = SQL,
) -> Stream:
    (home / "s.sql").write_text(sql)
    (home / "cf.toml").write_text(CONFIG.replace("index-value", dispatcher) + config)
    uri = f"kafka://127.0.0.1:9092/t?protocol=avro&partition-num=2{more}"
    options = ("--sink-uri", uri, "--config", home / "cf.toml", "--release", release, "--architecture", architecture)
    assert play("run", home / "s.sql", *options, "--fixtures", home / "out", "--truth", home / "truth") == 0
    return Stream(home / "out", home / "truth")


def checks(verification: Verification) -> set[str]:
    return {failure.check for failure in verification.failures}


@pytest.mark.parametrize("more", ["", EXTENSION, EXTENSION + "&avro-enable-watermark=true"])
def test_a_stream_is_right(tmp_path: Path, more: str) -> None:
    """Whether rows tell their commit-ts or not; names in messages are those that Avro allows."""
    found = stream(tmp_path, more)
    for restarts in (True, False):
        verification = found.verified(restarts)
        assert verification.verdict == RIGHT, verification.failures
        assert [(table.table, table.expected, table.found) for table in verification.compared] == [("test.a b", 3, 3)]
        untimed = [each.what for each in verification.not_checked if each.what.startswith("the commit-ts of")]
        assert untimed == [f"the commit-ts of {'3 DELETEs' if more else '11 row changes'}"]


def test_a_stream_of_the_new_architecture_tells_the_commit_ts_of_deletes(tmp_path: Path) -> None:
    verification = stream(tmp_path, EXTENSION + "&avro-enable-watermark=true", "new").verified(False)

    assert verification.verdict == RIGHT, verification.failures
    assert verification.not_checked == ()


@pytest.mark.parametrize("release", ["v7.1.5", "v8.5.3"])
def test_a_stream_with_row_checksums_is_right(tmp_path: Path, release: str) -> None:
    """Messages have a boolean then, as no column has."""
    texts = "&avro-decimal-handling-mode=string&avro-bigint-unsigned-handling-mode=string"
    checked = '[integrity]\nintegrity-check-level = "correctness"'
    verification = stream(tmp_path, EXTENSION + texts, release=release, config=checked).verified()

    assert verification.verdict == RIGHT, verification.failures


@pytest.mark.parametrize(
    ("type", "value", "other", "check"),
    [
        ("VARCHAR(9)", "one", "two", "changes-different"),
        ("VARCHAR(2), f FLOAT", "on", "longer than 2 characters", "message-different"),
        ("DECIMAL(5,2), f FLOAT", "1.50", "many", "message-different"),
        ("DATETIME, f FLOAT", "2024-01-02 03:04:05", "2024-13-02 03:04:05", "message-different"),
    ],
)
def test_a_value_that_a_later_change_replaces_is_told(
    tmp_path: Path, type: str, value: str, other: str, check: str
) -> None:
    """Though nothing tells the commit-ts of rows; beside a FLOAT if no column can have it."""
    sql = f"CREATE TABLE test.a (id INT PRIMARY KEY, v {type}); INSERT INTO test.a (id, v) VALUES (1, '{value}');"
    found = stream(tmp_path, "&avro-decimal-handling-mode=string", sql=f"{sql} UPDATE test.a SET v = NULL;")
    path = found.partition_of(2)
    first, second = (json.loads(line) for line in path.read_text().splitlines())
    old, new = (bytes([2 * len(text)]) + text.encode() for text in (value, other))
    assert old in base64.b64decode(first["value"])
    first["value"] = base64.b64encode(base64.b64decode(first["value"]).replace(old, new)).decode()
    path.write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n")

    assert checks(found.verified()) == {check}


def test_rows_that_come_again_are_right_with_restarts_alone(tmp_path: Path) -> None:
    found = stream(tmp_path)
    path = found.partition_of(3)
    lines = path.read_text().splitlines()
    again = [json.loads(line) | {"offset": offset} for offset, line in enumerate([*lines, *lines[1:]])]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in again))

    assert found.verified().verdict == RIGHT
    assert "row-repeated" in checks(found.verified(False))


def test_rows_of_several_partitions_are_not_replayed(tmp_path: Path) -> None:
    """As nothing tells whether a DELETE is before or after a row of another partition."""
    verification = stream(tmp_path, dispatcher="ts").verified()

    assert verification.verdict == UNPROVED
    assert any("may be in several partitions" in each.why for each in verification.not_checked)


@pytest.mark.parametrize("protocol", ["avro&enable-tidb-extension=true", "debezium"])
def test_rows_that_a_statement_removed_are_no_failure(tmp_path: Path, protocol: str) -> None:
    """Where the stream has no statements; a table that is created begins without rows."""
    (tmp_path / "cf.toml").write_text('[sink]\nschema-registry = "http://127.0.0.1:8081"\n')
    create, insert = "CREATE TABLE test.{} (id INT PRIMARY KEY);", "INSERT INTO test.{} VALUES (1), (2);"
    emptying = "TRUNCATE TABLE test.a; INSERT INTO test.a VALUES (1); DROP TABLE test.b;"
    made = "".join((create + insert).format(name, name) for name in "abc")
    (tmp_path / "s.sql").write_text(f"{made} {emptying} {create.format('b')}")
    uri = f"kafka://127.0.0.1:9092/t?protocol={protocol}"
    options = ("--sink-uri", uri, "--config", tmp_path / "cf.toml", "--fixtures", tmp_path / "out")
    assert play("run", tmp_path / "s.sql", *options, "--truth", tmp_path / "truth") == 0
    verification = Stream(tmp_path / "out", tmp_path / "truth").verified()

    assert verification.verdict == UNPROVED, verification.failures
    assert [(table.table, table.expected, table.found) for table in verification.compared] == [("test.c", 2, 2)]
    left = [each.what for each in verification.not_checked if "no message tells" in each.why]
    assert [what.rpartition(" of ")[2] for what in left] == ["test.a lead to", "test.b lead to"]


def test_a_stream_is_verified_without_knowing_how_it_was_made(tmp_path: Path) -> None:
    found = stream(tmp_path, EXTENSION + "&avro-enable-watermark=true")

    assert verify(VerifyOptions(str(found.out))).verdict == RIGHT
