"""Canal-JSON of releases that no vector is of, derived by hand from the encoders at their tags.

tiflow: cdc/sink/codec/canal_flat.go (4.0.9–6.0), cdc/sink/mq/codec (6.1, 6.2), cdc/sink/codec/canal (6.3–6.6),
pkg/sink/codec/canal (7.0+); ticdc: pkg/sink/codec/canal.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from support.codec_rows import LAST, Change, Values, by_answer, releases_of, rows

from simulator.errors import EncodeError
from simulator.releases import Release, find
from simulator.ticdc.codecs import CODECS, CodecOptions
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.model.table import Table

TABLE = create_table("CREATE TABLE s.t (b INT PRIMARY KEY, a TINYINT UNSIGNED, `a b` VARCHAR(9))")
OLD, NEW = {"b": "1", "a": "200", "a b": "x"}, {"b": "1", "a": "100", "a b": "x"}
INSERT: Change = (None, OLD)
UPDATE: Change = (OLD, NEW)
DELETE: Change = (OLD, None)
HEAD = '{"id":0,"database":"s","table":"t","pkNames":["b"],"isDdl":false,"type":"%s","es":4194304,"ts":0,"sql":"",'
HAVING = releases_of("canal-json")


def encoded(
    release: Release, change: Change, table: Table = TABLE, selected: frozenset[str] | None = None, **options: Any
) -> str:
    """The value of one row."""
    binary = frozenset(column.name for column in table.columns if column.type.charset == "binary")
    values = frozenset(name for image in change if image for name, value in image.items() if isinstance(value, bytes))
    given = replace(rows(table, [change], binary & values), selected=selected)
    made = CODECS["canal-json"].encode(given, CodecOptions("canal-json", build_ts=0, **options), release)
    return str(made.values[0].as_py(), "utf-8")


def data(release: Release, change: Change, table: Table) -> Any:
    """`data` of one row."""
    return json.loads(encoded(release, change, table))["data"][0]


def shows(text: str, change: Change, **options: Any) -> Callable[[Release], bool]:
    """Asks whether a row has a text in it; one that is refused has none."""

    def ask(release: Release) -> bool:
        try:
            return text in encoded(release, change, **options)
        except EncodeError:
            return False

    return ask


def refusal(change: Change, **options: Any) -> Callable[[Release], str]:
    """Asks for the error of a row."""

    def ask(release: Release) -> str:
        try:
            encoded(release, change, **options)
        except EncodeError as error:
            return error.code or error.text.partition(";")[0]
        return ""

    return ask


def operations(release: Release) -> tuple[str, ...]:
    return tuple(encoded(release, change) for change in (INSERT, UPDATE, DELETE))


MAPS_OF_6_4 = tuple(
    HEAD % operation
    + '"sqlType":{"a b":12,"a":%d,"b":4},"mysqlType":{"a b":"varchar","a":"tinyint unsigned","b":"int"},' % sql_type
    + '"data":[{"a b":"x","a":"%s","b":"1"}],"old":%s}' % (value, old)
    for operation, sql_type, value, old in (
        ("INSERT", 5, "200", "null"),
        ("UPDATE", -6, "100", '[{"a b":"x","a":"200","b":"1"}]'),
        ("DELETE", 5, "200", "null"),
    )
)
"""Keys are sorted with the quote that ends them, which a space comes before."""


@pytest.mark.slow
def test_every_release_writes_rows_as_one_that_has_vectors_or_as_6_4() -> None:
    """Maps and wide types up to 5.3, types by value up to 6.3, then all in the order of the table."""
    assert by_answer(operations, HAVING) == {
        operations(find("v4.0.9")): "v4.0.9 – v5.3.4",
        operations(find("v5.4.0")): "v5.4.0 – v6.1.2, v6.2.0 – v6.3.0",
        MAPS_OF_6_4: "v6.4.0",
        operations(find("v8.5.3")): f"v6.1.3 – v6.1.7, v6.5.0 – {LAST}",
    }


EXTENDED = {"enable_tidb_extension": True}
CUT = '"old":null,"data":[{"b":"1"}]'
LARGE: dict[str, Any] = {"large_message_handle_option": "handle-key-only", "max_message_bytes": 300}
COMPATIBLE = f"v6.5.6 – v6.5.12, v7.1.3 – v7.1.6, v7.5.3 – {LAST}"
ZEROFILL = create_table("CREATE TABLE s.t (id INT PRIMARY KEY, z INT(5) ZEROFILL)")
FLOATS = create_table("CREATE TABLE s.t (id INT PRIMARY KEY, f FLOAT, d DOUBLE)")


def zerofill(release: Release) -> object:
    return json.loads(encoded(release, (None, {"id": "1", "z": "5"}), ZEROFILL))["mysqlType"]["z"]


def floats(release: Release) -> tuple[str, ...]:
    """A FLOAT and a DOUBLE, and both with an exponent."""
    images = ({"id": "1", "f": "3.14", "d": "3.14"}, {"id": "1", "f": "1e-7", "d": "1e21"})
    return tuple(row[name] for image in images for row in [data(release, (None, image), FLOATS)] for name in "fd")


BEHAVIOURS: dict[str, tuple[Callable[[Release], Hashable], dict[Any, str]]] = {
    # tiflow issue 11707
    "a row ends with the terminator": (
        shows("}\r\n", INSERT, terminator="\r\n"),
        {True: "v6.5.0 – v6.5.11, v6.6.0 – v7.0.0"},
    ),
    "a row of any size is sent elsewhere": (
        refusal(INSERT, max_message_bytes=100),
        {"CDC:ErrMessageTooLarge": f"v6.5.1 – v6.5.12, v7.0.0 – {LAST}"},
    ),
    "enable-tidb-extension": (
        shows('"_tidb":{"commitTs":1099511627776}}', UPDATE, **EXTENDED),
        {True: f"v5.4.0 – {LAST}"},
    ),
    "only-output-updated-columns": (
        shows('"old":[{"a":"200"}]', UPDATE, only_output_updated_columns=True),
        {True: f"v7.1.0 – {LAST}"},
    ),
    "content-compatible brings whole types": (
        shows('"a":"tinyint(3) unsigned"', UPDATE, content_compatible=True),
        {True: COMPATIBLE},
    ),
    "content-compatible leaves changed columns in old": (
        shows('"old":[{"a":"200"}]', UPDATE, content_compatible=True),
        {True: COMPATIBLE},
    ),
    "output-row-key": (shows("rowkey", UPDATE, **EXTENDED, output_row_key=True), {True: "new:v8.5.4 – v26.3.4"}),
    "delete-only-output-handle-key-columns": (
        shows(CUT + "}", DELETE, delete_only_output_handle_key_columns=True),
        {True: f"v7.2.0 – {LAST}"},
    ),
    # 7.2.0 has another name for it, and none in Canal-JSON
    "handle-key-only": (
        shows(CUT + ',"_tidb":{"commitTs":1099511627776,"onlyHandleKey":true}}', INSERT, **EXTENDED, **LARGE),
        {True: f"v6.5.4 – v6.5.12, v7.1.2 – v7.1.6, v7.3.0 – {LAST}"},
    ),
    "mysqlType says unsigned and zerofill": (
        zerofill,
        {
            "int": "v4.0.9 – v5.3.4",
            "int unsigned": "v5.4.0 – v6.5.5, v6.6.0 – v7.1.2, v7.2.0 – v7.5.2",
            "int unsigned zerofill": f"v6.5.6 – v6.5.12, v7.1.3 – v7.1.6, v7.5.3 – {LAST}",
        },
    ),
    "a FLOAT is widened, and without exponent in any case": (
        floats,
        {
            ("3.140000104904175", "3.14", "0.00000010000000116860974", "1000000000000000000000"): (
                "v4.0.9 – v6.1.5, v6.2.0 – v6.5.1, v6.6.0"
            ),
            ("3.14", "3.14", "0.0000001", "1000000000000000000000"): (
                f"v6.1.6 – v6.1.7, v6.5.2 – v6.5.12, v7.0.0 – {LAST}"
            ),
        },
    ),
    "NULL in an unsigned integer column": (
        refusal((OLD, {**NEW, "a": None})),
        {
            "panic: unsigned value not in type uint64: a is NULL or the default of an older row in s.t, key b=1": "v5.4.0"
        },
    ),
}
"""What rows of every release have; those that are not named have it not."""


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_each_release_writes_as_its_encoder_does(behaviour: str) -> None:
    ask, expected = BEHAVIOURS[behaviour]
    found = by_answer(ask, HAVING)
    assert {answer: releases for answer, releases in found.items() if answer} == expected


def test_the_terminator_counts_for_the_size_and_a_row_cut_down_has_none() -> None:
    release = find("v6.5.4")
    whole = encoded(release, INSERT)
    large: dict[str, Any] = {"terminator": "\r\n", "large_message_handle_option": "handle-key-only"}
    size = len(whole) + len("\r\n") + 12 + 36

    assert encoded(release, INSERT, max_message_bytes=size, **large) == whole + "\r\n"
    assert encoded(release, INSERT, max_message_bytes=size - 1, **large) == (
        HEAD % "INSERT" + '"sqlType":{"b":4},"mysqlType":{"b":"int"},' + CUT + "}"
    )


def test_binary_strings_are_text_up_to_5_3_and_latin1_from_5_4() -> None:
    """Bytes that are no UTF-8 are U+FFFD each; a BLOB is Latin-1 always."""
    table = create_table("CREATE TABLE s.t (id INT PRIMARY KEY, v VARBINARY(9), c BINARY(3), l BLOB)")
    row: Values = {"id": "1", "v": b"\xc3\xa9\xe4\xb8\xff<", "c": b"a\x80\x00", "l": b"\xc3\xa9"}
    before, after = (encoded(find(tag), (None, row), table) for tag in ("v5.3.4", "v5.4.1"))

    assert '"data":[{"c":"a\\ufffd\\u0000","id":"1","l":"Ã©","v":"é\\ufffd\\ufffd\\ufffd\\u003c"}]' in before
    assert '"data":[{"c":"a\x80\\u0000","id":"1","l":"Ã©","v":"Ã©ä¸ÿ\\u003c"}]' in after
    assert json.loads(before)["sqlType"] == {"c": 1, "id": -5, "l": 2004, "v": 12}
    assert json.loads(after)["sqlType"] == {"c": 2004, "id": 4, "l": 2004, "v": 2004}


def test_5_4_0_takes_null_in_floats_and_years() -> None:
    """Beside unsigned integers, at whose NULL it crashes."""
    table = create_table("CREATE TABLE s.t (id INT PRIMARY KEY, f FLOAT UNSIGNED, y YEAR)")
    assert data(find("v5.4.0"), (None, {"id": "1", "f": None, "y": None}), table)["f"] is None


def test_without_old_values_an_update_is_an_insert_and_a_delete_has_its_handle_key() -> None:
    """enable-old-value was the user's choice for Canal-JSON up to 5.3."""
    release = find("v4.0.9")

    assert encoded(release, UPDATE, enable_old_value=False) == encoded(release, (None, NEW))
    assert encoded(release, DELETE, enable_old_value=False) == HEAD % "DELETE" + (
        '"sqlType":{"b":-5},"mysqlType":{"b":"int"},"data":[{"b":"1"}],"old":[{"b":"1"}]}'
    )


