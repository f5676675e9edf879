"""Statements that nest deeply have TiDB's result, or end in one message; none ends in a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator import TiCDC
from simulator.cli import run
from simulator.errors import SqlError
from simulator.nesting import CALLS

TERMS = 1000
TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT AS ({}))"
SUM = "+".join(["v"] * TERMS)

DEEPER = 2 * CALLS
"""More than any parser allows."""


@pytest.mark.parametrize(
    ("statements", "rows"),
    [
        ((f"INSERT INTO t (id, v) VALUES (1, {'+'.join(['1'] * TERMS)})",), [(1, TERMS, 0)]),
        (("INSERT INTO t (id, v) VALUES (1, 2)", f"UPDATE t SET v = {SUM}"), [(1, 2 * TERMS, 0)]),
        (
            (
                "INSERT INTO t (id, v) VALUES (1, 2), (2, 3)",
                f"DELETE FROM t WHERE {' OR '.join(f'id = {-n}' for n in range(TERMS))} OR id = 1",
            ),
            [(2, 3, 0)],
        ),
        (
            (f"INSERT INTO t (id, v) {' UNION ALL '.join(f'SELECT {n}, 1' for n in range(TERMS))}",),
            [(n, 1, 0) for n in range(TERMS)],
        ),
        ((f"INSERT INTO t (id, v) VALUES (1, {'(' * 200}1{')' * 200})",), [(1, 1, 0)]),
    ],
    ids=["VALUES", "UPDATE", "WHERE", "UNION ALL", "parentheses"],
)
def test_a_thousand_terms_are_computed(statements: tuple[str, ...], rows: list[tuple[int, ...]]) -> None:
    with TiCDC() as ticdc:
        ticdc.execute(TABLE.format("0"))
        for statement in statements:
            ticdc.execute(statement)
        assert [tuple(row.values()) for row in ticdc.rows("test.t")] == rows


def test_a_generated_column_may_have_a_thousand_terms() -> None:
    with TiCDC() as ticdc:
        ticdc.execute(TABLE.format(SUM))
        ticdc.execute("INSERT INTO t (id, v) VALUES (1, 2)")
        assert [row["w"] for row in ticdc.rows("test.t")] == [2 * TERMS]


DEEP = {
    "+": "+".join(["1"] * DEEPER),
    "(": "(" * DEEPER + "1" + ")" * DEEPER,
    "NOT": "NOT " * DEEPER + "1",
    "-": "- " * DEEPER + "1",
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("story.sql", kind) for kind in DEEP),
        ("story.toml", "+"),
        ("plan.toml", "("),
        ("plan.toml", "NOT"),
        ("feed.toml", "("),
    ],
)
def test_what_nests_more_deeply_is_refused_in_one_message(
    name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    table, expression = "CREATE TABLE t (id INT PRIMARY KEY)", DEEP[kind]
    Path("plain.sql").write_text(f"{table}; INSERT INTO t VALUES (1)")
    texts = {
        "story.sql": f"{table}; INSERT INTO t VALUES ({expression})",
        "story.toml": f'[[step]]\nsql = "{table}; INSERT INTO t VALUES ({expression})"',
        "plan.toml": f'[[table]]\ndefinition = "CREATE TABLE t (id INT PRIMARY KEY, v INT AS ({expression}))"\nrows = 20\nmix = {{inserts = 1}}',
        "feed.toml": f'[[filter.event-filters]]\nmatcher = ["*.*"]\nignore-insert-value-expr = "id = {expression}"',
    }
    Path(name).write_text(texts[name])
    commands = {
        "plan.toml": ("load", name, "--console", "--duration", "1ms"),
        "feed.toml": ("run", "plain.sql", "--console", "--config", name),
    }
    assert run(commands.get(name, ("run", name, "--console"))) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("ticdc-sim: ")]
    assert len(said) == 1 and "nested too deeply" in said[0]


@pytest.mark.parametrize("query", [f"SELECT {SUM} FROM t", f"DELETE FROM t WHERE {SUM} = 1"])
def test_what_duckdb_would_plan_for_minutes_is_refused_at_once(query: str) -> None:
    with TiCDC() as ticdc:
        ticdc.execute(TABLE.format("0"))
        with pytest.raises(SqlError, match="nested too deeply"):
            ticdc.execute(query)


@pytest.mark.parametrize(
    ("limit", "ids"),
    [
        ("18446744073709551615 OFFSET 1", [2, 3]),
        ("18446744073709551615", [1, 2, 3]),
        ("1, 18446744073709551615", [2, 3]),
    ]
    + [("18446744073709551615, 1", []), ("18446744073709551615, 18446744073709551615", [])],
)
def test_a_limit_has_64_bits_without_a_sign(limit: str, ids: list[int]) -> None:
    with TiCDC() as ticdc:
        ticdc.execute("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3)")
        for query in (f"SELECT id FROM t ORDER BY id LIMIT {limit}", f"(SELECT id FROM t ORDER BY id) LIMIT {limit}"):
            assert [row[0] for row in ticdc.execute(query).rows] == [str(number) for number in ids]


def test_a_query_in_too_many_queries_is_refused() -> None:
    with TiCDC() as ticdc, pytest.raises(SqlError, match="more than 100 queries are nested here"):
        ticdc.execute(f"SELECT {'(SELECT ' * 120}1{')' * 120}")
