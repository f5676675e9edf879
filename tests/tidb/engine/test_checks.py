"""CHECK constraints (TiDB's docs: Constraints, CHECK) and foreign keys, in releases that check them."""

from __future__ import annotations

from functools import cache

import pytest
from support.upstreams import as_text, cases, changes, grouped, in_test, played, refusal_number, refused, rows_in

from simulator.releases import V8_5, Release, find
from simulator.tidb.engine.execution import Upstream

ON = "SET GLOBAL tidb_enable_check_constraint = ON"
MADE = "CREATE TABLE t (a INT PRIMARY KEY CHECK (a > 0), b INT, CONSTRAINT small CHECK (b < a), CHECK (b <> 7))"


@cache
def checked() -> Upstream:
    return played(f"{ON}; {MADE}").upstream


VIOLATED = cases("""
    INSERT INTO t VALUES (5, 4), (-1, -3) => t_chk_2
    INSERT INTO t VALUES (5, 6) => small
    UPDATE t SET b = a => small
    INSERT INTO t VALUES (9, 7) => t_chk_1
    INSERT INTO t VALUES (1, 0) ON DUPLICATE KEY UPDATE b = 2 => small
""")


@pytest.mark.parametrize(("statement", "name"), VIOLATED)
def test_a_row_that_violates_a_check_is_refused(statement: str, name: str) -> None:
    found = refused(f"INSERT INTO t VALUES (1, 0); {statement}", checked())
    assert found == f"3819 Check constraint '{name}' is violated."


def test_an_unknown_condition_does_not_violate_a_check() -> None:
    assert played("INSERT INTO t VALUES (1, NULL)", checked()).affected == 1


def test_checks_defined_while_the_variable_is_off_are_not_stored() -> None:
    assert played(f"{MADE}; {ON}; INSERT INTO t VALUES (-1, 7)").affected == 1
    assert len(played(f"{MADE}; ALTER TABLE t ADD CHECK (a > 5)").events) == 1
    unenforced = MADE.replace(")", ") NOT ENFORCED", 1)
    assert played(f"{ON}; {unenforced}; INSERT INTO t VALUES (-1, -2)").affected == 1


IGNORED = cases("""
    INSERT IGNORE INTO t VALUES (-1, -2), (2, 1), (2, -1), (3, 7) => 1,0; 2,1
        => 3819 Check constraint 't_chk_2' is violated.; 1062 Duplicate entry '2' for key 't.PRIMARY'; 3819 Check constraint 'small' is violated.
    UPDATE IGNORE t SET b = a => 1,0 => 3819 Check constraint 'small' is violated.
    INSERT IGNORE INTO t VALUES (1, -5) ON DUPLICATE KEY UPDATE b = 9 => 1,0
        => 3819 Check constraint 'small' is violated.
""")


@pytest.mark.parametrize(("statement", "rows", "warnings"), IGNORED)
def test_ignore_leaves_out_rows_that_violate_a_check(statement: str, rows: str, warnings: str) -> None:
    """pkg/executor/insert_common.go, batchCheckAndInsert; pkg/executor/update.go, exec."""
    outcome = played(f"INSERT INTO t VALUES (1, 0); {statement}", checked())
    assert (as_text(rows_in(outcome.upstream, "t")), "; ".join(outcome.warnings)) == (rows, warnings)


CHANGED = grouped("""
    ALTER TABLE t ADD CHECK (b > -5) | ALTER TABLE t ADD CHECK (b < 5 OR b IS NULL) => 3819
    ALTER TABLE t ADD CHECK ((b < 5 OR b IS NULL)) | ALTER TABLE t ADD CHECK (b > -5) NOT ENFORCED => 0
    ALTER TABLE t DROP CONSTRAINT SMALL | ALTER TABLE t ALTER CHECK small NOT ENFORCED => 0
    CREATE TABLE n (a INT, CHECK (a IS NULL OR NOT a), CHECK (a IN (1)), CHECK (TRUE)) => 0
    ALTER TABLE t ADD CONSTRAINT Small CHECK (a > 1) | ALTER TABLE p ADD CONSTRAINT small CHECK (id > 1) => 3822
    CREATE TABLE n (a INT, CONSTRAINT small CHECK (a > 0)) => 3822
    ALTER TABLE p ADD CONSTRAINT small CHECK (id) | ALTER TABLE t ADD CHECK (a + b) => 3812
    ALTER TABLE t ADD CHECK (nope > 1) => 1054
    ALTER TABLE t ADD CHECK (NOW() > b) => 3814
    ALTER TABLE t ADD CHECK (b > @a) => 3816
    ALTER TABLE t ADD CHECK (b > (SELECT 1)) => 3815
    ALTER TABLE f ADD CHECK (i > 0) => 3818
    ALTER TABLE f ADD CHECK (p > 0) => 3823
    ALTER TABLE t DROP CHECK nope | ALTER TABLE t ALTER CHECK nope ENFORCED => 3940
    ALTER TABLE t ADD CHECK (b < 9), ADD COLUMN c INT | ALTER TABLE t DROP CHECK small, COMMENT 'c' => 8200
    ALTER TABLE t DROP COLUMN b | ALTER TABLE t RENAME COLUMN b TO c => 3959
    CREATE TABLE n (a INT CHECK (a > 0), b INT CHECK (a > 0)) => 3813
    CREATE TABLE n (a INT CHECK (1)) => 1105
    CREATE TABLE n (a INT, CHECK (z > 0)) => 3820
""")


