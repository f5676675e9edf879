"""Canal-JSON of releases that no vector is of: whole messages, derived by hand from the encoders at their tags.

tiflow: cdc/sink/codec/canal_flat.go (4.0.9–6.0), cdc/sink/mq/codec (6.1, 6.2), cdc/sink/codec/canal (6.3–6.6),
pkg/sink/codec/canal (7.0+); ticdc: pkg/sink/codec/canal.
"""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from support.codec_rows import Change, Values, rows

from simulator.errors import EncodeError
from simulator.releases import RELEASES, Release, find
from simulator.ticdc.codecs import CODECS, CodecOptions
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.model.table import Table

TABLE = create_table("CREATE TABLE s.t (b INT PRIMARY KEY, a TINYINT UNSIGNED, `a b` VARCHAR(9))")
OLD, NEW = {"b": "1", "a": "200", "a b": "x"}, {"b": "1", "a": "100", "a b": "x"}
INSERT: Change = (None, OLD)
UPDATE: Change = (OLD, NEW)
DELETE: Change = (OLD, None)
HEAD = '{"id":0,"database":"s","table":"t","pkNames":["b"],"isDdl":false,"type":"%s","es":4194304,"ts":0,"sql":"",'


def encoded(release: Release, change: Change, table: Table = TABLE, **options: Any) -> str:
    """The value of one row."""
    chosen = CodecOptions("canal-json", build_ts=0, **options)
    binary = frozenset(column.name for column in table.columns if column.type.charset == "binary")
    values = frozenset(name for image in change if image for name, value in image.items() if isinstance(value, bytes))
    made = CODECS["canal-json"].encode(rows(table, [change], binary & values), chosen, release)
    return str(made.values[0].as_py(), "utf-8")


def data(release: Release, change: Change, table: Table, **options: Any) -> Any:
    """`data` of one row."""
    return json.loads(encoded(release, change, table, **options))["data"][0]


FIRST = {
    "INSERT": '"sqlType":{"a":5,"a b":12,"b":-5},"mysqlType":{"a":"tinyint","a b":"varchar","b":"int"},'
    '"data":[{"a":"200","a b":"x","b":"1"}],"old":[null]}',
    "UPDATE": '"sqlType":{"a":5,"a b":12,"b":-5},"mysqlType":{"a":"tinyint","a b":"varchar","b":"int"},'
    '"data":[{"a":"100","a b":"x","b":"1"}],"old":[{"a":"200","a b":"x","b":"1"}]}',
    "DELETE": '"sqlType":{"a":5,"a b":12,"b":-5},"mysqlType":{"a":"tinyint","a b":"varchar","b":"int"},'
    '"data":[{"a":"200","a b":"x","b":"1"}],"old":[{"a":"200","a b":"x","b":"1"}]}',
}
"""Up to 5.3: maps, wide types, `old` everywhere."""

MAPS = {
    "INSERT": '"sqlType":{"a":5,"a b":12,"b":4},"mysqlType":{"a":"tinyint unsigned","a b":"varchar","b":"int"},'
    '"data":[{"a":"200","a b":"x","b":"1"}],"old":null}',
    "UPDATE": '"sqlType":{"a":-6,"a b":12,"b":4},"mysqlType":{"a":"tinyint unsigned","a b":"varchar","b":"int"},'
    '"data":[{"a":"100","a b":"x","b":"1"}],"old":[{"a":"200","a b":"x","b":"1"}]}',
    "DELETE": '"sqlType":{"a":5,"a b":12,"b":4},"mysqlType":{"a":"tinyint unsigned","a b":"varchar","b":"int"},'
    '"data":[{"a":"200","a b":"x","b":"1"}],"old":null}',
}
"""5.4 – 6.1.2, 6.2 and 6.3: maps, types by value."""

ESCAPED_MAPS = {
    operation: text.replace('"a":5,"a b":12', '"a b":12,"a":5')
    .replace('"a":-6,"a b":12', '"a b":12,"a":-6')
    .replace('"a":"tinyint unsigned","a b":"varchar"', '"a b":"varchar","a":"tinyint unsigned"')
    .replace('"a":"200","a b":"x"', '"a b":"x","a":"200"')
    .replace('"a":"100","a b":"x"', '"a b":"x","a":"100"')
    for operation, text in MAPS.items()
}
"""6.4: keys are sorted with the quote that ends them, which a space comes before."""

