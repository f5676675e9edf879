"""Avro before 6.1: unions, numbers and times of its own, and where TiCDC stops."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.playing import play

from simulator import TiCDC
from simulator.consumer.decode import RowEvent
from simulator.errors import ChangefeedError, EncodeError

URI = "kafka://127.0.0.1:9092/t?protocol=avro&partition-num=1&registry=http://127.0.0.1:8081"


def sent(release: str, columns: str, values: str, mode: str = "") -> tuple[RowEvent, dict[str, object]]:
    """A row with these values beside its key, and the types of its columns."""
    with TiCDC(release, sink_uri=URI) as ticdc:
        ticdc.execute(f"SET sql_mode = '{mode}'; CREATE TABLE test.t (id INT PRIMARY KEY, {columns})")
        ticdc.execute(f"INSERT INTO test.t VALUES (1, {values})")
        (row,) = ticdc.events()
        schemas = {entry.subject: json.loads(entry.text) for entry in ticdc.schemas.values()}
    assert isinstance(row, RowEvent)
    assert schemas["test_t-value"]["name"] == "t" and "namespace" not in schemas["test_t-value"]
    return row, {field["name"]: field["type"] for field in schemas["test_t-value"]["fields"]}


NUMBER = {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 0}


def test_columns_outside_of_the_key_are_unions() -> None:
    """BIGINT UNSIGNED, BIT, ENUM and SET are numbers, TEXT is bytes, DECIMAL a text."""
    columns = "u BIGINT UNSIGNED NOT NULL, e ENUM('x','y'), s SET('p','q'), b BIT(9), d DECIMAL(9,2), t TEXT, n TEXT"
    row, types = sent("v5.4.3", columns, "18446744073709551615, 'y', 'p,q', 257, 1.5, 'é', NULL")

    assert types["id"] == "int"
    assert types["u"] == types["e"] == types["s"] == types["b"] == ["null", NUMBER]
    assert (types["d"], types["t"]) == (["null", "string"], ["null", "bytes"])
    assert row.after == {
        **{"id": "1", "u": "18446744073709551615", "e": "2", "s": "3", "b": "257", "d": "1.50"},
        **{"t": "é".encode(), "n": None},
    }


def test_6_0_has_unions_for_null_alone_and_texts_of_members() -> None:
    row, types = sent("v6.0.0", "e ENUM('x','y') NOT NULL, t TEXT, b VARBINARY(9)", "'y', 'é', x'ff'")

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
    row, _ = sent("v5.4.3", f"v {type}", f"'{value}'")

    assert row.after is not None and row.after["v"] == shown


@pytest.mark.parametrize(
    ("release", "last", "definition", "value", "text"),
    [
        ("v5.3.0", "v5.3.1", "JSON", "'1'", "panic: interface conversion"),
        ("v4.0.14", "v4.0.15", "TINYINT UNSIGNED", "1", "panic: interface conversion"),
        ("v4.0.10", "v4.0.11", "FLOAT", "1", "allowed types: \\[null float\\]"),
        ("v4.0.12", "v4.0.13", "DATE", "'0000-00-00'", "parsing time"),
        ("v5.4.3", "v6.0.0", "VARBINARY(9)", "x'ff'", "allowed types: \\[null string\\]"),
        ("v5.4.3", "v6.1.0", "INT, `a b` INT", "1, 2", "ought to have valid name: a b"),
    ],
)
def test_the_changefeed_stops_up_to_a_release(release: str, last: str, definition: str, value: str, text: str) -> None:
    """NULL is sent in any case."""
    with pytest.raises(EncodeError, match=text):
        sent(release, f"v {definition}", value)
    with TiCDC(last, sink_uri=URI + "&schema-registry=http://127.0.0.1:8081", config=REGISTRY[last >= "v6.1"]) as ticdc:
        ticdc.execute(f"SET sql_mode = ''; CREATE TABLE test.t (id INT PRIMARY KEY, v {definition})")
        ticdc.execute(f"INSERT INTO test.t VALUES (1, {value})")
        assert len(ticdc.messages()) == 1


REGISTRY = (None, '[sink]\nschema-registry = "http://127.0.0.1:8081"\n')


@pytest.mark.parametrize(("release", "stops"), [("v4.0.6", True), ("v4.0.7", False)])
def test_a_delete_has_a_key_from_4_0_7_on(release: str, stops: bool) -> None:
    with TiCDC(release, sink_uri=URI) as ticdc:
        ticdc.execute("CREATE TABLE test.t (id INT PRIMARY KEY); INSERT INTO test.t VALUES (1)")
        if stops:
            with pytest.raises(EncodeError, match="fields ought to be non-nil array"):
                ticdc.execute("DELETE FROM test.t")
            return
        ticdc.execute("DELETE FROM test.t")
        assert ticdc.messages()[-1].value is None


@pytest.mark.parametrize(
    ("release", "uri", "text"),
    [
        ("v4.0.5", URI, "its records have random names"),
        (
            "v5.4.3",
            URI.replace("&registry=", "&schema-registry="),
            'ErrPrepareAvroFailed.*requires parameter "registry"',
        ),
        ("v6.0.0", URI.replace("&registry=", "&schema-registry="), 'MQCodecInvalidConfig.*parameter "registry"'),
    ],
)
def test_what_cannot_be_sent_is_refused(release: str, uri: str, text: str) -> None:
    with pytest.raises(ChangefeedError, match=text):
        TiCDC(release, sink_uri=uri)


def test_verify_says_that_databases_are_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.sql").write_text("CREATE TABLE test.t (id INT PRIMARY KEY); INSERT INTO test.t VALUES (1)")
    options = ("--sink-uri", URI, "--release", "v5.4.3", "--fixtures", tmp_path / "out")
    assert play("run", tmp_path / "s.sql", *options) == 0
    assert play("verify", tmp_path / "out", "--sink-uri", URI, "--release", "v5.4.3") == 2

    assert "its messages do not say in which database a table is" in capsys.readouterr().err
