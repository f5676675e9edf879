"""Registers the schemas of a run before its rows are sent, so that ids do not depend on tasks.

Schemas have the order of TiCDC: by the commit-ts of the first row that names them, that of a key before that of a value.
An error is kept until the row is encoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa

from simulator.columns.change_frame import EVENTS
from simulator.engines.tasks.messages import row_changes
from simulator.engines.tasks.task import TaskSpec
from simulator.errors import EncodeError
from simulator.ticdc.codecs import CODECS, Schema

FIRST_ROWS = pa.schema([("table", pa.int32()), ("has_value", pa.bool_()), ("commit_ts", pa.int64())])
"""The commit-ts of the first row of each physical table, apart for DELETEs, which may name no schema of values."""


def first_rows(changes: pa.RecordBatch) -> pa.RecordBatch:
    """Return FIRST_ROWS of ROW_CHANGES, or of FIRST_ROWS."""
    has_value = changes["has_value"] if "has_value" in changes.schema.names else changes["after"].is_valid()
    rows = pa.table({"table": changes["table"], "has_value": has_value, "commit_ts": changes["commit_ts"]})
    first = rows.group_by(["table", "has_value"]).aggregate([("commit_ts", "min")])
    columns = [first[name].combine_chunks() for name in ("table", "has_value", "commit_ts_min")]
    return pa.RecordBatch.from_arrays(columns, schema=FIRST_ROWS)


def with_schemas(spec: TaskSpec, first: Iterable[pa.RecordBatch]) -> TaskSpec:
    """Return the spec with the ids of the schemas that rows name, given FIRST_ROWS, and those of control events; registers
    those that are new."""
    parts = list(first)
    merged = pa.Table.from_batches(parts, FIRST_ROWS).combine_chunks().to_batches()
    rows = first_rows(merged[0]).to_pylist() if merged else []
    named = sorted({(row["commit_ts"], row["table"], kind) for row in rows for kind in (False, row["has_value"])})
    of_rows = ((ts, schema) for ts, table, of_values in named for schema in _schema(spec, table, of_values))
    placed = sorted((*of_rows, *_of_control_events(spec)), key=lambda pair: pair[0])
    return replace(spec, schemas=spec.schemas.assign(schema for _, schema in placed))


def with_schemas_of(spec: TaskSpec, named: Iterable[tuple[int, bool]]) -> TaskSpec:
    """Return the spec with the ids of schemas in this order: those of control events, and those of the number of a
    physical table, and whether it is that of its values."""
    of_rows = (schema for table, of_values in dict.fromkeys(named) for schema in _schema(spec, table, of_values))
    of_control_events = (schema for _, schema in _of_control_events(spec))
    return replace(spec, schemas=spec.schemas.assign((*of_control_events, *of_rows)))


def _schema(spec: TaskSpec, table: int, of_values: bool) -> Iterator[Schema]:
    """Yield the schema of a physical table's keys or values, if there is one."""
    schema = CODECS[spec.options.protocol].schema
    assert schema is not None, "the protocol has schemas"
    try:
        found = schema(row_changes(_no_rows(), None, table, spec), of_values, spec.options, spec.release)
    except EncodeError:
        return  # raised again where the first row is encoded
    if found is not None:
        yield found


def _of_control_events(spec: TaskSpec) -> Iterator[tuple[int, Schema]]:
    """Yield the schemas of the statements that are sent and of watermarks, each with the commit-ts of its first message."""
    codec = CODECS[spec.options.protocol]
    if codec.control_schemas is None:
        return
    for event in spec.statements:
        if codec.sends_ddl(spec.options, spec.release) and not codec.skips_ddl(event.type_code):
            for schema in codec.control_schemas(event.schema, spec.options, spec.release):
                yield event.commit_ts, schema
    if codec.has_watermarks(spec.options, spec.release):
        first = min(spec.control_events.checkpoints().tolist(), default=0)
        for schema in codec.control_schemas(None, spec.options, spec.release):
            yield first, schema


def _no_rows() -> pa.RecordBatch:
    names = ("commit_ts", "row_id", "before", "after")
    return pa.RecordBatch.from_pylist([], pa.schema([EVENTS.field(name) for name in names]))
