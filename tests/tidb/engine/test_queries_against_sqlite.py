"""Random queries over integers give the rows that SQLite gives: joins, subqueries, groups, windows, set operations."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from random import Random

import pytest
from support.upstreams import played

COLUMNS = {"a": "id x y", "b": "id x y", "c": "x y z", "d": "x y z"}
SCHEMA = """
    CREATE TABLE a (id INTEGER PRIMARY KEY, x INT, y INT);
    CREATE TABLE b (id INTEGER PRIMARY KEY, x INT UNIQUE, y INT);
    CREATE TABLE c (x INT, y INT, z INT);
    CREATE TABLE d (x INT, y INT, z INT, PRIMARY KEY (x, y));
"""


class Queries:
    """Writes random queries."""

    def __init__(self, seed: int) -> None:
        self.random, self.last = Random(seed), 0

    def rows(self) -> str:
        values = [f"INSERT INTO a VALUES ({n}, {self.number()}, {self.number()});" for n in range(15)]
        values += [f"INSERT INTO b VALUES ({2 * n}, {n * 3 % 13}, {self.number()});" for n in range(9)]
        values += [f"INSERT INTO c VALUES ({self.number()}, {self.number()}, {self.number()});" for _ in range(12)]
        return "".join(values + [f"INSERT INTO d VALUES ({n // 3}, {n % 3}, {self.number()});" for n in range(8)])

    def number(self) -> str:
        return "NULL" if self.random.random() < 0.15 else str(self.random.randrange(-1, 7))

    def pick(self, *texts: str) -> str:
        return self.random.choice(texts)

    def table(self) -> tuple[str, list[str]]:
        self.last += 1
        name = self.pick(*COLUMNS)
        return f"{name} t{self.last}", [f"t{self.last}.{column}" for column in COLUMNS[name].split()]

    def value(self, columns: list[str], depth: int = 1) -> str:
        if depth == 0 or self.random.random() < 0.6:
            return self.pick(*columns, self.number())
        left, right = self.value(columns, depth - 1), self.value(columns, depth - 1)
        return self.pick(f"({left} + {right})", f"({left} - {right})", f"COALESCE({left}, {right})")

    def condition(self, columns: list[str], depth: int = 2) -> str:
        one, other = self.value(columns), self.value(columns)
        if depth == 0 or self.random.random() < 0.4:
            return f"{one} {self.pick('=', '=', '<', '>=', '<>')} {other}"
        left, right = self.condition(columns, depth - 1), self.condition(columns, depth - 1)
        junction = f"({left} {self.pick('AND', 'OR')} {right})"
        listed = f"{one} {self.pick('', 'NOT ')}IN ({other}, {self.number()})"
        inner, own = self.table()
        where = self.condition([*own, *columns], 0)
        exists = f"{self.pick('', 'NOT ')}EXISTS (SELECT 1 FROM {inner} WHERE {where})"
        among = f"{one} {self.pick('', 'NOT ')}IN (SELECT {self.pick(*own)} FROM {inner} WHERE {where})"
        scalar = f"{one} >= (SELECT {self.pick('MAX', 'COUNT', 'SUM')}({self.pick(*own)}) FROM {inner} WHERE {where})"
        return self.pick(junction, f"NOT {listed}", f"{one} BETWEEN {other} AND 5", exists, among, scalar)

    def source(self) -> tuple[str, list[str]]:
        text, columns = self.table()
        for _ in range(self.random.randrange(3)):
            table, own = self.table()
            equal = f"{self.pick(*columns)} = {self.pick(*own)}"
            columns = [*columns, *own]
            on = self.pick(equal, f"{equal} AND {self.condition(columns, 0)}")
            text += f" {self.pick('', 'LEFT ', 'RIGHT ')}JOIN {table} ON {on}"
        return text, columns

    def query(self) -> str:
        source, columns = self.source()
        where = f" WHERE {self.condition(columns)}" if self.random.random() < 0.7 else ""
        one, other = self.pick(*columns), self.value(columns)
        aggregate = f"{self.pick('MAX(', 'SUM(', 'COUNT(', 'COUNT(DISTINCT ')}{other})"
        frame = self.pick(
            "", "RANGE BETWEEN 1 PRECEDING AND 2 FOLLOWING", "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"
        )
        window = f"SUM({other}) OVER ({self.pick('', f'PARTITION BY {one} ')}ORDER BY {self.pick(*columns)} {frame})"
        return self.pick(
            f"SELECT {one}, {other} FROM {source}{where}",
            f"SELECT DISTINCT {one}, {other} FROM {source}{where}",
            f"SELECT {one}, {aggregate} FROM {source}{where} GROUP BY {one} HAVING COUNT(*) > {self.pick('0', '1')}",
            f"SELECT {one}, {window} FROM {source}{where}",
        )


@pytest.mark.parametrize("seed", range(3))
def test_random_queries_give_the_rows_that_sqlite_gives(seed: int) -> None:
    queries = Queries(seed)
    rows = queries.rows()
    with closing(sqlite3.connect(":memory:")) as other:
        other.executescript(SCHEMA + rows)
        made = played(f"SET sql_mode = ''; {SCHEMA}{rows}")
        for _ in range(100):
            query = queries.query()
            if queries.random.random() < 0.2:
                query += f" {queries.pick('UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT')} {queries.query()}"
            expected = [
                tuple(None if value is None else b"%d" % value for value in row) for row in other.execute(query)
            ]
            made = played(query, made.upstream)
            assert made.result is not None
            assert sorted(expected, key=repr) == sorted(made.result.rows, key=repr), query
