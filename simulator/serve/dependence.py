"""Whether the outcome of a statement on rows depends on the writes of an open transaction that it does not see.

TiDB locks the keys that it looks up: those of new rows, of parents and children, and those of a WHERE that names all
columns of a unique key. A statement that finds such a key locked waits, and looks again. So does a statement here that
would have another outcome after the writes of the transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simulator.serve.lock_keys import table_of
from simulator.serve.rebase import with_writes
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Key, object_key
from simulator.tidb.ddl.constraints.foreign_keys import referring_keys
from simulator.tidb.expressions.trees import conjuncts, strip_parentheses
from simulator.tidb.sql_engine.errors import error_number
from simulator.tidb.sql_engine.execute import execute
from simulator.tidb.sql_engine.storage.row_keys import unique_keys
from simulator.tidb.sql_engine.storage.state import FailedStatement, StatementOutcome, TableChanges, Upstream

DUPLICATE_KEY, NO_PARENT, IS_PARENT = 1062, 1452, 1451
LOOKED_UP = (DUPLICATE_KEY, NO_PARENT, IS_PARENT)

Outcome = StatementOutcome | FailedStatement


def looks_keys_up(statement: syntax.RowStatement, before: Upstream, outcome: Outcome) -> bool:
    """Return whether a statement has met a key, or missed one, that may be another after a transaction."""
    if isinstance(outcome, FailedStatement):
        return error_number(outcome.error) in LOOKED_UP
    if isinstance(statement, syntax.Insert):
        return any(text.startswith(tuple(map(str, LOOKED_UP))) for text in outcome.warnings)
    return not outcome.matched and not outcome.affected and _is_by_key(statement, before)


def depends_on(
    writes: Sequence[TableChanges],
    statement: syntax.RowStatement,
    named: set[Key],
    before: Upstream,
    outcome: Outcome,
    now_ms: int,
) -> bool:
    """Return whether a statement, which names some tables, would have another outcome after the writes."""
    tables = {table_of(changes) for changes in writes}
    if tables.isdisjoint(named | _relatives(before, named)):
        return False
    rows = dict(before.rows)
    for table in tables:
        rows[table] = with_writes(rows.get(table), [changes for changes in writes if table_of(changes) == table])
    after = execute(statement, "", replace(before, rows=rows), now_ms)
    return _result(after) != _result(outcome)


def _result(outcome: Outcome) -> object:
    if isinstance(outcome, FailedStatement):
        return error_number(outcome.error), outcome.error.text
    return outcome.affected, outcome.matched


def _relatives(upstream: Upstream, tables: set[Key]) -> set[Key]:
    """Return the tables at the other ends of foreign keys."""
    related: set[Key] = set()
    for key in tables:
        table = upstream.catalog.tables.get(key)
        if table is not None:
            related |= {object_key(foreign.schema, foreign.table) for foreign in table.foreign_keys}
            children = referring_keys(upstream.catalog, table.schema, table.name)
            related |= {object_key(child.schema, child.name) for child, _ in children}
    return related


def _is_by_key(statement: syntax.Update | syntax.Delete, upstream: Upstream) -> bool:
    """Return whether the WHERE of a statement on one table gives values to all columns of a unique key."""
    if not isinstance(statement.source, syntax.TableSource):
        return False
    name = statement.source.name
    table = upstream.catalog.tables.get(object_key(name.schema or upstream.session.database, name.name))
    fixed = {_fixed_column(part) for part in conjuncts(statement.where)}
    return table is not None and any(
        fixed.issuperset(part.name.lower() for part in key.columns) for key in unique_keys(table)
    )


def _fixed_column(condition: syntax.Node) -> str:
    """Return the name of the column that a condition compares with values; empty for another condition."""
    condition = strip_parentheses(condition)
    if isinstance(condition, syntax.In) and not condition.negated:
        column, *values = condition.operand, *condition.candidates
    elif isinstance(condition, syntax.Binary) and condition.operator == "=":
        column, *values = condition.left, condition.right
        if isinstance(column, syntax.Literal):
            column, values = condition.right, [condition.left]
    else:
        return ""
    is_fixed = isinstance(column, syntax.ColumnName) and all(isinstance(value, syntax.Literal) for value in values)
    return column.parts[-1].lower() if isinstance(column, syntax.ColumnName) and is_fixed else ""
