"""`verify` of streams that are right, of which something may not be told, and the words for what is wrong.

`test_mutants` breaks right streams in every other way.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.playing import play

from simulator.columns.hashing import CHANGES, DELETES, ChangeSum
from simulator.reader.contract import PartitionSummary
from simulator.reader.contract.across_partitions import check_sent_changes
from simulator.reader.event_lines import lines
from simulator.reader.records import read_records
from simulator.reader.verify import verify
from simulator.reader.verify.options import VerifyOptions
from simulator.reader.verify.verification import RIGHT, UNPROVED, WRONG, Verification

STORIES = {
    "types": """
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
""",
    "update": "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 5); UPDATE t SET v = 6",
    "truncate": "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); TRUNCATE t; INSERT INTO t VALUES (1)",
    "scale": "CREATE TABLE t (id INT PRIMARY KEY, d DECIMAL(10, 2), at DATETIME); INSERT INTO t VALUES (1, 2, NOW()); "
    "ALTER TABLE t MODIFY d DECIMAL(12, 4); ALTER TABLE t MODIFY at DATETIME(3); INSERT INTO t VALUES (2, 1, NOW())",
    "unique": "CREATE TABLE t (a INT NOT NULL UNIQUE); INSERT INTO t VALUES (1), (2); DELETE FROM t WHERE a = 1",
    "unique and gone": "CREATE TABLE b (id INT NOT NULL UNIQUE); INSERT INTO b VALUES (1); DELETE FROM b; "
    "CREATE TABLE k (id INT PRIMARY KEY); DROP TABLE b; INSERT INTO k VALUES (2)",
    "unique before": "CREATE TABLE t (a INT NOT NULL UNIQUE); INSERT INTO t VALUES (1); DELETE FROM t; DROP TABLE t; "
    "CREATE TABLE t (a INT PRIMARY KEY); INSERT INTO t VALUES (2)",
    "rename": "CREATE DATABASE a; CREATE DATABASE b; CREATE TABLE a.t (id INT PRIMARY KEY); INSERT INTO a.t VALUES (1); "
    "USE a; RENAME TABLE t TO b.t; DELETE FROM b.t",
    "renames": "CREATE DATABASE a; CREATE DATABASE b; CREATE TABLE a.t (id INT PRIMARY KEY); CREATE TABLE b.t LIKE a.t; "
    "INSERT INTO a.t VALUES (1); USE a; RENAME TABLE t TO b.u; DELETE FROM b.u",
    "renamed rows": "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (2); RENAME TABLE t TO u; "
    "INSERT INTO u VALUES (3); DELETE FROM u WHERE id = 2; CREATE TABLE t LIKE u; INSERT INTO t VALUES (3)",
    "bytes": "CREATE TABLE t (id INT PRIMARY KEY, b BINARY(4)); INSERT INTO t VALUES (1, x'00ff')",
    "enum": "CREATE TABLE t (id INT PRIMARY KEY, e ENUM('x', 'y')); INSERT INTO t VALUES (1, 'y')",
    "exchange": "CREATE TABLE p (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10)); "
    "CREATE TABLE x (id INT PRIMARY KEY); INSERT INTO x VALUES (2); ALTER TABLE p EXCHANGE PARTITION p0 WITH TABLE x; "
    "INSERT INTO x VALUES (4)",
    "removed": "CREATE TABLE a (id INT PRIMARY KEY); CREATE TABLE b LIKE a; CREATE TABLE c LIKE a; "
    "INSERT INTO a VALUES (1), (2); INSERT INTO b VALUES (1), (2); INSERT INTO c VALUES (1), (2); "
    "TRUNCATE TABLE a; INSERT INTO a VALUES (1); DROP TABLE b; CREATE TABLE b (id INT PRIMARY KEY)",
    "gone": "CREATE TABLE gone (id INT PRIMARY KEY, v VARCHAR(9)); INSERT INTO gone VALUES (1, 'first'); "
    "INSERT INTO gone VALUES (2, 'second'); UPDATE gone SET v = 'third' WHERE id = 1; DELETE FROM gone WHERE id = 2; "
    "DROP TABLE gone",
    "zeros": "SET sql_mode = ''; CREATE TABLE t (id INT PRIMARY KEY, a TIMESTAMP NULL DEFAULT '2020-01-01', b TIMESTAMP NULL);"
    "INSERT INTO t VALUES (1, 0, 0), (2, NULL, NULL), (3, '2020-01-01', NULL); UPDATE t SET b = NULL WHERE id = 1",
    "zero dates": "SET sql_mode = ''; CREATE TABLE t (id INT PRIMARY KEY, a DATETIME DEFAULT '2020-01-01', b DATE DEFAULT "
    "'2020-01-01'); INSERT INTO t VALUES (1, 0, 0), (2, NULL, 0), (3, '2020-01-01', NULL); UPDATE t SET b = NULL WHERE id = 1",
    "decimals": "CREATE TABLE t (id INT PRIMARY KEY, d DECIMAL(30,20)); INSERT INTO t VALUES (1, 0.00000000000001), (2, NULL), "
    "(3, -0.0000012345); UPDATE t SET d = 0.00000000000003 WHERE id = 2",
    "more digits": "CREATE TABLE t (id INT PRIMARY KEY, d DECIMAL(30,20), e DECIMAL(30,2)); INSERT INTO t VALUES "
    "(1, 0.123456789012345678, 1234567890123456789012.34), (2, 1e-14, 0.1); UPDATE t SET d = d + 1, e = 1e25",
    "scales": "CREATE TABLE t (id INT PRIMARY KEY, d DECIMAL(8,2), a DATETIME, n TINYINT UNSIGNED); "
    "INSERT INTO t VALUES (1, 1.5, '2024-01-01 00:00:00', 5), (2, NULL, NULL, NULL); "
    "ALTER TABLE t MODIFY d DECIMAL(10,4), MODIFY a DATETIME(3), MODIFY n DECIMAL(6,1); UPDATE t SET d = 2.25 WHERE id = 2",
    "truncated": "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); TRUNCATE TABLE t; INSERT INTO t VALUES (1)",
}
TIMED = "enable-tidb-extension=true"
TEXTS = "avro-decimal-handling-mode=string&avro-bigint-unsigned-handling-mode=string"
WATERMARKS = f"partition-num=2&{TIMED}&avro-enable-watermark=true"
COMPRESSED = "large-message-handle-compression=lz4&large-message-handle-option=none"
CONFIG = '[sink]\nschema-registry = "http://127.0.0.1:8081"\n'
DISPATCHED = CONFIG + 'dispatchers = [{{matcher = ["*.*"], topic = "{{schema}}_{{table}}", partition = "{}"}}]\n'
CHECKSUMS = '[integrity]\nintegrity-check-level = "correctness"\n'
TRUTH, AFTER, NOTHING = "truth", "after", ""


def recorded(home: Path, story: str, protocol: str, release: str = "v8.5.3", config: str = "") -> None:
    (home / "story.sql").write_text(STORIES[story], "utf-8")
    (home / "changefeed.toml").write_text(config or (CONFIG if "avro" in protocol else ""))
    architecture, _, tag = release.rpartition(":")
    uri = protocol if ":" in protocol else f"kafka://127.0.0.1:9092/t?protocol={protocol}"
    where = ("--sink-uri", uri, "--config", home / "changefeed.toml", "--truth", home / "truth")
    files = () if uri.startswith("file:") else ("--fixtures", home / "out")
    of = ("--release", tag, "--architecture", architecture or "classic")
    assert play("run", home / "story.sql", *of, *where, *files) == 0


def verified(home: Path, given: str = TRUTH, restarts: bool = True) -> Verification:
    options = {TRUTH: {"truth": home / "truth"}, AFTER: {"after": str(home / "truth")}, NOTHING: {}}[given]
    return verify(VerifyOptions(str(home / "out"), master="none", restarts=restarts, **options))  # type: ignore[arg-type]


def checks(verification: Verification) -> set[str]:
    return {failure.check for failure in verification.failures}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("story", "protocol", "release", "given", "verdict"),
    [
        ("update", "open-protocol", "v4.0.4", NOTHING, UNPROVED),
        ("update", "open-protocol", "v4.0.4", AFTER, UNPROVED),
        ("update", "open-protocol", "v4.0.4", TRUTH, RIGHT),
        ("update", "canal-json&partition-num=2", "v5.3.0", NOTHING, UNPROVED),
        ("update", "open-protocol", "v6.5.6", AFTER, RIGHT),
        ("truncate", "debezium", "v8.5.3", AFTER, UNPROVED),
        ("update", "debezium", "new:v8.5.7", AFTER, RIGHT),
        ("zeros", "debezium", "v8.5.3", TRUTH, RIGHT),
        ("zeros", "debezium", "new:v8.5.4", TRUTH, RIGHT),
        ("zero dates", "debezium", "v8.5.3", TRUTH, RIGHT),
        ("decimals", "debezium", "v8.5.3", TRUTH, RIGHT),
        ("decimals", "debezium&debezium-disable-schema=true", "new:v8.5.4", TRUTH, RIGHT),
        ("more digits", "debezium", "v8.5.3", TRUTH, UNPROVED),
        ("scale", "avro", "v8.5.3", TRUTH, RIGHT),
        ("scales", f"avro&{TIMED}", "v8.5.3", TRUTH, RIGHT),
        ("scales", f"avro&{TIMED}&{TEXTS}", "new:v8.5.8", TRUTH, RIGHT),
        ("scales", "avro", "v7.5.4", TRUTH, RIGHT),
        ("scale", "maxwell", "v7.5.4", TRUTH, UNPROVED),
        ("unique", "avro", "new:v8.5.7", TRUTH, UNPROVED),
        ("unique", "avro", "new:v8.5.7", AFTER, UNPROVED),
        ("unique", f"avro&{WATERMARKS}", "new:v8.5.8", TRUTH, UNPROVED),
        *((f"unique {when}", "avro", "new:v8.5.7", TRUTH, UNPROVED) for when in ("and gone", "before")),
        ("unique and gone", "avro", "new:v8.5.7", AFTER, UNPROVED),
        *((f"unique {when}", f"avro&{WATERMARKS}", "new:v8.5.8", TRUTH, UNPROVED) for when in ("and gone", "before")),
        ("unique", "avro", "v8.5.3", TRUTH, RIGHT),
        ("rename", "open-protocol", "v6.5.6", TRUTH, RIGHT),
        ("rename", "debezium", "v8.5.3", TRUTH, RIGHT),
        ("rename", "open-protocol", "new:v8.5.7", TRUTH, RIGHT),
        ("renames", "open-protocol", "v8.5.3", TRUTH, UNPROVED),
        ("bytes", "canal-json", "v5.3.0", TRUTH, UNPROVED),
        ("renamed rows", f"avro&partition-num=2&{TIMED}", "new:v8.5.8", TRUTH, UNPROVED),
        ("renamed rows", f"avro&{WATERMARKS}", "new:v8.5.8", TRUTH, UNPROVED),
        ("renamed rows", f"avro&{WATERMARKS}", "new:v8.5.8", NOTHING, UNPROVED),
        ("types", f"avro&{WATERMARKS}", "v8.5.7", NOTHING, RIGHT),
        ("types", f"simple&partition-num=2&{COMPRESSED}", "v8.5.3", TRUTH, RIGHT),
        ("exchange", "simple", "new:v8.5.8", TRUTH, UNPROVED),
        ("exchange", "simple&encoding-format=avro", "new:v8.5.8", TRUTH, UNPROVED),
        ("exchange", "simple&encoding-format=avro", "v8.5.8", TRUTH, UNPROVED),
    ],
)
def test_what_is_right_is_not_wrong(
    story: str, protocol: str, release: str, given: str, verdict: str, tmp_path: Path
) -> None:
    """Nothing that only an assumption decides is wrong."""
    recorded(tmp_path, story, protocol, release)
    found = verified(tmp_path, given)
    assert found.verdict == verdict, (found.failures, found.unproved)


@pytest.mark.parametrize("protocol", ["simple", "simple&encoding-format=avro"])
def test_a_table_may_have_another_id_after_a_statement_that_a_filter_holds_back(tmp_path: Path, protocol: str) -> None:
    """What is left open is whether the row of the truncated table is still there."""
    filters = '[[filter.event-filters]]\nmatcher = ["test.t"]\nignore-event = ["truncate table"]\n'
    recorded(tmp_path, "truncated", protocol, config=filters)
    found = verified(tmp_path)
    assert (found.verdict, found.failures) == (UNPROVED, ())
    assert [each.what for each in found.unproved] == [
        "whether row changes of test.t follow from each other: row-already-there (1)"
    ]


def test_a_right_storage_is_right_without_the_release(tmp_path: Path) -> None:
    recorded(tmp_path, "enum", f"file://{tmp_path}/out?protocol=canal-json&{TIMED}", "new:v8.5.7")
    assert verified(tmp_path, AFTER).verdict == RIGHT


@pytest.mark.slow
@pytest.mark.parametrize("more", ["", f"&{TIMED}", f"&{TIMED}&avro-enable-watermark=true"])
def test_rows_of_avro_count_where_they_are_in_their_partition(tmp_path: Path, more: str) -> None:
    """Whether they tell their commit-ts or not; names in messages are those that Avro allows."""
    recorded(tmp_path, "types", f"avro&partition-num=2{more}", "v8.5.7", DISPATCHED.format("index-value"))
    for restarts in (True, False):
        found = verified(tmp_path, restarts=restarts)
        assert found.verdict == RIGHT, found.failures
        assert [(table.table, table.expected, table.found) for table in found.compared] == [("test.a b", 3, 3)]
        untimed = [each.what for each in found.not_checked if each.what.startswith("the commit-ts of")]
        assert untimed == [f"the commit-ts of {'3 DELETEs' if more else '11 row changes'}"]


@pytest.mark.slow
def test_avro_of_the_new_architecture_tells_the_commit_ts_of_deletes(tmp_path: Path) -> None:
    recorded(tmp_path, "types", f"avro&{WATERMARKS}", "new:v8.5.7", DISPATCHED.format("index-value"))
    found = verified(tmp_path, restarts=False)
    assert (found.verdict, found.not_checked) == (RIGHT, ()), found.failures


@pytest.mark.slow
@pytest.mark.parametrize("release", ["v7.1.5", "v8.5.3"])
def test_a_stream_with_row_checksums_is_right(tmp_path: Path, release: str) -> None:
    """Messages have a boolean then, as no column has."""
    recorded(tmp_path, "types", f"avro&{TIMED}&{TEXTS}", release, DISPATCHED.format("index-value") + CHECKSUMS)
    found = verified(tmp_path)
    assert found.verdict == RIGHT, found.failures


def test_rows_of_several_partitions_are_not_replayed(tmp_path: Path) -> None:
    """As nothing tells whether a DELETE is before or after a row of another partition."""
    recorded(tmp_path, "types", f"avro&partition-num=2&{TIMED}", "v8.5.7", DISPATCHED.format("ts"))
    found = verified(tmp_path)
    assert found.verdict == UNPROVED
    assert any("may be in several partitions" in each.why for each in found.not_checked)


@pytest.mark.parametrize("protocol", [f"avro&{TIMED}", "debezium"])
def test_rows_that_a_statement_removed_are_no_failure(tmp_path: Path, protocol: str) -> None:
    """Where the stream has no statements; a table that is created begins without rows."""
    recorded(tmp_path, "removed", protocol)
    found = verified(tmp_path)
    assert found.verdict == UNPROVED, found.failures
    assert [(table.table, table.expected, table.found) for table in found.compared] == [("test.c", 2, 2)]
    left = [each.what for each in found.not_checked if "no message tells" in each.why]
    assert [what.rpartition(" of ")[2] for what in left] == ["test.a lead to", "test.b lead to"]


# -- what is wrong ------------------------------------------------------------------------------------------------

Record = dict[str, Any]
Change = Callable[[list[Record]], list[Record]]
"""What becomes of the messages of a partition, whose values are bytes."""


def change_messages(home: Path, change: Change) -> None:
    for path in (home / "out").rglob("*.jsonl"):
        found = [json.loads(line) for line in path.read_text().splitlines()]
        left = change([record | {"value": base64.b64decode(record["value"] or "")} for record in found])
        records = (
            record | {"offset": offset, "value": base64.b64encode(record["value"]).decode() or None}
            for offset, record in enumerate(left)
        )
        path.write_text("".join(f"{json.dumps(record)}\n" for record in records))


def without(*words: bytes) -> Change:
    return lambda records: [record for record in records if not any(word in record["value"] for word in words)]


def replaced(old: bytes, new: bytes) -> Change:
    return lambda records: [record | {"value": record["value"].replace(old, new)} for record in records]


def with_empty_row(records: list[Any]) -> list[Any]:
    """Replace the row of an INSERT by one without columns."""
    row = re.compile(rb'"data":\[\{"id":"1","v":"first"\}\]')
    return [record | {"value": row.sub(b'"data":[{}]', record["value"])} for record in records]


def without_build_time(records: list[Any]) -> list[Any]:
    """Replace the time at which each message was built by an object."""
    return [record | {"value": re.sub(rb'"ts":\d+', b'"ts":{}', record["value"])} for record in records]


GONE = "INSERTs and UPDATEs of test.gone"
CANAL = f"canal-json&{TIMED}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("story", "protocol", "given", "change", "check", "what"),
    [
        ("update", CANAL, AFTER, without(b'"UPDATE"'), "row-different", "test.t, row 1: v is '5', '6' expected"),
        (
            *("gone", CANAL, TRUTH, replaced(b"third", b"other"), "changes-different"),
            f"{GONE}: 3, of which at least one has another value than was sent",
        ),
        ("gone", CANAL, TRUTH, without(b"third"), "changes-missing", f"{GONE}: sent 3, here 2"),
        (
            *("gone", "simple", TRUTH, without(b"BOOTSTRAP"), "bootstrap-missing"),
            "messages with the schema of test.gone:",
        ),
        (
            *("gone", "simple", TRUTH, without(b"CREATE", b"BOOTSTRAP"), "schema-unknown"),
            "test.gone was not told before",
        ),
        ("scale", f"avro&{TEXTS}", TRUTH, replaced(b"\x082.00", b"\x08many"), "message-different", "test.t"),
        ("types", f"avro&{TIMED}", TRUTH, lambda records: [*records, *records[1:]], "row-repeated", ""),
        (
            "scales",
            f"avro&{TIMED}&{TEXTS}",
            TRUTH,
            replaced(b"\x081.50", b"\x081.51"),
            "changes-different",
            "another value",
        ),
        ("decimals", "debezium", TRUTH, replaced(b"1e-14", b"2e-14"), "row-different", "test.t, row 1: d is"),
        ("decimals", "debezium", TRUTH, replaced(b"1e-14", b"1.5e-20"), "message-different", "test.t"),
        ("more digits", "debezium", TRUTH, replaced(b"1e+25", b"1e+300"), "message-different", "no DECIMAL"),
        (
            *("gone", CANAL, TRUTH, replaced(b'"data":[{"id":"1"', b'"data":[{"id":null'), "message-different"),
            "NULL in column 'id' of the handle key",
        ),
        ("gone", CANAL, TRUTH, with_empty_row, "unreadable", "a row of data without columns"),
        ("gone", CANAL, TRUTH, without_build_time, "message-different", "value.ts"),
    ],
)
def test_what_is_wrong_is_named(
    story: str, protocol: str, given: str, change: Change, check: str, what: str, tmp_path: Path
) -> None:
    """Even if a later statement or row change hides it, and though nobody tells the release."""
    recorded(tmp_path, story, protocol)
    change_messages(tmp_path, change)
    found = verified(tmp_path, given, restarts=False)
    assert (found.verdict, check in checks(found)) == (WRONG, True), checks(found)
    assert any(what in each.what for failure in found.failures if failure.check == check for each in failure.examples)


def test_a_commit_ts_between_those_beside_it_is_told(tmp_path: Path) -> None:
    recorded(tmp_path, "gone", CANAL)

    def later(record: Record) -> Record:
        ts = record["value"].split(b'"commitTs":')[-1].split(b"}")[0]
        return replaced(ts, str(int(ts) + 1).encode())([record])[0] if b"third" in record["value"] else record

    change_messages(tmp_path, lambda records: [later(record) for record in records])
    (failure,) = verified(tmp_path).failures
    what = f"{GONE}: 3, of which at least one has another commit-ts than was sent"
    assert (failure.check, failure.examples[0].what) == ("changes-different", what)


def test_another_id_of_a_table_is_told_of_its_only_row(tmp_path: Path) -> None:
    """By the messages with its schema."""
    recorded(tmp_path, "enum", "simple")

    def other(record: Record) -> Record:
        id = re.search(rb'"tableID":(\d+)', record["value"])
        is_row = b'"INSERT"' in record["value"]
        return replaced(id[0], b'"tableID":%d' % (int(id[1]) + 1))([record])[0] if id and is_row else record

    assert verified(tmp_path).verdict == RIGHT
    change_messages(tmp_path, lambda records: [other(record) for record in records])
    (failure,) = verified(tmp_path).failures
    assert failure.check == "message-different"
    assert re.search(r"tableID: \d+ → \d+", failure.examples[0].what)


SENT = {("shop.t", CHANGES): ChangeSum(2, 7, 9), ("shop.t", DELETES): ChangeSum(1, 3, 4)}


@pytest.mark.parametrize(
    ("found", "checks"),
    [
        (SENT, []),
        ({**SENT, ("shop.t", CHANGES): ChangeSum(2, 7, None)}, []),
        ({**SENT, ("shop.t", DELETES): ChangeSum(7, None, None)}, []),
        ({**SENT, ("shop.t", CHANGES): ChangeSum(3, 8, 10)}, ["changes-different"]),
        ({("shop.t", DELETES): ChangeSum(1, 5, 4)}, ["changes-missing", "changes-different"]),
    ],
)
def test_what_messages_do_not_tell_is_not_compared(found: dict[tuple[str, str], ChangeSum], checks: list[str]) -> None:
    """Row images that are not TiDB's, and row changes without a commit-ts, which may have come again."""
    assert checks == [check for check, _ in check_sent_changes([PartitionSummary(("t", 0))], found, SENT).counts]


def test_inspect_shows_bytes_and_bootstraps_of_simple(tmp_path: Path) -> None:
    """Bytes as bytes, since the schema is known; every message has a line."""
    recorded(tmp_path, "types", "simple")
    records = [*read_records(str(tmp_path / "out"))]
    shown = [*lines(records)]
    assert len(shown) == len(records)
    assert any("BOOTSTRAP test.a b version " in line for line in shown)
    assert any('INSERT test."a b" b=0x00ff' in line for line in shown)
    as_json = [json.loads(line) for line in lines(records, as_json=True)]
    assert [
        each for each in as_json if {"event": "BOOTSTRAP", "schema": "test", "table": "a b"}.items() <= each.items()
    ]
    alone = [line for record in records if b'"INSERT"' in (record.value or b"") for line in lines([record])]
    assert alone and all(line.endswith("(its table schema was not told before)") for line in alone)
