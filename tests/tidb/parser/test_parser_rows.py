"""INSERT, REPLACE, UPDATE and DELETE say what their text says."""

from __future__ import annotations

import pytest

from simulator.errors import SqlError
from simulator.tidb.parser.sql import read_sql
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.expressions import Binary, ColumnName, Literal, Node, Unary
from simulator.tidb.syntax.queries import (
    CommonTable,
    DerivedTable,
    Join,
    Limit,
    OrderItem,
    SelectItem,
    SelectTree,
    Star,
    TableSource,
    WithTree,
)
from simulator.tidb.syntax.rows import Assignment, DefaultValue, Delete, Insert, InsertedValue, RowStatement, Update

T = TableName("", "t")
U = TableName("", "u")
ALL_OF_U = SelectTree((Star(),), TableSource(U))


def number(value: int) -> Node:
    return Literal("integer", str(value))


def column(*parts: str) -> ColumnName:
    return ColumnName(parts)


def is_one(*parts: str) -> Node:
    return Binary("=", column(*parts), number(1))


ONE = SelectTree((SelectItem(number(1), "1"),))
A_IS_ONE = Assignment(column("a"), number(1))

INSERTS = [
    ("INSERT INTO t VALUES (1, -2)", Insert(T, None, ((number(1), Unary("-", number(2))),))),
    ("INSERT t VALUE (1), (2)", Insert(T, None, ((number(1),), (number(2),)))),
    ("INSERT HIGH_PRIORITY IGNORE INTO s.t () VALUES ()", Insert(TableName("s", "t"), (), ((),), ignore=True)),
    (
        "INSERT DELAYED t (a, t.b) VALUES (DEFAULT, DEFAULT(b))",
        Insert(T, ("a", "b"), ((DefaultValue(), DefaultValue(column("b"))),)),
    ),
    ("INSERT INTO t PARTITION (p0, p1) (a) VALUES (1)", Insert(T, ("a",), ((number(1),),), partitions=("p0", "p1"))),
    ("INSERT INTO t SET a = 1, b = a", Insert(T, ("a", "b"), ((number(1), column("a")),))),
    ("INSERT INTO t SELECT * FROM u", Insert(T, None, None, ALL_OF_U)),
    ("INSERT INTO t (a) (SELECT 1)", Insert(T, ("a",), None, ONE)),
    ("INSERT INTO t TABLE u", Insert(T, None, None, ALL_OF_U)),
    (
        "INSERT INTO t WITH c AS (SELECT 1) SELECT * FROM u",
        Insert(T, None, None, WithTree((CommonTable("c", (), ONE),), False, ALL_OF_U)),
    ),
    (
        "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = a + VALUES(a), b = DEFAULT",
        Insert(
            T,
            None,
            ((number(1),),),
            on_duplicate=(
                Assignment(column("a"), Binary("+", column("a"), InsertedValue(column("a")))),
                Assignment(column("b"), DefaultValue()),
            ),
        ),
    ),
    ("REPLACE LOW_PRIORITY INTO t (a) VALUES (1)", Insert(T, ("a",), ((number(1),),), replace=True)),
    ("REPLACE t SET a = 1", Insert(T, ("a",), ((number(1),),), replace=True)),
]

UPDATES = [
    ("UPDATE LOW_PRIORITY IGNORE t SET a = 1", Update(TableSource(T), (A_IS_ONE,), ignore=True)),
    (
        "UPDATE t AS x SET x.a = DEFAULT WHERE x.b = 1 ORDER BY b DESC, c LIMIT 3",
        Update(
            TableSource(T, "x"),
            (Assignment(column("x", "a"), DefaultValue()),),
            is_one("x", "b"),
            (OrderItem(column("b"), True), OrderItem(column("c"))),
            Limit(3),
        ),
    ),
    ("UPDATE t, u SET a = 1", Update(Join(TableSource(T), TableSource(U)), (A_IS_ONE,))),
    (
        "UPDATE t LEFT JOIN (SELECT 1) d USING (a) SET a = 1",
        Update(Join(TableSource(T), DerivedTable(ONE, "d"), "LEFT", using=("a",)), (A_IS_ONE,)),
    ),
    (
        "WITH c AS (SELECT 1) UPDATE t SET a = 1",
        Update(
            TableSource(T),
            (A_IS_ONE,),
            common=WithTree((CommonTable("c", (), ONE),), False, SelectTree((Star(),), TableSource(T))),
        ),
    ),
]

DELETES = [
    ("DELETE QUICK IGNORE FROM t", Delete(TableSource(T), ignore=True)),
    (
        "DELETE FROM t x PARTITION (p) WHERE a = 1 ORDER BY a LIMIT 2",
        Delete(TableSource(T, "x"), (), is_one("a"), (OrderItem(column("a")),), Limit(2), partitions=("p",)),
    ),
    (
        "DELETE t, s.u.* FROM t JOIN u ON t.a = 1",
        Delete(Join(TableSource(T), TableSource(U), on=is_one("t", "a")), (T, TableName("s", "u"))),
    ),
    ("DELETE FROM t.* USING t, u WHERE a = 1", Delete(Join(TableSource(T), TableSource(U)), (T,), is_one("a"))),
    (
        "WITH RECURSIVE c (n) AS (SELECT 1) DELETE FROM t",
        Delete(
            TableSource(T),
            common=WithTree((CommonTable("c", ("n",), ONE),), True, SelectTree((Star(),), TableSource(T))),
        ),
    ),
]


@pytest.mark.parametrize(("text", "tree"), [*INSERTS, *UPDATES, *DELETES])
def test_a_statement_on_rows_says_what_its_text_says(text: str, tree: RowStatement) -> None:
    """Each clause in its place, whatever the spelling."""
    assert read_sql(text) == tree


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("INSERT INTO t VALES (1)", "line 1, column 15: 'VALES' is not expected here. Did you mean 'VALUES'?"),
        ("INSERT INTO t VALUES (1", "line 1, column 22: this '(' has no ')'"),
        ("INSERT INTO t VALUES (1) garbage", "line 1, column 26: 'garbage' is not expected here"),
        ("INSERT INTO t VALUES (1)\n, 2", "line 2, column 3: '2' is not expected here"),
        ("REPLACE INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1", "'ON' is not expected here"),
        ("UPDATE t WHERE a = 1", "column 10: 'WHERE' is not expected here. Accepted: 'SET'"),
        ("UPDATE t, u SET a = 1 LIMIT 1", "'LIMIT' is not expected here"),
        ("UPDATE t JOIN u SET a = 1 ORDER BY a", "'ORDER BY' is not expected here"),
        ("UPDATE t PARTITION (p) SET a = 1", "ERROR 1235 (42000): UPDATE with PARTITION (…) is not simulated"),
        ("DELETE t, u WHERE a = 1", "column 13: 'WHERE' is not expected here. Accepted: 'FROM'"),
        ("DELETE FROM t, u WHERE a = 1", "Accepted: 'USING'"),
        ("INSERT INTO t SET select = 1", "'select' is a reserved word"),
    ],
)
def test_what_is_no_such_statement_is_refused(text: str, error: str) -> None:
    """With the place, and with what could stand there."""
    with pytest.raises(SqlError) as refusal:
        read_sql(text)

    assert error in str(refusal.value)