def test_a_row_without_a_handle_key_that_is_cut_down_has_no_types() -> None:
    table = create_table("CREATE TABLE s.t (v INT)")

    def end(release: Release) -> str:
        made = encoded(release, ({"v": "1"}, None), table, delete_only_output_handle_key_columns=True)
        return made.partition('"sql":"",')[2]

    found = by_answer(end, [release for release in HAVING if release.name >= "v7.2" or release.architecture == "new"])
    assert found == {
        '"sqlType":null,"mysqlType":{},"old":null,"data":[{}]}': (
            "v7.2.0 – v8.5.8, new:v8.5.4 – v8.5.6, new:v26.3.1 – v9.0.0-beta.2.pre"
        ),
        '"sqlType":null,"mysqlType":null,"old":null,"data":[{}]}': "new:v8.5.7 – v8.5.8",
    }


# -- the new architecture ---------------------------------------------------------------------------------------------


TIKV_KEYS: list[tuple[str, dict[str, Any], str]] = [
    ("b INT PRIMARY KEY", {"b": "7"}, "8000000000000001"),
    ("v INT", {"v": "7"}, "8000000000000001"),
    ("a VARCHAR(20), b INT, PRIMARY KEY (a, b)", {"a": "eu ", "b": "-2"}, "01 6575000000000000f9 03 7ffffffffffffffe"),
    (
        "n BIGINT UNSIGNED, s VARBINARY(9), PRIMARY KEY (n, s)",
        {"n": str(2**64 - 1), "s": b"12345678"},
        "04 ffffffffffffffff 01 3132333435363738ff 0000000000000000f7",
    ),
    ("s VARCHAR(9) COLLATE utf8mb4_0900_bin PRIMARY KEY", {"s": "eu "}, "01 6575200000000000fa"),
    ("s VARCHAR(9), PRIMARY KEY (s(2))", {"s": "äöü"}, "01 c3a4c3b600000000fb"),
]
"""Columns of a table, a row of it, and what stands behind the table's id in the row's key in TiKV."""


