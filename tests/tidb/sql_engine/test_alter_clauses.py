"""Clauses of ALTER TABLE that TiDB accepts or refuses depending on session and database."""

from __future__ import annotations

import pytest

from simulator import TiCDC
from simulator.errors import SqlError

TABLES = """
CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20), d DATETIME, j JSON);
CREATE TABLE p (a INT) PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (10));
CREATE TABLE counted (a INT PRIMARY KEY, n INT AUTO_INCREMENT, KEY (n));
CREATE TABLE parent (id INT PRIMARY KEY);
CREATE TABLE child (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES parent (id));
CREATE PLACEMENT POLICY east FOLLOWERS = 1
"""


def number(*statements: str) -> int:
    """Return the error number of the last statement; 0 without an error."""
    ticdc = TiCDC("v8.0.0", config={"force-replicate": True})
    ticdc.execute(f"USE test; {TABLES}")
    for statement in statements[:-1]:
        ticdc.execute(statement)
    try:
        ticdc.execute(statements[-1])
    except SqlError as error:
        return error.number
    return 0


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("ALTER TABLE t COMPACT", 0),
        ("ALTER TABLE t ANALYZE PARTITION p0", 0),
        ("ALTER TABLE nope COMPACT", 1146),
        ("ALTER TABLE t CONVERT TO CHARSET DEFAULT", 1105),
        ("ALTER TABLE t ATTRIBUTES 'bad'", 8237),
        ("ALTER TABLE t ATTRIBUTES 'a=b,a=c'", 8237),
        ("ALTER TABLE t ATTRIBUTES 'a=b, c = d'", 0),
        ("ALTER TABLE p PARTITION p0 ATTRIBUTES '=a'", 8237),
        ("ALTER TABLE t PLACEMENT POLICY = west", 8239),
        ("ALTER TABLE t PLACEMENT POLICY = EAST", 0),
        ("ALTER TABLE t PLACEMENT POLICY DEFAULT", 0),
        ("ALTER DATABASE test PLACEMENT POLICY west", 8239),
        ("CREATE TABLE n (a INT) PLACEMENT POLICY west", 8239),
        ("CREATE DATABASE n PLACEMENT POLICY west", 8239),
        ("ALTER TABLE p ADD PARTITION (PARTITION p1 VALUES LESS THAN (20) PLACEMENT POLICY west)", 8239),
        ("DROP PLACEMENT POLICY west", 8239),
        ("DROP PLACEMENT POLICY IF EXISTS west", 0),
        ("ALTER PLACEMENT POLICY west FOLLOWERS = 2", 8239),
        ("CREATE PLACEMENT POLICY east FOLLOWERS = 1", 8238),
        ("CREATE OR REPLACE PLACEMENT POLICY east FOLLOWERS = 1", 0),
        ("ALTER TABLE parent ADD COLUMN ts DATETIME, TTL = ts + INTERVAL 1 DAY", 8152),
        ("ALTER TABLE t ADD COLUMN ts DATETIME, TTL = ts + INTERVAL 1 DAY", 1054),
        ("ALTER TABLE counted MODIFY n INT", 8200),
        ("ALTER TABLE counted DROP COLUMN n", 8200),
        ("ALTER TABLE t ALTER d SET DEFAULT (NOW())", 3770),
        ("ALTER TABLE t ALTER d SET DEFAULT (CURRENT_TIMESTAMP)", 0),
        ("ALTER TABLE t ALTER b SET DEFAULT (CONCAT('a', 'b'))", 3770),
        ("ALTER TABLE t ALTER b SET DEFAULT (UUID())", 0),
        ("ALTER TABLE t ALTER a SET DEFAULT (b)", 1054),
        ("ALTER TABLE t ALTER j SET DEFAULT ('1')", 1101),
        ("ALTER TABLE t MODIFY nope DECIMAL(3, 5)", 1427),
        ("ALTER TABLE nope MODIFY nope DECIMAL(70, 5)", 1426),
        ("ALTER TABLE t MODIFY nope CHAR(300)", 1074),
        ("ALTER TABLE t CHANGE b a BIT(65)", 1439),
        ("ALTER TABLE t MODIFY IF EXISTS nope BIT(0)", 3013),
        ("ALTER TABLE t ADD COLUMN a SET('a,b')", 1367),
        ("ALTER TABLE t MODIFY nope INT DEFAULT 'x'", 1054),
        ("ALTER TABLE nope ADD INDEX i (a, a)", 1060),
    ],
)
def test_a_clause_is_accepted_or_refused_as_in_tidb(statement: str, error: int) -> None:
    assert number(statement) == error


@pytest.mark.parametrize("statement", ["ALTER TABLE counted MODIFY n INT", "ALTER TABLE counted DROP COLUMN n"])
def test_auto_increment_is_removed_if_the_session_allows_it(statement: str) -> None:
    assert number("SET tidb_allow_remove_auto_inc = ON", statement) == 0


def test_a_default_in_parentheses_is_computed_at_once() -> None:
    with TiCDC("v8.0.0") as ticdc:
        ticdc.execute("CREATE TABLE t (a INT, b INT); ALTER TABLE t ALTER b SET DEFAULT (1 + 1)")
        ticdc.execute("INSERT INTO t (a) VALUES (1)")
        assert ticdc.rows("t") == [{"a": 1, "b": 2}]
