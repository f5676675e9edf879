"""Debezium's messages where releases differ, from TiCDC's source; tests/endtoend has what 8.0.0 wrote.

Source: tiflow pkg/sink/codec/debezium/codec.go at each tag.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from support.codec_rows import Change, rows

from simulator.errors import ChangefeedError, EncodeError
from simulator.releases import find
from simulator.ticdc.changefeed import load
from simulator.ticdc.codecs import CODECS, CodecOptions
from simulator.tidb.ddl.definitions.from_sql import create_table

URI = "kafka://127.0.0.1:9092/t?protocol=debezium"
TABLE = "CREATE TABLE `a-b`.`t.é` (id INT PRIMARY KEY, v {})"


def sent(
    type: str, value: str | None, release: str = "v8.5.7", table: str = TABLE, **options: object
) -> tuple[Any, dict[str, Any]]:
    """Key and value of an INSERT."""
    changes: list[Change] = [(None, {"id": "1", "v": value})]
    chosen = replace(CodecOptions("debezium", build_ts=0), **options)  # type: ignore[arg-type]
    made = CODECS["debezium"].encode(rows(create_table(table.format(type)), changes), chosen, find(release))
    key = None if made.keys is None else json.loads(made.keys[0].as_py())
    return key, json.loads(made.values[0].as_py())


def written(type: str, value: str | None, release: str = "v8.5.7") -> object:
    """The value of the column."""
    return sent(type, value, release)[1]["payload"]["after"]["v"]


def field(type: str, release: str = "v8.5.7") -> dict[str, Any]:
    """The schema of the column."""
    _, value = sent(type, None, release)
    found: dict[str, Any] = value["schema"]["fields"][1]["fields"][1]
    return found


@pytest.mark.parametrize(
    ("type", "value", "expected"),
    [
        ("DECIMAL(20,2)", "123456789012345678.90", 123456789012345680.0),
        ("DECIMAL(40,0)", "1" + "0" * 30, 1e30),
        ("BIGINT UNSIGNED", "18446744073709551615", -1),
        ("BIGINT UNSIGNED", "9223372036854775808", -(1 << 63)),
        ("BIT(1)", "1", True),
        ("BIT(9)", "257", "AQE="),
        ("DATE", "1969-12-31", -1),
        ("DATETIME(3)", "1970-01-01 00:00:01.500", 1500),
        ("DATETIME(4)", "1970-01-01 00:00:01.5000", 1500000),
        ("TIMESTAMP(2) NULL", "2024-02-29 01:02:03.45", "2024-02-29T01:02:03.45Z"),
        ("TIME(1)", "-838:59:59.0", -3020399000000),
        ("YEAR", "2024", 2024),
        ("ENUM('a','b')", "b", "b"),
        ("SET('a','b')", "a,b", "a,b"),
        ("JSON", '{"a": "\\""}', '{"a": "\\""}'),
    ],
)
@pytest.mark.parametrize("release", ["v8.0.0", "v8.5.0", "v8.5.7"])
def test_values_are_those_of_debeziums_types(release: str, type: str, value: str, expected: object) -> None:
    assert written(type, value, release) == expected


@pytest.mark.parametrize(
    ("type", "value", "before", "later"),
    [
        ("DATE", "0000-00-00", None, None),
        ("DATE NOT NULL", "2024-00-01", 0, 0),
        ("DATE", "0018-01-01", -712953, 17532),
        ("DATETIME", "0000-00-00 00:00:00", None, None),
        ("DATETIME NOT NULL", "0000-00-00 00:00:00", 0, 0),
        ("TIMESTAMP NULL", "0000-00-00 00:00:00", None, "1970-01-01T00:00:00Z"),
        ("TIMESTAMP(2) NOT NULL", "0000-00-00 00:00:00.00", "1970-01-01T00:00:00.00Z", "1970-01-01T00:00:00Z"),
    ],
)
def test_dates_that_do_not_exist_are_null_or_1970(type: str, value: str, before: object, later: object) -> None:
    """From 8.5.1 on years below 100 are moved, and a zero TIMESTAMP is never NULL."""
    assert (written(type, value, "v8.5.0"), written(type, value, "v8.5.1")) == (before, later)


def test_a_datetime_without_a_day_stops_the_changefeed_from_8_5_1_on() -> None:
    assert written("DATETIME", "2024-01-00 00:00:00", "v8.5.0") is None
    with pytest.raises(EncodeError, match="Incorrect datetime value: '2024-01-00'") as stopped:
        written("DATETIME", "2024-01-00 00:00:00", "v8.5.1")
    assert stopped.value.code == "CDC:ErrDebeziumEncodeFailed"


@pytest.mark.parametrize(
    ("type", "default"),
    [
        ("INT DEFAULT 5", 5),
        ("DECIMAL(5,2) DEFAULT 1.5", 1.5),
        ("VARCHAR(9) DEFAULT 'x'", "x"),
        ("BIT(9) DEFAULT b'100000001'", "AQE="),
        ("DATETIME DEFAULT '1970-01-01 00:00:01'", 1000),
        ("DATETIME DEFAULT CURRENT_TIMESTAMP", 0),
        ("TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP", None),
        ("TIME DEFAULT '00:00:01'", 1000000),
        ("YEAR DEFAULT 2024", "2024"),
        ("DOUBLE DEFAULT 0.5", 0.5),
    ],
)
def test_null_is_sent_as_the_default_from_8_5_1_on(type: str, default: object) -> None:
    """A YEAR's is text there."""
    assert written(type, None, "v8.5.0") is None
    assert written(type, None, "v8.5.1") == default


