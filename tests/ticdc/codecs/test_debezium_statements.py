"""Debezium's DDL statements and watermarks, which the new architecture sends, from TiCDC's source.

Source: ticdc pkg/sink/codec/debezium/codec.go and helper.go at each tag.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simulator import TiCDC
from simulator.cli import run
from simulator.errors import EncodeError
from simulator.explain.ddl import ddl_lines, explain_statements
from simulator.releases import find
from simulator.sinks.memory import Message
from simulator.ticdc.changefeed import load
from simulator.ticdc.codecs import CODECS, CodecOptions
from simulator.ticdc.ddl.sent_text import execute_text
from simulator.ticdc.rules import changefeed_rules
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.session import Session

URI = "kafka://127.0.0.1:9092/t?protocol=debezium&partition-num=2"
NEW = ("v8.5.4", "v8.5.5", "v8.5.8", "v26.3.4", "v9.0.0-beta.2.pre")
PLAIN = "&debezium-disable-schema=true"


def messages(sql: str, release: str = "v8.5.7", more: str = PLAIN) -> list[Message]:
    with TiCDC(release, architecture="new", sink_uri=URI + more, databases=()) as ticdc:
        ticdc.execute("CREATE DATABASE d; USE d;")
        ticdc.messages()
        ticdc.execute(sql)
        return list(ticdc.messages())


def statement(sql: str, release: str = "v8.5.7") -> dict[str, Any]:
    """The payload of the last DDL message."""
    found = [json.loads(message.value or b"")["payload"] for message in messages(sql, release)]
    last: dict[str, Any] = [payload for payload in found if "ddl" in payload][-1]
    return last


def test_the_schema_of_source_has_ticdcs_members_from_26_3_3_on() -> None:
    """With enable-tidb-extension, in rows, statements and watermarks (codec.go writeSourceSchema)."""
    found = {}
    for release in ("v26.3.1", "v26.3.3"):
        for more in ("", "&enable-tidb-extension=true"):
            made = messages("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)", release, more)
            schemas = [json.loads(message.value or b"")["schema"]["fields"] for message in made]
            sources = [next(field for field in fields if field["field"] == "source") for fields in schemas]
            found[release, bool(more)] = {source["fields"][-1]["field"] for source in sources}
    assert [each for each, last in found.items() if last == {"cluster_id"}] == [("v26.3.3", True)]
    assert [last for each, last in found.items() if each != ("v26.3.3", True)] == [{"query"}] * 3


@pytest.mark.parametrize("release", NEW)
def test_statements_go_to_all_partitions_with_their_tables(release: str) -> None:
    """As TiCDC's own test has it, but for the cluster's name (codec_test.go TestDDLEvent); members are in its order."""
    sent = messages("CREATE TABLE table1 (id INT(10) PRIMARY KEY); RENAME TABLE table1 TO table2;", release, "")
    renamed = [message for message in sent if b"RENAME" in (message.value or b"")]
    assert [message.partition for message in renamed] == [0, 1]
    key, value = json.loads(renamed[0].key or b""), json.loads(renamed[0].value or b"")
    assert key["payload"] == {"databaseName": "d"}
    assert key["schema"]["name"] == "io.debezium.connector.mysql.SchemaChangeKey"
    assert value["schema"]["name"] == "io.debezium.connector.mysql.SchemaChangeValue"
    payload = value["payload"]
    assert (payload["databaseName"], payload["schemaName"]) == ("d", None)
    assert (payload["source"]["db"], payload["source"]["table"]) == ("d", "table2")
    order = [name for name in payload if name in ("source", "databaseName", "ddl", "tableChanges")]
    assert order == ["source", "databaseName", "ddl", "tableChanges"]
    assert json.dumps(payload["tableChanges"], separators=(",", ":")) == (
        r"""[{"type":"ALTER","id":"\"d\".\"table1\",\"d\".\"table2\"","table":{"defaultCharsetName":"utf8mb4","""
        '"primaryKeyColumnNames":["id"],"columns":[{"name":"id","jdbcType":4,"nativeType":null,"comment":null,'
        '"defaultValueExpression":null,"enumValues":null,"typeName":"INT","typeExpression":"INT","charsetName":null,'
        '"length":10,"scale":null,"position":1,"optional":false,"autoIncremented":false,"generated":false}],'
        '"comment":null}}]'
    )


COLUMNS: list[tuple[str, dict[str, object]]] = [
    ("BIGINT UNSIGNED", {"jdbcType": -5, "typeName": "BIGINT UNSIGNED", "length": None}),
    ("INT UNSIGNED", {"jdbcType": 4, "typeName": "INT UNSIGNED", "length": None}),
    ("TINYINT(1)", {"jdbcType": 5, "typeName": "TINYINT", "length": 1}),
    ("DECIMAL(20,2)", {"jdbcType": 3, "typeExpression": "DECIMAL", "length": 20, "scale": 2}),
    ("DOUBLE(10,2)", {"jdbcType": 8, "typeName": "DOUBLE", "typeExpression": "DOUBLE(10,2)", "scale": 2}),
    ("FLOAT", {"jdbcType": 6, "length": None, "scale": None}),
    ("VARCHAR(5)", {"jdbcType": 12, "length": None, "charsetName": "utf8mb4"}),
    ("VARCHAR(6) CHARSET latin1", {"length": 6, "charsetName": "latin1"}),
    ("VARBINARY(9)", {"jdbcType": -3, "typeName": "VARBINARY", "length": 9, "charsetName": None}),
    ("BLOB", {"jdbcType": 2004, "typeName": "BLOB", "length": None}),
    ("DATETIME", {"jdbcType": 93, "length": None}),
    ("DATETIME(0)", {"length": 0}),
    ("TIMESTAMP(3) NULL", {"jdbcType": 2014, "length": 3}),
    ("YEAR", {"jdbcType": 4, "typeName": "YEAR"}),
    ("JSON", {"jdbcType": 1111, "length": None}),
    ("ENUM('a','b')", {"jdbcType": 1, "length": 1, "enumValues": ["'a'", "'b'"], "charsetName": "utf8mb4"}),
    ("SET('a','b')", {"length": 3, "enumValues": ["'a'", "'b'"]}),
    ("INT COMMENT 'c'", {"comment": None}),
    ("INT DEFAULT 5", {"defaultValueExpression": "5"}),
    ("TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP", {"defaultValueExpression": "1970-01-01 00:00:00"}),
    ("DATETIME DEFAULT NULL", {"defaultValueExpression": None}),
    ("DATETIME DEFAULT '2024-1-1'", {"defaultValueExpression": "2024-1-1"}),
    ("DATE DEFAULT '2024-1-1'", {"defaultValueExpression": "2024-01-01"}),
    ("BIT(9) DEFAULT b'1'", {"jdbcType": -7, "length": 9, "defaultValueExpression": "1"}),
    ("BIT(8) DEFAULT b'10101010'", {"defaultValueExpression": "111011111011111110111101"}),
    ("TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP", {"autoIncremented": True, "generated": True}),
    ("DATETIME ON UPDATE CURRENT_TIMESTAMP", {"autoIncremented": False}),
    ("INT NOT NULL AUTO_INCREMENT UNIQUE", {"autoIncremented": True, "optional": False}),
]
"""Definitions of columns, and what of them a statement's message says."""


@pytest.mark.slow
def test_columns_of_a_statement() -> None:
    """A column that the statement defines loses its comment; a BIT's default is no UTF-8 in TiDB's JSON."""
    with TiCDC("v8.5.7", architecture="new", sink_uri=URI + PLAIN) as ticdc:
        for number, (definition, _) in enumerate(COLUMNS):
            ticdc.execute(f"CREATE TABLE test.t{number} (id INT PRIMARY KEY, v {definition})")
        payloads = [
            json.loads(message.value or b"")["payload"] for message in ticdc.messages() if not message.partition
        ]
    columns = [payload["tableChanges"][0]["table"]["columns"][1] for payload in payloads if payload["tableChanges"]]
    found = [
        (definition, {name: column[name] for name in expected})
        for column, (definition, expected) in zip(columns, COLUMNS, strict=True)
    ]
    assert found == COLUMNS


def test_columns_that_a_statement_does_not_define_are_as_tidb_stores_them() -> None:
    create = "CREATE TABLE t (id INT PRIMARY KEY COMMENT 'c', d DATETIME DEFAULT '2024-1-1', y YEAR); "
    (change,) = statement(create + "ALTER TABLE t ADD COLUMN v INT COMMENT 'v'")["tableChanges"]
    found = [(each["comment"], each["length"], each["defaultValueExpression"]) for each in change["table"]["columns"]]
    assert found == [("c", None, None), (None, 0, "2024-01-01 00:00:00"), (None, 4, None), (None, None, None)]


def test_dropped_truncated_and_exchanged_tables() -> None:
    parts = "PARTITION BY HASH (id) PARTITIONS 2"
    create = f"CREATE TABLE p (id INT PRIMARY KEY) {parts}; CREATE TABLE t (id INT PRIMARY KEY); "
    assert statement(create + "DROP TABLE t")["tableChanges"] == [{"type": "DROP", "id": '"d"."t"', "table": None}]
    assert statement(create + "TRUNCATE TABLE t")["tableChanges"] == []
    assert statement("CREATE DATABASE e")["tableChanges"] == []
    (change,) = statement(create + "ALTER TABLE p EXCHANGE PARTITION p0 WITH TABLE t")["tableChanges"]
    assert (change["type"], change["id"]) == ("ALTER", '"d"."p"')


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("RENAME TABLE t TO `a``b`", "TiCDC cannot read the statement it sends: RENAME TABLE `d`.`t` TO"),
        ("ALTER TABLE t ALTER COLUMN V SET DEFAULT 5", "column V of the statement is not in the table"),
    ],
)
def test_statements_that_crash_ticdc(sql: str, reason: str) -> None:
    """A back-quote in a name breaks the text of RENAME up to 8.5.5."""
    with pytest.raises(EncodeError, match=f"^panic: invalid memory address: {reason}"):
        messages(f"CREATE TABLE t (id INT PRIMARY KEY, v INT); {sql}", "v8.5.4")


def test_a_view_has_the_names_of_its_columns() -> None:
    (change,) = statement("CREATE TABLE t (id INT PRIMARY KEY); CREATE VIEW v AS SELECT id FROM t")["tableChanges"]
    (only,) = change["table"]["columns"]
    assert (change["type"], change["id"], only["name"], only["typeName"]) == ("CREATE", '"d"."v"', "id", "UNSPECIFIED")


def test_some_statements_are_not_sent() -> None:
    sent = messages("CREATE TABLE t (id INT PRIMARY KEY, v DATETIME); ALTER TABLE t TTL = `v` + INTERVAL 1 DAY")
    assert not [message for message in sent if b"TTL" in (message.value or b"")]


def test_watermarks_and_types_of_tidb_need_the_extension() -> None:
    release, options = find("v8.5.7", "new"), CodecOptions("debezium", build_ts=5)
    assert CODECS["debezium"].watermark(1 << 18, options, release) is None
    found = CODECS["debezium"].watermark(1 << 18, replace(options, enable_tidb_extension=True), release)
    assert found is not None
    key, value = (json.loads(text or b"") for text in found)
    schema = {"type": "struct", "name": "default.watermark.Key", "optional": False, "fields": []}
    assert key == {"payload": {}, "schema": schema}
    payload = value["payload"]
    source = payload["source"]
    assert (payload["op"], source["commit_ts"], source["ts_ms"], payload["ts_ms"]) == ("m", 1 << 18, 1, 5)
    assert value["schema"]["name"] == "default.watermark.Envelope"

    sql = "CREATE TABLE t (id INT UNSIGNED PRIMARY KEY); INSERT INTO t VALUES (1)"
    sent = messages(sql, more="&enable-tidb-extension=true")
    (row,) = [json.loads(message.value or b"") for message in sent if b'"op":"c"' in (message.value or b"")]
    (described,) = row["schema"]["fields"][1]["fields"]
    assert list(described.items())[0] == ("tidb_type", "int unsigned")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "more"), [("v8.5.7", ""), *((release, "&enable-tidb-extension=true") for release in NEW)]
)
def test_a_stream_leads_to_the_rows_of_the_truth(tmp_path: Path, release: str, more: str) -> None:
    with TiCDC(release, architecture="new", sink_uri=URI + more, databases=(), fixtures=tmp_path / "out") as ticdc:
        ticdc.execute("""CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, v DATETIME(3));
            INSERT INTO t VALUES (1, '2024-02-29 01:02:03.004'), (2, NULL); ALTER TABLE t ADD COLUMN w INT DEFAULT 7;
            UPDATE t SET w = 8 WHERE id = 1; RENAME TABLE t TO u; DELETE FROM u WHERE id = 2;
            CREATE TABLE gone (id INT PRIMARY KEY); INSERT INTO gone VALUES (1); TRUNCATE TABLE gone;
            INSERT INTO gone VALUES (2); DROP TABLE gone""")
        ticdc.truth(tmp_path / "truth")
    assert run(["verify", str(tmp_path / "out"), "--truth", str(tmp_path / "truth")]) == 0