WRITTEN = {
    "INSERT": '"sqlType":{"b":4,"a":5,"a b":12},"mysqlType":{"b":"int","a":"tinyint unsigned","a b":"varchar"},'
    '"old":null,"data":[{"b":"1","a":"200","a b":"x"}]}',
    "UPDATE": '"sqlType":{"b":4,"a":-6,"a b":12},"mysqlType":{"b":"int","a":"tinyint unsigned","a b":"varchar"},'
    '"old":[{"b":"1","a":"200","a b":"x"}],"data":[{"b":"1","a":"100","a b":"x"}]}',
    "DELETE": '"sqlType":{"b":4,"a":5,"a b":12},"mysqlType":{"b":"int","a":"tinyint unsigned","a b":"varchar"},'
    '"old":null,"data":[{"b":"1","a":"200","a b":"x"}]}',
}
"""6.1.3+, 6.5+ and the new architecture: in the table's order, `old` before `data`."""


def generation(release: Release) -> dict[str, str]:
    """What the tag's encoder is: of the file's history, not of the simulator's fields."""
    line, patch = release.name.rsplit(".", 1)
    if release.architecture == "new":
        return WRITTEN
    if line in ("v4.0", "v5.0", "v5.1", "v5.2", "v5.3"):
        return FIRST
    if line in ("v5.4", "v6.0", "v6.2", "v6.3") or line == "v6.1" and int(patch) < 3:
        return MAPS
    return ESCAPED_MAPS if line == "v6.4" else WRITTEN


EVERY = [
    release for releases in RELEASES.values() for release in releases.values() if "canal-json" in release.protocols
]


@pytest.mark.parametrize("release", EVERY, ids=lambda release: f"{release.architecture} {release.name}")
def test_every_release_writes_rows_as_its_encoder_does(release: Release) -> None:
    """INSERT, UPDATE and DELETE, whole."""
    wanted = {operation: HEAD % operation + text for operation, text in generation(release).items()}

    assert {
        "INSERT": encoded(release, INSERT),
        "UPDATE": encoded(release, UPDATE),
        "DELETE": encoded(release, DELETE),
    } == wanted


def tags(holds: list[Release]) -> str:
    """`v6.5.0 – v6.5.11, …`: the classic releases among them, as ranges."""
    names = [release.name for release in EVERY if release.architecture == "classic"]
    places = [names.index(release.name) for release in holds if release.architecture == "classic"]
    starts = [place for place in places if place - 1 not in places]
    ends = [place for place in places if place + 1 not in places]
    return ", ".join(
        names[start] if start == end else f"{names[start]} – {names[end]}"
        for start, end in zip(starts, ends, strict=True)
    )


def test_rows_of_6_5_0_to_6_5_11_and_7_0_end_with_the_terminator() -> None:
    """CR LF, unless the changefeed says another (tiflow issue 11707)."""
    ended = [release for release in EVERY if encoded(release, INSERT, terminator="\r\n").endswith("}\r\n")]

    assert tags(ended) == "v6.5.0 – v6.5.11, v6.6.0 – v7.0.0"
    assert {release.architecture for release in ended} == {"classic"}
    assert encoded(find("v6.5.3"), INSERT, terminator=";") == HEAD % "INSERT" + WRITTEN["INSERT"] + ";"


def test_the_size_of_a_row_is_looked_at_in_6_5_1_and_from_7_0() -> None:
    """Elsewhere a row of any size is sent."""

    def refuses(release: Release) -> bool:
        try:
            encoded(release, INSERT, max_message_bytes=100)
        except EncodeError as error:
            assert error.code == "CDC:ErrMessageTooLarge"
            return True
        return False

    assert tags([release for release in EVERY if refuses(release)]) == "v6.5.1 – v6.5.12, v7.0.0 – v8.5.8"


