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
    """Return the spec with the ids of the schemas that rows name, given FIRST_ROWS; registers those that are new."""
    parts = list(first)
    merged = pa.Table.from_batches(parts, FIRST_ROWS).combine_chunks().to_batches()
    rows = first_rows(merged[0]).to_pylist() if merged else []
    named = sorted({(row["commit_ts"], row["table"], kind) for row in rows for kind in (False, row["has_value"])})
    return with_schemas_of(spec, ((table, of_values) for _, table, of_values in named))


def with_schemas_of(spec: TaskSpec, named: Iterable[tuple[int, bool]]) -> TaskSpec:
    """Return the spec with the ids of schemas in this order: the number of a physical table, and whether it is that of
    its values."""
    return replace(spec, schemas=spec.schemas.assign(_schemas(spec, dict.fromkeys(named))))


def _schemas(spec: TaskSpec, named: Iterable[tuple[int, bool]]) -> Iterator[Schema]:
    schema = CODECS[spec.options.protocol].schema
    assert schema is not None, "the protocol has schemas"
    for table, of_values in named:
        try:
            found = schema(row_changes(_no_rows(), None, table, spec), of_values, spec.options, spec.release)
        except EncodeError:
            continue  # raised again where the first row is encoded
        if found is not None:
            yield found


def _no_rows() -> pa.RecordBatch:
    names = ("commit_ts", "row_id", "before", "after")
    return pa.RecordBatch.from_pylist([], pa.schema([EVENTS.field(name) for name in names]))
