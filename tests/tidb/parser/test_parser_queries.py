"""Queries say what their text says: names as TiDB gives them, joins, set operations, what is not computed."""

from __future__ import annotations

import pytest

from simulator.tidb.parser.sql import read_sql
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.expressions import Binary, ColumnName, ContextExpression, In, Literal, Node
from simulator.tidb.syntax.queries import (
    Aggregate,
    CommonTable,
    DerivedTable,
    Exists,
    Join,
    Limit,
    OrderItem,
    Quantified,
    QueryTree,
    SelectItem,
    SelectTree,
    SetOperation,
    Source,
    Star,
    Subquery,
    TableSource,
    ValuesTree,
    Variable,
    WindowFunction,
    WindowSpec,
    WithTree,
)
from simulator.tidb.syntax.session import SelectStatement

A, B = ColumnName(("a",)), ColumnName(("b",))


def number(value: int) -> Node:
    return Literal("integer", str(value))


def table(name: str, alias: str = "") -> TableSource:
    return TableSource(TableName("", name), alias)


def one(value: int = 1) -> SelectTree:
    return SelectTree((SelectItem(number(value), str(value)),))


def query(text: str) -> QueryTree:
    statement = read_sql(text)
    assert isinstance(statement, SelectStatement)
    return statement.query


