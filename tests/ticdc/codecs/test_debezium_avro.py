"""Debezium in Avro: fastavro reads the messages with the registered schemas, which hold what Debezium's JSON holds.

Source: ticdc v26.3.3: pkg/sink/codec/debezium/avro.go, avro_test.go.
"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support.codec_readings import avro_record
from support.playing import play

from simulator import TiCDC
from simulator.errors import ChangefeedError, EncodeError, UserError
from simulator.reader.decode import DdlEvent, RowEvent, Watermark
from simulator.reader.verify import verify
from simulator.reader.verify.options import VerifyOptions
from simulator.reader.verify.verification import RIGHT
from simulator.ticdc.codecs import CODECS, CodecOptions

URI = "kafka://127.0.0.1:9092/t?partition-num=2&protocol=debezium-avro&schema-registry=http://127.0.0.1:8081"
CONTROLLED = URI + "&enable-tidb-extension=true&avro-enable-watermark=true"
TYPES = """b1 BIT(1), b9 BIT(9), b64 BIT(64), ti TINYINT, su SMALLINT UNSIGNED, m MEDIUMINT, iu INT UNSIGNED, bi BIGINT,
bu BIGINT UNSIGNED, f FLOAT, fm FLOAT(7,2), d DOUBLE, n DECIMAL(65,30), s VARCHAR(20), vb VARBINARY(9), bl BLOB,
e ENUM('a','b,c'), st SET('p','q'), dt DATE, dn DATE NOT NULL, dm DATETIME(3), du DATETIME(6), ts TIMESTAMP(2) NULL,
t TIME(1), y YEAR, j JSON, `a b` INT, k INT DEFAULT 7"""
VALUES = """b'1', b'100000010', 0x0102030405060708, -128, 65535, -8388608, 4294967295, -9223372036854775808,
9223372036854775807, 0.1, 3.14, 1e300, -12345.678, 'é"\\\\', x'00ff', x'fffe', 'b,c', 'p,q', '0018-02-03', '0000-00-00',
'2024-02-29 01:02:03.456', '1969-12-31 23:59:59.999999', '2024-01-01 00:00:00.25', '-01:00:00.5', 2024, '{"x": 1}', 5, NULL"""
EXACT = {"n": Decimal("-12345.678000000000000000000000000000"), "vb": b"\0\xff", "bl": b"\xff\xfe"}
"""Values that JSON has otherwise: as a float, and in base64."""

BITS = {"b9": b"\x02\x01", "b64": bytes(range(8, 0, -1))}


def play_rows(protocol_uri: str, config: str | None = None) -> tuple[list[Any], dict[int, str]]:
    """Messages of an INSERT, an UPDATE and a DELETE of all types, and the schemas that they name."""
    with TiCDC("v26.3.4", sink_uri=protocol_uri, config=config) as ticdc:
        ticdc.execute(f"SET sql_mode = ''; USE test; CREATE TABLE t (id INT PRIMARY KEY, {TYPES});")
        ticdc.messages()
        ticdc.execute(f"INSERT INTO t VALUES (1, {VALUES}); UPDATE t SET s = NULL, bl = NULL, n = 0; DELETE FROM t")
        schemas = {number: schema.text for number, schema in ticdc.schemas.items()}
        rows = [message for message in ticdc.messages() if message.key]
    return rows, schemas


@pytest.fixture(scope="module")
def avro() -> tuple[list[Any], dict[int, str]]:
    return play_rows(URI)


@pytest.mark.slow
def test_fastavro_reads_what_debeziums_json_has(avro: tuple[list[Any], dict[int, str]]) -> None:
    """Rows of 26.3.4 in both protocols; `source` has no `sequence` and null for what the other says of snapshots and
    threads, and there is no `transaction`."""
    messages, schemas = avro
    others, _ = play_rows(URI.split("&schema")[0].replace("debezium-avro", "debezium"))
    assert len(messages) == len(others) == 3
    for message, other in zip(messages, others, strict=True):
        value, schema = avro_record(message.value, schemas)
        payload = json.loads(other.value)["payload"]
        del payload["transaction"]
        payload["source"] |= {"snapshot": None, "thread": None}
        for side in ("before", "after"):
            if payload[side] is not None:
                payload[side]["a_b"] = payload[side].pop("a b")
                found = value[side]
                assert found.pop("f") == pytest.approx(payload[side].pop("f"))
                assert found.pop("fm") == pytest.approx(payload[side].pop("fm"))
                changed = {name: found[name] for name in ("n", *EXACT, *BITS)}
                payload[side] |= changed
        assert payload == value
        assert json.loads(other.key)["payload"] == avro_record(message.key, schemas)[0]
        assert ("default.test.tEnvelope", "tEnvelope") == (schema["connect.name"], schema["name"])


def test_all_columns_may_be_null_and_have_no_defaults(avro: tuple[list[Any], dict[int, str]]) -> None:
    """The schema of the row, as goavro registers it: members in the order of their names."""
    (text,) = {schema for schema in avro[1].values() if "tEnvelope" in schema}
    assert text.startswith('{"connect.name":"default.test.tEnvelope","connect.version":1,"fields":[')
    assert '{"connect.field":"a b","default":null,"name":"a_b","type":["null","int"]}' in text
    assert '{"connect.field":"after","default":null,"name":"after","type":["null","default.test.t"]}' in text
    assert (
        '{"connect.name":"org.apache.kafka.connect.data.Decimal","connect.parameters":{"precision":"65","scale":"30"},'
        '"logicalType":"decimal","precision":65,"scale":30,"type":"bytes"}'
    ) in text
    assert '{"connect.type":"int16","type":"int"}' in text
    assert "tidb_type" not in text


@pytest.mark.slow
def test_statements_and_watermarks_are_records_too() -> None:
    """Their schemas are registered under their own names; that of statements stays the first one."""
    with TiCDC("v26.3.3", sink_uri=CONTROLLED, databases=()) as ticdc:
        ticdc.execute("CREATE DATABASE a; CREATE TABLE a.t (id INT PRIMARY KEY); INSERT INTO a.t VALUES (1)")
        ticdc.execute("CREATE DATABASE b; CREATE TABLE b.u (id INT PRIMARY KEY, v INT); INSERT INTO b.u VALUES (1, 2)")
        events, subjects = ticdc.events(), [schema.subject for schema in ticdc.schemas.values()]

    statements = [event for event in events if isinstance(event, DdlEvent)]
    assert [(each.schema, each.table) for each in statements[::2]] == [("a", ""), ("a", "t"), ("b", ""), ("b", "u")]
    assert isinstance(events[-1], Watermark)
    assert subjects == [
        *("io.debezium.connector.mysql.SchemaChangeKey", "io.debezium.connector.mysql.SchemaChangeValue"),
        *("default.watermark.Key", "default.watermark.Envelope"),
        *("t-key", "t-value") * 2,
    ]


def test_the_project_decodes_rows_of_several_tables_in_one_topic() -> None:
    with TiCDC("v26.3.4", sink_uri=URI) as ticdc:
        ticdc.execute(
            "USE test; CREATE TABLE a (id INT PRIMARY KEY, n DECIMAL(9,2)); CREATE TABLE b (id INT PRIMARY KEY, x TEXT)"
        )
        ticdc.execute("INSERT INTO a VALUES (1, -1.5); INSERT INTO b VALUES (1, 'é'); INSERT INTO a VALUES (2, NULL)")
        rows = [event for event in ticdc.events() if isinstance(event, RowEvent)]

    assert [(row.table, row.after) for row in rows] == [
        ("a", {"id": "1", "n": "-1.50"}),
        ("b", {"id": "1", "x": "é"}),
        ("a", {"id": "2", "n": None}),
    ]
    assert [rows[0].columns[name].key for name in ("id", "n")] == [True, False]


API, BINARY = "CDC:ErrAvroSchemaAPIError", "CDC:ErrAvroEncodeToBinary"


@pytest.mark.parametrize(
    ("columns", "rows", "code", "text"),
    [
        ("u BIGINT UNSIGNED PRIMARY KEY", "(u) VALUES (1 << 63)", "CDC:ErrDebeziumEncodeFailed", "overflows"),
        ("`a b` INT PRIMARY KEY, `a-b` INT", "VALUES (1, 2)", API, '"a_b"'),
        ("a INT PRIMARY KEY, g INT AS (a)", "(a) VALUES (1)", API, '"g"'),
        ("a INT PRIMARY KEY, KEY ((a + 1))", "VALUES (1)", API, "_V__expression_index_0"),
        ("a INT PRIMARY KEY", "VALUES (1); RENAME TABLE t TO u; INSERT INTO u VALUES (2)", BINARY, "default.test.u"),
    ],
)
def test_the_changefeed_stops_at_names_that_are_equal_once_they_are_cleaned_and_at_a_renamed_table(
    columns: str, rows: str, code: str, text: str
) -> None:
    """Schemas have virtual columns twice; of a table under a new name TiCDC takes the topic's schema from memory."""
    with TiCDC("v26.3.4", sink_uri=URI) as ticdc, pytest.raises(EncodeError) as caught:
        ticdc.execute(f"USE test; CREATE TABLE t ({columns}); INSERT INTO t {rows}")

    assert (code, True) == (caught.value.code, text in caught.value.text)


