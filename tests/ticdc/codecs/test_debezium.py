"""Debezium's rows where releases differ, from TiCDC's source; tests/endtoend has what 8.0.0 wrote.

Source: tiflow and ticdc pkg/sink/codec/debezium/codec.go, helper.go at each tag.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import pytest
from support.codec_rows import Values, by_answer, releases_of, rows

from simulator.errors import ChangefeedError, EncodeError
from simulator.releases import Release, find
from simulator.ticdc.changefeed import load
from simulator.ticdc.codecs import CODECS, CodecOptions
from simulator.tidb.ddl.table_definitions import create_table

URI = "kafka://127.0.0.1:9092/t?protocol=debezium"
TABLE = "CREATE TABLE `a-b`.`t.é` (id INT PRIMARY KEY, v {})"
HAVING = releases_of("debezium")
EARLY, LATE = "v7.6.0 – v8.5.0", "v8.5.1 – v8.5.8"


def encoded(
    release: Release,
    table: str,
    after: Values,
    before: Values | None = None,
    selected: frozenset[str] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Key and value of a row."""
    given = replace(rows(create_table(table, "test"), [(before, after)]), selected=selected)
    made = CODECS["debezium"].encode(given, replace(CodecOptions("debezium", build_ts=0), **options), release)
    key = None if made.keys is None else json.loads(made.keys[0].as_py())
    return {"key": key, **json.loads(made.values[0].as_py())}


def written(type: str, value: str | None) -> Callable[[Release], Hashable]:
    """Asks what a column's value is in a row, or how the error begins."""

    def ask(release: Release) -> Hashable:
        try:
            found: Hashable = encoded(release, TABLE.format(type), {"id": "1", "v": value})["payload"]["after"]["v"]
        except EncodeError as error:
            return ": ".join(error.text.split(": ")[: 2 if error.text[0] == "p" else 1])
        return found

    return ask


def field(type: str, member: str) -> Callable[[Release], Any]:
    """Asks for a member of the schema of a column."""
    row = {"id": "1", "v": "2024-01-01 00:00:00" if "NOT NULL" in type else None}
    return lambda release: encoded(release, TABLE.format(type), row)["schema"]["fields"][1]["fields"][1].get(member)


def names(definition: str, row: Values) -> Callable[[Release], tuple[str, ...]]:
    """Asks for the columns that are in the schema, and behind a colon for those in the row."""

    def ask(release: Release) -> tuple[str, ...]:
        made = encoded(release, f"CREATE TABLE t ({definition})", row)
        return *(each["field"] for each in made["schema"]["fields"][0]["fields"]), ":", *made["payload"]["after"]

    return ask


ZERO, BAD = "0000-00-00 00:00:00", "[types:1292]Incorrect datetime value"
DATETIME, NOW = "DATETIME DEFAULT '1970-01-01 00:00:01'", "TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP"

