"""INSERT, REPLACE, UPDATE and DELETE say what their text says."""

from __future__ import annotations

import pytest

from simulator.errors import SqlError
from simulator.tidb import syntax
from simulator.tidb.parser.sql import parse_sql

T = syntax.TableName("", "t")
U = syntax.TableName("", "u")
ALL_OF_U = syntax.SelectTree((syntax.Star(),), syntax.TableSource(U))


def number(value: int) -> syntax.Node:
    return syntax.Literal("integer", str(value))


def column(*parts: str) -> syntax.ColumnName:
    return syntax.ColumnName(parts)


def is_one(*parts: str) -> syntax.Node:
    return syntax.Binary("=", column(*parts), number(1))


ONE = syntax.SelectTree((syntax.SelectItem(number(1), "1"),))
A_IS_ONE = syntax.Assignment(column("a"), number(1))

INSERTS = [
    ("INSERT INTO t VALUES (1, -2)", syntax.Insert(T, None, ((number(1), syntax.Unary("-", number(2))),))),
    ("INSERT t VALUE (1), (2)", syntax.Insert(T, None, ((number(1),), (number(2),)))),
    (
        "INSERT HIGH_PRIORITY IGNORE INTO s.t () VALUES ()",
        syntax.Insert(syntax.TableName("s", "t"), (), ((),), ignore=True),
    ),
    (
        "INSERT DELAYED t (a, t.b) VALUES (DEFAULT, DEFAULT(b))",
        syntax.Insert(T, ("a", "b"), ((syntax.DefaultValue(), syntax.DefaultValue(column("b"))),)),
    ),
    (
        "INSERT INTO t PARTITION (p0, p1) (a) VALUES (1)",
        syntax.Insert(T, ("a",), ((number(1),),), partitions=("p0", "p1")),
    ),
    ("INSERT INTO t SET a = 1, b = a", syntax.Insert(T, ("a", "b"), ((number(1), column("a")),))),
    ("INSERT INTO t SELECT * FROM u", syntax.Insert(T, None, None, ALL_OF_U)),
    ("INSERT INTO t (a) (SELECT 1)", syntax.Insert(T, ("a",), None, ONE)),
    ("INSERT INTO t TABLE u", syntax.Insert(T, None, None, ALL_OF_U)),
    (
        "INSERT INTO t WITH c AS (SELECT 1) SELECT * FROM u",
        syntax.Insert(T, None, None, syntax.WithTree((syntax.CommonTable("c", (), ONE),), False, ALL_OF_U)),
    ),
    (
        "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = a + VALUES(a), b = DEFAULT",
        syntax.Insert(
            T,
            None,
            ((number(1),),),
            on_duplicate=(
                syntax.Assignment(column("a"), syntax.Binary("+", column("a"), syntax.InsertedValue(column("a")))),
                syntax.Assignment(column("b"), syntax.DefaultValue()),
            ),
        ),
    ),
    ("REPLACE LOW_PRIORITY INTO t (a) VALUES (1)", syntax.Insert(T, ("a",), ((number(1),),), replace=True)),
    ("REPLACE t SET a = 1", syntax.Insert(T, ("a",), ((number(1),),), replace=True)),
]

UPDATES = [
    ("UPDATE LOW_PRIORITY IGNORE t SET a = 1", syntax.Update(syntax.TableSource(T), (A_IS_ONE,), ignore=True)),
    (
        "UPDATE t AS x SET x.a = DEFAULT WHERE x.b = 1 ORDER BY b DESC, c LIMIT 3",
        syntax.Update(
            syntax.TableSource(T, "x"),
            (syntax.Assignment(column("x", "a"), syntax.DefaultValue()),),
            is_one("x", "b"),
            (syntax.OrderItem(column("b"), True), syntax.OrderItem(column("c"))),
            syntax.Limit(3),
        ),
    ),
    ("UPDATE t, u SET a = 1", syntax.Update(syntax.Join(syntax.TableSource(T), syntax.TableSource(U)), (A_IS_ONE,))),
    (
        "UPDATE t LEFT JOIN (SELECT 1) d USING (a) SET a = 1",
        syntax.Update(
            syntax.Join(syntax.TableSource(T), syntax.DerivedTable(ONE, "d"), "LEFT", using=("a",)), (A_IS_ONE,)
        ),
    ),
    (
        "WITH c AS (SELECT 1) UPDATE t SET a = 1",
        syntax.Update(
            syntax.TableSource(T),
            (A_IS_ONE,),
            common=syntax.WithTree(
                (syntax.CommonTable("c", (), ONE),), False, syntax.SelectTree((syntax.Star(),), syntax.TableSource(T))
            ),
        ),
    ),
]

DELETES = [
    ("DELETE QUICK IGNORE FROM t", syntax.Delete(syntax.TableSource(T), ignore=True)),
    (
        "DELETE FROM t x PARTITION (p) WHERE a = 1 ORDER BY a LIMIT 2",
        syntax.Delete(
            syntax.TableSource(T, "x"),
            (),
            is_one("a"),
            (syntax.OrderItem(column("a")),),
            syntax.Limit(2),
            partitions=("p",),
        ),
    ),
    (
        "DELETE t, s.u.* FROM t JOIN u ON t.a = 1",
        syntax.Delete(
            syntax.Join(syntax.TableSource(T), syntax.TableSource(U), on=is_one("t", "a")),
            (T, syntax.TableName("s", "u")),
        ),
    ),
    (
        "DELETE FROM t.* USING t, u WHERE a = 1",
        syntax.Delete(syntax.Join(syntax.TableSource(T), syntax.TableSource(U)), (T,), is_one("a")),
    ),
    (
        "WITH RECURSIVE c (n) AS (SELECT 1) DELETE FROM t",
        syntax.Delete(
            syntax.TableSource(T),
            common=syntax.WithTree(
                (syntax.CommonTable("c", ("n",), ONE),),
                True,
                syntax.SelectTree((syntax.Star(),), syntax.TableSource(T)),
            ),
        ),
    ),
]


@pytest.mark.parametrize(("text", "tree"), [*INSERTS, *UPDATES, *DELETES])
def test_a_dml_statement_becomes_a_tree(text: str, tree: syntax.RowStatement) -> None:
    """Every spelling of a clause gives the same tree."""
    assert parse_sql(text) == tree


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
def test_invalid_dml_is_refused(text: str, error: str) -> None:
    """The message has the position and lists what would be accepted."""
    with pytest.raises(SqlError) as refusal:
        parse_sql(text)

    assert error in str(refusal.value)
