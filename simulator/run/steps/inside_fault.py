"""The key `fault` of a step with SQL: TiCDC restarts when it has sent some of the rows of a transaction.

[[step]]
sql = "UPDATE item SET stock = stock - 1"
fault = { kind = "restart", after-rows = 3 }
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from simulator import tso
from simulator.columns.change_frame import ints
from simulator.errors import UserError, did_you_mean
from simulator.faults import FAULTS
from simulator.faults.fault import AFTER_ROWS_KEY, BACK_KEY, Fault
from simulator.run.plan.step import StepResult
from simulator.settings import Key, table_schema, to_text
from simulator.ticdc.rules import ChangefeedRules

RESTART = "restart"

MEMBERS: Mapping[str, Key] = {
    "kind": Key("kind", to_text, {"const": RESTART}, "What goes wrong."),
    "after-rows": AFTER_ROWS_KEY,
    "back": BACK_KEY,
}
EXPECTED = '{ kind = "restart", after-rows = 3 }'


def to_inside_fault(value: object) -> Mapping[str, Any]:
    """Return the values of a restart by field; raise UserError with every mistake."""
    if not isinstance(value, dict):
        raise UserError(
            f"beside SQL expected {EXPECTED}, got {value!r}; a fault after the SQL has a [[step]] of its own"
        )
    values, mistakes = {}, []
    for key, member in value.items():
        try:
            if key not in MEMBERS:
                raise UserError(f"unknown key.{did_you_mean(key, MEMBERS)} Known: {', '.join(MEMBERS)}")
            values[MEMBERS[key].field] = MEMBERS[key].read(member)
        except UserError as error:
            mistakes.append(f"{key}: {error}")
    if "kind" in values and values["kind"] != RESTART:
        mistakes.append(f"kind: expected {RESTART!r}, the one that may come among rows, got {values['kind']!r}")
    mistakes += (f"{key} is missing: {EXPECTED} is expected" for key in ("kind", "after-rows") if key not in value)
    if mistakes:
        raise UserError(*mistakes)
    return {field: value for field, value in values.items() if field != "kind"}


INSIDE_KEY = Key(
    "inside",
    to_inside_fault,
    table_schema({key: {**each.type, "description": each.says} for key, each in MEMBERS.items()}, "kind", "after-rows"),
    "TiCDC restarts when it has sent that many rows of the step, in the middle of a transaction.",
)


def with_fault(result: StepResult, inside: Mapping[str, Any], rules: ChangefeedRules, where: str) -> StepResult:
    """Return the result of a step with its fault; raise UserError if it changes fewer rows, or for a sink that has none."""
    commit_ts = np.sort(np.concatenate([np.zeros(0, np.int64), *(ints(rows, "commit_ts") for rows in result.rows)]))
    rows = inside[AFTER_ROWS_KEY.field]
    at_ts = int(commit_ts[min(rows, len(commit_ts)) - 1]) if len(commit_ts) else 0
    among = rows - int(np.searchsorted(commit_ts, at_ts, "left"))
    fault = Fault(RESTART, {**inside, AFTER_ROWS_KEY.field: among}, tso.physical(at_ts), where)
    why = FAULTS[RESTART].refusal(fault.values, rules)
    if not why and rows > len(commit_ts):
        accepted = f"1 to {len(commit_ts)}" if len(commit_ts) else "a step that changes rows of a replicated table"
        why = f"after-rows: the step changes {len(commit_ts)} rows, got {rows}; accepted: {accepted}"
    if why:
        raise fault.refused(why)
    return replace(result, faults=(*result.faults, fault))
