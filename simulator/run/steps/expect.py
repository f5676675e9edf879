"""The step `expect`: the events that the steps since the last `expect` must send, and the rows that must exist.

[[step]]
expect = ["INSERT shop.item id=1 stock=5", "UPDATE shop.item id=1 stock: 5→4"]

[[step]]
[step.expect]
counts = { "shop.item" = { insert = 1, delete = 0 }, ddl = 2 }
rows = { "shop.item" = ["id=1 stock=4"] }
decision = "not sent: SHARD_ROW_ID_BITS"
sql = "INSERT INTO shop.item VALUES (1, 1)"
error = 1062

A message counts for the step of its last row. An expectation takes no simulated time and changes nothing; it is
checked before anything is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from simulator.errors import DdlError, SqlError, UserError, did_you_mean
from simulator.run.plan.step import Expectation, PlanContext, PlannedExpectation, RunPosition, StepResult
from simulator.run.steps.execution import execute_statement
from simulator.run.steps.kind import StepKind, StepPlace
from simulator.settings import TEXT, TEXTS, to_text
from simulator.tidb.engine import FailedStatement
from simulator.tidb.engine.execution import Upstream
from simulator.tidb.errors import error_number

KINDS = ("insert", "update", "delete")
TOTALS = ("ddl", "messages")
DECISIONS = ("sent", "not sent")


@dataclass(frozen=True)
class ExpectStep:
    expectation: Expectation
    where: str = "expect"

    def plan(self, position: RunPosition, context: PlanContext) -> tuple[RunPosition, StepResult]:
        """Add the expectation at this position."""
        raised = _raised(self.expectation.sql, position, context) if self.expectation.sql else None
        expected = PlannedExpectation(self.expectation, self.where, position.now_ms, position.state, raised)
        return position, StepResult(expected=(expected,))


def _raised(sql: str, position: RunPosition, context: PlanContext) -> tuple[int, str] | None:
    """Return the error of a statement that is run on a copy of the state; None if it succeeds."""
    if isinstance(position.state, Upstream):
        position = replace(position, state=position.state.copy())
    try:
        outcome = execute_statement(sql, position, replace(context, versions=deepcopy(context.versions)))[2]
    except (SqlError, DdlError) as error:
        return error_number(error), str(error)
    return (error_number(outcome.error), str(outcome.error)) if isinstance(outcome, FailedStatement) else None


def to_expectation(value: object) -> Expectation:
    """Parse a list of events, or a table of expectations; raises UserError with every mistake."""
    if isinstance(value, list):
        return Expectation(_texts(value))
    if not isinstance(value, dict) or not value:
        raise UserError(f"expected a list of events, or a table with {', '.join(READERS)}; got {value!r}")
    mistakes: list[str] = []
    fields: dict[str, Any] = {}
    for key, content in value.items():
        if key not in READERS:
            mistakes.append(f"unknown key {key!r}.{did_you_mean(key, READERS)} Known: {', '.join(READERS)}")
            continue
        field, read = READERS[key]
        try:
            fields[field] = read(content)
        except UserError as error:
            mistakes += (f"{key}: {mistake}" for mistake in error.args)
    if ("sql" in value) != ("error" in value):
        mistakes.append("sql and error go together: a statement, and the error that it must raise")
    if mistakes:
        raise UserError(*mistakes)
    return Expectation(**fields)


def _error(value: object) -> tuple[int | None, str]:
    """Parse a number, or a table of a number and words of the text."""
    defaults = {"number": None, "text": ""}
    table = value if isinstance(value, dict) else {"number": value}
    number, text = ({**defaults, **table}[key] for key in defaults)
    if not table or not defaults.keys() >= table.keys() or not isinstance(text, str):
        raise UserError(f"expected 1062, or such as {{number = 1062, text = 'Duplicate entry'}}; got {value!r}")
    return None if "number" not in table else _number("number", number), text


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise UserError(f"expected a list of texts such as ['INSERT shop.item id=1 stock=5'], got {value!r}")
    return tuple(" ".join(text.split()) for text in value)


def _decisions(value: object) -> tuple[str, ...]:
    decisions = _texts([value] if isinstance(value, str) else value)
    for text in decisions:
        if text.partition(":")[0] not in DECISIONS:
            raise UserError(f"expected 'sent', 'not sent' or 'not sent: some words of why', got {text!r}")
    return decisions


def _counts(value: object) -> Mapping[str, int | Mapping[str, int]]:
    if not isinstance(value, dict):
        raise UserError(f"expected a table such as {{'shop.item' = {{insert = 1}}, ddl = 2}}, got {value!r}")
    return {name: _count(name, given) for name, given in value.items()}


def _count(name: str, value: object) -> int | Mapping[str, int]:
    if name not in TOTALS and "." not in name:
        raise UserError(f"{name!r} is no schema.table, and none of {', '.join(TOTALS)}.{did_you_mean(name, TOTALS)}")
    if isinstance(value, dict) and name not in TOTALS:
        for kind in value:
            if kind not in KINDS:
                raise UserError(f"{name}: unknown kind {kind!r}.{did_you_mean(kind, KINDS)} Known: {', '.join(KINDS)}")
        return {kind: _number(f"{name}: {kind}", count) for kind, count in value.items()}
    return _number(name, value)


def _number(what: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise UserError(f"{what}: expected a whole number, got {value!r}")
    return value


def _rows(value: object) -> Mapping[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise UserError(f"expected a table such as {{'shop.item' = ['id=1 stock=5']}}, got {value!r}")
    for name in value:
        if "." not in name:
            raise UserError(f"{name!r} is no schema.table")
    return {name: _texts(rows) for name, rows in value.items()}


READERS = {
    "events": ("events", _texts),
    "counts": ("counts", _counts),
    "rows": ("rows", _rows),
    "decision": ("decisions", _decisions),
    "sql": ("sql", to_text),
    "error": ("error", _error),
}
"""By key: the field of Expectation, and the parser of its value."""


def _step(expectation: Expectation, _: Mapping[str, Any], place: StepPlace) -> ExpectStep:
    return ExpectStep(expectation, f"{place.file}: {place.where('expect')}".removesuffix(": "))


COUNT: Mapping[str, Any] = {"type": "integer", "minimum": 0}
KIND = StepKind(
    to_expectation,
    _step,
    says="What the steps since the last expect must have sent, and what rows there must be. Checked before anything is "
    "sent.",
    type={
        "oneOf": [
            TEXTS,
            {
                "type": "object",
                "additionalProperties": False,
                "minProperties": 1,
                "properties": {
                    "events": {**TEXTS, "description": "Rows and statements as `ticdc-sim inspect` writes them."},
                    "counts": {
                        "type": "object",
                        "description": "By schema.table: insert, update, delete, or their sum; and ddl, messages.",
                        "additionalProperties": {
                            "oneOf": [
                                COUNT,
                                {
                                    "type": "object",
                                    "additionalProperties": False,
                                    "properties": dict.fromkeys(KINDS, COUNT),
                                },
                            ]
                        },
                    },
                    "rows": {
                        "type": "object",
                        "description": "By schema.table: every row, as 'id=1 stock=5'.",
                        "additionalProperties": TEXTS,
                    },
                    "sql": {**TEXT, "description": "A statement that must fail, and has no effect."},
                    "error": {
                        "description": "The number of its error, and some words of its text.",
                        "oneOf": [
                            COUNT,
                            {
                                "type": "object",
                                "additionalProperties": False,
                                "properties": {"number": COUNT, "text": TEXT},
                            },
                        ],
                    },
                    "decision": {
                        "oneOf": [TEXT, TEXTS],
                        "description": "Of each statement: sent, not sent, or 'not sent: some words of why'.",
                    },
                },
            },
        ]
    },
)
