"""The `[[ddl]]` of a plan file: statements at intervals, and statements of one's own at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.errors import did_you_mean
from simulator.load.plan.definitions import TableDefinition, referenced_tables
from simulator.load.plan.load_plan import STATEMENT_KINDS, TRUNCATE, DdlSchedule, TimedStatement
from simulator.load.plan.plan_keys import DDL
from simulator.run.steps.kind import line_of, read_keys
from simulator.toml_lines import TableLines, key_lines

Entries = tuple[tuple[DdlSchedule, ...], tuple[TimedStatement, ...]]

TIMED = ("at", "sql")


def read_ddl(
    members: Sequence[dict[str, Any]], text: str, ordered: Sequence[TableDefinition] | None, mistakes: list[str]
) -> Entries:
    """Read each `[[ddl]]`. With `ordered` None, whether their tables exist is not checked."""
    known = key_lines(text, "ddl")[1]
    lines = known if len(known) == len(members) else [None] * len(members)
    schedules: list[DdlSchedule] = []
    timed: list[TimedStatement] = []
    for number, (entry, its_lines) in enumerate(zip(members, lines, strict=True), 1):

        def where(key: str = "", its_lines: TableLines | None = its_lines, number: int = number) -> str:
            return f"{line_of(its_lines, key)}ddl {number}: "

        before = len(mistakes)
        values = read_keys(entry, DDL, where, mistakes)
        if any(key in entry for key in TIMED):
            mistakes += (f"{where(key)}{key}: a statement at a time has at and sql alone" for key in _others(entry))
            mistakes += (f"{where()}{key} is expected beside {_given(entry)}" for key in TIMED if key not in entry)
            if len(mistakes) == before:
                timed += (TimedStatement(values["at_ms"], text, where("sql")) for text in values["sql"])
            continue
        if "every" not in entry:
            mistakes.append(f"{where()}every is expected, such as every = '5m', or at = '7s' with sql")
        if "table" in values and ordered is not None:
            mistake = _find_table(values, ordered)
            if mistake:
                mistakes.append(f"{where('table')}{mistake}")
        if len(mistakes) == before and ordered is not None:
            schedules.append(DdlSchedule(**{"kinds": STATEMENT_KINDS, **values}))
    return tuple(schedules), tuple(sorted(timed, key=lambda each: each.at_ms))


def _others(entry: Mapping[str, Any]) -> list[str]:
    return [key for key in entry if key in DDL and key not in TIMED]


def _given(entry: Mapping[str, Any]) -> str:
    return next(f"{key} = {entry[key]!r}" if key == "at" else key for key in TIMED if key in entry)


def _find_table(values: dict[str, Any], ordered: Sequence[TableDefinition]) -> str:
    """Replace the table's name by its index; return the mistake, which begins with its key."""
    named = {definition.name.lower(): place for place, definition in enumerate(ordered)}
    if values["table"].lower() not in named:
        meant = did_you_mean(values["table"], named)
        return f"table: the plan has no table {values['table']!r}.{meant}"
    place = values["table"] = named[values["table"].lower()]
    child = referenced_tables(ordered).get(ordered[place].place)
    if child is not None and TRUNCATE in values.get("kinds", STATEMENT_KINDS):
        return f"kinds: {ordered[place].name} cannot be truncated, as rows of {child.name} refer to its rows"
    return ""
