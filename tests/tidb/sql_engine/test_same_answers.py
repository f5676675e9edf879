"""What is computed in a shorter way, or found by a key, is what the evaluator of expressions finds in every row.

`REVERSE('a')` is computed by the evaluator alone, and then all that stands beside it.
"""

from __future__ import annotations

from functools import cache

import pytest
from support.upstreams import played, rows_in, selected

from simulator.errors import SqlError
from simulator.tidb.sql_engine.storage.state import Upstream

COLUMNS = """id BIGINT, n INT, u INT UNSIGNED, big BIGINT UNSIGNED, z INT(4) ZEROFILL, s VARCHAR(20),
    ci VARCHAR(20) COLLATE utf8mb4_general_ci, nopad VARCHAR(20) COLLATE utf8mb4_0900_bin, b VARBINARY(20),
    p DECIMAL(10,2), f DOUBLE, bits BIT(8), e ENUM('a','1'), j JSON"""
NAMES = [column.split()[0] for column in COLUMNS.replace("\n", " ").split(", ")]
ROWS = """(1, 5, 5, 5, 5, 'a', 'a', 'a', 'a', 1.5, 1.5, 5, 'a', '1'),
    (2, -5, 0, 18446744073709551615, 0, 'A ', 'B ', 'a ', 'a ', -2, 2, 0, '1', 'null'),
    (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (-4, 2147483647, 4294967295, 9223372036854775808, 9999, '', '', '', '', 99999999.99, -0.5, 255, 'a', '"a"'),
    (9223372036854775807, 0, 1, 0, 1, 'ä', 'straße', 'ä', 0xff, 0, 0, 1, 'a', '{}')"""
NUMBERS = "0|1|5|-5|007|-0005|10000|2147483647|18446744073709551615|1.0|'5'|'x'|NULL".split("|")
TEXTS = ["'a'", "'A'", "'b'", "'B'", "'a '", "''", "' '", "'ä'", "'STRASSE'", "_binary'a'", "5"]
TOGETHER = {
    "u": ["5 = u AND s = 'a'", "u = 5 AND s = 'b'", "u > -5 AND test.k.u <= 5 AND n IN (0, 5)", "k.u IS NOT NULL"],
    "s": ["s IN ('a', 'A ', 'ä') AND b IN ('a', 'a ')", "s = 'A' AND b = 'a '"],
    "id": ["id = 1 AND id = 2", "id IN (1, 2, 2, -4, 77)"],
}


@cache
def upstream() -> Upstream:
    keys = "PRIMARY KEY (id), UNIQUE (z), UNIQUE (u), UNIQUE (ci), UNIQUE (s, b)"
    return played(f"""SET sql_mode = ''; CREATE TABLE k ({COLUMNS}, {keys}); CREATE TABLE plain ({COLUMNS});
        INSERT INTO k VALUES {ROWS}; INSERT INTO plain VALUES {ROWS}; DELETE FROM k WHERE id = 3;
        INSERT INTO k (id) VALUES (3);
        ALTER TABLE k ADD v INT AS (n + 1); ALTER TABLE plain ADD v INT AS (n + 1)""").upstream


def conditions_of(name: str) -> list[str]:
    if name in ("s", "ci", "b"):
        values, others = TEXTS, [f"{value} = {name}" for value in TEXTS[:2]]
    else:
        values, others = NUMBERS, [f"{name} {operator} {value}" for operator in ("<", ">=") for value in NUMBERS[:7]]
        others += [f"{value} {operator} {name}" for operator in (">", "<=") for value in ("5", "-5")]
        others += [f"{name} BETWEEN {low} AND {high}" for low in ("-5", "0") for high in ("0", "9999")]
    equal = [*(f"{name} = {value}" for value in values), f"{name} IN ({values[0]}, {values[3]}, NULL)"]
    return [*equal, *others, f"{name} IS NULL", *TOGETHER.get(name, [])]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["id", "u", "big", "z", "s", "ci", "b"])