@pytest.mark.parametrize(("statement", "number"), CHANGED)
def test_alter_and_create_handle_checks_as_tidb_does(statement: str, number: str) -> None:
    others = """CREATE TABLE p (id INT PRIMARY KEY);
        CREATE TABLE f (i INT AUTO_INCREMENT KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON UPDATE CASCADE);
        INSERT INTO t VALUES (1, 0), (2, NULL), (3, -5)"""
    assert refusal_number(f"{others}; {statement}", checked()) == int(number)


ADDED = cases("""
    ALTER TABLE t ADD CHECK (b < 9) => t_chk_3
    ALTER TABLE t DROP CHECK t_chk_1; ALTER TABLE t ADD CHECK (b < 9) => t_chk_1
    ALTER TABLE t ADD CHECK (b < 9) NOT ENFORCED => (none)
    ALTER TABLE t ADD CHECK (b < 9) NOT ENFORCED; ALTER TABLE t ALTER CHECK t_chk_3 ENFORCED => t_chk_3
    ALTER TABLE t ADD CHECK (b < 9); ALTER TABLE t ALTER CHECK t_chk_3 NOT ENFORCED => (none)
    ALTER TABLE t ADD CHECK (b < 9); SET GLOBAL tidb_enable_check_constraint = OFF => t_chk_3
    ALTER TABLE t ADD CHECK (b < 9); CREATE TABLE u LIKE t; DROP TABLE t; RENAME TABLE u TO t => u_chk_4
""")


@pytest.mark.parametrize(("statements", "name"), ADDED)
def test_an_added_check_applies_to_later_rows(statements: str, name: str) -> None:
    found = refused(f"{statements}; INSERT INTO t VALUES (11, 10)", checked())
    assert found == ("" if name == "(none)" else f"3819 Check constraint '{name}' is violated.")


@cache
def family(rules: str, release: Release = V8_5) -> Upstream:
    """Parents 1 and 2; a child of 1 and one without a parent."""
    return played(
        f"""
        CREATE TABLE parent (id INT PRIMARY KEY, a INT);
        CREATE TABLE child (id INT PRIMARY KEY, p INT, CONSTRAINT fk FOREIGN KEY (p) REFERENCES parent (id) {rules});
        INSERT INTO parent VALUES (1, 1), (2, 2); INSERT INTO child VALUES (1, 1), (2, NULL)""",
        in_test(release),
    ).upstream


FAILS = "a foreign key constraint fails (`test`.`child`, CONSTRAINT `fk` FOREIGN KEY (`p`) REFERENCES `parent` (`id`))"
CHILD = f"1452 Cannot add or update a child row: {FAILS}"
PARENT = f"1451 Cannot delete or update a parent row: {FAILS}"


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("INSERT INTO child VALUES (3, 3)", CHILD),
        ("UPDATE child SET p = 3", CHILD),
        ("DELETE FROM parent", PARENT),
        ("UPDATE parent SET id = 5 WHERE id = 1", PARENT),
        ("REPLACE INTO parent VALUES (1, 5)", PARENT),
    ],
)
def test_rows_need_their_parents(statement: str, error: str) -> None:
    assert refused(statement, family("")) == error


CASCADES = cases("""
    ON DELETE RESTRICT => INSERT INTO child VALUES (3, 2), (4, NULL) => +child 3,2; +child 4,NULL
    ON DELETE RESTRICT => DELETE FROM parent WHERE id = 2 => -parent 2,2
    ON DELETE RESTRICT => UPDATE parent SET a = 9 => parent 1,1 > 1,9; parent 2,2 > 2,9
    ON DELETE RESTRICT => UPDATE parent SET id = 9 WHERE id = 2 => -parent 2,2; +parent 9,2
    ON DELETE RESTRICT => DELETE FROM child => -child 1,1; -child 2,NULL
    ON DELETE CASCADE => DELETE FROM parent WHERE id = 1 => -parent 1,1; -child 1,1
    ON DELETE SET NULL => DELETE FROM parent WHERE id = 1 => -parent 1,1; child 1,1 > 1,NULL
    ON UPDATE CASCADE => UPDATE parent SET id = 7 WHERE id = 1 => -parent 1,1; +parent 7,1; child 1,1 > 1,7
    ON UPDATE SET NULL => UPDATE parent SET id = 7 WHERE id = 1 => -parent 1,1; +parent 7,1; child 1,1 > 1,NULL
""")


