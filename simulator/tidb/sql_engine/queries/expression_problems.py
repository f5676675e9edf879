"""Problems of a statement's expressions: errors, warnings, or ignored.

Source: tidb pkg/executor/executor.go (ResetContextOfStmt, ResetUpdateStmtCtx, ResetDeleteStmtCtx), pkg/errctx.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from simulator.tidb.expressions.sql.problems import ALWAYS, DIVIDED, TRUNCATED
from simulator.tidb.sql_engine.errors import sql_error_with_text
from simulator.tidb.sql_engine.storage.names import MAX_WARNINGS
from simulator.tidb.sql_engine.storage.state import SqlSession


class ExpressionProblems:
    """The problems of one statement. The first error is raised; warnings are collected."""

    def __init__(self, session: SqlSession, writing: bool = False, ignore: bool = False) -> None:
        """`writing` is true for INSERT, UPDATE and DELETE, `ignore` for a statement with IGNORE."""
        self.warnings: list[str] = []
        is_strict = not session.sql_mode.isdisjoint(("STRICT_TRANS_TABLES", "STRICT_ALL_TABLES"))
        strict = writing and not ignore and is_strict
        divided = not writing or "ERROR_FOR_DIVISION_BY_ZERO" in session.sql_mode
        self._errors = {ALWAYS, *((TRUNCATED, *((DIVIDED,) if divided else ())) if strict else ())}
        self._silent: set[str] = set() if divided else {DIVIDED}

    def handle(self, problem_columns: Sequence[tuple[str, pa.ChunkedArray]]) -> None:
        """Handle the problems of expressions over the same rows, each with its kind. Raises SqlError."""
        errors = [
            (pc.index(problems.is_valid(), True).as_py(), place)
            for place, (kind, problems) in enumerate(problem_columns)
            if kind in self._errors
        ]
        row, place = min(((row, place) for row, place in errors if row >= 0), default=(-1, 0))
        if row >= 0:
            number, _, text = problem_columns[place][1][row].as_py().partition(" ")
            raise sql_error_with_text(int(number), text)
        for kind, problems in problem_columns:
            if kind not in self._silent:
                self.warnings += problems.drop_null().slice(0, MAX_WARNINGS - len(self.warnings)).to_pylist()