@pytest.mark.parametrize(("columns", "row", "key"), TIKV_KEYS)
def test_the_key_of_a_row_is_tikvs(columns: str, row: dict[str, Any], key: str) -> None:
    """`rowkey` is in base64; the id of the table is the simulator's own."""
    table = create_table(f"CREATE TABLE s.t ({columns})")
    binary = frozenset(name for name, value in row.items() if isinstance(value, bytes))
    given = replace(rows(table, [(None, row), (row, row), (row, None)], binary), table_id=100)
    given = replace(given, row_id=pa.array([1, 1, 1], pa.int64()))
    options = CodecOptions("canal-json", enable_tidb_extension=True, output_row_key=True)
    made = CODECS["canal-json"].encode(given, options, find("v8.5.7", "new")).values.to_pylist()

    extension = [json.loads(value)["_tidb"] for value in made]
    assert [list(members) for members in extension] == [["commitTs", "rowkey"]] * 3
    assert [base64.b64decode(members["rowkey"]).hex() for members in extension] == [
        f"748000000000000064{b'_r'.hex()}{key.replace(' ', '')}"
    ] * 3


@pytest.mark.parametrize("type", ["DECIMAL(5,2)", "VARCHAR(9) COLLATE gbk_bin", "VARCHAR(9) COLLATE utf8_general_ci"])
def test_a_key_of_a_row_that_cannot_be_made_is_refused(type: str) -> None:
    table = create_table(f"CREATE TABLE s.t (d {type} PRIMARY KEY)")

    with pytest.raises(EncodeError, match=r"clustered key of s\.t has the column d, .*accepted: integers"):
        encoded(find("v8.5.7", "new"), (None, {"d": "1.00"}), table, enable_tidb_extension=True, output_row_key=True)