def test_null_in_bytes_with_a_default_is_sent_twice() -> None:
    """As bytes, then as text."""
    table = create_table(TABLE.format("VARBINARY(9) DEFAULT 'ab'"))
    made = CODECS["debezium"].encode(
        rows(table, [(None, {"id": "1", "v": None})], frozenset("v")), CodecOptions("debezium"), find("v8.5.7")
    )
    assert b'"after":{"id":1,"v":"YWI=","v":"ab"}' in made.values[0].as_py()


def test_null_in_an_enum_with_a_default_stops_some_releases() -> None:
    assert written("ENUM('x') DEFAULT 'x'", None, "v8.5.0") is None
    assert written("ENUM('x') DEFAULT 'x'", None, "v8.5.5") == "x"
    with pytest.raises(EncodeError, match="unexpected column value type string for enum column v"):
        written("ENUM('x') DEFAULT 'x'", None, "v8.5.4")


@pytest.mark.parametrize(
    ("type", "texts", "values"),
    [
        ("INT DEFAULT 5", 5, 5),
        ("DATE DEFAULT '1970-01-02'", None, 1),
        ("TIME DEFAULT '00:00:01'", None, 1000000),
        ("DATETIME DEFAULT '1970-01-01 00:00:01'", "1970-01-01 00:00:01", 1000),
        ("DATETIME DEFAULT CURRENT_TIMESTAMP", 0, 0),
        ("TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP", 0, None),
        ("TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP", 0, "1970-01-01T00:00:00Z"),
        ("BIT(1) DEFAULT 1", "\x01", True),
        ("CHAR(3) DEFAULT 'é'", "é", "é"),
    ],
)
def test_schemas_have_defaults_from_8_5_0_on(type: str, texts: object, values: object) -> None:
    table = create_table(TABLE.format(type))
    found = []
    for release in ("v8.4.0", "v8.5.0", "v8.5.1"):
        value = "2024-01-01 00:00:00" if "NOT NULL" in type else None
        given = rows(table, [(None, {"id": "1", "v": value})])
        made = json.loads(CODECS["debezium"].encode(given, CodecOptions("debezium"), find(release)).values[0].as_py())
        found.append(made["schema"]["fields"][1]["fields"][1].get("default"))
    assert found == [None, texts, values]