def test_the_terminator_counts_for_the_size_and_a_row_cut_down_has_none() -> None:
    """Before compression, as part of the value."""
    size = len(HEAD % "INSERT" + WRITTEN["INSERT"]) + 12 + 36
    large: dict[str, Any] = {
        "terminator": "\r\n",
        "large_message_handle_option": "handle-key-only",
        "enable_tidb_extension": False,
    }

    assert encoded(find("v6.5.4"), INSERT, max_message_bytes=size + 2, **large).endswith('"x"}]}\r\n')
    assert encoded(find("v6.5.4"), INSERT, max_message_bytes=size + 1, **large) == HEAD % "INSERT" + (
        '"sqlType":{"b":4},"mysqlType":{"b":"int"},"old":null,"data":[{"b":"1"}]}'
    )


@pytest.mark.parametrize(
    ("options", "shows", "ranges"),
    [
        ({"enable_tidb_extension": True}, '"_tidb":{"commitTs":1099511627776}}', "v5.4.0 – v8.5.8"),
        ({"only_output_updated_columns": True}, '"old":[{"a":"200"}]', "v7.1.0 – v8.5.8"),
        (
            {"content_compatible": True},
            '"a":"tinyint(3) unsigned"',
            "v6.5.6 – v6.5.12, v7.1.3 – v7.1.6, v7.5.3 – v8.5.8",
        ),
        ({"content_compatible": True}, '"old":[{"a":"200"}]', "v6.5.6 – v6.5.12, v7.1.3 – v7.1.6, v7.5.3 – v8.5.8"),
        ({"enable_tidb_extension": True, "output_row_key": True}, "rowkey", ""),
    ],
)
def test_an_option_has_its_effect_from_the_release_that_brought_it(
    options: dict[str, Any], shows: str, ranges: str
) -> None:
    """Earlier releases ignore it, as they ignore every name that they do not know."""
    found = [release for release in EVERY if shows in encoded(release, UPDATE, **options)]

    assert tags(found) == ranges


def test_deletes_are_cut_down_to_the_handle_key_from_7_2() -> None:
    """delete-only-output-handle-key-columns says it, and `onlyHandleKey` is not said."""
    cut = '"sqlType":{"b":4},"mysqlType":{"b":"int"},"old":null,"data":[{"b":"1"}]}'
    options: dict[str, Any] = {"delete_only_output_handle_key_columns": True}

    assert tags([release for release in EVERY if encoded(release, DELETE, **options).endswith(cut)]) == (
        "v7.2.0 – v8.5.8"
    )


def test_large_rows_are_cut_down_from_6_5_4_7_1_2_and_7_3() -> None:
    """handle-key-only; 7.2.0 has another name for it, and none in Canal-JSON."""

    def cut(release: Release) -> bool:
        try:
            value = encoded(
                release,
                INSERT,
                max_message_bytes=300,
                enable_tidb_extension=True,
                large_message_handle_option="handle-key-only",
            )
        except EncodeError:
            return False
        return value.endswith('"data":[{"b":"1"}],"_tidb":{"commitTs":1099511627776,"onlyHandleKey":true}}')

    assert tags([release for release in EVERY if cut(release)]) == "v6.5.4 – v6.5.12, v7.1.2 – v7.1.6, v7.3.0 – v8.5.8"


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        ("v5.4.0", "int unsigned"),
        ("v6.5.5", "int unsigned"),
        ("v6.5.6", "int unsigned zerofill"),
        ("v7.1.2", "int unsigned"),
        ("v7.1.3", "int unsigned zerofill"),
        ("v7.5.2", "int unsigned"),
        ("v7.5.3", "int unsigned zerofill"),
        ("v7.6.0", "int unsigned zerofill"),
        ("v5.3.0", "int"),
    ],
)
def test_mysql_type_says_zerofill_from_the_release_that_brought_it(tag: str, text: str) -> None:
    """And unsigned from 5.4."""
    table = create_table("CREATE TABLE s.t (id INT PRIMARY KEY, z INT(5) ZEROFILL)")

    assert json.loads(encoded(find(tag), (None, {"id": "1", "z": "5"}), table))["mysqlType"]["z"] == text


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        ("v4.0.9", "3.140000104904175"),
        ("v6.1.5", "3.140000104904175"),
        ("v6.1.6", "3.14"),
        ("v6.5.2", "3.14"),
        ("v6.4.0", "3.140000104904175"),
        ("v6.5.1", "3.140000104904175"),
        ("v6.6.0", "3.140000104904175"),
        ("v7.0.0", "3.14"),
    ],
)
def test_a_float_is_widened_up_to_6_1_5_6_5_1_and_6_6(tag: str, text: str) -> None:
    """Without an exponent in any case; a DOUBLE stays as it is."""
    table = create_table("CREATE TABLE s.t (id INT PRIMARY KEY, f FLOAT, d DOUBLE)")
    row = {"id": "1", "f": "3.14", "d": "3.14"}

    assert data(find(tag), (None, row), table) == {"id": "1", "f": text, "d": "3.14"}
    tiny = data(find(tag), (None, {"id": "1", "f": "1e-7", "d": "1e21"}), table)
    widened = "0.00000010000000116860974" if len(text) > 4 else "0.0000001"
    assert tiny == {"id": "1", "f": widened, "d": "1000000000000000000000"}


