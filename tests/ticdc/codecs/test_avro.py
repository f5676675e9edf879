"""Avro beside the recorded feeds: numbers read back by a reader of its own, what TiCDC refuses, and what is refused here."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from shutil import copytree

import pyarrow as pa
import pytest
from support.playing import output_of, play

from simulator import TiCDC
from simulator.errors import ChangefeedError, EncodeError, UserError
from simulator.reader.records import read_records, source_schemas
from simulator.ticdc.changefeed import load
from simulator.ticdc.codecs import wire_numbers
from simulator.ticdc.codecs.row_changes import Schema
from simulator.ticdc.codecs.schema_registry import SchemaManager

URI = "kafka://127.0.0.1:9092/t?protocol=avro&schema-registry=http://127.0.0.1:8081"
EXTENDED = URI + "&enable-tidb-extension=true"
EDGES = [0, 1, -1, 63, 64, -64, -65, 127, 128, -128, -129, 255, 256, 1 << 31, -(1 << 31), (1 << 63) - 1, -(1 << 63)]


def texts(values: list[object]) -> pa.Array:
    return pa.array([None if value is None else str(value).encode() for value in values], pa.binary())


def zigzag(number: int) -> bytes:
    rest, out = (number << 1) ^ (number >> 63), b""
    while rest > 0x7F:
        out, rest = out + bytes([rest & 0x7F | 0x80]), rest >> 7
    return out + bytes([rest])


def test_a_long_is_a_zigzag_number() -> None:
    assert [*map(zigzag, EDGES), None] == wire_numbers.integers(texts([*EDGES, None]), False).to_pylist()


@pytest.mark.parametrize("zeros", [0, 40])
def test_a_decimal_is_the_shortest_twos_complement(zeros: int) -> None:
    """Narrow numbers are read as 128 bits, wide ones as 256."""
    values = [number * 10**zeros for number in EDGES]
    found = wire_numbers.decimals(texts([f"{value}.00" for value in values] + [None]), 2).to_pylist()

    assert [value * 100 for value in values] == [int.from_bytes(each, "big", signed=True) for each in found[:-1]]
    assert all(len(each) == 1 or each[0] not in (0, 255) or each[0] >> 7 != each[1] >> 7 for each in found[:-1])
    assert found[-1] is None


def test_bits_have_no_zeros_before_them() -> None:
    assert [b"\0", b"\x01", b"\x01\0", None] == wire_numbers.bit_strings(texts([0, 1, 256, None])).to_pylist()


@pytest.mark.parametrize(
    ("definition", "values", "code"),
    [
        ("`a b` INT, `a-b` INT", "1, 2, 3", "CDC:ErrAvroSchemaAPIError"),
        ("a VARCHAR(9) DEFAULT 'null'", "1, 'x'", "CDC:ErrAvroSchemaAPIError"),
        ("a ENUM('x')", "1, ''", "CDC:ErrAvroEncodeFailed"),
    ],
)
def test_the_changefeed_stops_at_a_row_that_avro_cannot_hold(definition: str, values: str, code: str) -> None:
    with TiCDC("v8.0.0", sink_uri=URI) as ticdc:
        ticdc.execute(f"SET sql_mode = ''; USE test; CREATE TABLE t (id INT PRIMARY KEY, {definition})")
        with pytest.raises(EncodeError) as caught:
            ticdc.execute(f"INSERT INTO t VALUES ({values})")

    assert code == caught.value.code


def test_a_schema_is_remembered_by_subject_and_version() -> None:
    """As the second of two tables has the schema of the first, other columns cannot be encoded."""
    first, same, other = (
        Schema("t-key", f'{{"name": "{name}", "fields": [{fields}]}}', 7)
        for name, fields in (("a", "1"), ("b", "1"), ("c", "2"))
    )
    manager = SchemaManager()

    assert [1, 1] == [manager.id_of(first), manager.id_of(same)]
    with pytest.raises(EncodeError, match="with the schema of a"):
        manager.id_of(other)
    assert 2 == manager.id_of(Schema("t-key", other.text, 8))


def test_row_checksums_with_numbers_that_are_no_texts_are_refused() -> None:
    with pytest.raises(ChangefeedError, match="row level checksum"):
        TiCDC("v8.0.0", sink_uri=URI, config='[integrity]\nintegrity-check-level = "correctness"\n')


STATEMENTS = """
CREATE TABLE test.late (id INT PRIMARY KEY, v DECIMAL(9,2)); CREATE TABLE test.soon (id INT PRIMARY KEY, v TEXT);
INSERT INTO test.soon VALUES (1, 'x'); INSERT INTO test.late VALUES (1, 1.5); DELETE FROM test.soon
"""


@pytest.fixture(scope="module")
def fixtures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fixtures of a run of STATEMENTS from the command line."""
    home = tmp_path_factory.mktemp("avro")
    (home / "s.sql").write_text(STATEMENTS)
    (home / "changefeed.toml").write_text("[sink]\nschema-registry = 'http://127.0.0.1:8081'\n")
    uri = "kafka://127.0.0.1:9092/t?protocol=avro&enable-tidb-extension=true"
    options = ("--sink-uri", uri, "--config", home / "changefeed.toml", "--release", "v8.0.0")

    assert 0 == play("run", home / "s.sql", *options, "--fixtures", home / "out")
    return home / "out"