def test_the_text_null_is_null_up_to_8_5_4() -> None:
    """The JSON document too, and a change between the two is none."""
    table = create_table("CREATE TABLE s.t (id INT PRIMARY KEY, v VARCHAR(9), j JSON, n INT)")
    without, there = {"id": "1", "v": None, "j": None, "n": None}, {"id": "1", "v": "null", "j": "null", "n": None}

    def written(release: Release) -> tuple[object, ...]:
        made = json.loads(encoded(release, (without, there), table, only_output_updated_columns=True))
        return *made["data"][0].values(), *sorted(made["old"][0])

    assert by_answer(written, [release for release in HAVING if release.architecture == "new"]) == {
        ("1", None, None, None): "new:v8.5.4, new:v9.0.0-beta.1 – v9.0.0-beta.2.pre",
        ("1", "null", "null", None, "j", "v"): "new:v8.5.5 – v26.3.4",
    }


def test_the_new_architecture_compares_what_it_prints() -> None:
    """A float's minus zero is another text than its zero; the classic one compares numbers."""
    table = create_table("CREATE TABLE s.t (id INT PRIMARY KEY, d DOUBLE)")
    change = {"id": "1", "d": "0"}, {"id": "1", "d": "-0"}
    new, classic = (
        json.loads(encoded(find("v8.5.7", kind), change, table, only_output_updated_columns=True))["old"]
        for kind in ("new", "classic")
    )

    assert (new, classic) == ([{"d": "0"}], [{}])


