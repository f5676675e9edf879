"""Queries say what their text says: names as TiDB gives them, joins, set operations, what is not computed."""

from __future__ import annotations

import pytest

from simulator.tidb import syntax
from simulator.tidb.parser.sql import parse_sql

A, B = syntax.ColumnName(("a",)), syntax.ColumnName(("b",))


def number(value: int) -> syntax.Node:
    return syntax.Literal("integer", str(value))


def table(name: str, alias: str = "") -> syntax.TableSource:
    return syntax.TableSource(syntax.TableName("", name), alias)


def one(value: int = 1) -> syntax.SelectTree:
    return syntax.SelectTree((syntax.SelectItem(number(value), str(value)),))


def query(text: str) -> syntax.QueryTree:
    statement = parse_sql(text)
    assert isinstance(statement, syntax.SelectStatement)
    return statement.query


def only(text: str) -> syntax.Node:
    """The one expression that a query selects."""
    tree = query(text)
    assert isinstance(tree, syntax.SelectTree)
    (item,) = tree.items
    assert isinstance(item, syntax.SelectItem)
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
def test_a_column_has_the_name_that_tidb_gives_it(field: str, name: str) -> None:
    """Its alias, its own name, or its text as it is written."""
    tree = query(f"SELECT {field} FROM t")

    assert isinstance(tree, syntax.SelectTree)
    assert [item.name for item in tree.items if isinstance(item, syntax.SelectItem)] == [name]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("t", table("t")),
        ("DUAL", None),
        ("s.t AS x", syntax.TableSource(syntax.TableName("s", "t"), "x")),
        ("t, u v", syntax.Join(table("t"), table("u", "v"))),
        ("t JOIN u ON a = b", syntax.Join(table("t"), table("u"), on=syntax.Binary("=", A, B))),
        ("t LEFT OUTER JOIN u USING (a, b)", syntax.Join(table("t"), table("u"), "LEFT", using=("a", "b"))),
        ("t NATURAL RIGHT JOIN u", syntax.Join(table("t"), table("u"), "RIGHT", natural=True)),
        ("t STRAIGHT_JOIN u", syntax.Join(table("t"), table("u"))),
        ("(t, u) JOIN v", syntax.Join(syntax.Join(table("t"), table("u")), table("v"))),
        (
            "t JOIN u JOIN v ON a JOIN w",
            syntax.Join(syntax.Join(syntax.Join(table("t"), table("u")), table("v"), on=A), table("w")),
        ),
        ("(SELECT 1) d", syntax.DerivedTable(one(), "d")),
    ],
)
def test_the_sources_of_a_query(text: str, source: syntax.Source | None) -> None:
    """Joins are grouped as TiDB groups them."""
    tree = query(f"SELECT * FROM {text}")

    assert isinstance(tree, syntax.SelectTree)
    assert tree.source == source


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        (
            "SELECT DISTINCT *, t.*, s.t.* FROM t",
            syntax.SelectTree(
                (syntax.Star(), syntax.Star(syntax.TableName("", "t")), syntax.Star(syntax.TableName("s", "t"))),
                table("t"),
                distinct=True,
            ),
        ),
        (
            "SELECT a FROM t WHERE b GROUP BY a, b DESC HAVING a ORDER BY 1 DESC LIMIT 5, 6 FOR UPDATE",
            syntax.SelectTree(
                (syntax.SelectItem(A, "a"),),
                table("t"),
                B,
                (syntax.OrderItem(A), syntax.OrderItem(B, True)),
                A,
                (syntax.OrderItem(number(1), True),),
                syntax.Limit(6, 5),
                lock="FOR UPDATE",
            ),
        ),
        ("SELECT /*+ DISTINCT() */ 1 LIMIT 1 OFFSET 2", syntax.SelectTree(one().items, limit=syntax.Limit(1, 2))),
        ("TABLE t ORDER BY a", syntax.SelectTree((syntax.Star(),), table("t"), order=(syntax.OrderItem(A),))),
        (
            "VALUES ROW(1, 2), ROW(3, 4) LIMIT 1",
            syntax.ValuesTree(((number(1), number(2)), (number(3), number(4))), limit=syntax.Limit(1)),
        ),
        (
            "SELECT 1 UNION SELECT 2 INTERSECT SELECT 3 ORDER BY 1",
            syntax.SetOperation(
                "UNION", one(), syntax.SetOperation("INTERSECT", one(2), one(3)), (syntax.OrderItem(number(1)),)
            ),
        ),
        (
            "SELECT 1 EXCEPT SELECT 2 UNION ALL SELECT 3 LIMIT 1",
            syntax.SetOperation(
                "UNION ALL", syntax.SetOperation("EXCEPT", one(), one(2)), one(3), limit=syntax.Limit(1)
            ),
        ),
        (
            "(SELECT 1 LIMIT 1) UNION DISTINCT (SELECT 2)",
            syntax.SetOperation("UNION", syntax.SelectTree(one().items, limit=syntax.Limit(1)), one(2)),
        ),
        ("((SELECT 1))", one()),
        (
            "(SELECT 1 LIMIT 2) LIMIT 1",
            syntax.SelectTree(
                (syntax.Star(),),
                syntax.DerivedTable(syntax.SelectTree(one().items, limit=syntax.Limit(2)), ""),
                limit=syntax.Limit(1),
            ),
        ),
        (
            "WITH RECURSIVE c (n) AS (SELECT 1 UNION SELECT n FROM c), d AS (SELECT 2) SELECT * FROM d",
            syntax.WithTree(
                (
                    syntax.CommonTable(
                        "c",
                        ("n",),
                        syntax.SetOperation(
                            "UNION",
                            one(),
                            syntax.SelectTree((syntax.SelectItem(syntax.ColumnName(("n",)), "n"),), table("c")),
                        ),
                    ),
                    syntax.CommonTable("d", (), one(2)),
                ),
                True,
                syntax.SelectTree((syntax.Star(),), table("d")),
            ),
        ),
    ],
)
def test_a_query_becomes_a_tree(text: str, tree: syntax.QueryTree) -> None:
    """Clauses, set operations by their precedence, WITH."""
    assert query(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("(SELECT 1)", syntax.Subquery(one())),
        ("EXISTS (SELECT 1)", syntax.Exists(one())),
        ("NOT EXISTS (SELECT 1)", syntax.Exists(one(), True)),
        ("NOT NOT EXISTS (SELECT 1)", syntax.Exists(one())),
        ("a > SOME (SELECT 1)", syntax.Quantified(A, ">", "ANY", one())),
        ("a = ALL (SELECT 1)", syntax.Quantified(A, "=", "ALL", one())),
        ("COUNT(*)", syntax.Aggregate("COUNT", ())),
        ("std(DISTINCT a)", syntax.Aggregate("STDDEV_POP", (A,), True)),
        (
            "COUNT(DISTINCT a, b) OVER ()",
            syntax.WindowFunction(syntax.Aggregate("COUNT", (A, B), True), syntax.WindowSpec()),
        ),
        (
            "GROUP_CONCAT(a, b ORDER BY a DESC SEPARATOR '-')",
            syntax.Aggregate("GROUP_CONCAT", (A, B), order=(syntax.OrderItem(A, True),), separator="-"),
        ),
        ("@Name", syntax.Variable("name", "user")),
        ("@@SQL_mode", syntax.Variable("sql_mode")),
        ("@@local.x", syntax.Variable("x", "session")),
        (
            "ROW_NUMBER() OVER (w PARTITION BY a ORDER BY b DESC ROWS 1 PRECEDING)",
            syntax.WindowFunction(
                syntax.Aggregate("ROW_NUMBER", ()),
                syntax.WindowSpec((A,), (syntax.OrderItem(B, True),), "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", "w"),
            ),
        ),
        ("NEXTVAL(s)", None),
    ],
)
def test_a_context_expression_has_a_tree(text: str, tree: object) -> None:
    """The tree is None if the expression is not simulated."""
    node = only(f"SELECT {text}")

    assert isinstance(node, syntax.ContextExpression)
    assert node.tree == tree


def test_the_rows_of_in_are_a_query() -> None:
    """As the only candidate."""
    node = only("SELECT a NOT IN (SELECT 1)")

    assert isinstance(node, syntax.In) and isinstance(node.candidates[0], syntax.ContextExpression)
    assert (node.negated, node.candidates[0].tree) == (True, syntax.Subquery(one()))


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("SELECT a FROM t GROUP BY a WITH ROLLUP", ("WITH ROLLUP",)),
        ("SELECT a FROM t, u AS OF TIMESTAMP '2020-01-01'", ("AS OF TIMESTAMP",)),
        ("SELECT 1 INTO OUTFILE 'x'", ("INTO OUTFILE",)),
        ("SELECT SQL_NO_CACHE a FROM t USE INDEX (k) FOR UPDATE NOWAIT", ()),
    ],
)
def test_unsupported_clauses_are_named(text: str, clauses: tuple[str, ...]) -> None:
    """The SQL engine then refuses them by name."""
    tree = query(text)

    assert isinstance(tree, syntax.SelectTree)
    assert tree.unsupported == clauses
