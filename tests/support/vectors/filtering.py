"""Vectors of filters: the table-filter language; and event filters of statements, row changes and names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from simulator.errors import ChangefeedError, DdlError
from simulator.releases import Release
from simulator.ticdc.changefeed import load
from simulator.ticdc.changefeed.model import EventFilter
from simulator.ticdc.ddl.classify import SEND, decide
from simulator.ticdc.ddl.jobs_text import parse_job_text
from simulator.ticdc.filters import event_types, replication, table_filter
from simulator.ticdc.filters.event_filters import EventFilters, event_filters, rule_ignoring_ddl, rule_ignoring_row
from simulator.ticdc.filters.replication import Replication
from simulator.ticdc.filters.row_expressions import check_expressions, rule_ignoring_values
from simulator.ticdc.rules import ChangefeedRules, changefeed_rules
from simulator.tidb.ddl.actions import Action
from simulator.tidb.ddl.catalog import build_catalog
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.ddl.session import Job
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.parser.ddl import parse_ddl
from simulator.tidb.syntax.definitions import TableName
from support.evolving import behind
from support.vectors.codecs import Json
from support.vectors.dispatch import contains
from support.vectors.files import Vector
from support.vectors.kinds import Kind, keys_of

CODES = {"CDC:ErrExpressionParseFailed": "CDC:ErrInvalidFilterExpression"}
"""Where a vector calls an error by its variable in Go: the code that users see."""


def check_event_filter(vector: Vector) -> None:
    """A vector of `facts.event_filter`."""
    data = vector.data
    if "kind" in data:
        check_name(vector)
    elif data["expected"] == "error":
        with pytest.raises((ChangefeedError, DdlError)) as caught:
            outcome(vector)
        error, (code, text) = caught.value, expected_error(data)
        assert isinstance(error, ChangefeedError | DdlError)
        assert error.code == (CODES.get(code, code) or error.code)
        assert contains(error.text, text)
    else:
        assert outcome(vector) == data["expected"]


def expected_error(data: Json) -> tuple[str, str]:
    """Code and text of an error, empty where the vector gives none."""
    code, text = re.findall(r"^(CDC:\w+)?(?:: )?(.*)", data.get("error") or "")[0]
    return data.get("error_code") or code, data.get("error_text") or text


def check_name(vector: Vector) -> None:
    """How a name is kept, and of which kind it is."""
    data = vector.data
    ask = {"name_normalisation": event_types.normalize_name, "classify": event_types.event_class}[data["kind"]]
    if data["expected"] == "error":
        with pytest.raises(ValueError, match=f"^{re.escape(data['error'])}$"):
            ask(data["input"], vector.release)
    else:
        assert ask(data["input"], vector.release) == data["expected"]


def outcome(vector: Vector) -> str:
    """`send` or `skip`; of settings alone `send`, if they are taken."""
    data = vector.data
    case_sensitive = data.get("case_sensitive", True)
    filters = event_filters([setting(rule) for rule in data["event_filters"]], vector.release, case_sensitive)
    ignored_ts = data.get("ignore_txn_start_ts", ())
    filtered = replication(data.get("rules", ["*.*"]), case_sensitive, ignored_ts, vector.release)
    if "ddl" in data:
        return of_ddl(data["ddl"], filters, filtered, vector.release)
    if "row" in data:
        return of_row(data["row"], filters, filtered)
    check_expressions(filters, [create_table(text) for text in data.get("tables", ())])
    return "send"


def setting(rule: Json) -> EventFilter:
    """A rule as changefeed.toml writes it."""
    settings: dict[str, Any] = {
        name.replace("-", "_"): tuple(value) if isinstance(value, list) else value for name, value in rule.items()
    }
    return EventFilter(**settings)


@cache
def plain_rules(release: Release) -> ChangefeedRules:
    """The rules of a changefeed without a changefeed.toml."""
    return changefeed_rules(load("kafka://localhost/t?protocol=open-protocol", release=release), release)


def of_ddl(ddl: Json, filters: EventFilters, filtered: Replication, release: Release) -> str:
    """What TiCDC does with the statement; one that is no whole statement is held against the event filters alone."""
    schema, table, code = ddl["schema"], ddl["table"], ddl["type_code"]
    assert ddl.get("action", Action(code).constant) == Action(code).constant
    old = TableName(ddl.get("old_schema", schema), ddl["old_table"]) if "old_table" in ddl else None
    try:
        parse_job_text(ddl["query"], release)
    except DdlError:
        return "skip" if rule_ignoring_ddl(filters, schema, table, ddl["query"], code, old) else "send"
    pairs = () if old is None else ((old, TableName(schema, table)),)
    job = Job(code, ddl["query"], None, schema, table, pairs, pairs)
    rules = replace(plain_rules(release), replication=filtered, event_filters=filters)
    found = decide(job, None, None, rules, ddl.get("start_ts", 0))
    if found.error:
        raise found.error
    return "send" if found.outcome == SEND else "skip"


def of_row(row: Json, filters: EventFilters, filtered: Replication) -> str:
    """A row passes the table filter, the event filters by its kind and by its values."""
    table, kind = table_of(row), row["kind"]
    if not filtered.table(table.schema, table.name, row.get("start_ts", 0)):
        return "skip"
    if rule_ignoring_row(filters, table.schema, table.name, kind):
        return "skip"
    before, after = (image(table, row.get(name)) for name in ("before", "after"))
    return "skip" if rule_ignoring_values(filters, table, before, after) else "send"


def table_of(row: Json) -> Table:
    """The row's table, as it is after `after_ddl`, under the name that the row is of."""
    text = row.get("create_table", f"CREATE TABLE `{row['schema']}`.`{row['table']}` (id INT PRIMARY KEY)")
    table = create_table(text)
    if "after_ddl" in row:
        statement = parse_ddl(row["after_ddl"])
        assert statement is not None
        evolved = behind(statement, row["after_ddl"], build_catalog([table]), table.schema)
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


