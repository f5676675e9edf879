"""The dispatch hash of whole columns against zlib and numpy, on random rows of every TiDB type."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.vectors.split import inertia, value_string

from simulator.columns import cells
from simulator.releases import Release, find
from simulator.ticdc.changefeed import DispatchRule
from simulator.ticdc.dispatch import compile_rules, dispatch_hashes, follows_from_handle, route
from simulator.tidb.ddl.definitions import from_sql as parse
from simulator.tidb.model import types
from simulator.tidb.model.table import Column, Table

NAMES = "Tab_1 été 数据 😀 a.b".split()
MEMBERS = tuple("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$")
EDGES = (0.0, 1.0, -1.5, 100.0, 120.5, 1e15, 1e16, 1e20, 1.5e38, 1e-44, 1e-7, 0.1, 123.01, 0.001, 1e-5, 33554432.0)


def number(kind: type[np.floating], pick: random.Random) -> str:
    """The shortest text of a float: Python's, Java's, MySQL's or plain spelling."""
    value = kind(pick.choice(EDGES) if pick.random() < 0.5 else pick.uniform(-1, 1) * 10 ** pick.randint(-30, 30))
    shortest = str(value)
    plain = np.format_float_positional(value, unique=True, trim="-")
    return pick.choice([shortest, shortest.replace("e+", "E"), shortest.replace("e+", "e").replace("e-0", "e-"), plain])


def text(pick: random.Random) -> str:
    return "".join(pick.choice("ab0 ,'\\\"\n\t中😀é") for _ in range(pick.randint(0, 6)))


COLUMNS: dict[str, tuple[str, Callable[[random.Random], str]]] = {
    "i": ("bigint", lambda pick: str(pick.randint(-(1 << 63), (1 << 63) - 1))),
    "U": ("bigint unsigned", lambda pick: str(pick.randint(0, (1 << 64) - 1))),
    "dec": ("decimal(20,4)", lambda pick: f"{pick.randint(-(10**9), 10**9)}.{pick.randint(0, 9999):04}"),
    "f": ("float", lambda pick: number(np.float32, pick)),
    "d": ("double", lambda pick: number(np.float64, pick)),
    "en": ("enum('x','y y','é')", lambda pick: pick.choice(["x", "y y", "é", ""])),
    "se": (
        "set({})".format(",".join(f"'m{member}{place}'" for place, member in enumerate(MEMBERS))),
        lambda pick: ",".join(
            f"m{MEMBERS[place]}{place}" for place in sorted(pick.sample(range(64), pick.choice([0, 1, 5, 64])))
        ),
    ),
    "b": ("bit(64)", lambda pick: str(pick.randint(0, (1 << 64) - 1))),
    "vb": ("varbinary(20)", lambda pick: pick.randbytes(pick.randint(0, 20)).decode("latin-1")),
    "bl": ("blob", lambda pick: pick.randbytes(pick.randint(0, 20)).decode("latin-1")),
    "名": ("varchar(20)", text),
    "js": ("json", lambda pick: '{"a": "é"}'),
    "ts": ("timestamp(3)", lambda pick: f"2020-02-20 02:20:20.{pick.randint(0, 999):03}"),
    "ti": ("time(6)", lambda pick: f"-{pick.randint(0, 838):02}:59:59.{pick.randint(0, 999999):06}"),
    "tx": ("text", text),
    "y": ("year", lambda pick: pick.choice(["0", "2024"])),
    "v": ("vector", lambda pick: "[1,2.5]"),
}
RELEASES = [find("v4.0.5"), find("v5.4.0"), find("v8.5.3"), find("v8.5.4", "new"), find("v8.5.7", "new")]
RULES = [
    DispatchRule(("*.*",), "columns", columns=tuple(COLUMNS)),
    *(DispatchRule(("*.*",), "columns", columns=(name,)) for name in COLUMNS),
    DispatchRule(("*.*",), "index-value"),
    DispatchRule(("*.*",), "index-value", index="UK"),
    DispatchRule(("*.*",), "table"),
]


