"""The statement in which expressions are evaluated: its clock, its sql_mode, its warnings."""

from __future__ import annotations

from collections.abc import Collection

from simulator.tidb.errors import sql_error_with_text
from simulator.tidb.system_variables import new_server_value

TRUNCATED, DIVIDED, ALWAYS, WARNED = "truncated", "divided", "always", "warned"
"""Kinds of problems. Truncated: an error where strict mode writes rows, else a warning. Divided: a division by 0, which is
the same if ERROR_FOR_DIVISION_BY_ZERO is set. Always: an error in every statement. Warned: always a warning."""

MAX_SHOWN = 128
"""Characters of a value that an error shows (`%-.128s`)."""

MAX_WARNINGS = 64
"""Warnings that a statement keeps (tidb pkg/sessionctx/variable/tidb_vars.go, max_error_count)."""

STRICT = ("STRICT_TRANS_TABLES", "STRICT_ALL_TABLES")


class Context:
    """One execution of a statement. The defaults are those of a changefeed, which works in UTC and writes no rows.

    Every execution has a context of its own: what is constant is computed once for each context.
    """

    user = ""
    """The name of the session's user."""
    parameter = 0
    """The integer that a kept plan has in this execution."""

    def __init__(
        self,
        sql_mode: Collection[str] = ("NO_ZERO_DATE",),
        zone: str = "UTC",
        today: str = "",
        writing: bool = False,
        ignore: bool = False,
    ) -> None:
        """`writing` is true for INSERT, UPDATE and DELETE, `ignore` for a statement with IGNORE (tidb
        pkg/executor/executor.go, ResetContextOfStmt, ResetUpdateStmtCtx, ResetDeleteStmtCtx; pkg/errctx)."""
        self.execution = object()
        """What tells this execution from others. Compiled expressions outlive it, and do not hold the context itself."""
        self.zone, self.today = zone, today
        """The session's time zone, and the date of the statement in it; empty outside of statements."""
        self.zeros = ("" if "NO_ZERO_DATE" in sql_mode else "z") + ("" if "NO_ZERO_IN_DATE" in sql_mode else "p")
        """`z` if zero dates are allowed, `p` if parts of a date may be 0."""
        self.warnings: list[str] = []
        """As SHOW WARNINGS prints them: `1292 Truncated incorrect …`."""
        strict = writing and not ignore and any(mode in sql_mode for mode in STRICT)
        self.zero_parts = not strict or "NO_ZERO_IN_DATE" not in sql_mode or "NO_ZERO_DATE" not in sql_mode
        """Whether a text with a part of 0 is a date without a problem."""
        divided = not writing or "ERROR_FOR_DIVISION_BY_ZERO" in sql_mode
        self._errors = {ALWAYS, *((TRUNCATED, *((DIVIDED,) if divided else ())) if strict else ())}
        self._silent = () if divided else (DIVIDED,)

    def variable(self, name: str) -> str:
        """Return a system variable, here as a new server has it."""
        return new_server_value(name) or ""

    def problem(self, kind: str, text: str) -> None:
        """Note a problem, given its number and text: `1292 Truncated incorrect DOUBLE value: 'x'`. Raises SqlError if the
        statement takes its kind for an error."""
        if kind in self._errors:
            number, _, message = text.partition(" ")
            raise sql_error_with_text(int(number), message)
        if kind not in self._silent and len(self.warnings) < MAX_WARNINGS:
            self.warnings.append(text)
