"""The Spark columns of the dispatchers against the plain functions, on random rows of every TiDB type."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from simulator.changefeed import DispatchRule
from simulator.dispatch import (
    compile_rules,
    hash_column,
    hash_row,
    partition_column,
    partition_of,
    route,
    topic_column,
)
from simulator.releases import Release, find
from simulator.schema import parse
from simulator.schema.table import Table

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


def test_the_spark_columns_hash_every_type_as_the_plain_functions_do(spark: SparkSession) -> None:
    """In releases whose hashes differ: FLOAT widened, NULL left out, TIME without fraction."""
    table, data = a_table(), rows(300)
    every = [(rule, release) for rule in RULES for release in RELEASES if known(rule, release)]
    routes = [route(compile_rules([rule], "t", release=release), table) for rule, release in every]
    frame = spark.createDataFrame(
        [tuple(row.values()) for row in data], schema=", ".join(f"`{name}` string" for name in COLUMNS)
    )
    columns = {name: F.col(f"`{name}`") for name in COLUMNS}
    hashed = frame.select(*(hash_column(to, table, columns).alias(str(n)) for n, to in enumerate(routes))).collect()
    for number, to in enumerate(routes):
        expected = [hash_row(to, table, row) for row in data]
        assert [row[number] & 0xFFFFFFFF for row in hashed] == expected, every[number]


def known(rule: DispatchRule, release: Release) -> bool:
    """Whether the release has the dispatcher, and finds the index in another letter case."""
    return rule.partition in release.dispatchers and not (rule.index and not release.dispatch_ignores_case)


def test_the_only_unique_column_is_hashed_as_json_in_the_first_releases(spark: SparkSession) -> None:
    """Up to 4.0.4, without the table: numbers as they are, text as a JSON string, TEXT in base64."""
    release, data = find("v4.0.4"), [row for row in rows(200) if None not in row.values()]
    awkward = {"名": "<&>\\\"\b\f\u2028\x01\n"}
    frame = spark.createDataFrame(
        [tuple({**row, **awkward}.values()) if n % 2 else tuple(row.values()) for n, row in enumerate(data)],
        schema=", ".join(f"`{name}` string" for name in COLUMNS))
    columns = {name: F.col(f"`{name}`") for name in COLUMNS}
    for name in ("i", "U", "dec", "en", "se", "b", "名", "ts", "ti", "y", "tx"):
        text = f"create table s.t ({', '.join(f'`{one}` {kind}' for one, (kind, _) in COLUMNS.items())}, "
        table = parse.create_table(f"{text}primary key (`{name}`{'(5)' if name == 'tx' else ''}) nonclustered)")
        to = route(compile_rules([], "t", release=release), table)
        made = [row[0] & 0xFFFFFFFF for row in frame.select(hash_column(to, table, columns)).collect()]
        given = [{**row, **awkward} if n % 2 else row for n, row in enumerate(data)]
        assert (to.dispatcher, made) == ("single-column", [hash_row(to, table, row) for row in given])


@pytest.mark.parametrize("spread", ["one rule for all", "many rules", "row id"])
def test_topic_and_partition_of_any_table_are_looked_up_by_its_number(spark: SparkSession, spread: str) -> None:
    tables = [parse.create_table(f"create table `s{n % 3}`.t{n} (id int primary key)") for n in range(40)]
    rules = [
        DispatchRule(("s0.*",), "ts", topic="ts_topic"),
        DispatchRule(("s1.*",), "index-value", topic="{schema}_{table}"),
    ]
    by_row_id = DispatchRule(("s2.*",), "rowid"), DispatchRule(("*.*",), "ts")
    router = compile_rules(
        {"many rules": rules, "row id": by_row_id}.get(spread, []), "t",
        release=find("v4.0.4" if spread == "row id" else "v8.5.3"))
    routes = [route(router, table) for table in tables]
    topics = sorted({to.topic for to in routes})
    counts = {topic: 3 + place for place, topic in enumerate(topics)}
    pick = random.Random(3)
    events = [
        (n, pick.randint(-(1 << 31), (1 << 31) - 1), pick.randint(1 << 58, 1 << 59), pick.randint(-(1 << 63), 1 << 62))
        for n in range(40)]
    frame = spark.createDataFrame(events, "table int, hash int, commit_ts long, row_id long")
    table, hash, commit_ts, row_id = (F.col(name) for name in ("table", "hash", "commit_ts", "row_id"))
    found = frame.select(
        partition_column(routes, counts, table, hash, commit_ts, row_id), topic_column(routes, topics, table)
    ).collect()
    expected = [
        (partition_of(routes[n], h, ts, counts[routes[n].topic], row), topics.index(routes[n].topic))
        for n, h, ts, row in events
    ]
    assert expected == [tuple(row) for row in found]
