"""One session: which events its statements commit, what a rollback and a refused statement leave, and the random case."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.upstreams import (
    Played,
    as_text,
    cases,
    changes,
    grouped,
    in_test,
    played,
    refusal,
    refusal_number,
    refused,
    rows_in,
    shown,
)

from simulator import TiCDC
from simulator.reader.decode import DdlEvent, RowEvent
from simulator.releases import V8_5
from simulator.tidb.ddl.execute import STATEMENTS
from simulator.tidb.engine import CommittedTransaction, CompletedDdl, StatementOutcome
from simulator.tidb.engine.execution import ROW_STATEMENTS, Upstream, new_upstream
from simulator.tidb.parser.script import split_script
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.syntax.definitions import Statement
from simulator.tidb.syntax.queries import RowStatement
from simulator.tidb.syntax.statements import LoadData, LoadFile, SessionStatement

TWO = played("CREATE TABLE t (a INT PRIMARY KEY, b INT); INSERT INTO t VALUES (1, 10), (2, 20)").upstream

COMMITTED = cases("""
    INSERT INTO t VALUES (3, 1); INSERT INTO t VALUES (4, 2), (5, 3) => +t 3,1 | +t 4,2, +t 5,3
    DELETE FROM t WHERE a > 2; UPDATE t SET b = b => (none)
    COMMIT; ROLLBACK; DELETE FROM t WHERE a = 1 => -t 1,10
    BEGIN; DELETE FROM t WHERE a = 1; UPDATE t SET b = 2; COMMIT => -t 1,10, t 2,20 > 2,2
    BEGIN; UPDATE t SET b = 11 WHERE a = 1; UPDATE t SET b = 12 WHERE a = 1; COMMIT => t 1,10 > 1,12
    BEGIN; INSERT INTO t VALUES (3, 1); UPDATE t SET b = 31 WHERE a = 3; COMMIT => +t 3,31
    BEGIN; INSERT INTO t VALUES (3, 1); UPDATE t SET b = 2 WHERE a = 3; DELETE FROM t WHERE a = 3; COMMIT => (none)
    BEGIN; UPDATE t SET b = 11 WHERE a = 1; UPDATE t SET b = 10 WHERE a = 1; COMMIT => t 1,10 > 1,10
    BEGIN; DELETE FROM t WHERE a = 1; INSERT INTO t VALUES (1, 15); COMMIT => t 1,10 > 1,15
    BEGIN; INSERT INTO t VALUES (3, 1); ROLLBACK; DELETE FROM t WHERE a = 2 => -t 2,20
    BEGIN; DELETE FROM t WHERE a = 1; BEGIN; DELETE FROM t WHERE a = 2; COMMIT => -t 1,10 | -t 2,20
    BEGIN; DELETE FROM t WHERE a = 1; COMMIT AND CHAIN; DELETE FROM t WHERE a = 2; ROLLBACK => -t 1,10 | -t 2,20
    BEGIN; DELETE FROM t WHERE a = 1; TRUNCATE TABLE t; COMMIT => -t 1,10 | TRUNCATE TABLE t
    BEGIN; DELETE FROM t => (none)
    SET autocommit = 0; DELETE FROM t WHERE a = 1; DELETE FROM t WHERE a = 2; COMMIT => -t 1,10, -t 2,20
    SET autocommit = 0; DELETE FROM t WHERE a = 1; SET autocommit = 1; DELETE FROM t => -t 1,10 | -t 2,20
    SET autocommit = 0; DELETE FROM t WHERE a = 1; CREATE TABLE u (a INT) => -t 1,10 | CREATE TABLE u (a INT)
    SET autocommit = 0; DELETE FROM t; ROLLBACK; SET autocommit = 1 => (none)
    BEGIN; DELETE FROM t WHERE a = 1; SAVEPOINT s; DELETE FROM t; ROLLBACK TO s; COMMIT => -t 1,10
    BEGIN; SAVEPOINT One; DELETE FROM t; ROLLBACK TO oNE; DELETE FROM t WHERE a = 2; ROLLBACK TO one; COMMIT => (none)
    BEGIN; SAVEPOINT s; DELETE FROM t WHERE a = 2; SAVEPOINT s; DELETE FROM t; ROLLBACK TO s; COMMIT => -t 2,20
    SAVEPOINT s; DELETE FROM t WHERE a = 1 => -t 1,10
    CREATE TABLE IF NOT EXISTS t (b INT); DROP TABLE IF EXISTS u => (none)
