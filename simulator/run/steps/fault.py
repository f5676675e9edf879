"""The step `fault`: an anomaly of the stream, either one of TiCDC or one that a consumer should detect.

[[step]]
fault = "restart"
back = "5s"

`simulator.faults` lists the faults and their keys. A fault takes one simulated millisecond. A fault that the
changefeed cannot show is refused before anything is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simulator.errors import UserError, did_you_mean
from simulator.faults import FAULTS
from simulator.faults.fault import TABLE_KEY, Fault
from simulator.run.plan.step import PlanContext, RunPosition, StepResult
from simulator.run.steps.kind import KeyGroup, StepKind, StepPlace, StepVariant
from simulator.run.steps.planned_faults import PLANNED
from simulator.settings import Key, to_text

KEYS: Mapping[str, Key] = {name: key for kind in FAULTS.values() for name, key in kind.keys.items()}


@dataclass(frozen=True)
class FaultStep:
    name: str
    values: Mapping[str, Any]
    """The given values, by field of their keys."""

    where: str = ""
    """The prefix of error messages."""

    def plan(self, position: RunPosition, context: PlanContext) -> tuple[RunPosition, StepResult]:
        """Add the fault at this position; raises UserError if the changefeed cannot show it."""
        fault = Fault(self.name, self.values, position.now_ms, self.where)
        why = FAULTS[self.name].refusal(self.values, context.rules)
        if why:
            raise fault.refused(why)
        table = ".".join(self.values.get(TABLE_KEY.field, ()))
        names = [f"{schema}.{name}" for schema, name in position.versions]
        if table and table not in map(str.lower, names):
            raise fault.refused(
                f"table {table}: no such table is replicated here.{did_you_mean(table, names)} There are: "
                f"{', '.join(sorted(names)[:10]) or 'none'}"
            )
        if self.name in PLANNED:
            try:
                return PLANNED[self.name](self.values, position, context)
            except UserError as error:
                raise fault.refused(str(error)) from None
        return position.passed(1), StepResult(faults=(fault,))


def to_fault(value: object) -> str:
    """Return the name of a fault; raises UserError."""
    name = to_text(value)
    if name not in FAULTS:
        raise UserError(f"there is no fault {name!r}.{did_you_mean(name, FAULTS)} Known: {', '.join(FAULTS)}")
    return name


def fault_step(name: str, given: Mapping[str, Any]) -> FaultStep:
    """Create the step from keys as in a file; raises UserError with every mistake."""
    kind, values, mistakes = FAULTS[to_fault(name)], {}, []
    for key, value in given.items():
        try:
            if key in kind.keys:
                values[kind.keys[key].field] = kind.keys[key].read(value)
            else:
                mistakes.append(_no_key(name, key))
        except UserError as error:
            mistakes.append(f"{key}: {error}")
    mistakes += _missing(name, values)
    if mistakes:
        raise UserError(*(f"fault {name}: {mistake}" for mistake in mistakes))
    return FaultStep(name, values)


def _step(name: str, values: Mapping[str, Any], place: StepPlace) -> FaultStep:
    kind = FAULTS[name]
    own = {key.field for key in kind.keys.values()}
    given = {key.field: values[key.field] for key in KEYS.values() if key.field in values}
    mistakes = [_no_key(name, key) for key, known in KEYS.items() if known.field in given.keys() - own]
    mistakes += _missing(name, given)
    if mistakes:
        raise UserError(*(f"{name}: {mistake}" for mistake in mistakes))
    return FaultStep(name, given, f"{place.file}: {place.where('fault')}")


def _no_key(name: str, key: str) -> str:
    keys = FAULTS[name].keys
    known = f"it has {', '.join(keys)}" if keys else "it has none"
    return f"{key} is no key of this fault: {known}.{did_you_mean(key, keys)}"


def _missing(name: str, values: Mapping[str, Any]) -> list[str]:
    kind = FAULTS[name]
    return [f"{key} is missing: {kind.keys[key].says}" for key in kind.needs if kind.keys[key].field not in values]


KIND = StepKind(
    to_fault,
    _step,
    (KeyGroup(KEYS, f"only a step with one of these faults has it: {', '.join(FAULTS)}"),),
    says="Something goes wrong between TiCDC and the consumer, on purpose; `\\fault` in the shell lists what.",
    type={"enum": list(FAULTS)},
    variants={name: StepVariant(kind.says, kind.keys, kind.needs) for name, kind in FAULTS.items()},
)
