"""What becomes of the problems that the expressions of a statement have: an error, a warning, or nothing.

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
    """The problems of one statement: the first that is an error is raised, warnings are kept."""

    def __init__(self, session: SqlSession, writing: bool = False, ignore: bool = False) -> None:
        """`writing`: whether it is an INSERT, UPDATE or DELETE; `ignore`: whether it says IGNORE."""
        self.warnings: list[str] = []
        is_strict = not session.sql_mode.isdisjoint(("STRICT_TRANS_TABLES", "STRICT_ALL_TABLES"))
        strict = writing and not ignore and is_strict
        divided = not writing or "ERROR_FOR_DIVISION_BY_ZERO" in session.sql_mode
        self._errors = {ALWAYS, *((TRUNCATED, *((DIVIDED,) if divided else ())) if strict else ())}
        self._silent: set[str] = set() if divided else {DIVIDED}

    def meet(self, found: Sequence[tuple[str, pa.ChunkedArray]]) -> None:
        """Takes the problems of expressions, each with its kind, over the same rows. Raises SqlError."""
        errors = [
            (pc.index(problems.is_valid(), True).as_py(), place)
            for place, (kind, problems) in enumerate(found)
            if kind in self._errors
        ]
        row, place = min(((row, place) for row, place in errors if row >= 0), default=(-1, 0))
        if row >= 0:
            number, _, text = found[place][1][row].as_py().partition(" ")
            raise sql_error_with_text(int(number), text)
        for kind, problems in found:
            if kind not in self._silent:
                self.warnings += problems.drop_null().slice(0, MAX_WARNINGS - len(self.warnings)).to_pylist()