def test_fixtures_have_the_schemas_beside_the_messages_and_inspect_reads_them(fixtures: Path) -> None:
    """They are numbered in the order of the rows that name them first."""
    schemas = json.loads((fixtures / "schemas.json").read_text())
    assert {"1": ("t-key", "soon"), "2": ("t-value", "soon"), "3": ("t-key", "late"), "4": ("t-value", "late")} == {
        id: (found["subject"], json.loads(found["schema"])["name"]) for id, found in schemas.items()
    }

    shown = [line.split(" ", 3)[3] for line in output_of("inspect", fixtures).splitlines()]
    assert ["INSERT test.late id=1 v=1.50", "INSERT test.soon id=1 v=x"] == sorted(shown)[1:]


def test_the_same_messages_come_with_and_without_fixtures(fixtures: Path) -> None:
    """Without watermarks, which are asked for: rows alone."""
    with TiCDC("v8.0.0", sink_uri=EXTENDED + "&partition-num=3") as ticdc:
        ticdc.execute(STATEMENTS)
        sent = {(message.topic, message.partition, message.key, message.value) for message in ticdc.messages()}

    assert {(each.topic, each.partition, each.key, each.value) for each in read_records(str(fixtures))} == sent
    assert len(sent) == 3


@pytest.mark.parametrize(
    ("text", "reason"), [("{", "Expecting"), ("[]", "it is not"), ('{"1": {"schema": "{"}}', "Expecting")]
)
def test_a_broken_file_of_schemas_is_named(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "schemas.json").write_text(text)

    with pytest.raises(UserError, match=reason):
        source_schemas(tmp_path)


def test_fixtures_with_schemas_are_replaced(fixtures: Path, tmp_path: Path) -> None:
    copytree(fixtures, tmp_path / "out")
    with TiCDC("v8.0.0", fixtures=tmp_path / "out"):
        pass

    assert not (tmp_path / "out" / "schemas.json").exists()


def test_a_fault_names_a_schema_that_the_registry_does_not_know() -> None:
    sent = []
    for fault in (False, True):
        with TiCDC("v8.0.0", sink_uri=URI) as ticdc:
            ticdc.execute("CREATE TABLE test.t (id INT PRIMARY KEY)")
            for statement in ("INSERT INTO test.t VALUES (1)", "DELETE FROM test.t"):
                if fault:
                    ticdc.fault("unknown-schema")
                ticdc.execute(statement)
            sent.append([part for message in ticdc.messages() for part in (message.key, message.value)])

    unknown = b"\0\x7f\xff\xff\xff"
    key, value, deleted, nothing = sent[0]
    assert key and value and deleted and nothing is None
    assert [key, unknown + value[5:], unknown + deleted[5:], None] == sent[1]


@pytest.mark.parametrize(("release", "version"), [("v7.5.7", 0), ("v8.5.3", 2)])
def test_values_end_with_the_checksum_of_the_row(release: str, version: int) -> None:
    """CRC32 over the values of the columns; NULL has none, and the defaults stand for the checksum of no values."""
    modes = "&avro-decimal-handling-mode=string&avro-bigint-unsigned-handling-mode=string"
    config = '[integrity]\nintegrity-check-level = "correctness"\n'
    with TiCDC(release, sink_uri=EXTENDED + modes, config=config) as ticdc:
        ticdc.execute("CREATE TABLE test.t (id INT PRIMARY KEY, v DECIMAL(9,2), n INT)")
        ticdc.execute("INSERT INTO test.t VALUES (1, 2.5, NULL)")
        (message,) = ticdc.messages()
        names = [field["name"] for field in json.loads(ticdc.schemas[2].text)["fields"]]

    checksum = str(zlib.crc32((1).to_bytes(8, "little") + (4).to_bytes(4, "little") + b"2.50")).encode()
    assert names[-3:] == ["_tidb_row_level_checksum", "_tidb_corrupted", "_tidb_checksum_version"]
    assert message.value is not None
    assert message.value.endswith(zigzag(len(checksum)) + checksum + b"\0" + zigzag(version))


def test_a_registry_is_needed() -> None:
    with pytest.raises(ChangefeedError, match="requires parameter"):
        load("kafka://127.0.0.1:9092/t?protocol=avro")


@pytest.mark.parametrize(("release", "default"), [("v7.5.5", True), ("v7.5.6", False), ("v8.1.0", True)])
def test_a_default_of_older_rows_is_in_schemas_of_some_releases(release: str, default: bool) -> None:
    with TiCDC(release, sink_uri=URI) as ticdc:
        ticdc.execute("CREATE TABLE test.t (id INT PRIMARY KEY); ALTER TABLE test.t ADD COLUMN a INT DEFAULT 5")
        ticdc.execute("ALTER TABLE test.t ALTER COLUMN a DROP DEFAULT; INSERT INTO test.t VALUES (1, 2)")
        field = json.loads(ticdc.schemas[2].text)["fields"][1]

    assert field["default"] == (5 if default else None)