@pytest.mark.parametrize(("rules", "statement", "expected"), CASCADES)
def test_rows_follow_their_parents(rules: str, statement: str, expected: str) -> None:
    assert "; ".join(changes(played(statement, family(rules)))[0]) == expected


def test_cascades_go_on_through_a_table_that_refers_to_itself_and_are_at_most_15_deep() -> None:
    rows = ", ".join(f"({number}, {number - 1})" for number in range(1, 16))
    tree = played(f"""
        CREATE TABLE node (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES node (id) ON DELETE CASCADE);
        INSERT INTO node VALUES (0, NULL), (99, NULL); INSERT INTO node VALUES {rows}""").upstream
    assert changes(played("DELETE FROM node WHERE id = 14", tree)) == [["-node 14,13", "-node 15,14"]]
    assert len(changes(played("DELETE FROM node WHERE id = 1", tree))[0]) == 15
    assert refused("DELETE FROM node WHERE id = 0", tree).startswith("3008 ")


def test_foreign_keys_are_not_checked_without_foreign_key_checks() -> None:
    script = "SET foreign_key_checks = 0; DELETE FROM parent WHERE id = 1; INSERT INTO child VALUES (9, 9)"
    assert changes(played(script, family("ON DELETE CASCADE"))) == [["-parent 1,1"], ["+child 9,9"]]


def test_releases_before_6_6_do_not_check_foreign_keys() -> None:
    older = family("ON DELETE CASCADE", find("v6.5.6"))
    assert changes(played("DELETE FROM parent WHERE id = 1", older)) == [["-parent 1,1"]]


def test_insert_ignore_leaves_out_rows_without_a_parent() -> None:
    """pkg/executor/foreign_key.go, checkRows: with a warning, before any row is inserted."""
    outcome = played("INSERT IGNORE INTO child VALUES (3, 9), (4, 2), (5, NULL)", family(""))
    assert changes(outcome) == [["+child 4,2", "+child 5,NULL"]]
    assert outcome.warnings == (CHILD,)


@pytest.mark.parametrize(
    ("statement", "warning", "changed"),
    [
        ("UPDATE IGNORE child SET p = 9", CHILD, []),
        ("UPDATE IGNORE child SET id = id + 10", "", ["-child 1,1", "+child 11,1", "-child 2,NULL", "+child 12,NULL"]),
        ("DELETE IGNORE FROM parent", PARENT, ["-parent 2,2"]),
        ("INSERT IGNORE INTO child VALUES (1, 7) ON DUPLICATE KEY UPDATE p = 9", CHILD, []),
        ("UPDATE IGNORE parent SET id = 5 WHERE id = 1", "", ["-parent 1,1", "+parent 5,1"]),
        ("UPDATE IGNORE parent SET id = 0, a = 9 WHERE id = 2", "", ["-parent 2,2", "+parent 0,9"]),
    ],
)
def test_ignore_leaves_out_rows_that_break_a_foreign_key(statement: str, warning: str, changed: list[str]) -> None:
    """Of a parent, the new row is compared (tidb#66860): the child loses its parent. Releases before 8.5 refuse them."""
    outcome = played(statement, family(""))
    assert set(outcome.warnings) == {warning} - {""}
    assert sorted(each for part in changes(outcome) for each in part) == sorted(changed)
    older = refusal_number(statement, family("", find("v8.4.0")))
    assert (older != 0) == (warning != "" or "id = 5" in statement)


def test_a_row_that_a_cascade_changes_needs_its_other_parent() -> None:
    both = """CREATE TABLE a (id INT PRIMARY KEY); CREATE TABLE b (id INT PRIMARY KEY);
        CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES a (id) ON UPDATE CASCADE,
                        FOREIGN KEY (p) REFERENCES b (id));
        INSERT INTO a VALUES (1); INSERT INTO b VALUES (1); INSERT INTO c VALUES (1, 1)"""
    assert refusal_number(f"{both}; UPDATE a SET id = 2") == 1452


def test_a_foreign_key_is_not_added_if_rows_have_no_parent() -> None:
    tables = """CREATE TABLE p (a INT PRIMARY KEY); CREATE TABLE c (a INT PRIMARY KEY, b INT);
        INSERT INTO p VALUES (1); INSERT INTO c VALUES (1, 1), (2, NULL), (3, 7)"""
    add = "ALTER TABLE c ADD CONSTRAINT f FOREIGN KEY (b) REFERENCES p (a)"
    assert refusal_number(f"{tables}; {add}") == 1452
    assert not refused(f"{tables}; DELETE FROM c WHERE a = 3; {add}")
    assert not refused(f"{tables}; SET foreign_key_checks = 0; {add}")