def test_beta_1_takes_what_is_empty_or_zero_for_null() -> None:
    """All but integers, floats, years and bits; a TIME has no fraction."""
    zeros = {
        **{"id INT PRIMARY KEY": "0", "i INT": "0", "f FLOAT": "0", "y YEAR": "0", "b BIT(2)": "0"},
        **{"v VARCHAR(9)": "", "t TEXT": "", "e ENUM('a')": "", "s SET('a')": "", "c DECIMAL(5,2)": "0.00"},
        **{"d DATE": "0000-00-00", "m DATETIME(2)": "0000-00-00 00:00:00.00", "u TIME(2)": "-00:00:00.50"},
        **{"j JSON": "0", "w TIME(2)": "-01:00:00.50"},
    }
    table = create_table(f"CREATE TABLE s.t ({', '.join(zeros)})")
    row = {definition.partition(" ")[0]: text for definition, text in zeros.items()}
    made = data(find("v9.0.0-beta.1", "new"), (None, row), table)

    assert made == dict.fromkeys(row) | {**dict.fromkeys(("id", "i", "f", "y", "b"), "0"), "w": "-01:00:00"}
    assert data(find("v9.0.0-beta.2.pre", "new"), (None, row), table)["u"] == "-00:00:00.50"


def test_betas_have_virtual_columns_and_they_are_null() -> None:
    table = create_table("CREATE TABLE s.t (b INT PRIMARY KEY, g INT UNSIGNED AS (b + 1), v INT)")
    row = {"b": "1", "v": "2"}
    virtual = (
        '"sqlType":{"b":4,"g":4,"v":4},"mysqlType":{"b":"int","g":"int unsigned","v":"int"},'
        '"old":null,"data":[{"b":"1","g":null,"v":"2"}]}'
    )
    for tag in ("v9.0.0-beta.1", "v9.0.0-beta.2.pre"):
        assert encoded(find(tag), (None, row), table) == HEAD % "INSERT" + virtual
    assert '"data":[{"b":"1","v":"2"}]' in encoded(find("v26.3.1"), (None, row), table)


@pytest.mark.parametrize(
    ("tag", "architecture", "old"),
    [
        ("v8.5.4", "new", '"old":[{"b":"1","a":"","a b":"x"}]'),
        ("v8.5.5", "new", '"old":[{"b":"1","a b":"x"}]'),
        ("v8.5.3", "classic", '"old":[{"b":"1","a b":"x"}]'),
    ],
)
def test_columns_that_selectors_leave_out_are_blank_in_old_up_to_8_5_4(tag: str, architecture: str, old: str) -> None:
    assert encoded(find(tag, architecture), UPDATE, selected=frozenset({"b", "a b"})) == HEAD % "UPDATE" + (
        '"sqlType":{"b":4,"a b":12},"mysqlType":{"b":"int","a b":"varchar"},' + old + ',"data":[{"b":"1","a b":"x"}]}'
    )


def test_a_virtual_column_of_the_first_beta_keeps_its_sql_type_and_may_be_blank_in_old() -> None:
    """Whatever stands in the column before it; blank where selectors leave it out (ticdc v9.0.0-beta.1:
    pkg/sink/codec/canal/encoder.go fillUpdateColumns)."""
    table = create_table("CREATE TABLE s.t (id TINYINT PRIMARY KEY, v TINYINT UNSIGNED AS (id) VIRTUAL)")
    beta, selected = find("v9.0.0-beta.1"), frozenset({"id"})
    made = json.loads(encoded(beta, (None, {"id": "-128"}), table))
    updated = json.loads(encoded(beta, ({"id": "1"}, {"id": "2"}), table, selected))

    assert (made["sqlType"], made["data"]) == ({"id": -6, "v": -6}, [{"id": "-128", "v": None}])
    assert (updated["old"], updated["data"]) == ([{"id": "1", "v": ""}], [{"id": "2"}])