VALUES = [
    ("DATE", "0000-00-00", None, None, None),
    ("DATE NOT NULL", "2024-00-01", 0, 0, 0),
    ("DATE", "0018-01-01", -712953, 17532, 17532),
    ("DATETIME", ZERO, None, None, None),
    ("DATETIME NOT NULL", ZERO, 0, 0, 0),
    ("TIMESTAMP NULL", ZERO, None, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
    ("TIMESTAMP(2) NOT NULL", f"{ZERO}.00", "1970-01-01T00:00:00.00Z", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
    ("DATETIME", "2024-01-00 00:00:00", None, BAD, None),
    ("DATETIME NOT NULL", "2024-01-00 00:00:00", 0, BAD, 0),
    ("INT DEFAULT 5", None, None, 5, 5),
    ("DECIMAL(5,2) DEFAULT 1.5", None, None, 1.5, 1.5),
    ("VARCHAR(9) DEFAULT 'x'", None, None, "x", "x"),
    ("BIT(9) DEFAULT b'100000001'", None, None, "AQE=", "AQE="),
    (DATETIME, None, None, 1000, 1000),
    ("DATETIME DEFAULT CURRENT_TIMESTAMP", None, None, 0, 0),
    (NOW, None, None, None, None),
    ("TIME DEFAULT '00:00:01'", None, None, 1000000, 0),
    ("BIGINT UNSIGNED DEFAULT 18446744073709551615", None, None, -1, 0),
    ("YEAR DEFAULT 2024", None, None, "2024", 2024),
    ("DOUBLE DEFAULT 0.5", None, None, 0.5, 0.5),
    ("FLOAT DEFAULT 0.1", None, None, 0.1, 0.1),
    ("DATE DEFAULT '2024-01-01'", None, None, 19723, "panic: interface conversion"),
]
"""Type and value of a column, and what becomes of it up to 8.5.0, from 8.5.1 on, and in the new architecture, which puts
a default's text into a Datum, where a TIME and a large BIGINT UNSIGNED are lost."""


@pytest.mark.slow
@pytest.mark.parametrize(("type", "value", "early", "late", "new"), VALUES)
def test_odd_dates_and_null_by_default(type: str, value: str | None, early: object, late: object, new: object) -> None:
    for release in HAVING:
        expected = new if release.architecture == "new" else late if release.name >= "v8.5.1" else early
        assert written(type, value)(release) == expected, release.title


def test_null_in_an_enum_with_a_default() -> None:
    assert by_answer(written("ENUM('x') DEFAULT 'x'", None), HAVING) == {
        None: EARLY,
        "unexpected column value type string for enum column v": "v8.5.1 – v8.5.4",
        "x": "v8.5.5 – v8.5.8, new:v8.5.5 – v26.3.4",
        "": "new:v8.5.4, new:v9.0.0-beta.2.pre",
    }


GENERATED = "g INT AS (id) VIRTUAL, id INT PRIMARY KEY"
SCHEMAS: list[tuple[Callable[[Release], Any], object, object, object]] = [
    (field("INT DEFAULT 5", "default"), None, 5, 5),
    (field("DATE DEFAULT '1970-01-02'", "default"), None, None, 1),
    (field("TIME DEFAULT '00:00:01'", "default"), None, None, 1000000),
    (field(DATETIME, "default"), None, "1970-01-01 00:00:01", 1000),
    (field("DATETIME DEFAULT CURRENT_TIMESTAMP", "default"), None, 0, 0),
    (field(NOW, "default"), None, 0, None),
    (field("TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP", "default"), None, 0, "1970-01-01T00:00:00Z"),
    (field("BIT(1) DEFAULT 1", "default"), None, "\x01", True),
    (field("CHAR(3) DEFAULT 'é'", "default"), None, "é", "é"),
    (field("FLOAT(5,2)", "type"), "float", "float", "double"),
    (field("ENUM('a,b')", "parameters"), {"allowed": "a,b"}, {"allowed": "a\\,b"}, {"allowed": "a\\,b"}),
    (names(GENERATED, {"id": "1"}), ("id", ":", "id"), ("id", ":", "id"), ("id", "g", ":", "id")),
]
"""Members of schemas before 8.5.0, in it, and from 8.5.1 on."""


@pytest.mark.parametrize(("ask", "early", "first", "late"), SCHEMAS)
def test_schemas_of_classic_releases(ask: Callable[[Release], Any], early: object, first: object, late: object) -> None:
    for release in HAVING:
        if release.architecture == "classic":
            expected = early if release.name < "v8.5.0" else first if release.name == "v8.5.0" else late
            assert ask(release) == expected, release.title


def test_schemas_of_the_new_architecture_have_virtual_columns_twice_and_rows_of_the_beta_have_them_too() -> None:
    new = [release for release in HAVING if release.architecture == "new"]
    assert by_answer(names(GENERATED, {"id": "1"}), new) == {
        ("g", "id", "g", ":", "id"): "new:v8.5.4 – v26.3.4",
        ("g", "id", "g", ":", "g", "id"): "new:v9.0.0-beta.2.pre",
    }


def test_null_in_bytes_with_a_default_is_sent_twice() -> None:
    """As bytes, then as text; the new architecture sends bytes alone."""
    table = create_table(TABLE.format("VARBINARY(9) DEFAULT 'ab'"))
    given = rows(table, [(None, {"id": "1", "v": None})], frozenset("v"))
    for architecture, row in (("classic", b'{"id":1,"v":"YWI=","v":"ab"}'), ("new", b'{"id":1,"v":"YWI="}')):
        made = CODECS["debezium"].encode(given, CodecOptions("debezium"), find("v8.5.7", architecture))
        assert b'"after":' + row in made.values[0].as_py()


def test_keys_and_cleaned_names_from_8_5_0_on() -> None:
    """The key has the handle key; `-` and what is not ASCII are `_` in names of schemas, and a point in a table's stays."""
    before, since = (encoded(find(tag), TABLE.format("INT"), {"id": "1", "v": "2"}) for tag in ("v8.4.0", "v8.5.0"))
    assert before["key"] is None and before["schema"]["name"] == "default.a-b.t.é.Envelope"
    assert since["schema"]["name"] == "default.a_b.t._.Envelope"
    fields = [{"type": "int32", "optional": False, "field": "id"}]
    schema = {"type": "struct", "name": "default.a_b.t._.Key", "optional": False, "fields": fields}
    assert since["key"] == {"payload": {"id": 1}, "schema": schema}


def test_column_selectors_crash_it_up_to_8_5_2_and_the_beta_sends_what_they_leave_out() -> None:
    def row(release: Release) -> str:
        try:
            made = encoded(release, TABLE.format("INT"), {"id": "1", "v": "2"}, selected=frozenset({"id"}))
        except EncodeError as error:
            assert f"TiCDC {release.name} crashes on column-selectors" in error.text
            return error.text.partition(":")[0]
        return " ".join(made["payload"]["after"])

    assert by_answer(row, HAVING) == {
        "panic": "v7.6.0 – v8.5.2",
        "id": "v8.5.3 – v8.5.8, new:v8.5.4 – v26.3.4",
        "id v": "new:v9.0.0-beta.2.pre",
    }


def test_output_old_value_leaves_before_out_of_updates_from_8_1_on() -> None:
    before, after = {"id": "1", "v": "2"}, {"id": "1", "v": "3"}
    for tag, found in (("v8.0.0", {"id": 1, "v": 2}), ("v8.1.0", None)):
        made = encoded(find(tag), TABLE.format("INT"), after, before, debezium_output_old_value=False)
        assert made["payload"].get("before") == found


def test_settings_of_the_protocol_are_read_and_others_are_told_that_they_are_not_theirs() -> None:
    end, toml, release = "&debezium-disable-schema=true", "[sink.debezium]\noutput-old-value = false", find("v8.5.7")
    changefeed = load(URI + end, toml, release)
    assert changefeed.codec.debezium_disable_schema and not changefeed.codec.debezium_output_old_value
    assert {
        "sink.debezium.output-old-value has no effect with open-protocol",
        "debezium-disable-schema has no effect with open-protocol",
    } <= set(load(URI.replace("debezium", "open-protocol") + end, toml, release).warnings)


@pytest.mark.parametrize(
    ("tag", "toml", "text"),
    [
        (
            "v8.5.7",
            "[sink.kafka-config.large-message-handle]\nlarge-message-handle-option = 'handle-key-only'",
            "protocol is debezium, it's not supported",
        ),
        ("v9.0.0-beta.1", "", "ErrSinkUnknownProtocol.*unknown 'debezium' message protocol"),
    ],
)
def test_what_cannot_be_sent_is_refused(tag: str, toml: str, text: str) -> None:
    with pytest.raises(ChangefeedError, match=text):
        load(URI, toml, find(tag))
