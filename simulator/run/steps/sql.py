"""The steps `sql` and `sql-file`: statements of one MySQL session.

Each statement or transaction commits in a millisecond of its own. Errors are raised before anything is sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from simulator.errors import DdlError, SqlError, UserError, printable, shortened
from simulator.files import location_beside, read_content
from simulator.run.plan.step import ChangefeedStopped, PlanContext, RunPosition, StepResult, joined
from simulator.run.steps.execution import READ, execute_statement, read_statement, with_upstream
from simulator.run.steps.fault import INSIDE_KEY, with_fault
from simulator.run.steps.kind import KeyGroup, StepKind, StepPlace
from simulator.settings import CHARSETS, DURATION, Key, to_duration_ms, to_path, to_text
from simulator.sources.snapshots.csv_text import text_format
from simulator.sources.snapshots.quoting import UTF8, text_of
from simulator.tidb.engine import FailedStatement
from simulator.tidb.engine.execution import Upstream
from simulator.tidb.engine.settings import parse_sql_mode
from simulator.tidb.errors import error_number
from simulator.tidb.parser.script import split_script
from simulator.tidb.syntax import statements as syntax
from simulator.tidb.syntax.expressions import Literal
from simulator.tidb.syntax.queries import RowStatement
from simulator.tidb.syntax.statements import ScriptStatement, SessionStatement, SqlStatement
from simulator.tidb.system_variables import READING_MODES

BATCHED = 1_000
"""Statements whose rows become one batch."""

WORDS = 8
"""Words of a failing statement in its error message."""

SQL_MODE = re.compile("sql_mode", re.IGNORECASE)


@dataclass(frozen=True)
class SqlStep:
    statements: tuple[ScriptStatement, ...]
    place: str = ""
    """The name of the text in error messages, before the line."""

    line: int = 1
    """The line of the file on which the text begins."""

    over_ms: int | None = None
    """The duration of all transactions together; None for a millisecond each."""

    inside: Mapping[str, Any] | None = None
    """The values of a fault among its rows."""

    where: str = ""
    """The prefix of messages about that fault."""

    def plan(self, position: RunPosition, context: PlanContext) -> tuple[RunPosition, StepResult]:
        """Run the script; raises UserError, with file and line, for the first statement with an unexpected outcome, and
        ChangefeedStopped for one at which TiCDC stops."""
        position = with_upstream(position, context)
        over_ms = self.over_ms or context.over_ms
        start_ms, used_slots = position.now_ms, 0
        slots = _slots(self.statements) if over_ms else 0
        wholes, parts = list[StepResult](), list[StepResult]()
        for statement in self.statements:
            if over_ms and slots:
                position = position.not_before(start_ms + min(used_slots, slots) * over_ms // slots)
            then = position.now_ms
            try:
                position, result = self._play(statement, position, context)
            except ChangefeedStopped as stop:
                assert isinstance(position.state, Upstream) and isinstance(stop.behind.state, Upstream)
                committed = replace(position.state, ts=stop.behind.state.ts - 1, writes=None)
                last = replace(position, now_ms=stop.last.now_ms, state=committed)
                raise ChangefeedStopped(stop, stop.behind, joined([*wholes, *parts, stop.result]), last) from None
            used_slots += position.now_ms > then
            parts.append(result)
            if len(parts) == BATCHED:
                wholes.append(joined(parts))
                parts.clear()
        position, notes = self._disconnect(position)
        if over_ms:
            position = position.not_before(start_ms + over_ms)
        result = replace(joined([*wholes, *parts]), notes=notes)
        return position, with_fault(result, self.inside, context.rules, self.where) if self.inside else result

    def _play(
        self, statement: ScriptStatement, position: RunPosition, context: PlanContext
    ) -> tuple[RunPosition, StepResult]:
        where = f"{self.place}:{self.line + statement.line - 1}" if self.place else f"line {statement.line}"
        try:
            position, result, outcome = execute_statement(statement.text, position, context, where)
        except ChangefeedStopped as stop:
            words = _first_words(statement.text)
            text = f"{where}: {words}: {stop}: TiDB executes it, and the changefeed stops"
            raise ChangefeedStopped(DdlError(text), stop.behind, stop.result) from None
        except (SqlError, DdlError) as refused:
            result, error = StepResult(), refused
        else:
            if not isinstance(outcome, FailedStatement):
                return position, self._check_success(statement, where, result)
            error = outcome.error
        number = error_number(error)
        if statement.fails is not None and statement.fails == number:
            return position, result
        raise UserError(f"{where}: {_first_words(statement.text)}: {error}{_hint(statement, number)}") from None

    def _check_success(self, statement: ScriptStatement, where: str, result: StepResult) -> StepResult:
        """Return the result; raises UserError if the statement should have failed."""
        if statement.fails is not None:
            raise UserError(
                f"{where}: {_first_words(statement.text)}: it succeeds, where the comment `-- fails {statement.fails}` "
                f"before it expects error {statement.fails}"
            )
        return result

    def _disconnect(self, position: RunPosition) -> tuple[RunPosition, tuple[str, ...]]:
        """Roll an open transaction back, as TiDB does when a client disconnects."""
        upstream = position.state
        assert isinstance(upstream, Upstream)
        if upstream.writes is None:
            return position, ()
        note = f"{self.place or 'sql'}: the last transaction is left open, so it is rolled back"
        return replace(position, state=upstream.rolled_back()), (note,) * bool(upstream.writes)


def _slots(statements: Sequence[ScriptStatement]) -> int:
    """Return an upper bound of the number of transactions of a script, each of which takes a millisecond."""
    slots, inside = 0, False
    for statement in _read_each(each.text for each in statements if each.fails is None):
        if isinstance(statement, syntax.Begin):
            slots, inside = slots + inside, True
        elif isinstance(statement, syntax.Commit):
            slots, inside = slots + inside, statement.chain
        elif isinstance(statement, syntax.Rollback):
            inside = inside and bool(statement.savepoint) or statement.chain
        elif statement is not None and not isinstance(statement, SessionStatement | RowStatement):
            slots, inside = slots + 1, False
        elif isinstance(statement, RowStatement | syntax.Execute):
            slots += not inside
    return slots


def _read_each(texts: Iterable[str]) -> Iterator[SqlStatement | None]:
    """Yield the statements, each read by the sql_mode that a literal sets before it; without those that are no SQL."""
    modes = frozenset[str]()
    for text in texts:
        try:
            statement = read_statement(text, modes)
            for each in statement.settings if isinstance(statement, syntax.SetVariables) else ():
                if each.name == "sql_mode" and each.scope != "global":
                    value = each.value.text if isinstance(each.value, Literal) else ""
                    modes = frozenset(parse_sql_mode(value)) & READING_MODES
            yield statement
        except (SqlError, DdlError):
            continue


def _first_words(text: str) -> str:
    words = text.split()
    return printable(shortened(" ".join(words[:WORDS]) + (" …" if len(words) > WORDS else "")))


def _hint(statement: ScriptStatement, number: int) -> str:
    if statement.fails is not None:
        return f" (expected was error {statement.fails})"
    return f" (if it is meant to fail, write the comment line `-- fails {number}` before it)"


def statements_of(text: str, place: str, line: int = 1) -> tuple[ScriptStatement, ...]:
    """Split a script; raises UserError with its syntax errors, after `place` and line. Statements behind those that are kept
    are checked when they are played."""
    try:
        statements = split_script(text)
    except SqlError as error:
        raise UserError(f"{place}: {error}") from None
    if not statements:
        raise UserError(f"{place}: it has no statement")
    if SQL_MODE.search(text):
        return statements  # what a text says depends on the mode that is set when it is played
    every = (mistake for statement in statements[:READ] for mistake in _mistakes(statement, place, line))
    mistakes = list(islice(every, MISTAKES + 1))
    if mistakes:
        more = [f"{place}: these are the first {MISTAKES} mistakes, and there are more"] * (len(mistakes) > MISTAKES)
        raise UserError(*mistakes[:MISTAKES], *more)
    return statements


MISTAKES = 20
"""Syntax errors of a script that are told."""


def _mistakes(statement: ScriptStatement, place: str, line: int) -> Iterator[str]:
    try:
        read_statement(statement.text, frozenset())
    except (SqlError, DdlError) as error:
        if error_number(error) != statement.fails:
            words = _first_words(statement.text)
            yield f"{place}:{line + statement.line - 1}: {words}: {error}"


def of_file(file: Path, over_ms: int | None = None, charset: str = UTF8) -> SqlStep:
    """Return the step of a file; raises UserError if it is unreadable, or no SQL."""
    if file.suffix.lower() == ".toml":
        raise UserError(f"{file} is no SQL: a file of SQL is accepted, and scenario files do not include each other")
    return of_script(text_of(read_content(file), charset, str(file)), str(file), over_ms)


def of_script(text: str, place: str, over_ms: int | None = None) -> SqlStep:
    """Return the step of a text; raises UserError if it is no SQL."""
    return SqlStep(statements_of(text, place), place, 1, over_ms)


def _of_text(text: str, values: Mapping[str, Any], place: StepPlace) -> SqlStep:
    line = place.line_of_text("sql")
    step = SqlStep(statements_of(text, str(place.file), line), str(place.file), line, values.get("over_ms"))
    return _with_inside(step, values, place)


def _of_path(path: str, values: Mapping[str, Any], place: StepPlace) -> SqlStep:
    return _with_inside(
        of_file(location_beside(place.file, path), values.get("over_ms"), text_format(values.get("charset")).charset),
        values,
        place,
    )


def _with_inside(step: SqlStep, values: Mapping[str, Any], place: StepPlace) -> SqlStep:
    return replace(step, inside=values.get(INSIDE_KEY.field), where=f"{place.file}: {place.where('fault')}")


SPREAD = KeyGroup(
    {"over": Key("over_ms", to_duration_ms, DURATION, "Simulated time over which its transactions are spread.")},
    "only a step in which rows change is spread over time",
    first=True,
)

INSIDE = KeyGroup({"fault": INSIDE_KEY}, "only a step with SQL has a fault among its rows", first=True)

TEXT_KIND = StepKind(
    to_text,
    _of_text,
    (SPREAD, INSIDE),
    True,
    True,
    True,
    "SQL, as a MySQL client would send it. The comment line `-- fails 1062` says that the next statement must fail.",
)
CHARSET = KeyGroup(
    {"charset": Key("charset", to_text, {"enum": list(CHARSETS)}, "The character set of the file.")},
    "only a snapshot and a file of SQL have a character set",
    first=True,
)

FILE_KIND = StepKind(
    to_path,
    _of_path,
    (SPREAD, INSIDE, CHARSET),
    True,
    True,
    True,
    "A file of SQL, as in `sql`; its path is relative to this file.",
)