def test_a_table_with_the_name_of_another_type_is_refused() -> None:
    with TiCDC("v26.3.4", sink_uri=URI) as ticdc, pytest.raises(EncodeError, match="name of another type"):
        ticdc.execute("CREATE TABLE test.`Source` (a INT PRIMARY KEY); INSERT INTO test.`Source` VALUES (1)")


@pytest.mark.parametrize(
    ("uri", "config", "text"),
    [
        (URI.split("&schema")[0], None, "Debezium Avro protocol requires parameter"),
        (URI + "&avro-decimal-handling-mode=float", None, 'could only be "string" or "precise"'),
        (URI, "force-replicate = true\n", "using avro or debezium-avro protocol"),
        (URI.replace("-avro", ""), None, "Debezium protocol does not support schema registry; use protocol"),
    ],
)
def test_options_are_refused_as_ticdc_refuses_them(uri: str, config: str | None, text: str) -> None:
    with pytest.raises(ChangefeedError, match=text):
        TiCDC("v26.3.3", sink_uri=uri, config=config)


def test_releases_before_26_3_3_do_not_know_it() -> None:
    with pytest.raises(ChangefeedError, match=r"unknown 'debezium-avro' .* TiCDC has it since v26\.3\.3"):
        TiCDC("v26.3.1", sink_uri=URI)