def a_table() -> Table:
    columns = ", ".join(f"`{name}` {spelled}" for name, (spelled, _) in COLUMNS.items())
    return parse.create_table(f"create table `Schéma`.`T 1` ({columns}, primary key (i), unique key uk (d, `名`(3)))")


def rows(count: int) -> list[dict[str, str | None]]:
    pick = random.Random(7)
    return [
        {name: None if pick.random() < 0.1 else make(pick) for name, (_, make) in COLUMNS.items()} for _ in range(count)
    ]


def known(rule: DispatchRule, release: Release) -> bool:
    """Whether the release has the dispatcher, and finds the index in another letter case."""
    return rule.partition in release.dispatchers and not (rule.index and not release.dispatch_ignores_case)


def value(column: Column, text: str, release: Release) -> bytes:
    """What of a TiDB text is hashed, one by one."""
    name, elements = column.type.name, column.type.elements
    if types.is_binary(column.type):
        return text.encode("latin-1")
    if name == "enum":
        text = str(elements.index(text) + 1 if text else 0)
    elif name == "set":
        text = str(sum(1 << elements.index(member) for member in text.split(",") if member))
    elif name == "float":
        text = value_string(np.float64(np.float32(text)) if release.float_widened else np.float32(text))
    elif name == "double":
        text = value_string(np.float64(text))
    elif name == "time" and not release.dispatch_time_fraction:
        text = text.partition(".")[0]
    return text.encode()


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)
def test_columns_of_every_type_are_hashed_as_single_values_are(release: Release) -> None:
    """In releases whose hashes differ: FLOAT widened, NULL left out, TIME without fraction."""
    table, data = a_table(), rows(100)
    columns = {column.name: column for column in table.columns}
    texts = {name: pa.array([row[name] for row in data], pa.string()) for name in columns}
    for rule in (rule for rule in RULES if known(rule, release)):
        to = route(compile_rules([rule], "t", release=release), table)
        expected = []
        for row in data:
            named = ((name, source) for name, source in to.hashed if row[source] is not None or to.hashing.nulls)
            hashed = [
                (name.encode(), b"null" if (text := row[source]) is None else value(columns[source], text, release))
                for name, source in named
            ]
            expected.append(inertia([(b"Sch\xc3\xa9ma", b"T 1"), *hashed]))

        assert dispatch_hashes(to, table, texts).tolist() == expected
        assert dispatch_hashes(to, table, cells.columns(data)).tolist() == expected


def test_text_that_was_no_utf_8_is_hashed_as_its_bytes() -> None:
    """A lone surrogate stands for each byte of it."""
    table = a_table()
    to = route(compile_rules([DispatchRule(("*.*",), "columns", columns=("名",))], "t"), table)
    row = {**rows(1)[0], "名": b"a\xff\xe4b".decode("utf-8", "surrogateescape")}

    expected = inertia([(b"Sch\xc3\xa9ma", b"T 1"), ("名".encode(), b"a\xff\xe4b")])
    assert dispatch_hashes(to, table, cells.columns([row])).tolist() == [expected]


def test_a_long_value_is_hashed_as_a_short_one_is() -> None:
    table, data = a_table(), rows(3)
    to = route(compile_rules([DispatchRule(("*.*",), "columns", columns=("tx",))], "t"), table)
    texts = ["", "x" * 64, "é" * 5000]

    given = [{**row, "tx": text} for row, text in zip(data, texts, strict=True)]
    made = dispatch_hashes(to, table, cells.columns(given))

    assert made.tolist() == [inertia([(b"Sch\xc3\xa9ma", b"T 1"), (b"tx", text.encode())]) for text in texts]


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
def test_the_only_unique_column_is_hashed_as_json_in_the_first_releases(
    kind: str, texts: list[str], json: list[str]
) -> None:
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
