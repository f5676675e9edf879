"""Open Protocol of releases that no vector is of, read out of TiCDC's encoders at their tags."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.codec_rows import EVERY, LAST, Change, by_answer, rows

from simulator.errors import EncodeError
from simulator.releases import Release, find
from simulator.ticdc import table_info
from simulator.ticdc.codecs import CODECS, CodecOptions, EncodedRows
from simulator.tidb.ddl.table_definitions import create_table

OPEN = CODECS["open-protocol"]
TS = 1 << 40
KEYED = "CREATE TABLE d.t (id INT PRIMARY KEY, u INT NOT NULL UNIQUE, f FLOAT, s INT AS (id) STORED)"
ROW = {"id": "1", "u": "7", "f": "3.14", "s": "1"}
SIMPLE, PAIR = "CREATE TABLE t (id INT PRIMARY KEY, a INT)", {"id": "1", "a": "2"}
LARGE: dict[str, Any] = {"large_message_handle_option": "handle-key-only", "max_message_bytes": 180}
NEW = [release for release in EVERY if release.architecture == "new"]


def entry(
    release: Release, statement: str, change: Change, binary: str = "", partition: int | None = None, **options: Any
) -> tuple[str, str]:
    """Key and value of one row."""
    changes = replace(rows(create_table(statement), [change], frozenset(binary)), partition_id=partition)
    made = OPEN.encode(changes, replace(CodecOptions("open-protocol"), **options), release)
    assert made.keys is not None
    return made.keys[0].as_py().decode(), made.values[0].as_py().decode()


def value(release: Release, statement: str, change: Change, binary: str = "", **options: Any) -> str:
    return entry(release, statement, change, binary, **options)[1]


def last(statement: str, row: dict[str, Any], binary: str = "") -> Callable[[Release], str]:
    """Asks for the last `v` of a row."""
    return lambda release: value(release, statement, (None, row), binary).rpartition('"v":')[2].rstrip("}")


def outcome(statement: str, row: dict[str, Any], **options: Any) -> Callable[[Release], str]:
    """Asks what becomes of a row with an option: how its value or the error for it begins."""

    def ask(release: Release) -> str:
        try:
            return value(release, statement, (None, row), **options)[:4]
        except EncodeError as error:
            return error.text.partition(":")[0] if error.code.endswith("InvalidData") else error.code

    return ask


def without_old_values(release: Release) -> tuple[bool, bool]:
    """Whether an UPDATE has its old values, and a DELETE all columns, with enable-old-value = false."""
    updated, deleted = (value(release, SIMPLE, (PAIR, after), enable_old_value=False) for after in (PAIR, None))
    return '"p":' in updated, '"a":' in deleted


def handles(statement: str) -> Callable[[Release], tuple[str, str]]:
    """Asks for the handle key, and for the columns that are marked as such."""

    def ask(release: Release) -> tuple[str, str]:
        table = create_table(statement)
        flags = table_info.flags(table, release)
        marked = (name for name in flags if flags[name] & table_info.HANDLE_KEY)
        return " ".join(sorted(table_info.handle_columns(table, release))), " ".join(sorted(marked))

    return ask


def first_rows(release: Release) -> tuple[tuple[int, ...], ...]:
    """The first rows of messages whose limit is a byte too small for two rows, and just enough."""
    made = EncodedRows(pa.array([b"k"] * 3, pa.binary()), pa.array([b"v"] * 3, pa.binary()))
    size = 8 + 2 * (1 + 8 + 1 + 8)
    limits = (CodecOptions("open-protocol", max_message_bytes=limit) for limit in (size - 1, size))
    return tuple(tuple(OPEN.frame(made, np.zeros(3, np.int64), each, release).first_row.to_pylist()) for each in limits)


JOINED = "CREATE TABLE t (u INT NOT NULL, p INT, UNIQUE (u), PRIMARY KEY (p) NONCLUSTERED)"
VIRTUAL = "CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, v INT AS (a) NOT NULL, UNIQUE (a, b), UNIQUE (v))"

BEHAVIOURS: dict[str, tuple[Callable[[Release], Hashable], dict[Any, str]]] = {
    "a FLOAT has the digits of a 64-bit number": (
        last("CREATE TABLE t (f FLOAT)", {"f": "3.14"}),
        {
            "3.14": f"v4.0.0 – v4.0.5, v6.1.6 – v6.1.7, v6.5.2 – v6.5.12, v7.0.0 – {LAST}",
            "3.140000104904175": "v4.0.6 – v6.1.5, v6.2.0 – v6.5.1, v6.6.0",
        },
    ),
    # U+08C0 came with Unicode 13, U+061D with 14; before 4.0.5 there is no strconv.Quote
    "bytes keep the characters that their Go knows": (
        last("CREATE TABLE t (b VARBINARY(9))", {"b": b"<\xff" + "\u08c0\u061d".encode()}, "b"),
        {
            '"PP/go4DYnQ=="': "v4.0.0 – v4.0.4",
            r'"\u003c\\xff\\u08c0\\u061d"': "v4.0.5 – v5.0.6",
            r'"\u003c\\xff' + "\u08c0" + r'\\u061d"': "v5.1.0 – v7.3.0",
            r'"\u003c\\xff' + '\u08c0\u061d"': "v7.4.0 – v8.5.8",
            r'"<\\xff' + '\u08c0\u061d"': LAST.partition(", ")[2],
        },
    ),
    "ZEROFILL is a bit, which every YEAR has": (
        lambda release: tuple(
            table_info.flags(create_table("CREATE TABLE t (y YEAR, n INT ZEROFILL)"), release).values()
        ),
        {
            (193, 193): f"v4.0.0 – v6.5.5, v6.6.0 – v7.5.2, v7.6.0 – {LAST}",
            (449, 449): "v6.5.6 – v6.5.12, v7.5.3 – v7.5.8",
        },
    ),
    "a row that is too large": (
        outcome(KEYED, ROW, max_message_bytes=100),
        {
            '{"u"': "v4.0.0 – v4.0.15, v5.0.0 – v5.0.5, v5.1.0 – v5.1.3, v5.2.0 – v5.2.1",
            "CDC:ErrJSONCodecRowTooLarge": "v4.0.16, v5.0.6, v5.1.4 – v5.1.5, v5.2.2 – v6.1.7",
            "CDC:ErrOpenProtocolCodecRowTooLarge": "v6.2.0 – v6.5.0, v6.6.0",
            "CDC:ErrMessageTooLarge": f"v6.5.1 – v6.5.12, v7.0.0 – {LAST}",
        },
    ),
    "what Kafka adds counts for the size of a message": (
        first_rows,
        {
            ((0, 3), (0, 3)): "v4.0.0 – v4.0.8",
            ((0, 1, 2, 3), (0, 2, 3)): "v4.0.9 – v4.0.15, v5.0.0 – v5.0.5, v5.1.0 – v5.1.3, v5.2.0 – v5.2.1",
            ((0, 1, 2, 3), (0, 1, 2, 3)): f"v4.0.16, v5.0.6, v5.1.4 – v5.1.5, v5.2.2 – {LAST}",
        },
    ),
    # the new architecture always says that it was a DELETE
    "a large row without a handle key is cut down to nothing or refused": (
        outcome("CREATE TABLE d.t (a VARCHAR(99))", {"a": "x" * 99}, **LARGE),
        {
            '{"u"': "v4.0.0 – v4.0.15, v5.0.0 – v5.0.5, v5.1.0 – v5.1.3, v5.2.0 – v5.2.1",
            "CDC:ErrJSONCodecRowTooLarge": "v4.0.16, v5.0.6, v5.1.4 – v5.1.5, v5.2.2 – v6.1.7",
            "CDC:ErrOpenProtocolCodecRowTooLarge": "v6.2.0 – v6.5.0, v6.6.0",
            "CDC:ErrMessageTooLarge": "v6.5.1 – v6.5.3, v7.0.0 – v7.1.1",
            "{}": "v6.5.4 – v6.5.12, v7.1.2 – v7.1.6",
            "not found handle key columns for the insert event": "v7.2.0 – v8.5.8",
            "not found handle key columns for the delete event": LAST.partition(", ")[2],
        },
    ),
    "old values without enable-old-value": (
        without_old_values,
        {
            (False, False): "v4.0.0 – v6.5.4, v6.6.0 – v7.1.1",
            (True, False): "v6.5.5 – v6.5.12, v7.1.2 – v7.1.6",
            (False, True): "v7.2.0 – v7.3.0",
            (True, True): f"v7.4.0 – {LAST}",
        },
    ),
    "old values without output-old-value": (
        lambda release: '"p":' in value(release, SIMPLE, (PAIR, PAIR), output_old_value=False),
        {
            False: "v4.0.0 – v4.0.4, v7.5.2 – v7.5.8, v8.1.0 – v8.5.8, new:v8.5.6 – v26.3.4",
            True: "v4.0.5 – v7.5.1, v7.6.0 – v8.0.0, new:v8.5.4 – v8.5.5, new:v9.0.0-beta.1 – v9.0.0-beta.2.pre",
        },
    ),
    "a unique key before the primary key joins it in the handle key": (
        handles(JOINED),
        {
            ("p", "p"): "v4.0.0 – v8.5.8, new:v8.5.5 – v9.0.0-beta.1",
            ("p u", "p u"): "new:v8.5.4, new:v9.0.0-beta.2.pre",
        },
    ),
    "a virtual column may be the handle key": (
        handles(VIRTUAL),
        {
            ("a b", "a b"): "v4.0.0 – v8.5.8, new:v8.5.4 – v8.5.5, new:v26.3.1 – v9.0.0-beta.2.pre",
            ("v", ""): "new:v8.5.6 – v8.5.8",
        },
    ),
}
"""What every release answers, by the release that brought it and those that it was ported back to."""


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_each_release_writes_as_its_encoder_does(behaviour: str) -> None:
    ask, expected = BEHAVIOURS[behaviour]
    assert by_answer(ask) == expected


def test_before_4_0_5_rows_have_no_flags_no_row_id_no_generated_column_and_no_old_values() -> None:
    """`h` is on every unique key that cannot be NULL; the partition came with 4.0.2."""
    row = '{"u":{"f":{"t":4,"v":3.14},"id":{"t":3,"h":true,"v":1},"u":{"t":3,"h":true,"v":7}}}'
    for tag, partition in (("v4.0.0", ""), ("v4.0.1", ""), ("v4.0.2", ',"ptn":9'), ("v4.0.4", ',"ptn":9')):
        key = f'{{"ts":{TS},"scm":"d","tbl":"t"{partition},"t":1}}'
        assert entry(find(tag), KEYED, (None, ROW), partition=9) == (key, row)
        assert value(find(tag), KEYED, (ROW, ROW)) == row
        assert value(find(tag), KEYED, (ROW, None)) == '{"d":{"id":{"t":3,"h":true,"v":1}}}'


def test_4_0_5_has_flags_row_id_generated_columns_and_old_values() -> None:
    columns = (
        '{"f":{"t":4,"f":65,"v":3.14},"id":{"t":3,"h":true,"f":11,"v":1},"s":{"t":3,"f":69,"v":1},'
        '"u":{"t":3,"f":17,"v":7}}'
    )
    key = f'{{"ts":{TS},"scm":"d","tbl":"t","rid":1,"ptn":9,"t":1}}'
    assert entry(find("v4.0.5"), KEYED, (ROW, ROW), partition=9) == (key, f'{{"u":{columns},"p":{columns}}}')
    assert value(find("v4.0.5"), KEYED, (ROW, None)) == f'{{"d":{columns}}}'


@pytest.mark.parametrize(("tag", "starts"), [("v4.0.8", [0, 3, 5]), ("v4.0.9", [0, 5])])
def test_before_4_0_9_a_message_is_sent_when_it_has_4_mib(tag: str, starts: list[int]) -> None:
    values = pa.array([b"v" * size for size in (1 << 20, 2 << 20, 1 << 20, 1, 1)], pa.binary())
    made = EncodedRows(pa.array([b"k" * 100] * 5, pa.binary()), values)
    options = CodecOptions("open-protocol", max_batch_size=find(tag).max_batch_size, max_message_bytes=64 << 20)
    assert OPEN.frame(made, np.zeros(5, np.int64), options, find(tag)).first_row.to_pylist() == starts


def test_the_key_of_a_row_that_is_cut_down_says_so_and_in_the_new_architecture_before_the_partition() -> None:
    keyless, wide = "CREATE TABLE d.t (a VARCHAR(99))", "CREATE TABLE d.t (id INT PRIMARY KEY, a VARCHAR(99))"
    key = f'{{"ts":{TS},"scm":"d","tbl":"t","rid":1,"t":1,"ohk":true}}'
    assert entry(find("v6.5.4"), keyless, (None, {"a": "x" * 99}), **LARGE)[0] == key
    assert entry(find("v26.3.1"), wide, (None, {"id": "1", "a": "<" * 99}), partition=9, **LARGE) == (
        f'{{"ts":{TS},"scm":"d","tbl":"t","t":1,"ohk":true,"ptn":9}}',
        '{"u":{"id":{"t":3,"h":true,"f":11,"v":1}}}',
    )


def test_changed_columns_of_the_new_architecture_have_its_defects() -> None:
    """What NULL replaced has no name; zero is null, flags are raw and BIT is missing where the release does so."""
    zeros = "CREATE TABLE d.t (id INT PRIMARY KEY, n DECIMAL(4,1), c VARCHAR(9) NOT NULL, h TIME(1), b BIT(2))"
    before = {"id": "1", "n": "0.0", "c": "", "h": "00:00:00.5", "b": "1"}
    after = {"id": "1", "n": None, "c": "x", "h": "01:00:00.5", "b": "2"}

    def old(release: Release) -> str:
        return value(release, zeros, (before, after), only_output_updated_columns=True).split(',"p":')[1]

    assert by_answer(old, NEW) == {
        '{"t":246,"f":65,"v":"0.0","c":{"t":15,"f":4097,"v":null},"h":{"t":11,"f":128,"v":null}}}': (
            "new:v8.5.4 – v8.5.5, new:v9.0.0-beta.2.pre"
        ),
        '{"t":246,"f":65,"v":"0.0","c":{"t":15,"f":0,"v":""},"h":{"t":11,"f":65,"v":"00:00:00.5"},'
        '"b":{"t":16,"f":193,"v":1}}}': "new:v8.5.6 – v26.3.4",
        '{"t":246,"f":65,"v":null,"c":{"t":15,"f":0,"v":null},"h":{"t":11,"f":65,"v":null}}}': "new:v9.0.0-beta.1",
    }


def test_the_first_beta_takes_zero_for_null_and_knows_virtual_columns_and_no_partitions() -> None:
    """In rows of every kind; TIME has no fraction."""
    table = "CREATE TABLE d.t (id INT PRIMARY KEY, v INT AS (id + 1), c VARCHAR(9), h TIME(1), j JSON)"
    row = {"id": "1", "c": "", "h": "01:00:00.5", "j": "0"}
    assert entry(find("v9.0.0-beta.1"), table, (None, row), partition=9) == (
        f'{{"ts":{TS},"scm":"d","tbl":"t","t":1}}',
        '{"u":{"id":{"t":3,"h":true,"f":11,"v":1},"v":{"t":3,"f":69,"v":null},"c":{"t":15,"f":64,"v":null},'
        '"h":{"t":11,"f":65,"v":"01:00:00"},"j":{"t":245,"f":65,"v":null}}}',
    )
