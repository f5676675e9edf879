"""One TiDB for several changefeeds: what the first of them executes, the next ones take over.

A statement's outcome depends on the state of TiDB, its text and the time alone, and a state is a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from unittest import mock

from simulator.run.steps import sql
from simulator.tidb.sql_engine.execute import execute
from simulator.tidb.sql_engine.storage.state import FailedStatement, StatementOutcome, Upstream
from simulator.tidb.syntax.session import SqlStatement

Outcome = StatementOutcome | FailedStatement


class _Played:
    """The outcomes of a case's statements, by the state before them."""

    def __init__(self) -> None:
        self._outcomes: dict[tuple[int, str, int], Outcome] = {}
        self._states: dict[int, Upstream] = {}
        """Every state but the one before the first statement, by identity."""

        self.is_first = True
        """Whether the next statement is the first one of a changefeed."""

    def execute(self, statement: SqlStatement, text: str, upstream: Upstream, now_ms: int) -> Outcome:
        assert self.is_first or id(upstream) in self._states, f"an unknown state before {text[:200]}"
        key = 0 if self.is_first else id(upstream), text, now_ms
        self.is_first = False
        if key not in self._outcomes:
            self._outcomes[key] = outcome = execute(statement, text, upstream, now_ms)
            self._states[id(outcome.upstream)] = outcome.upstream
        return self._outcomes[key]


@lru_cache(maxsize=1)
def _played(case: str) -> _Played:
    return _Played()


@contextmanager
def same_upstream(case: str) -> Iterator[None]:
    """Execute each statement of a case once, whatever the number of changefeeds that play it one after another.

    They must begin alike: the same release, databases and first statement.
    """
    played = _played(case)
    played.is_first = True
    with mock.patch.object(sql, "execute", played.execute):
        yield
