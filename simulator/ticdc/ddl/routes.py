"""Table routing of DDL: the event, its text and all table names in it.

Every name of a table is routed, including that of a common table expression. A name without a database has the
statement's. An event keeps its names if no name in its text changes. Sources: ticdc v8.5.7 pkg/routing/router.go
ApplyToDDLEvent, ddl_query_rewriter.go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import sqlglot
from msgspec import Struct, structs
from sqlglot import exp
from sqlglot.errors import SqlglotError

from simulator.errors import DdlError, SchemaError
from simulator.ticdc.ddl.events import JobEvent
from simulator.ticdc.filters.table_routes import TableRoutes
from simulator.tidb.ddl.actions import Action
from simulator.tidb.parser.ddl.statements import parse_ddl
from simulator.tidb.parser.query import parse_query
from simulator.tidb.parser.script import parse_tokens
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.restore.ddl import restore_statement
from simulator.tidb.restore.expressions import quote_table
from simulator.tidb.syntax.ddl import AlterDatabase, CreateDatabase, DropDatabase
from simulator.tidb.syntax.definitions import CreateTable, EmbeddedQuery, Statement
from simulator.tidb.syntax.expressions import TableName

Target = Callable[[str, str], TableName]
"""Return the names that messages have for a schema and a table, or for a schema and an empty table."""

UNSUPPORTED = (Action.ADD_FULLTEXT_INDEX, Action.CREATE_HYBRID_INDEX)


def route_event(event: JobEvent, query: str, routes: TableRoutes) -> tuple[JobEvent, str]:
    """Return the event and the text that is sent; raise DdlError (CDC:ErrTableRoutingFailed) if TiCDC stops."""
    if not routes.rules:
        return event, query
    if event.type_code in UNSUPPORTED:
        text = f"table routing does not support ddl type {event.type_code}, query: {query}"
        raise DdlError(text, "CDC:ErrTableRoutingFailed")
    statement = parse_ddl(query)
    routed_statement = route_statement(statement, event.schema, routes.target) if statement else None
    if statement is None or routed_statement is None or routed_statement == statement:
        return event, query
    ending = ";" if query.endswith(";") else ""
    return replace(event, sent_as=routes.target(event.schema, event.table)), restore_statement(
        routed_statement
    ) + ending


def route_statement(statement: Statement, schema: str, target: Target) -> Statement:
    """Return the statement with routed names, or the same object if none changes; `schema` is that of bare names."""
    if isinstance(statement, CreateDatabase | AlterDatabase | DropDatabase):
        return structs.replace(statement, name=target(statement.name, "").schema)
    names = RoutedNames(schema, target)
    routed_statement: Statement = _with_targets(statement, names)
    return routed_statement if any(old != new for old, new in names.targets.items()) else statement


@dataclass(frozen=True)
class RoutedNames:
    """The names of a statement, with the targets of those routed so far."""

    schema: str
    target: Target
    targets: dict[TableName, TableName] = field(default_factory=dict)

    def of(self, name: TableName) -> TableName:
        full = TableName(name.schema or self.schema, name.name)
        self.targets[full] = self.target(*full)
        return self.targets[full]


def _with_targets(value: Any, names: RoutedNames) -> Any:
    """Return a value of a syntax tree with every table name in it routed."""
    if isinstance(value, TableName):
        return names.of(value)
    if isinstance(value, tuple):
        return tuple(_with_targets(part, names) for part in value)
    if isinstance(value, EmbeddedQuery):
        return _query(value, names)
    if not isinstance(value, Struct):
        return value
    inner = {name: _with_targets(getattr(value, name), names) for name in value.__struct_fields__}
    if isinstance(value, CreateTable):
        inner["schema"], inner["name"] = names.of(TableName(value.schema, value.name))
    return structs.replace(value, **inner)


def _query(query: EmbeddedQuery, names: RoutedNames) -> EmbeddedQuery:
    """Return a view's SELECT with routed tables, and with routed columns that are qualified by database and table."""
    text = query.text
    try:
        tree = sqlglot.parse_one(text, read="mysql")
        spans: list[tuple[int, int, TableName]] = []
        for table in tree.find_all(exp.Table):
            if isinstance(table.this, exp.Identifier):
                first = table.args.get("db") or table.this
                spans.append((*_span(first, table.this), names.of(TableName(table.db, table.name))))
        targets = {(old.schema.lower(), old.name.lower()): new for old, new in names.targets.items()}
        for column in tree.find_all(exp.Column):
            target = targets.get((column.db.lower(), column.table.lower())) if column.db else None
            if target:
                spans.append((*_span(column.args["db"], column.args["table"]), target))
        for start, end, name in sorted(spans, reverse=True):
            text = f"{text[:start]}{quote_table(name.schema, name.name)}{text[end:]}"
        return parse_tokens(text, tokenize(text), parse_query)
    except (SqlglotError, SchemaError, RecursionError, KeyError) as error:
        raise DdlError(f"table routing failed: {error}", "CDC:ErrTableRoutingFailed") from error


def _span(first: exp.Expr, last: exp.Expr) -> tuple[int, int]:
    return int(first.meta["start"]), int(last.meta["end"]) + 1
