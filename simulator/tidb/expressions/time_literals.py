"""Literals of time, whose text is checked before anything is evaluated (tidb pkg/expression/builtin_time.go:
dateLiteralFunctionClass, timeLiteralFunctionClass, timestampLiteralFunctionClass)."""

from __future__ import annotations

import re
from typing import Any

from simulator.tidb.errors import sql_error_with_text
from simulator.tidb.expressions.context import ALWAYS, Context
from simulator.tidb.expressions.expression import Expression, Row, fixed
from simulator.tidb.functions.time_conversions import no_moment, parse_text
from simulator.tidb.values import spellings

DATE = r"0*\d{1,4}([^\d]0*\d{1,2}){2}"
PATTERNS = {
    "date": re.compile(rf"\s*({DATE}|\d{{2,4}}(\d{{2}}){{2}})\s*", re.ASCII),
    "time": re.compile(r"\s*-?((\d{1,2}\s+)?0*\d{0,3}(:0*\d{1,2}){0,2}|\d{1,7})?(\.\d*)?\s*", re.ASCII),
    "timestamp": re.compile(rf"\s*{DATE}\s+(0*\d{{0,2}}([^\d]0*\d{{1,2}}){{2}})?(\.\d*)?\s*", re.ASCII),
}


def time_literal(kind: str, text: str) -> Expression:
    """Return the value of a literal: `date`, `time` or `timestamp`. Raises SqlError 1292."""
    if not PATTERNS[kind].fullmatch(text):
        name = "datetime" if kind == "timestamp" else kind
        raise sql_error_with_text(1292, f"Incorrect {name} value: '{text}'")
    digits = 0 if kind == "date" else min(len(text.partition(".")[2].rstrip()), 6)
    if kind == "time":
        duration = spellings.duration(text, 6)
        if duration is None:
            raise sql_error_with_text(1292, f"Truncated incorrect time value: '{text}'")
        return Expression(fixed(duration), "time", scale=digits, is_constant=True)
    moment = parse_text(text)
    if moment is None:
        problem = no_moment(text, text)
        raise sql_error_with_text(problem.number, problem.text)
    if kind == "timestamp":
        return Expression(fixed(moment), "datetime", scale=digits, is_constant=True)
    return _date(moment)


def _date(moment: str) -> Expression:
    shown = moment[:10]
    needs = "" if "-00" not in shown else "z" if shown == "0000-00-00" else "p"
    moment = f"{shown} 00:00:00.000000"
    if not needs:
        return Expression(fixed(moment), "date", is_constant=True)

    def evaluate(row: Row, context: Context) -> Any:
        if needs not in context.zeros:
            context.problem(ALWAYS, f"1292 Incorrect date value: '{shown}'")
        return moment

    return Expression(evaluate, "date", is_constant=True)
