"""One session: transactions, autocommit, DDL between transactions, and the current database."""

from __future__ import annotations

import pytest
from support.upstreams import played, rows_in

from simulator.errors import DdlError, SqlError
from simulator.releases import V8_5
from simulator.tidb.ddl.execute import STATEMENTS
from simulator.tidb.parser.script import split_script
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.sql_engine.errors import error_number
from simulator.tidb.sql_engine.execute import ROW_STATEMENTS, execute, new_upstream
from simulator.tidb.sql_engine.storage.state import CommittedTransaction, StatementOutcome
from simulator.tidb.syntax.definitions import Statement
from simulator.tidb.syntax.dml import RowStatement
from simulator.tidb.syntax.load_data import LoadData
from simulator.tidb.syntax.session import SessionStatement

T = "CREATE TABLE t (a INT PRIMARY KEY, b INT);"


def told(outcome: StatementOutcome) -> list[int | str]:
    """Return a number for each transaction (its changed keys) and the text of each DDL statement."""
    return [
        sum(len(change.handle) for change in event.changes) if isinstance(event, CommittedTransaction) else event.text
        for event in outcome.events
    ][1:]


@pytest.mark.parametrize(
    ("script", "events"),
    [
        ("INSERT INTO t VALUES (1, 1); INSERT INTO t VALUES (2, 2), (3, 3)", [1, 2]),
        ("BEGIN; INSERT INTO t VALUES (1, 1); INSERT INTO t VALUES (2, 2); COMMIT", [2]),
        ("BEGIN; INSERT INTO t VALUES (1, 1); UPDATE t SET b = 2; DELETE FROM t; COMMIT", []),
        ("BEGIN; INSERT INTO t VALUES (1, 1); ROLLBACK; INSERT INTO t VALUES (2, 2)", [1]),
        ("BEGIN; INSERT INTO t VALUES (1, 1); BEGIN; INSERT INTO t VALUES (2, 2); COMMIT", [1, 1]),
        ("BEGIN; INSERT INTO t VALUES (1, 1); TRUNCATE TABLE t; COMMIT", [1, "TRUNCATE TABLE t"]),
        ("SET autocommit = 0; INSERT INTO t VALUES (1, 1); INSERT INTO t VALUES (2, 2); COMMIT", [2]),
        ("SET autocommit = 0; INSERT INTO t VALUES (1, 1); SET autocommit = 1; INSERT INTO t VALUES (2, 2)", [1, 1]),
        ("SET autocommit = 0; INSERT INTO t VALUES (1, 1); CREATE TABLE u (a INT)", [1, "CREATE TABLE u (a INT)"]),
        ("BEGIN; INSERT INTO t VALUES (1, 1); SAVEPOINT s; INSERT INTO t VALUES (2, 2); ROLLBACK TO s; COMMIT", [1]),
        ("BEGIN; INSERT INTO t VALUES (1, 1); COMMIT AND CHAIN; INSERT INTO t VALUES (2, 2); ROLLBACK", [1, 1]),
        ("COMMIT; ROLLBACK; INSERT INTO t VALUES (1, 1)", [1]),
        ("DELETE FROM t; UPDATE t SET b = 1", []),
    ],
)
def test_a_transaction_is_one_event(script: str, events: list[int | str]) -> None:
    """COMMIT, BEGIN, DDL or its only statement commits it. There is no event without a change."""
    assert events == told(played(T + script))


def test_uncommitted_changes_are_visible_in_their_session_only() -> None:
    """The session sees rows of its open transaction, and there is no event."""
    outcome = played(T + "BEGIN; INSERT INTO t VALUES (1, 1)")

    assert [] == told(outcome)
    assert [("1", "1")] == rows_in(outcome.upstream, "t")


def test_a_refused_statement_leaves_the_transaction_open() -> None:
    """Its own changes are undone, earlier ones stay."""
    upstream = played(T + "BEGIN; INSERT INTO t VALUES (1, 1)").upstream
    with pytest.raises(SqlError, match="1062"):
        played("INSERT INTO t VALUES (2, 2), (1, 3)", upstream)

    (event,) = played("COMMIT", upstream).events

    assert isinstance(event, CommittedTransaction)
    assert [1] == [len(change.handle) for change in event.changes]


@pytest.mark.parametrize(
    ("script", "number"),
    [
        ("USE nowhere", 1049),
        ("INSERT INTO t VALUES (1)", 1136),
        ("INSERT INTO nowhere.t VALUES (1)", 1146),
        ("DROP DATABASE test; INSERT INTO t VALUES (1, 2)", 1046),
        ("DROP DATABASE test; CREATE TABLE t (a INT)", 1046),
        ("CREATE TABLE t (a INT)", 1050),
        ("ALTER TABLE u ADD COLUMN a INT", 1146),
        ("ROLLBACK TO s", 1305),
        ("CREATE TABLE u AS SELECT 1", 1105),
        ("SET no_such = 1", 1193),
    ],
)
def test_an_error_has_mysqls_number(script: str, number: int) -> None:
    """For DDL and for statements on rows."""
    with pytest.raises((SqlError, DdlError)) as refusal:
        played(T + script)

    assert isinstance(refusal.value, (SqlError, DdlError))
    assert number == error_number(refusal.value)


def test_user_variables_keep_values_for_later_statements() -> None:
    """Headers of dumps rely on this."""
    outcome = played(
        T
        + """SET @old = @@sql_mode, sql_mode = ''; SET @n = 2 + 3; INSERT INTO t VALUES (@n, 1);
        SET sql_mode = @old"""
    )

    assert [("5", "1")] == rows_in(outcome.upstream, "t")
    assert new_upstream(V8_5).session.sql_mode == outcome.upstream.session.sql_mode


def test_a_new_tidb_has_the_database_test_and_nothing_else() -> None:
    """No database is the current one."""
    upstream = new_upstream(V8_5)

    assert ["test"] == list(upstream.catalog.databases)
    assert ("", {}) == (upstream.session.database, dict(upstream.catalog.tables))


def test_every_statement_on_schemas_and_rows_has_an_executor() -> None:
    assert set(Statement.__subclasses__()) == STATEMENTS.keys()
    assert set(RowStatement.__args__) == ROW_STATEMENTS.keys()


def test_every_statement_of_a_session_is_executed() -> None:
    texts = """USE test; SET @a = 1; BEGIN; SAVEPOINT s; RELEASE SAVEPOINT s; COMMIT; ROLLBACK; SELECT 1;
        PREPARE p FROM 'SELECT 1'; EXECUTE p; DEALLOCATE PREPARE p; FLUSH TABLES; SHOW TABLES"""
    upstream, kinds = new_upstream(V8_5), set()
    for part in split_script(texts):
        statement = parse_sql(part.text)
        assert statement is not None
        kinds.add(type(statement))
        outcome = execute(statement, part.text, upstream, 0)
        assert isinstance(outcome, StatementOutcome), outcome
        upstream = outcome.upstream

    by_a_client = {LoadData}  # who sends the file
    assert kinds == set(SessionStatement.__subclasses__()) - by_a_client