@pytest.mark.parametrize(
    ("architecture", "statement", "reason"),
    [
        ("classic", "CREATE TABLE t (id INT PRIMARY KEY)", "TiCDC v8.5.7 sends no statements"),
        ("new", "CREATE TABLE t (id INT PRIMARY KEY)", ""),
        ("new", "ALTER TABLE k TTL = `v` + INTERVAL 1 DAY", "TiCDC skips AlterTTLInfo"),
    ],
)
def test_explain_ddl_says_what_debezium_sends(architecture: str, statement: str, reason: str) -> None:
    release = find("v8.5.7", architecture)
    rules = changefeed_rules(load(URI, "", release), release)
    catalog: Catalog | None = Catalog()
    for text in ("CREATE DATABASE d", "CREATE TABLE d.k (id INT PRIMARY KEY, v DATETIME)"):
        catalog = execute_text(text, Session("d", catalog, release)).catalog
    (explained,) = explain_statements([("d", statement)], catalog, rules)
    (event,) = explained.jobs[0].events
    found = [message for message in event.messages if message.protocol == "debezium"]
    assert (event.not_sent, len(found)) == (reason, 0 if reason else 1)
    assert (f"no message   {reason}" in ddl_lines(explained)) == bool(reason)


def test_explain_ddl_without_the_table_says_that_its_message_describes_it() -> None:
    release = find("v8.5.7", "new")
    rules = changefeed_rules(load(URI, "", release), release)
    (explained,) = explain_statements([("d", "ALTER TABLE t ADD COLUMN v INT")], None, rules)
    assert explained.jobs[0].events[0].not_sent == "its message describes the table, which is not known here"
