"""The dispatch hash of whole columns, where the vectors (partitions) say nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.vectors.split import inertia, value_string

from simulator.columns import cells
from simulator.releases import V8_5, Release, find
from simulator.ticdc.changefeed import DispatchRule
from simulator.ticdc.dispatch import compile_rules, dispatch_hashes, follows_from_handle, route
from simulator.tidb.ddl.definitions import from_sql as parse

EDGES = (0.0, 1.0, -1.5, 100.0, 120.5, 1e15, 1e16, 1e20, 1.5e38, 1e-44, 1e-7, 0.1, 123.01, 0.001, 1e-5, 33554432.0)


def hashes(type: str, texts: list[str], release: Release = V8_5) -> list[int]:
    """The hashes of rows by a column of that type."""
    table = parse.create_table(f"create table s.t (v {type})")
    to = route(compile_rules([DispatchRule(("*.*",), "columns", columns=("v",))], "t", release=release), table)
    found: list[int] = dispatch_hashes(to, table, cells.columns([{"v": text} for text in texts])).tolist()
    return found


def of_value(value: bytes) -> int:
    return inertia([(b"s", b"t"), (b"v", value)])


@pytest.mark.parametrize("name", ["v7.5.0", "v8.5.3"])
@pytest.mark.parametrize(("type", "kind"), [("float", np.float32), ("double", np.float64)])
def test_a_float_is_hashed_without_an_exponent_in_any_spelling(
    type: str, kind: Callable[[float], Any], name: str
) -> None:
    """As Python, Java and MySQL spell it; what other values are hashed as, the vectors (partitions) show."""
    for edge in map(kind, EDGES):
        shortest, plain = str(edge), np.format_float_positional(edge, unique=True, trim="-")
        spelt = [shortest, shortest.replace("e+", "E"), shortest.replace("e+", "e").replace("e-0", "e-"), plain]
        assert hashes(type, spelt, find(name)) == [of_value(value_string(edge).encode())] * 4


def test_text_that_was_no_utf_8_is_hashed_as_its_bytes_and_a_long_one_as_a_short_one() -> None:
    """A lone surrogate stands for each byte of it."""
    broken = b"a\xff\xe4b"
    assert hashes("varchar(20)", [broken.decode("utf-8", "surrogateescape")]) == [of_value(broken)]
    texts = ["", "x" * 64, "é" * 5000]
    assert hashes("text", texts) == [of_value(text.encode()) for text in texts]


@pytest.mark.parametrize(
    ("kind", "texts", "json"),
    [
        ("bigint", ["-7", "5"], ["-7", "5"]),
        ("enum('x','é')", ["é", ""], ["2", "0"]),
        ("set('a','b','c')", ["a,c", ""], ["5", "0"]),
        ("decimal(5,2)", ["1.50"], ['"1.50"']),
        (
            "varchar(20)",
            ['<&>\\"', "\b\f\n\u2028\x01é😀"],
            [r'"\u003c\u0026\u003e\\\""', r'"\u0008\u000c\n\u2028\u0001é😀"'],
        ),
        ("text", ["", "a", "ab", "abc", "é😀z"], ['""', '"YQ=="', '"YWI="', '"YWJj"', '"w6nwn5iAeg=="']),
        ("blob", ["\xff\x00"], ['"/wA="']),
        ("timestamp(3)", ["2020-02-20 02:20:20.123"], ['"2020-02-20 02:20:20.123"']),
    ],
)
def test_the_only_unique_column_is_hashed_as_json_at_first(kind: str, texts: list[str], json: list[str]) -> None:
    """Up to 4.0.4, without the table: numbers as they are, text as a JSON string, TEXT in base64."""
    prefix = "(5)" if kind in ("text", "blob") else ""
    table = parse.create_table(f"create table s.t (k {kind}, primary key (k{prefix}) nonclustered)")
    to = route(compile_rules([], "t", release=find("v4.0.4")), table)

    made = dispatch_hashes(to, table, {"k": pa.array(texts)})

    assert (to.dispatcher, made.tolist()) == ("single-column", [inertia([(text.encode(),)]) for text in json])


@pytest.mark.parametrize(
    ("columns", "rule", "tag", "known"),
    [
        ("a int primary key, b int", {}, "v8.5.3", True),
        ("a int primary key, b int", {"partition": "index-value"}, "v8.5.3", True),
        ("a int primary key, b int", {"partition": "ts"}, "v8.5.3", True),
        ("a int primary key, b int", {"partition": "columns", "columns": ("b",)}, "v8.5.3", False),
        ("a int primary key, b int not null unique", {"partition": "index-value", "index": "b"}, "v8.5.3", False),
        ("a varchar(9) primary key", {"partition": "index-value"}, "v8.5.3", False),
        ("a varchar(9) collate utf8mb4_0900_bin primary key", {"partition": "index-value"}, "v8.5.3", True),
        ("a varbinary(9), primary key (a(3))", {"partition": "index-value"}, "v8.5.3", False),
        ("a varbinary(9) primary key", {"partition": "index-value"}, "v8.5.3", True),
        ("a int", {"partition": "index-value"}, "v8.5.3", True),
        ("a int", {"partition": "rowid"}, "v4.0.4", False),
        ("a int primary key", {"partition": "rowid"}, "v4.0.4", True),
    ],
)
def test_where_a_row_goes_is_known_by_its_handle_unless_other_columns_or_spellings_of_it_count(
    columns: str, rule: dict[str, Any], tag: str, known: bool
) -> None:
    """A key with a collation may change its bytes, and so its partition, and still be the same."""
    table = parse.create_table(f"create table s.t ({columns})")
    rules = [DispatchRule(("*.*",), **rule)] if rule else []

    assert follows_from_handle(route(compile_rules(rules, "t", release=find(tag)), table), table) is known
