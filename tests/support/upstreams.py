"""A scripted upstream for tests: statements as text, rows as tuples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from simulator.releases import V8_5
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.model.table import visible_columns
from simulator.tidb.parser.script import split_script
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.sql_engine.execute import execute, new_upstream
from simulator.tidb.sql_engine.storage.auto_ids import counters_after
from simulator.tidb.sql_engine.storage.state import (
    CommittedTransaction,
    FailedStatement,
    StatementOutcome,
    StoredRows,
    Upstream,
)

NOW_MS = 1_582_165_220_123
"""2020-02-20 02:20:20.123 UTC."""


def played(text: str, upstream: Upstream | None = None, now_ms: int = NOW_MS) -> StatementOutcome:
    """Execute a script in database `test`. Return the state after it, all events and the last result."""
    if upstream is None:
        new = new_upstream(V8_5)
        upstream = replace(new, session=replace(new.session, database="test"))
    outcome = StatementOutcome(upstream)
    for part in split_script(text):
        statement = parse_sql(part.text, outcome.upstream.session.sql_mode)
        if statement is not None:
            made = execute(statement, part.text, outcome.upstream, now_ms)
            if isinstance(made, FailedStatement):
                raise made.error
            outcome = replace(made, events=(*outcome.events, *made.events))
    return outcome


def refusal(text: str, upstream: Upstream, now_ms: int = NOW_MS) -> FailedStatement:
    """Return the outcome of a statement that TiDB must refuse."""
    statement = parse_sql(text, upstream.session.sql_mode)
    assert statement is not None
    found = execute(statement, text, upstream, now_ms)
    assert isinstance(found, FailedStatement), f"not refused: {text}"
    return found


def with_rows(upstream: Upstream, name: str, rows: Sequence[Sequence[str | None]], ids: Sequence[int] = ()) -> Upstream:
    """Return the upstream with these rows (TiDB text of visible columns) in a table of `test`.

    Their `_tidb_rowid`s count from 1.
    """
    table = upstream.catalog.tables[object_key("test", name)]
    names = [column.name for column in visible_columns(table)]
    cells = pa.table(
        {
            column: pa.array([None if row[place] is None else str(row[place]).encode() for row in rows], pa.binary())
            for place, column in enumerate(names)
        }
    )
    numbers = pa.array(ids or range(1, len(rows) + 1), pa.int64())
    stored = StoredRows(table, cells, numbers, counters_after(table, len(rows), len(rows)))
    return replace(upstream, rows={**upstream.rows, object_key("test", name): stored})


def rows_in(upstream: Upstream, name: str, schema: str = "test") -> list[tuple[str | None, ...]]:
    """Return the rows of a table as TiDB text, in the order of TiKV."""
    stored = upstream.rows.get(object_key(schema, name))
    if stored is None:
        return []
    columns = [
        [None if cell is None else cell.decode("utf-8", "surrogateescape") for cell in column]
        for column in stored.cells.to_pydict().values()
    ]
    return list(zip(*columns, strict=True))


def changes(outcome: StatementOutcome) -> list[list[str]]:
    """Return the net changes of each transaction.

    `+t 1,x` is an INSERT, `-t 1,x` a DELETE, `t 1,x > 1,y` an UPDATE. The ordinal of a partition follows the name.
    """
    return [list(_changes(event)) for event in outcome.events if isinstance(event, CommittedTransaction)]


def _changes(event: CommittedTransaction) -> Iterator[str]:
    for table in event.changes:
        rows = zip(table.partition.to_pylist(), table.before.to_pylist(), table.after.to_pylist(), strict=True)
        for ordinal, before, after in rows:
            name = table.table.name + (f"/{ordinal}" if table.table.partitioning else "")
            was, now = _image(before), _image(after)
            yield f"+{name} {now}" if was is None else f"-{name} {was}" if now is None else f"{name} {was} > {now}"


def _image(image: bytes | None) -> str | None:
    """Return the cells with commas between them."""
    return None if image is None else image.replace(b"\xff", b",").replace(b"\xfe", b"NULL").decode()