def test_binary_strings_are_text_up_to_5_3_and_latin1_from_5_4() -> None:
    """Bytes that are no UTF-8 are U+FFFD each; a BLOB is Latin-1 always."""
    table = create_table("CREATE TABLE s.t (id INT PRIMARY KEY, v VARBINARY(9), c BINARY(3), l BLOB)")
    row: Values = {"id": "1", "v": b"\xc3\xa9\xe4\xb8\xff<", "c": b"a\x80\x00", "l": b"\xc3\xa9"}
    before = encoded(find("v5.3.4"), (None, row), table)
    after = encoded(find("v5.4.1"), (None, row), table)

    assert '"data":[{"c":"a\\ufffd\\u0000","id":"1","l":"Ã©","v":"é\\ufffd\\ufffd\\ufffd\\u003c"}]' in before
    assert '"data":[{"c":"a\x80\\u0000","id":"1","l":"Ã©","v":"Ã©ä¸ÿ\\u003c"}]' in after
    assert json.loads(before)["sqlType"] == {"c": 1, "id": -5, "l": 2004, "v": 12}
    assert json.loads(after)["sqlType"] == {"c": 2004, "id": 4, "l": 2004, "v": 2004}


def test_only_5_4_0_crashes_on_null_in_an_unsigned_integer_column() -> None:
    """The error names the column and the row."""

    def refuses(release: Release) -> bool:
        try:
            encoded(release, (OLD, {**NEW, "a": None}))
        except EncodeError as error:
            assert error.text.startswith("panic: unsigned value not in type uint64: a is NULL in s.t, key b=1")
            return True
        return False

    assert [release.name for release in EVERY if refuses(release)] == ["v5.4.0"]
    float_table = create_table("CREATE TABLE s.t (id INT PRIMARY KEY, f FLOAT UNSIGNED, y YEAR)")
    assert data(find("v5.4.0"), (None, {"id": "1", "f": None, "y": None}), float_table)["f"] is None


def test_without_old_values_an_update_is_an_insert_and_a_delete_has_its_handle_key() -> None:
    """enable-old-value was the user's choice for Canal-JSON up to 5.3."""
    release = find("v4.0.9")

    assert encoded(release, UPDATE, enable_old_value=False) == HEAD % "INSERT" + (
        '"sqlType":{"a":5,"a b":12,"b":-5},"mysqlType":{"a":"tinyint","a b":"varchar","b":"int"},'
        '"data":[{"a":"100","a b":"x","b":"1"}],"old":[null]}'
    )
    assert encoded(release, DELETE, enable_old_value=False) == HEAD % "DELETE" + (
        '"sqlType":{"b":-5},"mysqlType":{"b":"int"},"data":[{"b":"1"}],"old":[{"b":"1"}]}'
    )


@pytest.mark.parametrize(
    ("tag", "architecture", "types"),
    [
        ("v8.5.3", "classic", '"sqlType":null,"mysqlType":{},'),
        ("v8.5.6", "new", '"sqlType":null,"mysqlType":{},'),
        ("v8.5.7", "new", '"sqlType":null,"mysqlType":null,'),
        ("v26.3.4", "new", '"sqlType":null,"mysqlType":{},'),
    ],
)
def test_a_row_without_a_handle_key_that_is_cut_down_has_no_types(tag: str, architecture: str, types: str) -> None:
    """`data` is an empty object."""
    table = create_table("CREATE TABLE s.t (v INT)")
    made = encoded(find(tag, architecture), ({"v": "1"}, None), table, delete_only_output_handle_key_columns=True)

    assert made.endswith(types + '"old":null,"data":[{}]}')


