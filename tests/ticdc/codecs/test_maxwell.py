"""Maxwell, which classic releases have from 4.0.6 on (tiflow v8.5.3: pkg/sink/codec/maxwell)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.playing import play, said

from simulator import TiCDC
from simulator.errors import SimulatorError, UserError

URI = "kafka://127.0.0.1:9092/t?partition-num=1&protocol=maxwell"
TABLE = "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20), b VARBINARY(9), e ENUM('x','y'), d DECIMAL(6,2), bt BIT(4))"
FULL = "INSERT INTO t VALUES (1, 'a<b>', x'00ff41', 'y', 2.5, 5)"
HEAD = '{"database":"test","table":"t","type":"%s","ts":1735689600'
VERSION = b"\0\0\0\0\0\0\0\1"


def sent(release: str, *statements: str, table: str = TABLE) -> list[tuple[bytes | None, str]]:
    """Keys and values of what statements make after CREATE TABLE."""
    with TiCDC(release, sink_uri=URI, start_ts="2025-01-01") as ticdc:
        for statement in (table, *statements):
            ticdc.execute(statement)
        return [(message.key, (message.value or b"").decode()) for message in ticdc.messages(watermark=False)][1:]


@pytest.mark.parametrize("release", ["v4.0.10", "v5.4.3", "v6.5.0", "v8.5.3"])
@pytest.mark.parametrize(
    ("statement", "value"),
    [
        (FULL, HEAD % "insert" + ',"data":{"b":"AP9B","bt":5,"d":"2.50","e":2,"id":1,"s":"a\\u003cb\\u003e"}}'),
        (
            "INSERT INTO t (id) VALUES (2)",
            HEAD % "insert" + ',"data":{"b":null,"bt":null,"d":null,"e":null,"id":2,"s":null}}',
        ),
        (
            "UPDATE t SET s = NULL, b = NULL WHERE id = 0",
            HEAD % "update"
            + ',"data":{"b":null,"bt":null,"d":null,"e":null,"id":0,"s":null},"old":{"b":"AQ==","s":"v"}}',
        ),
        (
            "DELETE FROM t WHERE id = 0",
            HEAD % "delete" + ',"old":{"b":"AQ==","bt":null,"d":null,"e":null,"id":0,"s":"v"}}',
        ),
    ],
)
def test_a_row_is_an_object_with_its_values_by_name(release: str, statement: str, value: str) -> None:
    messages = sent(release, "INSERT INTO t (id, s, b) VALUES (0, 'v', x'01')", statement)
    assert messages[-1] == (VERSION, value)


@pytest.mark.parametrize(("release", "shared"), [("v5.4.3", 1), ("v6.0.0", 3), ("v8.5.3", 3)])
def test_rows_of_a_flush_share_a_message_from_6_0_on(release: str, shared: int) -> None:
    messages = sent(release, "INSERT INTO t (id) VALUES (1), (2), (3)")
    assert [value.count('{"database"') for _, value in messages] == [shared] * (3 // shared)


@pytest.mark.parametrize(
    ("statement", "kind", "old", "new"),
    [
        ("ALTER TABLE t ADD n BIGINT", "table-alter", ["int", "string"], ["int", "string", "bigint"]),
        ("DROP TABLE t", "table-drop", ["int", "string"], ["int", "string"]),
        ("CREATE TABLE u (a DATETIME PRIMARY KEY, b JSON)", "table-create", None, ["datetime", "json"]),
        ("CREATE VIEW v AS SELECT 1", "create view", None, None),
    ],
)
def test_statements_tell_column_kinds(statement: str, kind: str, old: list[str] | None, new: list[str] | None) -> None:
    key, value = sent("v8.5.3", statement, table="CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(9))")[-1]
    message = json.loads(value)
    assert message["type"] == kind and json.loads(key or b"")["t"] == 2
    for side, types in (("old", old), ("def", new)):
        columns = message[side]["columns"]
        assert types is None or [column["type"] for column in columns] == types
        assert message[side]["primary-key"] is None and (side == "def" or (columns is None) == (old is None))


@pytest.mark.parametrize(
    ("release", "statement", "text"),
    [
        ("v8.5.3", "UPDATE t SET s = 'x' WHERE id = 0", "comparing uncomparable type []uint8"),
        ("v4.0.10", "UPDATE t SET b = x'02' WHERE id = 0", "comparing uncomparable type []uint8"),
        ("v6.4.0", "CREATE DATABASE a", "nil pointer dereference"),
    ],
)
def test_ticdc_crashes(release: str, statement: str, text: str) -> None:
    with pytest.raises(SimulatorError) as caught:
        sent(release, "INSERT INTO t (id, b) VALUES (0, x'01')", statement)
    assert text in str(caught.value)


def test_a_statement_on_a_database_is_sent_before_6_4() -> None:
    assert '"type":"database-create","database":"a","table":""' in sent("v6.3.0", "CREATE DATABASE a")[-1][1]


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("v4.0.9", "not simulated yet: its messages have lengths"),
        ("new:v8.5.4", "unknown 'maxwell' message protocol for sink"),
        ("new:v9.0.0-beta.1", "unknown 'maxwell' message protocol for sink"),
    ],
)
def test_a_release_without_it_says_so(release: str, text: str) -> None:
    with pytest.raises(UserError, match=text):
        TiCDC(release, sink_uri=URI)


@pytest.mark.slow
@pytest.mark.parametrize("release", ["v5.4.0", "v8.5.3"])
def test_verify_and_inspect_read_it(tmp_path: Path, release: str) -> None:
    """A statement leaves open which columns the rows before it had, as they have no commit-ts."""
    script, out, truth = (tmp_path / name for name in ("s.sql", "out", "truth"))
    for altered, verdict in (
        ("", "RIGHT: 3 row changes"),
        (
            "ALTER TABLE t ADD n INT;",
            "UNPROVED: nothing is wrong, but the values of row changes of test.t could not be",
        ),
    ):
        script.write_text(f"{TABLE};\n{FULL};\nUPDATE t SET b = NULL;\n{altered}\nINSERT INTO t (id) VALUES (2);")
        assert play("run", script, "--sink-uri", URI, "--release", release, "--fixtures", out, "--truth", truth) == 0
        assert said("verify", out, "--truth", truth).out.startswith(verdict)
    assert "UPDATE test.t b: AP9B→NULL" in said("inspect", out).out


@pytest.mark.slow
def test_verify_reads_rows_of_more_than_a_second(tmp_path: Path) -> None:
    """Nothing but its place tells when a row was, so that its seconds cannot be held against anything."""
    for name, rows in (("before", ""), ("after", "".join(f"{number},{number}\n" for number in range(20)))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "s.t-schema.sql").write_text("CREATE TABLE t (id INT PRIMARY KEY, v INT);")
        (tmp_path / name / "s.t.csv").write_text(rows)
    out, truth = tmp_path / "out", tmp_path / "truth"
    sides = tmp_path / "before", tmp_path / "after"
    assert play("diff", *sides, "--sink-uri", URI, "--fixtures", out, "--truth", truth) == 0
    assert said("verify", out, "--truth", truth, "--before", sides[0]).out.startswith("RIGHT: 20 row changes")
