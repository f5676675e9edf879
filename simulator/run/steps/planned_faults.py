"""Faults that already change the plan: a topic gets more partitions, a row's message gets a certain size.

A row is changed in TiDB itself, so that the stream still leads to TiDB's rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from simulator import tso
from simulator.columns.cells import lengths
from simulator.errors import DdlError, SqlError, UserError
from simulator.faults import planned
from simulator.faults.fault import TABLE_KEY
from simulator.quantities import counted
from simulator.run.plan.step import PlanContext, RunPosition, StepResult
from simulator.run.steps.sql import execute_statement
from simulator.ticdc import dispatch
from simulator.ticdc.codecs import CODECS, RowChanges
from simulator.ticdc.dispatch import TopicGrowth
from simulator.tidb.engine.sessions.outcome import FailedStatement
from simulator.tidb.restore.names import quote_name

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
    topic = values.get(planned.TOPIC_KEY.field) or context.rules.changefeed.topic
    growth = TopicGrowth(topic, tso.compose(then.now_ms), values[planned.PARTITIONS_KEY.field])
    return then, StepResult(grown=(growth,))


def resize_message(values: Values, position: RunPosition, context: PlanContext) -> tuple[RunPosition, StepResult]:
    """Fill a column of the table's first matching row until its message has max-message-bytes plus the extra bytes.

    Raises UserError if no text leads to that size.
    """
    table, column = ".".join(values[TABLE_KEY.field]), values[planned.COLUMN_KEY.field]
    where = values.get(planned.WHERE_KEY.field, "")
    wanted = context.rules.changefeed.codec.max_message_bytes + values.get(planned.EXTRA_KEY.field, 0)
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
