"""SELECT … FOR UPDATE and FOR SHARE (tidb pkg/planner/core/logical_plan_builder.go, buildSelect).

TiDB knows FOR SHARE and SKIP LOCKED, and does nothing for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from simulator.tidb.engine.queries.relation import Base, Relation, Values
from simulator.tidb.engine.scopes.scope import QueryScope
from simulator.tidb.engine.sessions.context import StatementContext
from simulator.tidb.engine.sessions.session_variables import variable_text
from simulator.tidb.errors import sql_error_with_text
from simulator.tidb.storage.locks import LockWait

CLAUSE = re.compile(r"FOR (UPDATE|SHARE)(?: OF (.+?))?(?: (NOWAIT|SKIP LOCKED|WAIT (\d+)))?", re.DOTALL)
NAME = re.compile(r"`((?:[^`]|``)*)`")

NO_WAIT = "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set."


class Locking(NamedTuple):
    """The tables whose rows a query locks."""

    bases: Sequence[Base]
    seconds: float | None
    """How long it waits; None for innodb_lock_wait_timeout."""

    def rows(self, rows: Iterator[Values], context: StatementContext) -> Iterator[Values]:
        """Yield rows, each locked. Raises LockWait, and SqlError 3572 with NOWAIT."""
        try:
            for row in rows:
                for base in self.bases:
                    location = row[base.place]
                    if location is not None:
                        context.transaction.select_row(base.stored, *location)
                yield row
        except LockWait as wait:
            if self.seconds == 0:
                raise sql_error_with_text(3572, NO_WAIT) from None
            wait.seconds = self.seconds
            raise


def find_locking(clause: str, relation: Relation, scope: QueryScope) -> Locking | None:
    """Return what a lock clause locks; None for nothing. Raises SqlError 3568."""
    match = CLAUSE.fullmatch(clause)
    assert match is not None, clause
    kind, tables, option, seconds = match.groups()
    bases = relation.bases if tables is None else _named_bases(tables, relation, scope)
    if kind == "SHARE" or option == "SKIP LOCKED":
        return None
    return Locking(bases, 0 if option == "NOWAIT" else None if seconds is None else float(seconds))


def _named_bases(tables: str, relation: Relation, scope: QueryScope) -> list[Base]:
    """Return the tables after OF. Raises SqlError 3568."""
    found = []
    for named in tables.split(", "):
        *schema, name = (part.replace("``", "`") for part in NAME.findall(named))
        base = next((base for base in relation.bases if base.alias.lower() == name.lower()), None)
        if base is None or schema and (base.schema or scope.database).lower() != schema[0].lower():
            raise sql_error_with_text(3568, f"Unresolved table name {named} in locking clause.")
        found.append(base)
    return found


def refuse_noop(function: str, context: StatementContext) -> None:
    """Refuse what TiDB has without an effect, or warn, by `tidb_enable_noop_functions`. Raises SqlError 1235."""
    mode = variable_text(context.session.settings, "tidb_enable_noop_functions").upper()
    if mode in ("ON", "1"):
        return
    error = sql_error_with_text(
        1235,
        f"function {function} has only noop implementation in tidb now, use tidb_enable_noop_functions to enable these"
        " functions",
    )
    if mode != "WARN":
        raise error
    context.warn(error)
