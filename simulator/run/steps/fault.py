"""The step `fault`: an anomaly of the stream, either one of TiCDC or one that a consumer should detect.

    [[step]]
    fault = "restart"
    back = "5s"

`simulator.faults` lists the faults and their keys. A fault takes one simulated millisecond. A fault that the
changefeed cannot show is refused before anything is sent. Two of them change the plan itself: a topic gets more
partitions, and a row is changed in TiDB so that its message gets a certain size. Beside SQL the key `fault` says that
TiCDC restarts when it has sent some of the rows of a transaction:

    [[step]]
    sql = "UPDATE item SET stock = stock - 1"
    fault = { kind = "restart", after-rows = 3 }
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from simulator import tso
from simulator.columns.cells import lengths
from simulator.columns.change_frame import ints
from simulator.errors import DdlError, SqlError, UserError, did_you_mean
from simulator.faults import FAULTS, kind
from simulator.faults.fault import AFTER_ROWS_KEY, BACK_KEY, TABLE_KEY, Fault
from simulator.limits import counted
from simulator.run.plan.step import PlanContext, RunPosition, StepResult
from simulator.run.steps.execution import execute_statement
from simulator.run.steps.kind import KeyGroup, StepKind, StepPlace, StepVariant
from simulator.settings import Key, table_schema, to_text
from simulator.ticdc import dispatch
from simulator.ticdc.codecs import CODECS, RowChanges
from simulator.ticdc.dispatch.destinations import TopicGrowth
from simulator.ticdc.rules import ChangefeedRules
from simulator.tidb.engine import FailedStatement
from simulator.tidb.restore import quote_name

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
    mistakes += _missing(name, {kind.keys[key].field for key in given if key in kind.keys})
    if mistakes:
        raise UserError(*(f"fault {name}: {mistake}" for mistake in mistakes))
    return FaultStep(name, values)


def _step(name: str, values: Mapping[str, Any], place: StepPlace) -> FaultStep:
    kind = FAULTS[name]
    own = {key.field for key in kind.keys.values()}
    given = {key.field: values[key.field] for key in KEYS.values() if key.field in values}
    mistakes = [_no_key(name, key) for key, known in KEYS.items() if known.field in given.keys() - own]
    mistakes += _missing(name, given.keys())
    if mistakes:
        raise UserError(*(f"{name}: {mistake}" for mistake in mistakes))
    return FaultStep(name, given, f"{place.file}: {place.where('fault')}")


def _no_key(name: str, key: str) -> str:
    keys = FAULTS[name].keys
    known = f"it has {', '.join(keys)}" if keys else "it has none"
    return f"{key} is no key of this fault: {known}.{did_you_mean(key, keys)}"


def _missing(name: str, given: Set[str]) -> list[str]:
    """Return a mistake for each required key whose field is not given."""
    kind = FAULTS[name]
    return [f"{key} is missing: {kind.keys[key].says}" for key in kind.needs if kind.keys[key].field not in given]


KIND = StepKind(
    to_fault,
    _step,
    (KeyGroup(KEYS, f"only a step with one of these faults has it: {', '.join(FAULTS)}"),),
    says="Something goes wrong between TiCDC and the consumer, on purpose; `\\fault` in the shell lists what.",
    type={"enum": list(FAULTS)},
    variants={name: StepVariant(kind.says, kind.keys, kind.needs) for name, kind in FAULTS.items()},
)


TRIES = 12
FIRST = 30
"""Characters of the first attempt."""

UNLIMITED = 1 << 40
"""A max-message-bytes that no message exceeds."""

Values = Mapping[str, Any]


def grow_topic(values: Values, position: RunPosition, context: PlanContext) -> tuple[RunPosition, StepResult]:
    """Give a topic more partitions from a watermark on.

    That watermark is the first one sent to all of them. Rows below it are hashed over the old partitions, rows above it
    over all.
    """
    then = position.passed(1)
    topic = values.get(kind.TOPIC_KEY.field) or context.rules.changefeed.topic
    growth = TopicGrowth(topic, tso.compose(then.now_ms), values[kind.PARTITIONS_KEY.field])
    return then, StepResult(grown=(growth,))


def resize_message(values: Values, position: RunPosition, context: PlanContext) -> tuple[RunPosition, StepResult]:
    """Fill a column of the table's first matching row until its message has max-message-bytes plus the extra bytes.

    Raises UserError if no text leads to that size.
    """
    table, column = ".".join(values[TABLE_KEY.field]), values[kind.COLUMN_KEY.field]
    where = values.get(kind.WHERE_KEY.field, "")
    wanted = context.rules.changefeed.codec.max_message_bytes + values.get(kind.EXTRA_KEY.field, 0)
    length, sizes = FIRST, dict[int, int]()
    while length not in sizes and len(sizes) < TRIES:
        then, result = _update_column(table, column, length, where, position, context)
        sizes[length] = _size(result.rows, context, f"{table}.{column}")
        if sizes[length] == wanted:
            return then, result
        length = _next_length(sizes, wanted)
    tried = sorted(sizes, key=lambda length: abs(sizes[length] - wanted))[:2]
    sizes_tried = " and ".join(f"{sizes[length]} with {counted(length, 'character')}" for length in sorted(tried))
    raise UserError(
        f"no text in {column} of {table} makes a row's message {wanted} bytes long: it has {sizes_tried}; "
        "another column may do, or another max-message-bytes"
    )


def _next_length(sizes: Mapping[int, int], wanted: int) -> int:
    """Return the next length to try, by linear extrapolation of the last two."""
    length, size = list(sizes.items())[-1]
    if len(sizes) == 1:
        return max(1, length + wanted - size)
    before, former = list(sizes.items())[-2]
    return max(1, length + round((wanted - size) * (length - before) / ((size - former) or 1)))


def _update_column(
    table: str, column: str, length: int, where: str, position: RunPosition, context: PlanContext
) -> tuple[RunPosition, StepResult]:
    name = ".".join(map(quote_name, table.split(".", 1)))
    text = f"UPDATE {name} SET {quote_name(column)} = REPEAT('x', {length}){f' WHERE {where}' if where else ''} LIMIT 1"
    try:
        then, result, outcome = execute_statement(text, position, context)
    except (SqlError, DdlError) as error:
        raise _unfit_column(column, error) from None
    if isinstance(outcome, FailedStatement):
        raise _unfit_column(column, outcome.error)
    return then, result


def _unfit_column(column: str, error: Exception) -> UserError:
    return UserError(f"{error}; column is {column}: one that takes so long a text is accepted")


def _size(rows: tuple[pa.RecordBatch, ...], context: PlanContext, column: str) -> int:
    """Return the bytes of the only row's message, as TiCDC counts them."""
    if not rows:
        raise UserError(f"there is no row to be changed by {column}, or none that the changefeed sends at once")
    changes = rows[0]
    stored = context.versions.tables[changes["table"][0].as_py()]
    to = dispatch.route(context.rules.router, stored.table)
    row = RowChanges(
        dispatch.sent_table(to, stored.table),
        stored.partition_id,
        changes["commit_ts"],
        changes["row_id"],
        changes["before"],
        changes["after"],
        to.selected,
        stored.table_id,
    )
    release = context.rules.release
    options = context.rules.changefeed.codec
    codec, large = CODECS[options.protocol], replace(options, max_message_bytes=UNLIMITED)
    framed = codec.frame(codec.encode(row, large, release), np.zeros(1, np.int64), large, release)
    keys = 0 if framed.keys is None else int(lengths(framed.keys)[0])
    return keys + int(lengths(framed.values)[0]) + codec.sizes(options, release).record_overhead


PLANNED: Mapping[str, Callable[[Values, RunPosition, PlanContext], tuple[RunPosition, StepResult]]] = {
    "add-partitions": grow_topic,
    "message-size": resize_message,
}
"""By their names in FAULTS."""


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
