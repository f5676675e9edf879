"""Foreign keys in releases that check them: refused changes and cascades."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from support.upstreams import changes, played

from simulator.errors import SqlError
from simulator.releases import find
from simulator.tidb.sql_engine.storage.state import Upstream


def family(rules: str) -> Upstream:
    """Parents 1 and 2; a child of 1 and one without a parent."""
    return played(f"""
        CREATE TABLE parent (id INT PRIMARY KEY, a INT);
        CREATE TABLE child (id INT PRIMARY KEY, p INT, CONSTRAINT fk FOREIGN KEY (p) REFERENCES parent (id) {rules});
        INSERT INTO parent VALUES (1, 1), (2, 2);
        INSERT INTO child VALUES (1, 1), (2, NULL);
    """).upstream


FAILS = "a foreign key constraint fails (`test`.`child`, CONSTRAINT `fk` FOREIGN KEY (`p`) REFERENCES `parent` (`id`))"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("INSERT INTO child VALUES (3, 3)", "1452 (23000): Cannot add or update a child row: " + FAILS),
        ("UPDATE child SET p = 3", "1452 (23000): Cannot add or update a child row: " + FAILS),
        ("DELETE FROM parent", "1451 (23000): Cannot delete or update a parent row: " + FAILS),
        ("UPDATE parent SET id = 5 WHERE id = 1", "1451 (23000): Cannot delete or update a parent row: " + FAILS),
        ("REPLACE INTO parent VALUES (1, 5)", "1451 (23000): Cannot delete or update a parent row: " + FAILS),
    ],
)
def test_rows_need_their_parents(text: str, error: str) -> None:
    with pytest.raises(SqlError, match=f"^{re.escape(f'ERROR {error}')}$"):
        played(text, family(""))


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO child VALUES (3, 2), (4, NULL)",
        "DELETE FROM parent WHERE id = 2",
        "UPDATE parent SET a = 9",
        "UPDATE parent SET id = 9 WHERE id = 2",
        "DELETE FROM child",
    ],
)
def test_a_change_that_leaves_every_row_a_parent_is_accepted(text: str) -> None:
    assert len(changes(played(text, family("")))) == 1


@pytest.mark.parametrize(
    ("rules", "text", "expected"),
    [
        ("ON DELETE CASCADE", "DELETE FROM parent WHERE id = 1", ["-parent 1,1", "-child 1,1"]),
        ("ON DELETE SET NULL", "DELETE FROM parent WHERE id = 1", ["-parent 1,1", "child 1,1 > 1,NULL"]),
        (
            "ON UPDATE CASCADE",
            "UPDATE parent SET id = 7 WHERE id = 1",
            ["-parent 1,1", "+parent 7,1", "child 1,1 > 1,7"],
        ),
        (
            "ON UPDATE SET NULL",
            "UPDATE parent SET id = 7 WHERE id = 1",
            ["-parent 1,1", "+parent 7,1", "child 1,1 > 1,NULL"],
        ),
    ],
)
def test_rows_follow_their_parents(rules: str, text: str, expected: list[str]) -> None:
    assert changes(played(text, family(rules))) == [expected]


def test_cascades_go_on_through_a_table_that_refers_to_itself() -> None:
    tree = played("""
        CREATE TABLE node (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES node (id) ON DELETE CASCADE);
        INSERT INTO node VALUES (1, NULL), (2, 1), (3, 2), (4, NULL);
    """).upstream

    assert changes(played("DELETE FROM node WHERE id = 1", tree)) == [["-node 1,NULL", "-node 2,1", "-node 3,2"]]


def test_foreign_keys_are_not_checked_without_foreign_key_checks() -> None:
    text = "SET foreign_key_checks = 0; DELETE FROM parent WHERE id = 1; INSERT INTO child VALUES (9, 9)"

    assert changes(played(text, family("ON DELETE CASCADE"))) == [["-parent 1,1"], ["+child 9,9"]]


def test_releases_before_6_6_do_not_check_foreign_keys() -> None:
    older = replace(family("ON DELETE CASCADE"), release=find("v6.5.6"))

    assert changes(played("DELETE FROM parent WHERE id = 1", older)) == [["-parent 1,1"]]


def test_insert_ignore_leaves_out_rows_without_a_parent() -> None:
    """pkg/executor/foreign_key.go, checkRows: with a warning, before any row is inserted."""
    outcome = played("INSERT IGNORE INTO child VALUES (3, 9), (4, 2), (5, NULL)", family(""))

    assert changes(outcome) == [["+child 4,2", "+child 5,NULL"]]
    assert list(outcome.warnings) == ["1452 Cannot add or update a child row: " + FAILS]


def test_a_row_that_a_cascade_changes_needs_its_other_parent() -> None:
    both = played("""
        CREATE TABLE a (id INT PRIMARY KEY); CREATE TABLE b (id INT PRIMARY KEY);
        CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES a (id) ON UPDATE CASCADE,
                        FOREIGN KEY (p) REFERENCES b (id));
        INSERT INTO a VALUES (1); INSERT INTO b VALUES (1); INSERT INTO c VALUES (1, 1);
    """).upstream

    with pytest.raises(SqlError, match="1452"):
        played("UPDATE a SET id = 2", both)


def test_cascades_are_at_most_15_deep() -> None:
    tree = played(
        "CREATE TABLE node (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES node (id) ON DELETE"
        " CASCADE); INSERT INTO node VALUES (0, NULL)"
    ).upstream
    for number in range(1, 16):
        tree = played(f"INSERT INTO node VALUES ({number}, {number - 1})", tree).upstream

    with pytest.raises(SqlError, match="3008"):
        played("DELETE FROM node WHERE id = 0", tree)
    assert len(changes(played("DELETE FROM node WHERE id = 1", tree))[0]) == 15