def test_conditions_hold_in_the_same_rows(name: str) -> None:
    conditions = conditions_of(name)
    held = selected(f"SELECT id, REVERSE('a'), {', '.join(conditions)} FROM k", upstream())
    for place, condition in enumerate(conditions, 2):
        wanted = sorted([(row[0],) for row in held if row[place] == "1"])
        for table in ("k", "plain") if "=" in condition else ("k",):
            found = selected(f"SELECT id FROM {table} WHERE {condition.replace('k.', f'{table}.')}", upstream())
            assert (condition, sorted(found)) == (condition, wanted)


@pytest.mark.parametrize(("limit", "expected"), [("2", "1 3"), ("1, 1", "3"), ("1, 9", "3 -4"), ("0", "")])
def test_a_limit_counts_the_rows_that_are_found(limit: str, expected: str) -> None:
    found = selected(f"SELECT id FROM plain WHERE id IN (1, -4, 3) LIMIT {limit}", upstream())
    assert " ".join(str(id) for (id,) in found) == expected


@pytest.mark.parametrize("name", ["id", "u", "z", "s", "ci", "b", "p", "e", "j"])
def test_a_selected_column_is_shown_as_beside_an_expression(name: str) -> None:
    alone, beside = (played(f"SELECT {name}{more} FROM k", upstream()).result for more in ("", ", REVERSE('a')"))
    assert alone and beside and alone.columns[0] == beside.columns[0]
    assert alone.rows.column(0).to_pylist() == beside.rows.column(0).to_pylist()


EXPRESSIONS = [
    *NAMES,
    "v",
    *NUMBERS,
    *TEXTS,
    *(
        f"{one} {operator} {other}"
        for operator in "+-*"
        for one in ("n", "u", "p", "1.5", "-5", "big")
        for other in ("1", "-2", "0.50", "n")
    ),
    *(
        f"CONCAT({one}, {other})"
        for one in ("n", "s", "b", "p", "NULL", "'a'", "z")
        for other in ("1", "'ä'", "s", "1.5")
    ),
    *"s + 1|n * 1.5 - 0.25|(n + 1) * 3 - u|0 - p * 0|0.1 * 0.2 * 0.3|99999999999999999999 + 1|n + 1 + f".split("|"),
    *"TRUE|+3|(4)|'é'|1e3|2.5e0|0x0a|x'41'|b'11'|2.5|'2.5'|_binary'é'|CONCAT(b, ci)".split("|"),
]


def assigned(assignments: str, upstream: Upstream) -> list[tuple[str | None, ...]] | str:
    """The cells behind the fixed columns after an UPDATE, or its error."""
    try:
        updated = played(f"UPDATE plain SET {assignments}", upstream).upstream
        return [row[len(NAMES) + 1 :] for row in rows_in(updated, "plain")]
    except SqlError as error:
        return error.text


@pytest.mark.slow
@pytest.mark.parametrize("type", ["VARCHAR(30)", "ENUM('a','1')", "DECIMAL(30,10)"])
def test_values_are_the_same_alone_and_beside_what_the_evaluator_computes(type: str) -> None:
    """Those that UPDATE assigns."""
    narrow = played(f"ALTER TABLE plain ADD extra VARCHAR(9), ADD x {type}", upstream()).upstream
    alone = {f"x{place} = {text}": assigned(f"x = {text}", narrow) for place, text in enumerate(EXPRESSIONS)}
    errors = {one: alone.pop(one) for one, found in [*alone.items()] if isinstance(found, str)}
    for one, error in errors.items():
        assert error == assigned(f"x = {one.partition(' = ')[2]}, extra = REVERSE('a')", narrow)
    targets = ", ".join(f"ADD {one.split()[0]} {type}" for one in alone)
    wide = played(f"ALTER TABLE plain ADD extra VARCHAR(9), {targets}", upstream()).upstream
    beside = zip(*assigned(f"extra = REVERSE('a'), {', '.join(alone)}", wide), strict=True)
    assert alone == {one: [(text,) for text in texts] for one, texts in zip(alone, beside, strict=True)}