PLAN = """
seed = 7
rows-per-second = 500
[[table]]
definition = "CREATE TABLE shop.often (id BIGINT PRIMARY KEY, name VARCHAR(40), n DECIMAL(30,4), d DATETIME)"
rows = 50
[[table]]
definition = "CREATE TABLE shop.seldom (id BIGINT PRIMARY KEY, name VARBINARY(40))"
rows = 20
[[ddl]]
every = "1s"
kinds = ["add-column", "truncate"]
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the fixtures of a load run with statements and watermarks, `out`, and its truth."""
    home = tmp_path_factory.mktemp("loaded")
    (home / "plan.toml").write_text(PLAN)
    options = "--duration 2s --rate max --master none --release v26.3.4 --sink-uri".split()
    assert (
        play("load", home / "plan.toml", *options, CONTROLLED, "--fixtures", home / "out", "--truth", home / "truth")
        == 0
    )
    return home


@pytest.mark.slow
def test_a_load_run_is_verified(loaded: Path) -> None:
    verification = verify(VerifyOptions(str(loaded / "out"), truth=loaded / "truth"))
    assert verification.verdict == RIGHT, verification.failures


def test_a_stream_without_its_release_is_asked_for(loaded: Path) -> None:
    with pytest.raises(UserError, match="the messages are debezium-avro, which TiCDC .* does not have"):
        verify(VerifyOptions(str(loaded / "out")))


@pytest.mark.slow
def test_two_streams_are_compared_by_their_schemas(loaded: Path) -> None:
    assert play("compare", loaded / "out", loaded / "out") == 0
    assert play("inspect", loaded / "out") == 0


@pytest.mark.parametrize("release", ["v26.3.3", "v26.3.4"])
def test_a_delete_may_be_the_first_row_of_a_schema(release: str) -> None:
    """Its value is registered with it, before the rows of others that come later."""
    with TiCDC(release, sink_uri=URI) as ticdc:
        ticdc.execute("USE test; CREATE TABLE b (id INT PRIMARY KEY); INSERT INTO b VALUES (5)")
        ticdc.execute("CREATE TABLE c (id INT PRIMARY KEY); ALTER TABLE b ADD COLUMN n INT; DELETE FROM b")
        ticdc.execute("INSERT INTO c VALUES (1); INSERT INTO b VALUES (6, 7)")
        events = [event for event in ticdc.events() if isinstance(event, RowEvent)]
        names = [json.loads(schema.text)["connect.name"].split(".")[-1] for schema in ticdc.schemas.values()]
    assert [each.op for each in events] == ["INSERT", "DELETE", "INSERT", "INSERT"]
    assert names == ["bKey", "bEnvelope", "bEnvelope", "cKey", "cEnvelope"]


def test_a_row_may_have_an_unknown_operation(avro: tuple[list[Any], dict[int, str]]) -> None:
    """The letter alone changes, wherever it is (fault `unknown-type`)."""
    messages, schemas = avro
    codec = CODECS["debezium-avro"]
    for message in messages:
        _, value = codec.with_unknown_type((message.key, message.value), CodecOptions("debezium-avro"))
        found, expected = (avro_record(each, schemas)[0] for each in (value, message.value))
        assert found == {**expected, "op": "x"}
