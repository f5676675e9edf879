"""Whole Open Protocol messages of releases that no vector is of, read out of TiCDC's encoders at their tags."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.codec_rows import Change, rows

from simulator.errors import EncodeError
from simulator.releases import find
from simulator.ticdc import table_info
from simulator.ticdc.codecs import CODECS, CodecOptions, EncodedRows
from simulator.tidb.ddl.definitions.from_sql import create_table

KEYED = "CREATE TABLE d.t (id INT PRIMARY KEY, u INT NOT NULL UNIQUE, f FLOAT, s INT AS (id) STORED)"
ROW = {"id": "1", "u": "7", "f": "3.14", "s": "1"}
TS = 1 << 40
WIDE = "3.140000104904175"
OPEN = CODECS["open-protocol"]


def entry(
    tag: str,
    statement: str,
    change: Change,
    architecture: str | None = None,
    binary: tuple[str, ...] = (),
    partition: int | None = None,
    **options: Any,
) -> tuple[str, str]:
    """Key and value of one row."""
    changes = replace(rows(create_table(statement), [change], frozenset(binary)), partition_id=partition)
    made = OPEN.encode(changes, replace(CodecOptions("open-protocol"), **options), find(tag, architecture))
    return made.keys[0].as_py().decode(), made.values[0].as_py().decode()  # type: ignore[index]


def value(tag: str, statement: str, change: Change, architecture: str | None = None, **more: Any) -> str:
    """Its value alone."""
    return entry(tag, statement, change, architecture, **more)[1]


@pytest.mark.parametrize(
    ("tag", "partition"), [("v4.0.0", ""), ("v4.0.1", ""), ("v4.0.2", ',"ptn":9'), ("v4.0.4", ',"ptn":9')]
)
def test_before_4_0_5_a_row_has_no_flags_no_row_id_and_no_generated_column(tag: str, partition: str) -> None:
    """`h` is on every unique key that cannot be NULL; the partition came with 4.0.2."""
    assert entry(tag, KEYED, (None, ROW), partition=9) == (
        f'{{"ts":{TS},"scm":"d","tbl":"t"{partition},"t":1}}',
        '{"u":{"f":{"t":4,"v":3.14},"id":{"t":3,"h":true,"v":1},"u":{"t":3,"h":true,"v":7}}}',
    )


def test_before_4_0_5_an_update_is_its_new_values_and_a_delete_its_key() -> None:
    """Old values came with 4.0.5."""
    updated = value("v4.0.4", KEYED, (ROW, ROW | {"f": None}))
    assert updated == '{"u":{"f":{"t":4,"v":null},"id":{"t":3,"h":true,"v":1},"u":{"t":3,"h":true,"v":7}}}'
    assert value("v4.0.4", KEYED, (ROW, None)) == '{"d":{"id":{"t":3,"h":true,"v":1}}}'


@pytest.mark.parametrize(("tag", "text"), [("v4.0.4", "PP/DqQ=="), ("v4.0.5", r"\u003c\\xffé")])
def test_bytes_are_base64_before_4_0_5_and_quoted_from_then(tag: str, text: str) -> None:
    """As strconv.Quote writes them."""
    made = value(tag, "CREATE TABLE t (b VARBINARY(9))", (None, {"b": b"<\xff\xc3\xa9"}), binary=("b",))
    assert made.split('"v":')[1] == f'"{text}"}}}}}}'


def test_4_0_5_has_flags_row_id_and_old_values() -> None:
    """And generated columns."""
    columns = (
        '{"f":{"t":4,"f":65,"v":3.14},"id":{"t":3,"h":true,"f":11,"v":1},"s":{"t":3,"f":69,"v":1},'
        '"u":{"t":3,"f":17,"v":7}}'
    )
    assert entry("v4.0.5", KEYED, (ROW, ROW), partition=9) == (
        f'{{"ts":{TS},"scm":"d","tbl":"t","rid":1,"ptn":9,"t":1}}',
        f'{{"u":{columns},"p":{columns}}}',
    )
    assert value("v4.0.5", KEYED, (ROW, None)) == f'{{"d":{columns}}}'


@pytest.mark.parametrize(
    ("tag", "number"),
    [
        ("v4.0.5", "3.14"),
        ("v4.0.6", WIDE),
        ("v5.4.3", WIDE),
        ("v6.1.5", WIDE),
        ("v6.1.6", "3.14"),
        ("v6.2.0", WIDE),
        ("v6.5.1", WIDE),
        ("v6.5.2", "3.14"),
        ("v6.6.0", WIDE),
        ("v7.0.0", "3.14"),
    ],
)
def test_a_float_is_widened_in_some_releases(tag: str, number: str) -> None:
    """It has the digits of a 64-bit number then."""
    assert value(tag, "CREATE TABLE t (f FLOAT)", (None, {"f": "3.14"})) == '{"u":{"f":{"t":4,"f":65,"v":%s}}}' % number


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        ("v5.0.6", r"\\u08c0\\u061d"),
        ("v5.1.0", "\u08c0" r"\\u061d"),
        ("v7.3.0", "\u08c0" r"\\u061d"),
        ("v7.4.0", "\u08c0\u061d"),
    ],
)
def test_bytes_keep_the_characters_that_their_go_knows(tag: str, text: str) -> None:
    """U+08C0 came with Unicode 13, U+061D with 14."""
    made = value(tag, "CREATE TABLE t (b VARBINARY(9))", (None, {"b": "\u08c0\u061d".encode()}), binary=("b",))
    assert made == '{"u":{"b":{"t":15,"f":65,"v":"%s"}}}' % text


@pytest.mark.parametrize(
    ("tag", "year", "number"),
    [
        ("v6.5.5", 193, 192),
        ("v6.5.6", 449, 448),
        ("v6.5.12", 449, 448),
        ("v6.6.0", 193, 192),
        ("v7.1.6", 193, 192),
        ("v7.5.2", 193, 192),
        ("v7.5.3", 449, 448),
        ("v7.5.7", 449, 448),
        ("v7.6.0", 193, 192),
        ("v8.1.0", 193, 192),
    ],
)
def test_zerofill_is_a_bit_in_two_lines_of_releases(tag: str, year: int, number: int) -> None:
    """A YEAR has it always."""
    table = create_table("CREATE TABLE t (y YEAR, n INT ZEROFILL)")
    assert table_info.flags(table, find(tag)) == {"y": year, "n": number + table_info.BINARY}


@pytest.mark.parametrize(
    ("tag", "code"),
    [
        ("v4.0.16", "CDC:ErrJSONCodecRowTooLarge"),
        ("v5.0.6", "CDC:ErrJSONCodecRowTooLarge"),
        ("v5.1.4", "CDC:ErrJSONCodecRowTooLarge"),
        ("v5.2.2", "CDC:ErrJSONCodecRowTooLarge"),
        ("v6.1.7", "CDC:ErrJSONCodecRowTooLarge"),
        ("v6.2.0", "CDC:ErrOpenProtocolCodecRowTooLarge"),
        ("v6.5.0", "CDC:ErrOpenProtocolCodecRowTooLarge"),
        ("v6.5.1", "CDC:ErrMessageTooLarge"),
        ("v6.6.0", "CDC:ErrOpenProtocolCodecRowTooLarge"),
        ("v7.0.0", "CDC:ErrMessageTooLarge"),
    ],
)
def test_a_row_that_is_too_large_has_the_code_of_its_release(tag: str, code: str) -> None:
    """Each with its own words."""
    with pytest.raises(EncodeError) as caught:
        entry(tag, KEYED, (None, ROW), max_message_bytes=100)
    assert caught.value.code == code


@pytest.mark.parametrize("tag", ["v4.0.9", "v4.0.15", "v5.0.5", "v5.1.3", "v5.2.1"])
def test_old_releases_send_a_row_that_is_too_large(tag: str) -> None:
    """And do not count what Kafka adds: two rows that fill a message to the byte share it."""
    made = OPEN.encode(rows(create_table(KEYED), [(None, ROW)] * 3), CodecOptions("open-protocol"), find(tag))
    assert made.keys is not None
    columns: list[bytes] = [*made.keys[:2].to_pylist(), *made.values[:2].to_pylist()]
    both = 8 + sum(len(text) + 8 for text in columns)
    for limit, starts in ((10, [0, 1, 2, 3]), (both - 1, [0, 1, 2, 3]), (both, [0, 2, 3])):
        options = CodecOptions("open-protocol", max_message_bytes=limit)
        assert OPEN.frame(made, np.zeros(3, np.int64), options, find(tag)).first_row.to_pylist() == starts


@pytest.mark.parametrize(("tag", "starts"), [("v4.0.8", [0, 3, 5]), ("v4.0.9", [0, 5])])
def test_before_4_0_9_a_message_is_sent_when_it_has_4_mib(tag: str, starts: list[int]) -> None:
    """However many rows that is."""
    values = pa.array([b"v" * size for size in (1 << 20, 2 << 20, 1 << 20, 1, 1)], pa.binary())
    made = EncodedRows(pa.array([b"k" * 100] * 5, pa.binary()), values)
    options = CodecOptions("open-protocol", max_batch_size=find(tag).max_batch_size, max_message_bytes=64 << 20)
    assert OPEN.frame(made, np.zeros(5, np.int64), options, find(tag)).first_row.to_pylist() == starts


SIMPLE = "CREATE TABLE t (id INT PRIMARY KEY, a INT)"
KEY_ONLY = '{"id":{"t":3,"h":true,"f":11,"v":1}}'
FULL = '{"a":{"t":3,"f":65,"v":2},"id":{"t":3,"h":true,"f":11,"v":1}}'


@pytest.mark.parametrize(
    ("tag", "has_old", "deleted"),
    [
        ("v4.0.5", False, KEY_ONLY),
        ("v6.5.4", False, KEY_ONLY),
        ("v6.5.5", True, KEY_ONLY),
        ("v6.6.0", False, KEY_ONLY),
        ("v7.1.1", False, KEY_ONLY),
        ("v7.1.2", True, KEY_ONLY),
        ("v7.2.0", False, FULL),
        ("v7.3.0", False, FULL),
    ],
)
def test_without_old_values_updates_and_deletes_lose_what_their_release_takes(
    tag: str, has_old: bool, deleted: str
) -> None:
    """enable-old-value = false."""
    row = {"id": "1", "a": "2"}
    updated = value(tag, SIMPLE, (row, row), enable_old_value=False)
    assert updated == ('{"u":%s,"p":%s}' % (FULL, FULL) if has_old else '{"u":%s}' % FULL)
    assert value(tag, SIMPLE, (row, None), enable_old_value=False) == '{"d":%s}' % deleted


LARGE: dict[str, Any] = {"large_message_handle_option": "handle-key-only", "max_message_bytes": 180}


@pytest.mark.parametrize("tag", ["v6.5.4", "v6.5.12", "v7.1.2", "v7.1.6"])
def test_a_row_without_a_handle_key_is_cut_down_to_nothing_before_7_2(tag: str) -> None:
    """Its key says so."""
    made = entry(tag, "CREATE TABLE d.t (a VARCHAR(99))", (None, {"a": "x" * 99}), **LARGE)
    assert made == (f'{{"ts":{TS},"scm":"d","tbl":"t","rid":1,"t":1,"ohk":true}}', "{}")


@pytest.mark.parametrize(
    ("tag", "architecture", "operation"),
    [("v7.2.0", "classic", "insert"), ("v8.5.7", "classic", "insert"), ("v8.5.4", "new", "delete")],
)
def test_from_7_2_a_row_without_a_handle_key_cannot_be_cut_down(tag: str, architecture: str, operation: str) -> None:
    """The new architecture always says that it was a DELETE."""
    with pytest.raises(EncodeError, match=f"not found handle key columns for the {operation} event") as caught:
        entry(tag, "CREATE TABLE d.t (a VARCHAR(99))", (None, {"a": "x" * 99}), architecture, **LARGE)
    assert caught.value.code == "CDC:ErrOpenProtocolCodecInvalidData"


@pytest.mark.parametrize(
    ("tag", "architecture", "has_old"),
    [
        ("v7.5.1", "classic", True),
        ("v7.5.2", "classic", False),
        ("v7.6.0", "classic", True),
        ("v8.0.0", "classic", True),
        ("v8.1.0", "classic", False),
        ("v8.5.5", "new", True),
        ("v8.5.6", "new", False),
        ("v26.3.1", "new", False),
        ("v9.0.0-beta.2.pre", "new", True),
    ],
)
def test_output_old_value_takes_the_old_values_away_where_the_release_minds_it(
    tag: str, architecture: str, has_old: bool
) -> None:
    """`[sink.open] output-old-value = false`."""
    row = {"id": "1", "a": "2"}
    assert has_old == ('"p":' in value(tag, SIMPLE, (row, row), architecture, output_old_value=False))


ZEROS = "CREATE TABLE d.t (id INT PRIMARY KEY, n DECIMAL(4,1), c VARCHAR(9) NOT NULL, h TIME(1), b BIT(2))"
BEFORE = {"id": "1", "n": "0.0", "c": "", "h": "00:00:00.5", "b": "1"}
AFTER = {"id": "1", "n": None, "c": "x", "h": "01:00:00.5", "b": "2"}


@pytest.mark.parametrize(
    ("tag", "old"),
    [
        ("v8.5.5", '{"t":246,"f":65,"v":"0.0","c":{"t":15,"f":4097,"v":null},"h":{"t":11,"f":128,"v":null}}'),
        (
            "v9.0.0-beta.2.pre",
            '{"t":246,"f":65,"v":"0.0","c":{"t":15,"f":4097,"v":null},"h":{"t":11,"f":128,"v":null}}',
        ),
        (
            "v8.5.6",
            '{"t":246,"f":65,"v":"0.0","c":{"t":15,"f":0,"v":""},"h":{"t":11,"f":65,"v":"00:00:00.5"},'
            '"b":{"t":16,"f":193,"v":1}}',
        ),
        (
            "v26.3.4",
            '{"t":246,"f":65,"v":"0.0","c":{"t":15,"f":0,"v":""},"h":{"t":11,"f":65,"v":"00:00:00.5"},'
            '"b":{"t":16,"f":193,"v":1}}',
        ),
        ("v9.0.0-beta.1", '{"t":246,"f":65,"v":null,"c":{"t":15,"f":0,"v":null},"h":{"t":11,"f":65,"v":null}}'),
    ],
)
def test_changed_columns_of_the_new_architecture_have_its_defects(tag: str, old: str) -> None:
    """What NULL replaced has no name; zero is null, flags are raw and BIT is missing where the release does so."""
    made = value(tag, ZEROS, (BEFORE, AFTER), "new", only_output_updated_columns=True)
    assert made.split(',"p":')[1] == old + "}"


def test_the_first_beta_takes_zero_for_null_and_knows_virtual_columns_and_no_partitions() -> None:
    """In rows of every kind; TIME has no fraction."""
    table = "CREATE TABLE d.t (id INT PRIMARY KEY, v INT AS (id + 1), c VARCHAR(9), h TIME(1), j JSON)"
    row = {"id": "1", "c": "", "h": "01:00:00.5", "j": "0"}
    assert entry("v9.0.0-beta.1", table, (None, row), "new", partition=9) == (
        f'{{"ts":{TS},"scm":"d","tbl":"t","t":1}}',
        '{"u":{"id":{"t":3,"h":true,"f":11,"v":1},"v":{"t":3,"f":69,"v":null},"c":{"t":15,"f":64,"v":null},'
        '"h":{"t":11,"f":65,"v":"01:00:00"},"j":{"t":245,"f":65,"v":null}}}',
    )


@pytest.mark.parametrize(
    ("tag", "architecture", "handle"),
    [
        ("v8.5.4", "classic", {"p"}),
        ("v8.5.4", "new", {"p", "u"}),
        ("v8.5.5", "new", {"p"}),
        ("v26.3.1", "new", {"p"}),
        ("v9.0.0-beta.1", "new", {"p"}),
        ("v9.0.0-beta.2.pre", "new", {"p", "u"}),
    ],
)
def test_a_unique_key_before_the_primary_key_joins_it_in_8_5_4(tag: str, architecture: str, handle: set[str]) -> None:
    """The new architecture of that release takes both for the handle key."""
    table = create_table("CREATE TABLE t (u INT NOT NULL, p INT, UNIQUE (u), PRIMARY KEY (p) NONCLUSTERED)")
    assert table_info.handle_columns(table, find(tag, architecture)) == handle
    bits = table_info.flags(table, find(tag, architecture))
    marked = {name for name, own in bits.items() if own & table_info.HANDLE_KEY}
    assert marked == handle


@pytest.mark.parametrize(
    ("tag", "architecture", "handle"),
    [
        ("v8.5.7", "classic", {"a", "b"}),
        ("v8.5.5", "new", {"a", "b"}),
        ("v8.5.6", "new", {"v"}),
        ("v8.5.7", "new", {"v"}),
        ("v26.3.4", "new", {"a", "b"}),
    ],
)
def test_a_virtual_column_may_be_the_handle_key_in_8_5_6(tag: str, architecture: str, handle: set[str]) -> None:
    """Of the new architecture, which then has no column of a handle key in its messages."""
    table = create_table(
        "CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, v INT AS (a) NOT NULL, UNIQUE (a, b), UNIQUE (v))"
    )
    assert table_info.handle_columns(table, find(tag, architecture)) == handle


def test_keys_of_the_new_architecture_end_with_the_partition() -> None:
    """Behind what says that the value is cut down."""
    made = entry(
        "v26.3.1",
        "CREATE TABLE d.t (id INT PRIMARY KEY, a VARCHAR(99))",
        (None, {"id": "1", "a": "<" * 99}),
        "new",
        partition=9,
        **LARGE,
    )
    assert made == (f'{{"ts":{TS},"scm":"d","tbl":"t","t":1,"ohk":true,"ptn":9}}', '{"u":%s}' % KEY_ONLY)
