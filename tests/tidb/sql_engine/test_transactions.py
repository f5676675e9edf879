"""The net changes of a transaction, and the state after a rollback."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.columns.cells import columns
from simulator.errors import SqlError
from simulator.releases import V8_5
from simulator.tidb.ddl.catalog import build_catalog
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.sql_engine.sessions import transactions
from simulator.tidb.sql_engine.storage.auto_ids import counters_after
from simulator.tidb.sql_engine.storage.rows import (
    column_arrays,
    empty_rows,
    ensure_keys,
    key_rows,
    put_rows,
    replace_rows,
    row_writes,
    table_rows,
    take_stored,
)
from simulator.tidb.sql_engine.storage.state import (
    CommittedTransaction,
    SqlSession,
    StatementOutcome,
    StoredRows,
    Upstream,
)

TABLE = create_table("CREATE TABLE test.t (id INT PRIMARY KEY, v INT)")
MOVED = create_table("CREATE TABLE test.p (id INT, v INT, PRIMARY KEY (id, v)) PARTITION BY HASH (v) PARTITIONS 2")
NOTHING = Upstream(V8_5, build_catalog([TABLE, MOVED]), session=SqlSession("test"))

Rows = Mapping[int, int]
"""Values by ids."""


def having(upstream: Upstream, rows: Rows) -> Upstream:
    """Run a statement after which the table has exactly these rows; it writes the rows that differ."""
    upstream = transactions.open_transaction(upstream)
    stored = table_rows(upstream, TABLE)
    now = values(upstream)
    gone = np.array([place for place, id in enumerate(now) if rows.get(id) != now[id]], np.int64)
    put_in = {id: value for id, value in rows.items() if now.get(id) != value}
    old = take_stored(stored, gone)
    new = take_stored(stored, np.zeros(0, np.int64))
    if put_in:
        texts = columns([{"id": str(id), "v": str(value)} for id, value in sorted(put_in.items())])
        new = key_rows(TABLE, texts, None)
    upstream = put_rows(upstream, replace_rows(stored, gone, new))
    return transactions.add_writes(upstream, [row_writes(TABLE, old, new)])


def values(upstream: Upstream) -> dict[int, int]:
    texts = column_arrays(table_rows(upstream, TABLE).cells)
    return {int(id): int(value) for id, value in zip(texts["id"].to_pylist(), texts["v"].to_pylist())}


def events(committed: CommittedTransaction | None) -> list[tuple[bytes | None, bytes | None]]:
    """Images with a comma between their cells."""
    if committed is None:
        return []
    return [
        (shown(before), shown(after))
        for table in committed.changes
        for before, after in zip(table.before.to_pylist(), table.after.to_pylist())
    ]


def shown(image: bytes | None) -> bytes | None:
    return image and image.replace(b"\xff", b",")


STARTED = transactions.commit(having(NOTHING, {1: 10, 2: 20}))[0]


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([{1: 11, 2: 20}], [(b"1,10", b"1,11")]),
        ([{2: 20}], [(b"1,10", None)]),
        ([{1: 10, 2: 20, 3: 30}], [(None, b"3,30")]),
        ([{1: 11, 2: 20}, {1: 12, 2: 20}], [(b"1,10", b"1,12")]),
        ([{1: 10, 2: 20, 3: 30}, {1: 10, 2: 20}], []),
        ([{1: 10, 2: 20, 3: 30}, {1: 10, 2: 20, 3: 31}], [(None, b"3,31")]),
        ([{1: 11, 2: 20}, {1: 10, 2: 20}], [(b"1,10", b"1,10")]),
        ([{2: 20}, {1: 15, 2: 20}], [(b"1,10", b"1,15")]),
        ([{1: 20, 2: 10}], [(b"1,10", b"1,20"), (b"2,20", b"2,10")]),
    ],
    ids=[
        "update",
        "delete",
        "insert",
        "twice updated",
        "came and went",
        "inserted, then updated",
        "there and back",
        "deleted and inserted",
        "swapped",
    ],
)
def test_a_key_has_one_change_in_a_transaction(
    states: list[Rows], expected: list[tuple[bytes | None, bytes | None]]
) -> None:
    upstream, _ = transactions.begin(STARTED)
    for state in states:
        upstream = having(upstream, state)

    upstream, committed = transactions.commit(upstream)

    assert events(committed) == expected
    assert upstream.transaction is None


def test_a_row_that_moves_is_deleted_in_one_partition_and_inserted_in_the_other() -> None:
    upstream = transactions.open_transaction(NOTHING)
    old, new = (key_rows(MOVED, columns([{"id": "1", "v": value}]), None) for value in "12")
    upstream = transactions.add_writes(upstream, [row_writes(MOVED, old, new)])

    _, committed = transactions.commit(upstream)

    assert committed is not None
    assert committed.changes[0].partition.to_pylist() == [0, 1]
    assert events(committed) == [(None, b"1,2"), (b"1,1", None)]


STATES = st.lists(st.dictionaries(st.integers(0, 12), st.integers(0, 3), max_size=9), max_size=6)


@given(STATES, STATES)
def test_the_changes_lead_from_the_rows_at_begin_to_those_at_commit(before: list[Rows], states: list[Rows]) -> None:
    upstream = NOTHING
    for state in before:
        upstream = transactions.commit(having(upstream, state))[0]
    found = {f"{id},{value}".encode() for id, value in values(upstream).items()}
    upstream, _ = transactions.begin(upstream)
    for state in states:
        upstream = having(upstream, state)
    upstream, committed = transactions.commit(upstream)

    for was, now in events(committed):
        found = found - {was} | ({now} if now else set())

    assert found == {f"{id},{value}".encode() for id, value in values(upstream).items()}


@given(STATES)
def test_a_rollback_leaves_no_trace(states: list[Rows]) -> None:
    upstream, _ = transactions.begin(STARTED)
    for state in states:
        upstream = having(upstream, state)

    upstream = transactions.rollback(upstream)

    assert values(upstream) == {1: 10, 2: 20}
    assert transactions.commit(upstream) == (upstream, None)


def test_ids_are_not_assigned_again_after_a_rollback() -> None:
    upstream, _ = transactions.begin(NOTHING)
    upstream = put_rows(upstream, ensure_keys(empty_rows(TABLE)).with_counters(counters_after(TABLE, 7, 9)))

    stored = transactions.rollback(upstream).rows["test", "t"]

    assert (stored.counters, len(stored.cells)) == (counters_after(TABLE, 7, 9), 0)


def test_begin_commits_the_open_transaction() -> None:
    upstream, _ = transactions.begin(STARTED)

    upstream, committed = transactions.begin(having(upstream, {1: 10}))

    assert events(committed) == [(b"2,20", None)]
    assert upstream.transaction is not None and upstream.transaction.writes == ()


def test_a_statement_outside_of_begin_is_a_transaction_of_its_own() -> None:
    outcome = transactions.autocommit(StatementOutcome(having(STARTED, {})))

    assert outcome.upstream.transaction is None
    assert [events(event) for event in outcome.events if isinstance(event, CommittedTransaction)] == [
        [(b"1,10", None), (b"2,20", None)]
    ]


def test_without_autocommit_a_statement_opens_a_transaction() -> None:
    manual = replace(STARTED, session=replace(STARTED.session, autocommit=False))

    outcome = transactions.autocommit(StatementOutcome(having(manual, {})))

    assert outcome.events == ()
    assert values(transactions.rollback(outcome.upstream)) == {1: 10, 2: 20}


def test_rolling_back_to_a_savepoint_keeps_it_and_what_was_before_it() -> None:
    upstream, _ = transactions.begin(STARTED)
    upstream = transactions.savepoint(having(upstream, {1: 11, 2: 20}), "One")
    upstream = transactions.savepoint(having(upstream, {1: 11}), "two")
    upstream = transactions.rollback_to(having(upstream, {}), "ONE")
    with pytest.raises(SqlError, match="SAVEPOINT two does not exist"):
        transactions.rollback_to(upstream, "two")
    upstream = transactions.rollback_to(having(upstream, {}), "one")

    assert events(transactions.commit(upstream)[1]) == [(b"1,10", b"1,11")]


def test_a_savepoint_of_the_same_name_replaces_the_first() -> None:
    upstream, _ = transactions.begin(STARTED)
    upstream = transactions.savepoint(upstream, "s")
    upstream = transactions.savepoint(having(upstream, {1: 10}), "s")

    assert values(transactions.rollback_to(having(upstream, {}), "s")) == {1: 10}


def test_a_released_savepoint_releases_those_after_it() -> None:
    upstream, _ = transactions.begin(STARTED)
    for name in "abc":
        upstream = transactions.savepoint(upstream, name)

    upstream = transactions.release_savepoint(upstream, "b")

    assert upstream.transaction is not None and [point[0] for point in upstream.transaction.savepoints] == ["a"]
    with pytest.raises(SqlError, match=r"ERROR 1305 \(42000\): SAVEPOINT c does not exist"):
        transactions.release_savepoint(upstream, "c")


def test_a_savepoint_outside_of_a_transaction_is_ignored() -> None:
    assert transactions.savepoint(STARTED, "s") is STARTED


def test_a_table_without_writes_has_no_rows() -> None:
    assert values(NOTHING) == {}
    assert table_rows(NOTHING, TABLE).row_ids == pa.array([], pa.int64())
    assert isinstance(table_rows(NOTHING, TABLE), StoredRows)
