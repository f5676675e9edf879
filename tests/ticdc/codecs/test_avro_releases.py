"""Avro before 6.1 (unions, numbers and times of its own) and of the new architecture; where TiCDC stops."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.playing import error_of, play

from simulator import TiCDC
from simulator.errors import ChangefeedError, EncodeError
from simulator.reader.decode import RowEvent, decode

EARLY = "kafka://127.0.0.1:9092/t?protocol=avro&partition-num=1&registry=http://127.0.0.1:8081"
URI = EARLY.replace("&registry=", "&schema-registry=")
EXTENDED = URI + "&enable-tidb-extension=true"
MARKED = EXTENDED + "&avro-enable-watermark=true"
CRASH = "panic: invalid memory address"


def sent(
    release: str, sql: str, uri: str = EXTENDED, config: str | None = None
) -> tuple[list[RowEvent], dict[str, dict[str, Any]]]:
    """The rows that come of SQL, and the schemas by subject."""
    with TiCDC(release, sink_uri=uri, config=config) as ticdc:
        ticdc.execute("USE test; " + sql)
        rows = [event for event in ticdc.events() if isinstance(event, RowEvent)]
        schemas = {entry.subject: json.loads(entry.text) for entry in ticdc.schemas.values()}
    return rows, schemas


def early(release: str, columns: str, values: str) -> tuple[RowEvent, dict[str, object]]:
    """A row with these values beside its key, and the types of its columns."""
    sql = f"SET sql_mode = ''; CREATE TABLE t (id INT PRIMARY KEY, {columns}); INSERT INTO t VALUES (1, {values})"
    (row,), schemas = sent(release, sql, EARLY)
    schema = schemas["test_t-value"]
    assert schema["name"] == "t" and "namespace" not in schema
    return row, {field["name"]: field["type"] for field in schema["fields"]}


# -- before 6.1 -------------------------------------------------------------------------------------------------------


def test_columns_outside_of_the_key_are_unions() -> None:
    """BIGINT UNSIGNED, BIT, ENUM and SET are numbers, TEXT is bytes, DECIMAL a text."""
    columns = "u BIGINT UNSIGNED NOT NULL, e ENUM('x','y'), s SET('p','q'), b BIT(9), d DECIMAL(9,2), t TEXT, n TEXT"
    row, types = early("v5.4.3", columns, "18446744073709551615, 'y', 'p,q', 257, 1.5, 'é', NULL")

    number = {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 0}
    assert types["id"] == "int"
    assert types["u"] == types["e"] == types["s"] == types["b"] == ["null", number]
    assert (types["d"], types["t"]) == (["null", "string"], ["null", "bytes"])
    assert row.after == {
        **{"id": "1", "u": "18446744073709551615", "e": "2", "s": "3", "b": "257", "d": "1.50"},
        **{"t": "é".encode(), "n": None},
    }


def test_6_0_has_unions_for_null_alone_and_texts_of_members() -> None:
    row, types = early("v6.0.0", "e ENUM('x','y') NOT NULL, t TEXT, b VARBINARY(9)", "'y', 'é', x'ff'")

    assert types == {"id": "int", "e": "string", "t": ["null", "string"], "b": ["null", "bytes"]}
    assert row.after == {"id": "1", "e": "y", "t": "é", "b": b"\xff"}


@pytest.mark.parametrize(
    ("type", "value", "shown"),
    [
        ("DATETIME(3)", "2024-01-02 03:04:05.678", "2024-01-02 03:04:05.678"),
        ("DATE", "1969-12-31", "1969-12-31 00:00:00"),
        ("DATE", "2500-01-01", "1915-06-14 00:25:26.291"),  # nanoseconds since 1970 have 64 bits
        ("DATE", "0000-00-00", "1754-08-30 22:43:41.129"),  # Go's zero time, the same
        ("TIME(2)", "25:00:00.50", "25:00:00.500"),
        ("TIME", "-01:30:00", "-00:30:00"),  # the sign is that of the hours alone
    ],
)
def test_times_are_milliseconds(type: str, value: str, shown: str) -> None:
    row, _ = early("v5.4.3", f"v {type}", f"'{value}'")

    assert row.after is not None and row.after["v"] == shown


@pytest.mark.parametrize(
    ("release", "next_", "definition", "value", "text"),
    [
        ("v5.3.0", "v5.3.1", "JSON", "'1'", "panic: interface conversion"),
        ("v4.0.14", "v4.0.15", "TINYINT UNSIGNED", "1", "panic: interface conversion"),
        ("v4.0.10", "v4.0.11", "FLOAT", "1", r"allowed types: \[null float\]"),
        ("v4.0.12", "v4.0.13", "DATE", "'0000-00-00'", "parsing time"),
        ("v5.4.3", "v6.0.0", "VARBINARY(9)", "x'ff'", r"allowed types: \[null string\]"),
        ("v5.4.3", "v6.1.0", "INT, `a b` INT", "1, 2", "ought to have valid name: a b"),
    ],
)
def test_the_changefeed_stops_up_to_a_release(release: str, next_: str, definition: str, value: str, text: str) -> None:
    with pytest.raises(EncodeError, match=text):
        early(release, f"v {definition}", value)
    config = '[sink]\nschema-registry = "http://127.0.0.1:8081"\n' if next_ >= "v6.1" else None
    table = f"SET sql_mode = ''; CREATE TABLE t (id INT PRIMARY KEY, v {definition})"
    rows, _ = sent(next_, f"{table}; INSERT INTO t VALUES (1, {value})", EARLY, config)
    assert len(rows) == 1


def test_a_delete_has_a_key_from_4_0_7_on() -> None:
    sql = "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); DELETE FROM t"
    with pytest.raises(EncodeError, match="fields ought to be non-nil array"):
        sent("v4.0.6", sql, EARLY)
    assert [row.op for row in sent("v4.0.7", sql, EARLY)[0]] == ["INSERT", "DELETE"]


@pytest.mark.parametrize(
    ("release", "uri", "text"),
    [
        ("v4.0.5", EARLY, "its records have random names"),
        ("v5.4.3", URI, 'ErrPrepareAvroFailed.*requires parameter "registry"'),
        ("v6.0.0", URI, 'MQCodecInvalidConfig.*parameter "registry"'),
        ("v9.0.0-beta.1", URI, "unknown 'avro' message protocol"),
    ],
)
def test_what_cannot_be_sent_is_refused(release: str, uri: str, text: str) -> None:
    with pytest.raises(ChangefeedError, match=text):
        TiCDC(release, sink_uri=uri)


def test_verify_says_that_databases_are_missing(tmp_path: Path) -> None:
    (tmp_path / "s.sql").write_text("CREATE TABLE test.t (id INT PRIMARY KEY); INSERT INTO test.t VALUES (1)")
    options = ("--sink-uri", EARLY, "--release", "v5.4.3")
    assert play("run", tmp_path / "s.sql", *options, "--fixtures", tmp_path / "out") == 0
    assert "its messages do not say in which database a table is" in error_of("verify", tmp_path / "out", *options)


# -- the new architecture ---------------------------------------------------------------------------------------------


def test_rows_have_virtual_columns_and_all_bytes_of_bits() -> None:
    """Virtual columns are NULL, the key is the primary key, and a text `null` is a default like others."""
    columns = "id INT PRIMARY KEY, b BIT(16), v INT AS (id + 1) VIRTUAL, w VARCHAR(9) DEFAULT 'null'"
    with TiCDC("v8.5.7", "new", sink_uri=EXTENDED) as ticdc:
        ticdc.execute(f"USE test; CREATE TABLE t ({columns}); INSERT INTO t (id, b) VALUES (1, 3)")
        (message,) = ticdc.messages()
        (row,) = decode(message.key, message.value, "avro", {id: entry.text for id, entry in ticdc.schemas.items()})
        value = json.loads(ticdc.schemas[2].text)["fields"][3]

    assert isinstance(row, RowEvent)
    assert row.after == {"id": "1", "b": "3", "v": None, "w": "null"}
    assert message.value is not None and message.value[5:].startswith(b"\x02\x02\x04\x00\x03\x00\x00\x08null")
    assert value["default"] == "null" and value["type"][1] == "null"


def test_a_table_with_a_unique_key_alone_has_no_keys() -> None:
    _, schemas = sent("new:v8.5.7", "CREATE TABLE t (a INT NOT NULL UNIQUE); INSERT INTO t VALUES (1)")

    assert list(schemas) == ["t-value"]


DELETE = "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); DELETE FROM t"


@pytest.mark.parametrize(
    ("release", "uri", "text"),
    [
        ("new:v8.5.4", EXTENDED, CRASH),
        ("new:v8.5.6", EXTENDED, CRASH),
        ("v26.3.3", EXTENDED, CRASH),
        ("v26.3.4", MARKED, "is not simulated"),
    ],
)
def test_a_delete_stops_the_changefeed(release: str, uri: str, text: str) -> None:
    """Up to 8.5.6 and 26.3.3 TiCDC takes the key of a DELETE from its new row."""
    with pytest.raises(EncodeError, match=text):
        sent(release, DELETE, uri)


@pytest.mark.parametrize(
    ("release", "uri", "timed"),
    [("new:v8.5.7", EXTENDED, False), ("new:v8.5.7", MARKED, True), ("v26.3.4", URI, False)],
)
def test_a_delete_has_its_commit_ts_beside_watermarks(release: str, uri: str, timed: bool) -> None:
    rows, _ = sent(release, DELETE, uri)

    assert [(row.op, row.before) for row in rows] == [("INSERT", None), ("DELETE", {"id": "1"})]
    assert (rows[1].commit_ts is not None) is timed


@pytest.mark.parametrize(
    ("definition", "code"),
    [("v INT AS (id + 1) VIRTUAL NOT NULL", "CDC:ErrAvroEncodeToBinary"), ("KEY ((id + 1))", "")],
)
def test_virtual_columns_that_cannot_be_sent_stop_the_changefeed(definition: str, code: str) -> None:
    with pytest.raises(EncodeError) as caught:
        sent("new:v8.5.7", f"CREATE TABLE t (id INT PRIMARY KEY, {definition}); INSERT INTO t (id) VALUES (1)")

    assert caught.value.code == code


def test_column_selectors_take_columns_out_of_values() -> None:
    """Not in 9.0.0-beta.2."""
    config = "[sink]\ncolumn-selectors = [{matcher = ['*.*'], columns = ['*', '!v']}]\n"
    sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 2)"
    for release, names in (("new:v8.5.7", ["id"]), ("v9.0.0-beta.2.pre", ["id", "v"])):
        fields = sent(release, sql, config=config)[1]["t-value"]["fields"]
        assert [field["name"] for field in fields if not field["name"].startswith("_tidb")] == names


def test_a_schema_stays_when_a_table_gets_another_name() -> None:
    """Classic TiCDC registers one for the new name; those of key and value are equal, and have one id."""
    sql = "CREATE TABLE test.t (id INT PRIMARY KEY); INSERT INTO test.t VALUES (1);"
    sql += "RENAME TABLE test.t TO test.u; INSERT INTO test.u VALUES (2)"
    found = []
    for release in ("new:v8.5.7", "v8.5.3"):
        with TiCDC(release, sink_uri=URI) as ticdc:
            ticdc.execute(sql)
            found.append(sorted(json.loads(entry.text)["name"] for entry in ticdc.schemas.values()))

    assert found == [["t"], ["t", "u"]]


def test_row_checksums_order_columns_by_their_ids() -> None:
    """The new architecture mixes the values of later rows up; that is not simulated."""
    uri = EXTENDED + "&avro-decimal-handling-mode=string&avro-bigint-unsigned-handling-mode=string"
    config = '[integrity]\nintegrity-check-level = "correctness"\n'
    sql = "CREATE TABLE t (id INT PRIMARY KEY); ALTER TABLE t ADD COLUMN a INT FIRST; INSERT INTO t VALUES (1, 2)"
    fields = sent("v8.5.3", sql, uri, config)[1]["t-value"]["fields"]

    assert [field["name"] for field in fields[:2]] == ["id", "a"]
    with pytest.raises(EncodeError, match="mixes up the values"):
        sent("new:v8.5.7", sql, uri, config)
