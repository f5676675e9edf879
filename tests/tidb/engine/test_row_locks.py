"""What statements lock that change rows: the rows that they write or match, and their unique keys."""

from __future__ import annotations

import pyarrow as pa
import pytest
from support.upstreams import cases, played

from simulator.tidb.engine import StatementOutcome, execution
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.execution import Upstream, upstream_of
from simulator.tidb.engine.session import Session
from simulator.tidb.engine.writes.load_data import delete_rows, insert_rows, update_rows
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.storage.rows import NEWEST, LockWait

NOW = 2_000_000_000_000

SCRIPT = """
    CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, u INT UNIQUE, a INT);
    INSERT INTO t VALUES (1, 10, 1), (2, 20, 2), (3, NULL, 3);
    CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES t (u));
"""

WAITS = cases("""
    UPDATE t SET a = a WHERE id = 1 | UPDATE t SET a = 5 WHERE id = 1 => waits
    UPDATE t SET a = a WHERE id = 1 | UPDATE t SET a = 5 WHERE id = 2 => goes on
    UPDATE t SET a = 9 WHERE id = 9 | INSERT INTO t VALUES (9, 9, 9) => waits
    UPDATE t SET a = 9 WHERE a = 9 | INSERT INTO t VALUES (9, 9, 9) => goes on
    DELETE FROM t WHERE u = 20 | INSERT INTO t VALUES (9, 20, 9) => waits
    INSERT INTO t VALUES (9, 9, 9) | INSERT IGNORE INTO t VALUES (8, 9, 8) => waits
    INSERT INTO t VALUES (9, NULL, 9) | INSERT INTO t VALUES (8, NULL, 8) => goes on
    UPDATE t SET a = a WHERE id = 1 | REPLACE INTO t VALUES (7, 10, 7) => waits
    UPDATE t SET u = 30 WHERE id = 1 | INSERT INTO t VALUES (9, 10, 9) => waits
    UPDATE t SET u = 30 WHERE id = 1 | INSERT INTO t VALUES (9, 30, 9) => waits
    INSERT INTO child VALUES (1, 10) | INSERT INTO child VALUES (2, 10) => waits
    INSERT INTO child VALUES (1, 10) | INSERT INTO child VALUES (2, 20) => goes on
""")


def execute(session: Session, text: str) -> StatementOutcome:
    statement = parse_sql(text)
    assert statement is not None
    outcome = execution.execute(session, statement, text, NOW)
    assert isinstance(outcome, StatementOutcome), outcome
    return outcome


@pytest.mark.parametrize(("statements", "expected"), WAITS)
def test_a_statement_waits_for_what_another_transaction_has_locked(statements: str, expected: str) -> None:
    first = played(SCRIPT).upstream.session
    second = Session(first.database, first.settings)
    begun, other = statements.split(" | ")
    execute(first, "BEGIN")
    execute(first, begun)
    try:
        execute(second, other)
    except LockWait as wait:
        assert (expected, wait.owner) == ("waits", first.transaction)
    else:
        assert expected == "goes on"


def test_a_statement_that_waited_has_the_ids_of_its_first_attempt() -> None:
    first = played(SCRIPT).upstream.session
    second = Session(first.database, first.settings)
    execute(first, "BEGIN")
    execute(first, "INSERT INTO t (u) VALUES (9)")
    with pytest.raises(LockWait):
        execute(second, "INSERT INTO t (u) VALUES (9)")
    execute(first, "ROLLBACK")
    assert [execute(second, f"INSERT INTO t (u) VALUES ({u})").insert_id for u in (9, 8)] == [5, 6]


def columns(upstream: Upstream) -> list[list[bytes | None]]:
    table = upstream.catalog.tables["test", "t"]
    return [cells.to_pylist() for cells in upstream.rows(table).texts().values()]


def test_rows_are_written_without_statements() -> None:
    upstream = played(SCRIPT).upstream
    table, session = upstream.catalog.tables["test", "t"], upstream.session
    session.now_ms = NOW
    context = StatementContext(session, session.begin(), NEWEST, True)
    insert_rows(context, table, {"u": pa.array([40, 50]), "a": pa.array(["4", None])}, 2)
    update_rows(context, table, [(0, 1), (0, 5)], {"a": pa.array([7, 8])})
    delete_rows(context, table, [(0, 2)])
    session.commit()
    said = "INSERT INTO t (u, a) VALUES (40, 4), (50, NULL); UPDATE t SET a = 3 + IF(id = 1, 4, 5) WHERE id IN (1, 5);"
    assert columns(upstream_of(session)) == columns(played(f"{SCRIPT} {said} DELETE FROM t WHERE id = 2").upstream)