def test_keys_and_cleaned_names_from_8_5_0_on() -> None:
    """The key has the handle key; `-` and what is not ASCII are `_` in names of schemas, and a point in a table's stays."""
    key, value = sent("INT", "2", "v8.4.0")
    assert key is None and value["schema"]["name"] == "default.a-b.t.é.Envelope"

    key, value = sent("INT", "2", "v8.5.0")
    assert value["schema"]["name"] == "default.a_b.t._.Envelope"
    assert key == {
        "payload": {"id": 1},
        "schema": {
            "type": "struct",
            "name": "default.a_b.t._.Key",
            "optional": False,
            "fields": [{"type": "int32", "optional": False, "field": "id"}],
        },
    }


def test_members_of_an_enum_are_escaped_from_8_5_0_on_and_those_of_a_set_not() -> None:
    assert field("ENUM('a,b')", "v8.4.0")["parameters"] == {"allowed": "a,b"}
    assert field("ENUM('a,b')", "v8.5.0")["parameters"] == {"allowed": "a\\,b"}


def test_a_float_with_scale_is_double_and_virtual_columns_stand_last_from_8_5_1_on() -> None:
    assert [field("FLOAT(5,2)", release)["type"] for release in ("v8.5.0", "v8.5.1")] == ["float", "double"]
    table = create_table("CREATE TABLE t (g INT AS (id) VIRTUAL, id INT PRIMARY KEY)", "test")
    names = []
    for release in ("v8.5.0", "v8.5.1"):
        made = CODECS["debezium"].encode(rows(table, [(None, {"id": "1"})]), CodecOptions("debezium"), find(release))
        image = json.loads(made.values[0].as_py())["schema"]["fields"][0]
        names.append([each["field"] for each in image["fields"]])
    assert names == [["id"], ["id", "g"]]


def test_column_selectors_crash_it_up_to_8_5_2() -> None:
    given = replace(
        rows(create_table(TABLE.format("INT")), [(None, {"id": "1", "v": "2"})]), selected=frozenset({"id"})
    )
    made = CODECS["debezium"].encode(given, CodecOptions("debezium"), find("v8.5.3"))
    assert json.loads(made.values[0].as_py())["payload"]["after"] == {"id": 1}
    with pytest.raises(EncodeError, match=r"^panic: .* TiCDC v8\.5\.1 crashes on column-selectors"):
        CODECS["debezium"].encode(given, CodecOptions("debezium"), find("v8.5.1"))


def test_output_old_value_leaves_before_out_of_updates_from_8_1_on() -> None:
    changes: list[Change] = [({"id": "1", "v": "2"}, {"id": "1", "v": "3"})]
    found = {}
    for release in ("v8.0.0", "v8.1.0"):
        options = CodecOptions("debezium", debezium_output_old_value=False)
        made = CODECS["debezium"].encode(rows(create_table(TABLE.format("INT")), changes), options, find(release))
        found[release] = json.loads(made.values[0].as_py())["payload"].get("before")
    assert found == {"v8.0.0": {"id": 1, "v": 2}, "v8.1.0": None}


def test_settings_of_the_protocol_are_read_and_others_are_told_that_they_are_not_theirs() -> None:
    release = find("v8.5.7")
    changefeed = load(f"{URI}&debezium-disable-schema=true", "[sink.debezium]\noutput-old-value = false", release)
    assert changefeed.codec.debezium_disable_schema and not changefeed.codec.debezium_output_old_value
    other = load(
        "kafka://127.0.0.1:9092/t?protocol=open-protocol&debezium-disable-schema=true",
        "[sink.debezium]\noutput-old-value = false",
        release,
    )
    assert {
        "sink.debezium.output-old-value has no effect with open-protocol",
        "debezium-disable-schema has no effect with open-protocol",
    } <= set(other.warnings)


def test_large_message_handling_is_refused() -> None:
    config = "[sink.kafka-config.large-message-handle]\nlarge-message-handle-option = 'handle-key-only'"
    with pytest.raises(ChangefeedError, match="protocol is debezium, it's not supported"):
        load(URI, config, find("v8.5.7"))
