"""Vectors of event filters: settings, statements, row changes, names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import functions as F

from simulator import spark as spark_door
from simulator.changefeed.model import EventFilter
from simulator.ddl.actions import SCHEMA_ACTIONS
from simulator.ddl.catalog import catalog
from simulator.ddl.classify import SEND, View, passing
from simulator.ddl.evolve import applied
from simulator.ddl.jobs_shape import Job
from simulator.ddl.read import read_statement
from simulator.errors import ChangefeedError, DdlError
from simulator.filters import event_types, replication
from simulator.filters.conditions import ignored, looks, texts
from simulator.filters.events import EventFilters, event_filters, ignoring_ddl, ignoring_row
from simulator.filters.replication import Replication
from simulator.filters.rows import verify
from simulator.schema import parse
from simulator.schema.keys import visible_columns
from simulator.schema.syntax import TableName
from simulator.schema.table import Table
from vector_codecs import Json
from vector_files import Vector

CODES = {"CDC:ErrExpressionParseFailed": "CDC:ErrInvalidFilterExpression"}
"""Where a vector calls an error by its variable in Go: the code that users see."""


def check_event_filter(vector: Vector) -> None:
    """A vector of `facts.event_filter`."""
    data = vector.data
    if "kind" in data:
        check_name(vector)
    elif data["expected"] == "error":
        with pytest.raises((ChangefeedError, DdlError)) as caught:
            decide(vector)
        code, _, text = data["error"].partition(": ") if data["error"].startswith("CDC:") else ("", "", data["error"])
        error = caught.value
        assert isinstance(error, ChangefeedError | DdlError)
        assert error.code == CODES.get(code, code)
        assert text in error.text
    else:
        assert decide(vector) == data["expected"]


def check_name(vector: Vector) -> None:
    """How a name is kept, and of which kind it is."""
    data = vector.data
    ask = {"name_normalisation": event_types.normalised, "classify": event_types.kind}[data["kind"]]
    if data["expected"] == "error":
        with pytest.raises(ValueError, match=f"^{re.escape(data['error'])}$"):
            ask(data["input"], vector.release)
    else:
        assert ask(data["input"], vector.release) == data["expected"]


def decide(vector: Vector) -> str:
    """`send` or `skip`; of settings alone `send`, if they are taken."""
    data = vector.data
    case_sensitive = data.get("case_sensitive", True)
    filters = event_filters([setting(rule) for rule in data["event_filters"]], vector.release, case_sensitive)
    filtered = replication(data.get("rules", ["*.*"]), case_sensitive, data.get("ignore_txn_start_ts", ()))
    if "ddl" in data:
        return of_ddl(data["ddl"], filters, filtered)
    if "row" in data:
        return of_row(data["row"], filters, filtered)
    verify(filters, [parse.create_table(text) for text in data.get("tables", ())])
    return "send"


def setting(rule: Json) -> EventFilter:
    """A rule as changefeed.toml writes it."""
    said: dict[str, Any] = {
        name.replace("-", "_"): tuple(value) if isinstance(value, list) else value for name, value in rule.items()}
    return EventFilter(**said)


def of_ddl(ddl: Json, filters: EventFilters, filtered: Replication) -> str:
    """A statement passes the table filter and the event filters."""
    schema, table, start_ts = ddl["schema"], ddl["table"], ddl.get("start_ts", 0)
    if "old_schema" in ddl:
        return of_rename(ddl, filters, filtered)
    whole = ddl["type_code"] in SCHEMA_ACTIONS
    replicated = filtered.schema(schema) if whole else filtered.table(schema, table, start_ts)
    rule = ignoring_ddl(filters, schema, table, ddl["query"], ddl["type_code"])
    return "send" if replicated and rule is None else "skip"


def of_rename(ddl: Json, filters: EventFilters, filtered: Replication) -> str:
    """A RENAME is judged by one of its names, or by both."""
    old, new = TableName(ddl["old_schema"], ddl["old_table"]), TableName(ddl["schema"], ddl["table"])
    job = Job(ddl["type_code"], ddl["query"], None, *new, pairs=((old, new),), written=((old, new),))
    view = View(None, None, filtered, filters, True, filters.release, ddl.get("start_ts", 0))
    return "send" if passing(job, view).outcome == SEND else "skip"


def of_row(row: Json, filters: EventFilters, filtered: Replication) -> str:
    """A row passes the table filter, the event filters by its kind and, on Spark, by its values."""
    table, kind = table_of(row), row["kind"]
    if not filtered.table(table.schema, table.name, row.get("start_ts", 0)):
        return "skip"
    if ignoring_row(filters, table.schema, table.name, kind):
        return "skip"
    if not any(looks(rule, table) for rule in filters.rules):
        return "send"
    frame = spark_door.session("local[2]").sql("SELECT 1").select(
        *(F.lit(image(table, row.get(name))).cast("binary").alias(name) for name in ("before", "after")))
    matched = ignored(filters, table, kind, texts("before", table), texts("after", table))
    return "skip" if matched is not None and frame.where(matched).collect() else "send"


def table_of(row: Json) -> Table:
    """The row's table, as it is after `after_ddl`, under the name that the row is of."""
    text = row.get("create_table", f"CREATE TABLE `{row['schema']}`.`{row['table']}` (id INT PRIMARY KEY)")
    table = parse.create_table(text)
    if "after_ddl" in row:
        statement = read_statement(row["after_ddl"])
        assert statement is not None
        evolved = applied(catalog([table]), statement, table.schema, row["after_ddl"])
        found = evolved.table(table.schema, table.name)
        assert found is not None
        table = found
    return replace(table, schema=row["schema"], name=row["table"])


def image(table: Table, values: Sequence[object] | None) -> bytes | None:
    """A row image of values in table order, NULL for those that are not given."""
    if values is None:
        return None
    missing = len(visible_columns(table)) - len(values)
    return b"\xff".join(b"\xfe" if value is None else str(value).encode() for value in [*values, *[None] * missing])