# The new architecture


@pytest.mark.parametrize(
    ("create", "row", "table_id", "key"),
    [
        ("t (b INT PRIMARY KEY)", {"b": "7"}, 100, "74 8000000000000064 5f72 8000000000000001"),
        ("t (v INT)", {"v": "7"}, 101, "74 8000000000000065 5f72 8000000000000001"),
        (
            "t (site VARCHAR(20), no INT, v INT, PRIMARY KEY (site, no))",
            {"site": "eu ", "no": "-2", "v": None},
            100,
            "74 8000000000000064 5f72 01 6575000000000000f9 03 7ffffffffffffffe",
        ),
        (
            "t (n BIGINT UNSIGNED, s VARBINARY(9), PRIMARY KEY (n, s))",
            {"n": str(2**64 - 1), "s": b"12345678"},
            100,
            "74 8000000000000064 5f72 04 ffffffffffffffff 01 3132333435363738ff 0000000000000000f7",
        ),
        (
            "t (s VARCHAR(9) COLLATE utf8mb4_0900_bin PRIMARY KEY)",
            {"s": "eu "},
            100,
            "74 8000000000000064 5f72 01 6575200000000000fa",
        ),
        ("t (s VARCHAR(9), PRIMARY KEY (s(2)))", {"s": "äöü"}, 100, "74 8000000000000064 5f72 01 c3a4c3b600000000fb"),
    ],
)
def test_the_key_of_a_row_is_tikvs(create: str, row: dict[str, Any], table_id: int, key: str) -> None:
    """`rowkey` is in base64; the id of the table is the simulator's own."""
    table = create_table(f"CREATE TABLE s.{create}")
    binary = frozenset(name for name, value in row.items() if isinstance(value, bytes))
    given = replace(rows(table, [(None, row), (row, row), (row, None)], binary), table_id=table_id)
    given = replace(given, row_id=pa.array([1, 1, 1], pa.int64()))
    options = CodecOptions("canal-json", enable_tidb_extension=True, output_row_key=True)
    made = CODECS["canal-json"].encode(given, options, find("v8.5.7", "new")).values.to_pylist()

    extension = [json.loads(value)["_tidb"] for value in made]
    assert [list(members) for members in extension] == [["commitTs", "rowkey"]] * 3
    assert [base64.b64decode(members["rowkey"]).hex() for members in extension] == [key.replace(" ", "")] * 3


@pytest.mark.parametrize("type", ["DECIMAL(5,2)", "VARCHAR(9) COLLATE gbk_bin", "VARCHAR(9) COLLATE utf8_general_ci"])
def test_a_key_of_a_row_that_cannot_be_made_is_refused(type: str) -> None:
    """The column is named, and what is accepted."""
    table = create_table(f"CREATE TABLE s.t (d {type} PRIMARY KEY)")

    with pytest.raises(EncodeError, match=r"clustered key of s\.t has the column d, .*accepted: integers"):
        encoded(find("v8.5.7", "new"), (None, {"d": "1.00"}), table, enable_tidb_extension=True, output_row_key=True)


@pytest.mark.parametrize(
    ("tag", "null", "old"),
    [
        ("v8.5.4", None, []),
        ("v8.5.5", "null", ["j", "v"]),
        ("v26.3.1", "null", ["j", "v"]),
        ("v9.0.0-beta.2.pre", None, []),
    ],
)
def test_the_text_null_is_null_up_to_8_5_4(tag: str, null: str | None, old: list[str]) -> None:
    """The JSON document too, and a change between the two is none."""
    table = create_table("CREATE TABLE s.t (id INT PRIMARY KEY, v VARCHAR(9), j JSON, n INT)")
    without, there = {"id": "1", "v": None, "j": None, "n": None}, {"id": "1", "v": "null", "j": "null", "n": None}
    made = json.loads(encoded(find(tag, "new"), (without, there), table, only_output_updated_columns=True))

    assert made["data"] == [{"id": "1", "v": null, "j": null, "n": None}]
    assert sorted(made["old"][0]) == old


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
    table = create_table(
        "CREATE TABLE s.t (id INT PRIMARY KEY, i INT, f FLOAT, y YEAR, b BIT(2), v VARCHAR(9), t TEXT, e ENUM('a'), "
        "s SET('a'), c DECIMAL(5,2), d DATE, m DATETIME(2), u TIME(2), j JSON, w TIME(2))"
    )
    zeros = {
        "id": "0",
        "i": "0",
        "f": "0",
        "y": "0",
        "b": "0",
        "v": "",
        "t": "",
        "e": "",
        "s": "",
        "c": "0.00",
        "d": "0000-00-00",
        "m": "0000-00-00 00:00:00.00",
        "u": "-00:00:00.50",
        "j": "0",
        "w": "-01:00:00.50",
    }
    made = data(find("v9.0.0-beta.1", "new"), (None, zeros), table)

    kept = {"id": "0", "i": "0", "f": "0", "y": "0", "b": "0", "w": "-01:00:00"}
    assert made == dict.fromkeys(zeros) | kept
    assert data(find("v9.0.0-beta.2.pre", "new"), (None, zeros), table)["u"] == "-00:00:00.50"


