"""Avro of the new architecture: what differs from the classic one, and where TiCDC stops."""

from __future__ import annotations

import json

import pytest

from simulator import TiCDC
from simulator.consumer.decode import RowEvent, decode
from simulator.errors import ChangefeedError, EncodeError

URI = "kafka://127.0.0.1:9092/t?protocol=avro&schema-registry=http://127.0.0.1:8081"
EXTENDED = URI + "&enable-tidb-extension=true"
MARKED = EXTENDED + "&avro-enable-watermark=true"
CRASH = "panic: invalid memory address"


def sent(
    release: str, sql: str, uri: str = EXTENDED, config: str | None = None
) -> tuple[list[RowEvent], dict[str, dict[str, object]]]:
    """The rows that come of SQL, and the fields of the schemas by subject and name."""
    with TiCDC(release, "new", sink_uri=uri + "&partition-num=1", config=config) as ticdc:
        ticdc.execute("USE test; " + sql)
        rows = [event for event in ticdc.events() if isinstance(event, RowEvent)]
        schemas = {entry.subject: json.loads(entry.text)["fields"] for entry in ticdc.schemas.values()}
    return rows, {subject: {field["name"]: field for field in fields} for subject, fields in schemas.items()}


def test_rows_have_virtual_columns_and_all_bytes_of_bits() -> None:
    """Virtual columns are NULL, the key is the primary key, and a text `null` is a default like others."""
    columns = "id INT PRIMARY KEY, b BIT(16), v INT AS (id + 1) VIRTUAL, w VARCHAR(9) DEFAULT 'null'"
    with TiCDC("v8.5.7", "new", sink_uri=EXTENDED + "&partition-num=1") as ticdc:
        ticdc.execute(f"USE test; CREATE TABLE t ({columns}); INSERT INTO t (id, b) VALUES (1, 3)")
        (message,) = ticdc.messages()
        (row,) = decode(message.key, message.value, "avro", {id: entry.text for id, entry in ticdc.schemas.items()})
        value = json.loads(ticdc.schemas[2].text)["fields"][3]

    assert isinstance(row, RowEvent)
    assert row.after == {"id": "1", "b": "3", "v": None, "w": "null"}
    assert message.value is not None and message.value[5:].startswith(b"\x02\x02\x04\x00\x03\x00\x00\x08null")
    assert value["default"] == "null" and value["type"][1] == "null"


def test_a_table_with_a_unique_key_alone_has_no_keys() -> None:
    _, schemas = sent("v8.5.7", "CREATE TABLE t (a INT NOT NULL UNIQUE); INSERT INTO t VALUES (1)")

    assert list(schemas) == ["t-value"]


@pytest.mark.parametrize(
    ("release", "uri", "text"),
    [
        ("v8.5.4", EXTENDED, CRASH),
        ("v8.5.6", EXTENDED, CRASH),
        ("v26.3.3", EXTENDED, CRASH),
        ("v26.3.4", MARKED, "is not simulated"),
    ],
)
def test_a_delete_stops_the_changefeed(release: str, uri: str, text: str) -> None:
    """Up to 8.5.6 and 26.3.3 TiCDC takes the key of a DELETE from its new row."""
    with pytest.raises(EncodeError, match=text):
        sent(release, "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); DELETE FROM t", uri)


@pytest.mark.parametrize(
    ("release", "uri", "timed"), [("v8.5.7", EXTENDED, False), ("v8.5.7", MARKED, True), ("v26.3.4", EXTENDED, False)]
)
def test_a_delete_has_its_commit_ts_beside_watermarks(release: str, uri: str, timed: bool) -> None:
    rows, _ = sent(release, "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); DELETE FROM t", uri)

    assert [(row.op, row.before, row.commit_ts is not None) for row in rows] == [
        ("INSERT", None, True),
        ("DELETE", {"id": "1"}, timed),
    ]


@pytest.mark.parametrize(
    ("definition", "values", "code"),
    [("v INT AS (id + 1) VIRTUAL NOT NULL", "(1)", "CDC:ErrAvroEncodeToBinary"), ("INDEX ((id + 1))", "(1)", "")],
)
def test_virtual_columns_that_cannot_be_sent_stop_the_changefeed(definition: str, values: str, code: str) -> None:
    with pytest.raises(EncodeError) as caught:
        sent("v8.5.7", f"CREATE TABLE t (id INT PRIMARY KEY, {definition}); INSERT INTO t (id) VALUES {values}")

    assert caught.value.code == code


def test_column_selectors_take_columns_out_of_values() -> None:
    """Not in 9.0.0-beta.2."""
    config = "[sink]\ncolumn-selectors = [{matcher = ['*.*'], columns = ['*', '!v']}]\n"
    sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 2)"
    found = [sent(release, sql, EXTENDED, config)[1]["t-value"] for release in ("v8.5.7", "v9.0.0-beta.2.pre")]

    assert [[name for name in fields if not name.startswith("_tidb")] for fields in found] == [["id"], ["id", "v"]]


def test_a_schema_stays_when_a_table_gets_another_name() -> None:
    """Classic TiCDC registers one for the new name."""
    sql = "CREATE TABLE test.t (id INT PRIMARY KEY); INSERT INTO test.t VALUES (1);"
    sql += "RENAME TABLE test.t TO test.u; INSERT INTO test.u VALUES (2)"
    found = []
    for release, architecture in (("v8.5.7", "new"), ("v8.5.3", "classic")):
        with TiCDC(release, architecture, sink_uri=URI) as ticdc:
            ticdc.execute(sql)
            found.append(sorted(json.loads(entry.text)["name"] for entry in ticdc.schemas.values()))

    # the schemas of key and value are equal, so that the registry gives them one id
    assert found == [["t"], ["t", "u"]]


def test_row_checksums_order_columns_by_their_ids() -> None:
    """The new architecture mixes the values of later rows up; that is not simulated."""
    modes = "&avro-decimal-handling-mode=string&avro-bigint-unsigned-handling-mode=string"
    config = '[integrity]\nintegrity-check-level = "correctness"\n'
    sql = "CREATE TABLE test.t (id INT PRIMARY KEY); ALTER TABLE test.t ADD COLUMN a INT FIRST;"
    with TiCDC("v8.5.3", "classic", sink_uri=EXTENDED + modes, config=config) as ticdc:
        ticdc.execute(sql + "INSERT INTO test.t VALUES (1, 2)")
        names = [field["name"] for field in json.loads(ticdc.schemas[2].text)["fields"]]

    assert names[:2] == ["id", "a"]
    with pytest.raises(EncodeError, match="mixes up the values"):
        sent("v8.5.7", sql + "INSERT INTO test.t VALUES (1, 2)", EXTENDED + modes, config)


def test_the_first_beta_has_no_avro() -> None:
    with pytest.raises(ChangefeedError, match="unknown 'avro' message protocol"):
        TiCDC("v9.0.0-beta.1", sink_uri=URI)