def check_table_filter(vector: Vector) -> None:
    """A vector of `facts.table_filter`."""
    data = vector.data
    if "error" in data:
        with pytest.raises(ChangefeedError) as caught:
            table_filter(data["rules"])
        assert data["error"] in caught.value.text
        assert caught.value.code == (data.get("error_code") or data.get("ticdc_error_code") or caught.value.code)
    elif data["level"] == "library":
        made = table_filter(data["rules"], data["case_sensitive"])
        whole = data.get("kind") == "schema"
        matched = made.match_schema(data["schema"]) if whole else made.match(data["schema"], data["table"])
        assert matched == data["match"]
    else:
        made_ = replication(data["rules"], data["case_sensitive"], data.get("ignore_txn_start_ts", ()), vector.release)
        assert TICDC_KINDS[data.get("kind", "table")](made_, data, vector) == data["match"]


TICDC_KINDS: dict[str, Callable[[Replication, Json, Vector], bool]] = {
    "table": lambda made, data, _: made.table(data["schema"], data["table"]),
    "schema": lambda made, data, _: made.schema(data["schema"]),
    "dml": lambda made, data, _: made.table(data["schema"], data["table"], data["start_ts"]),
    "ddl_discard": lambda made, data, vector: made.ddl(
        data["type_code"], data["schema"], data["table"], vector.release, data["start_ts"]
    ),
}


KINDS = {
    "facts.event_filter": Kind(
        check_event_filter,
        keys_of(
            "kind input event_filters case_sensitive rules ignore_txn_start_ts tables when dml_after expected error "
            "error_code error_text",
            ddl=keys_of("schema table query type_code action start_ts old_schema old_table"),
            row=keys_of("schema table kind start_ts create_table after_ddl before after"),
        ),
    ),
    "facts.table_filter": Kind(
        check_table_filter,
        keys_of(
            "rules case_sensitive level kind schema table type_code start_ts ignore_txn_start_ts match error "
            "ticdc_error_code error_code"
        ),
    ),
}