def test_betas_have_virtual_columns_and_they_are_null() -> None:
    """Releases leave them out."""
    table = create_table("CREATE TABLE s.t (id INT PRIMARY KEY, g INT UNSIGNED AS (id + 1), v INT)")
    betas = [release for release in EVERY if "beta" in release.name]
    made = [encoded(release, (None, {"id": "1", "v": "2"}), table) for release in betas]

    assert len(made) == 2
    assert (
        made
        == [
            HEAD.replace('["b"]', '["id"]') % "INSERT"
            + (
                '"sqlType":{"id":4,"g":4,"v":4},"mysqlType":{"id":"int","g":"int unsigned","v":"int"},'
                '"old":null,"data":[{"id":"1","g":null,"v":"2"}]}'
            )
        ]
        * 2
    )
    assert '"data":[{"id":"1","v":"2"}]' in encoded(find("v26.3.1"), (None, {"id": "1", "v": "2"}), table)


@pytest.mark.parametrize(
    ("tag", "architecture", "old"),
    [
        ("v8.5.4", "new", '"old":[{"b":"1","a":"","a b":"x"}]'),
        ("v8.5.5", "new", '"old":[{"b":"1","a b":"x"}]'),
        ("v8.5.3", "classic", '"old":[{"b":"1","a b":"x"}]'),
    ],
)
def test_columns_that_selectors_leave_out_are_blank_in_old_up_to_8_5_4(tag: str, architecture: str, old: str) -> None:
    """And nowhere else."""
    chosen = replace(rows(TABLE, [UPDATE]), selected=frozenset({"b", "a b"}))
    made = CODECS["canal-json"].encode(chosen, CodecOptions("canal-json", build_ts=0), find(tag, architecture))

    assert str(made.values[0].as_py(), "utf-8") == HEAD % "UPDATE" + (
        '"sqlType":{"b":4,"a b":12},"mysqlType":{"b":"int","a b":"varchar"},' + old + ',"data":[{"b":"1","a b":"x"}]}'
    )


def test_a_virtual_column_of_the_first_beta_is_null_and_keeps_its_sql_type() -> None:
    """Whatever stands in the column before it."""
    table = create_table("CREATE TABLE s.t (id TINYINT PRIMARY KEY, v TINYINT UNSIGNED AS (id) VIRTUAL)")
    made = json.loads(encoded(find("v9.0.0-beta.1"), (None, {"id": "-128"}), table))

    assert (made["sqlType"], made["data"]) == ({"id": -6, "v": -6}, [{"id": "-128", "v": None}])


def test_a_virtual_column_of_the_first_beta_that_selectors_leave_out_is_blank_in_old() -> None:
    """As any other (ticdc v9.0.0-beta.1: pkg/sink/codec/canal/encoder.go fillUpdateColumns)."""
    table = create_table("CREATE TABLE s.t (id TINYINT PRIMARY KEY, v TINYINT AS (id) VIRTUAL)")
    chosen = replace(rows(table, [({"id": "1"}, {"id": "2"})]), selected=frozenset({"id"}))
    made = CODECS["canal-json"].encode(chosen, CodecOptions("canal-json"), find("v9.0.0-beta.1"))
    message = json.loads(made.values[0].as_py())

    assert ([{"id": "1", "v": ""}], [{"id": "2"}]) == (message["old"], message["data"])