def only(text: str) -> Node:
    """The one expression that a query selects."""
    tree = query(text)
    assert isinstance(tree, SelectTree)
    (item,) = tree.items
    assert isinstance(item, SelectItem)
    return item.expression


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("a", "a"),
        ("t.`A b`", "A b"),
        ("(t.a)", "a"),
        ("+a", "a"),
        ("a + 1", "a + 1"),
        ("COUNT( * )", "COUNT( * )"),
        ("'  text'", "text"),
        ("null", "NULL"),
        ("true", "TRUE"),
        ("1.50", "1.50"),
        ("a b", "b"),
        ("a AS 'c d'", "c d"),
    ],
)
def test_a_column_is_called_as_tidb_calls_it(field: str, name: str) -> None:
    """Its alias, its own name, or its text as it is written."""
    tree = query(f"SELECT {field} FROM t")

    assert isinstance(tree, SelectTree)
    assert [item.name for item in tree.items if isinstance(item, SelectItem)] == [name]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("t", table("t")),
        ("DUAL", None),
        ("s.t AS x", TableSource(TableName("s", "t"), "x")),
        ("t, u v", Join(table("t"), table("u", "v"))),
        ("t JOIN u ON a = b", Join(table("t"), table("u"), on=Binary("=", A, B))),
        ("t LEFT OUTER JOIN u USING (a, b)", Join(table("t"), table("u"), "LEFT", using=("a", "b"))),
        ("t NATURAL RIGHT JOIN u", Join(table("t"), table("u"), "RIGHT", natural=True)),
        ("t STRAIGHT_JOIN u", Join(table("t"), table("u"))),
        ("(t, u) JOIN v", Join(Join(table("t"), table("u")), table("v"))),
        ("t JOIN u JOIN v ON a JOIN w", Join(Join(Join(table("t"), table("u")), table("v"), on=A), table("w"))),
        ("(SELECT 1) d", DerivedTable(one(), "d")),
    ],
)
def test_what_a_query_reads_from(text: str, source: Source | None) -> None:
    """Joins are grouped as TiDB groups them."""
    tree = query(f"SELECT * FROM {text}")

    assert isinstance(tree, SelectTree)
    assert tree.source == source


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        (
            "SELECT DISTINCT *, t.*, s.t.* FROM t",
            SelectTree((Star(), Star(TableName("", "t")), Star(TableName("s", "t"))), table("t"), distinct=True),
        ),
        (
            "SELECT a FROM t WHERE b GROUP BY a, b DESC HAVING a ORDER BY 1 DESC LIMIT 5, 6 FOR UPDATE",
            SelectTree(
                (SelectItem(A, "a"),),
                table("t"),
                B,
                (OrderItem(A), OrderItem(B, True)),
                A,
                (OrderItem(number(1), True),),
                Limit(6, 5),
            ),
        ),
        ("SELECT /*+ DISTINCT() */ 1 LIMIT 1 OFFSET 2", SelectTree(one().items, limit=Limit(1, 2))),
        ("TABLE t ORDER BY a", SelectTree((Star(),), table("t"), order=(OrderItem(A),))),
        (
            "VALUES ROW(1, 2), ROW(3, 4) LIMIT 1",
            ValuesTree(((number(1), number(2)), (number(3), number(4))), limit=Limit(1)),
        ),
        (
            "SELECT 1 UNION SELECT 2 INTERSECT SELECT 3 ORDER BY 1",
            SetOperation("UNION", one(), SetOperation("INTERSECT", one(2), one(3)), (OrderItem(number(1)),)),
        ),
        (
            "SELECT 1 EXCEPT SELECT 2 UNION ALL SELECT 3 LIMIT 1",
            SetOperation("UNION ALL", SetOperation("EXCEPT", one(), one(2)), one(3), limit=Limit(1)),
        ),
        (
            "(SELECT 1 LIMIT 1) UNION DISTINCT (SELECT 2)",
            SetOperation("UNION", SelectTree(one().items, limit=Limit(1)), one(2)),
        ),
        ("((SELECT 1))", one()),
        (
            "(SELECT 1 LIMIT 2) LIMIT 1",
            SelectTree((Star(),), DerivedTable(SelectTree(one().items, limit=Limit(2)), ""), limit=Limit(1)),
        ),
        (
            "WITH RECURSIVE c (n) AS (SELECT 1 UNION SELECT n FROM c), d AS (SELECT 2) SELECT * FROM d",
            WithTree(
                (
                    CommonTable(
                        "c",
                        ("n",),
                        SetOperation("UNION", one(), SelectTree((SelectItem(ColumnName(("n",)), "n"),), table("c"))),
                    ),
                    CommonTable("d", (), one(2)),
                ),
                True,
                SelectTree((Star(),), table("d")),
            ),
        ),
    ],
)
def test_a_query_says_what_its_text_says(text: str, tree: QueryTree) -> None:
    """Clauses, set operations by their precedence, WITH."""
    assert query(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("(SELECT 1)", Subquery(one())),
        ("EXISTS (SELECT 1)", Exists(one())),
        ("NOT EXISTS (SELECT 1)", Exists(one(), True)),
        ("NOT NOT EXISTS (SELECT 1)", Exists(one())),
        ("a > SOME (SELECT 1)", Quantified(A, ">", "ANY", one())),
        ("a = ALL (SELECT 1)", Quantified(A, "=", "ALL", one())),
        ("COUNT(*)", Aggregate("COUNT", ())),
        ("std(DISTINCT a)", Aggregate("STDDEV_POP", (A,), True)),
        ("COUNT(DISTINCT a, b) OVER ()", WindowFunction(Aggregate("COUNT", (A, B), True), WindowSpec())),
        (
            "GROUP_CONCAT(a, b ORDER BY a DESC SEPARATOR '-')",
            Aggregate("GROUP_CONCAT", (A, B), order=(OrderItem(A, True),), separator="-"),
        ),
        ("@Name", Variable("name", "user")),
        ("@@SQL_mode", Variable("sql_mode")),
        ("@@local.x", Variable("x", "session")),
        (
            "ROW_NUMBER() OVER (w PARTITION BY a ORDER BY b DESC ROWS 1 PRECEDING)",
            WindowFunction(
                Aggregate("ROW_NUMBER", ()),
                WindowSpec((A,), (OrderItem(B, True),), "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", "w"),
            ),
        ),
        ("NEXTVAL(s)", None),
    ],
)
def test_what_only_a_query_or_a_session_answers_has_a_tree_beside_its_text(text: str, tree: object) -> None:
    """None for what nobody computes."""
    node = only(f"SELECT {text}")

    assert isinstance(node, ContextExpression)
    assert node.tree == tree


def test_the_rows_of_in_are_a_query() -> None:
    """As the only candidate."""
    node = only("SELECT a NOT IN (SELECT 1)")

    assert isinstance(node, In) and isinstance(node.candidates[0], ContextExpression)
    assert (node.negated, node.candidates[0].tree) == (True, Subquery(one()))


@pytest.mark.parametrize(
    ("text", "beside"),
    [
        ("SELECT a FROM t GROUP BY a WITH ROLLUP", ("WITH ROLLUP",)),
        ("SELECT a FROM t, u AS OF TIMESTAMP '2020-01-01'", ("AS OF TIMESTAMP",)),
        ("SELECT 1 INTO OUTFILE 'x'", ("INTO OUTFILE",)),
        ("SELECT SQL_NO_CACHE a FROM t USE INDEX (k) FOR UPDATE NOWAIT", ()),
    ],
)
def test_clauses_that_nobody_computes_are_named(text: str, beside: tuple[str, ...]) -> None:
    """So that whoever runs the query refuses them by name."""
    tree = query(text)

    assert isinstance(tree, SelectTree)
    assert tree.beside == beside