""")


def told(outcome: Played) -> Iterator[str]:
    """The changes of each transaction, and the texts of DDL."""
    for event in outcome.events:
        if isinstance(event, CompletedDdl):
            yield event.text
        else:
            yield ", ".join(changes(StatementOutcome((event,)))[0])


@pytest.mark.parametrize(("script", "events"), COMMITTED)
def test_a_transaction_is_one_event_of_the_net_changes_of_its_keys(script: str, events: str) -> None:
    """COMMIT, BEGIN, DDL or its only statement commits it. A row that is changed back is written all the same."""
    assert (" | ".join(told(played(script, TWO))) or "(none)") == events


def test_a_row_that_moves_is_deleted_in_one_partition_and_inserted_in_the_other() -> None:
    script = "CREATE TABLE p (id INT, v INT) PARTITION BY HASH (v) PARTITIONS 2; INSERT INTO p VALUES (1, 1)"
    assert changes(played("UPDATE p SET v = 2", played(script).upstream)) == [["+p/0 1,2", "-p/1 1,1"]]


def test_uncommitted_changes_are_visible_in_their_session() -> None:
    assert shown("BEGIN; INSERT INTO t VALUES (3, 3); SELECT a FROM t", TWO) == "1; 2; 3"


@pytest.mark.parametrize(
    ("script", "name"),
    [
        ("BEGIN; SAVEPOINT one; SAVEPOINT two; ROLLBACK TO one; ROLLBACK TO two", "two"),
        ("BEGIN; SAVEPOINT a; SAVEPOINT b; SAVEPOINT c; RELEASE SAVEPOINT b; RELEASE SAVEPOINT c", "c"),
        ("ROLLBACK TO s", "s"),
    ],
)
def test_a_savepoint_ends_with_those_before_it(script: str, name: str) -> None:
    assert refused(script) == f"1305 SAVEPOINT {name} does not exist"


def test_a_refused_statement_leaves_its_transaction_as_it_was() -> None:
    begun = played("BEGIN; DELETE FROM t WHERE a = 1", TWO).upstream
    behind = refusal("INSERT INTO t VALUES (3, 3), (2, 3)", begun).upstream
    assert changes(played("COMMIT", behind)) == [["-t 1,10"]]


def test_refused_ddl_commits_the_open_transaction() -> None:
    found = refusal("CREATE TABLE t (a INT)", played("BEGIN; DELETE FROM t WHERE a = 1", TWO).upstream)
    assert [type(event) for event in found.events] == [CommittedTransaction] and found.upstream.writes is None
    assert shown("ROLLBACK; SELECT a FROM t", found.upstream) == "2"


NUMBERS = grouped("""
    USE nowhere => 1049
    INSERT INTO t VALUES (1) => 1136
    INSERT INTO nowhere.t VALUES (1) | ALTER TABLE u ADD COLUMN a INT => 1146
    DROP DATABASE test; INSERT INTO t VALUES (1, 2) | DROP DATABASE test; CREATE TABLE t (a INT) => 1046
    CREATE TABLE t (a INT) => 1050
    CREATE TABLE u AS SELECT 1 => 1105
    SET no_such = 1 => 1193
    CREATE TABLE u (a INT) PARTITION BY RANGE (a) => 1492
    CREATE TABLE u (a CHAR(3)) CHARSET nope | CREATE TABLE u (a CHAR(3) CHARSET nope) => 1115
    CREATE TABLE u (a CHAR(3)) COLLATE nope => 1273
    CREATE TABLE u (a INT => 1064
""")


@pytest.mark.parametrize(("script", "number"), NUMBERS)
def test_an_error_has_mysqls_number(script: str, number: str) -> None:
    assert refusal_number(script, TWO) == int(number)


def test_user_variables_keep_values_for_later_statements() -> None:
    """Headers of dumps rely on this."""
    outcome = played("SET @old = @@sql_mode, sql_mode = ''; SET @N = 2 + 3; SET sql_mode = @old; SELECT @n")
    assert outcome.upstream.settings.sql_mode == in_test().settings.sql_mode
    assert shown("SELECT @n", outcome.upstream) == "5"


def test_a_new_tidb_has_the_database_test_and_nothing_else() -> None:
    upstream = new_upstream(V8_5)
    assert (["test"], "", {}) == (
        [*upstream.catalog.databases],
        upstream.settings.database,
        {**upstream.catalog.tables},
    )


def test_every_statement_has_an_executor() -> None:
    assert set(Statement.__subclasses__()) == STATEMENTS.keys()
    assert {*RowStatement.__args__, LoadFile} == ROW_STATEMENTS.keys()
    texts = """USE test; SET @a = 1; BEGIN; SAVEPOINT s; RELEASE SAVEPOINT s; COMMIT; ROLLBACK; SELECT 1;
        PREPARE p FROM 'SELECT 1'; EXECUTE p; DEALLOCATE PREPARE p; FLUSH TABLES; SHOW TABLES; DO 1"""
    upstream, kinds = new_upstream(V8_5), set()
    for part in split_script(texts):
        statement = parse_sql(part.text)
        assert statement is not None
        kinds.add(type(statement))
        upstream, outcome = upstream.execute(statement, part.text, 0)
        assert isinstance(outcome, StatementOutcome), outcome
    by_a_client = {LoadData}  # who sends the file
    assert kinds == set(SessionStatement.__subclasses__()) - by_a_client


Row = tuple[int, int | None, int]
ROWS = st.lists(
    st.tuples(st.integers(0, 40), st.none() | st.integers(0, 40), st.integers(0, 2)), min_size=1, max_size=12
)
WRITES = st.tuples(st.sampled_from(["INSERT IGNORE", "REPLACE", "INSERT", "DELETE", "UPDATE"]), ROWS)
KEYED = played("CREATE TABLE k (id INT PRIMARY KEY, u INT, a INT, UNIQUE KEY (u))").upstream


def statements(verb: str, written: list[Row], *, alone: bool) -> list[str]:
    """A statement over the rows, or one over each of them."""
    if alone:
        return [text for row in written for text in statements(verb, [row], alone=False)]
    texts = [f"({', '.join('NULL' if cell is None else str(cell) for cell in row)})" for row in written]
    ids = ", ".join(str(row[0]) for row in written)
    match verb:
        case "DELETE":
            return [f"DELETE FROM k WHERE id IN ({ids})"]
        case "UPDATE":
            return [f"UPDATE k SET a = a + 1, u = NULL WHERE id IN ({ids})"]
        case "INSERT":
            return [f"INSERT INTO k VALUES {', '.join(texts)} ON DUPLICATE KEY UPDATE a = a + VALUES(a) + 1"]
    return [f"{verb} INTO k VALUES {', '.join(texts)}"]


def held(upstream: Upstream) -> dict[str, str]:
    return {str(row[0]): as_text([row]) for row in rows_in(upstream, "k")}


def after(texts: list[str], upstream: Upstream) -> Upstream:
    return played("; ".join(texts), upstream).upstream


@pytest.mark.slow
@settings(max_examples=15)
@given(st.lists(WRITES, max_size=3), st.lists(WRITES, min_size=1, max_size=3))
def test_rows_of_statements_are_those_of_single_rows_and_events_lead_to_them(
    before: list[tuple[str, list[Row]]], within: list[tuple[str, list[Row]]]
) -> None:
    """Rows lie in the order of their keys, and are found by either key; a rollback leaves no trace."""
    start = after([text for verb, written in before for text in statements(verb, written, alone=False)], KEYED)
    together, separate = played("BEGIN", start).upstream, played("BEGIN", start).upstream
    for verb, written in within:
        together = after(statements(verb, written, alone=False), together)
        separate = after(statements(verb, written, alone=verb != "UPDATE"), separate)
    assert rows_in(together, "k") == rows_in(separate, "k")
    assert [*held(together)] == sorted(held(together), key=int)
    assert held(played("ROLLBACK", together.copy()).upstream) == held(start)
    committed = played("COMMIT", together)
    assert changes(committed) == changes(played("COMMIT", separate))
    found = held(start)  # changed as the events say
    for change in sum(changes(committed), []):
        row = change.rpartition(" ")[2]
        found.pop(row.partition(",")[0], None)
        if not change.startswith("-"):
            found[row.partition(",")[0]] = row
    assert found == held(committed.upstream)
    for id, row in [*found.items()][:3]:
        unique = row.split(",")[1]
        assert shown(f"SELECT * FROM k WHERE id = {id}", committed.upstream) == row
        if unique != "NULL":
            assert shown(f"SELECT * FROM k WHERE u = {unique}", committed.upstream) == row


TEMPORARY = "CREATE GLOBAL TEMPORARY TABLE t (a INT AUTO_INCREMENT PRIMARY KEY, b INT) ON COMMIT DELETE ROWS"


@pytest.mark.parametrize("release", ["v5.3.0", "v8.5.4", "new:v8.5.4"])
def test_a_global_temporary_table_keeps_its_rows_to_its_transaction(release: str) -> None:
    """Its statements are sent, its rows are not."""
    with TiCDC(release) as ticdc:
        ticdc.execute(f"{TEMPORARY}; CREATE TABLE u (a INT PRIMARY KEY)")
        ticdc.execute("BEGIN; INSERT INTO t (b) VALUES (1), (2); INSERT INTO u SELECT SUM(b) FROM t; COMMIT")
        assert ticdc.execute("SELECT COUNT(*) FROM t").rows == (("0",),)
        ticdc.execute("INSERT INTO t VALUES (1, 1); INSERT INTO t VALUES (1, 1); DROP TABLE t")
        events = ticdc.events()
    assert {(event.table, str(event.after)) for event in events if isinstance(event, RowEvent)} == {("u", "{'a': '3'}")}
    assert [event.table for event in events if isinstance(event, DdlEvent)][0] == "t"
    assert "DROP" in [event.query for event in events if isinstance(event, DdlEvent)][-1]
