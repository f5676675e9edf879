"""A statement under table routing: its event, its text and the tables in it with the names that they get.

One law: every name of a table is asked for, that of a common table expression too, and one without a database has the
statement's; an event keeps its names where no name in its text gets another. Sources: ticdc v8.5.7
pkg/routing/router.go ApplyToDDLEvent, ddl_query_rewriter.go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from simulator.errors import DdlError, SchemaError
from simulator.ticdc.ddl.events import Event
from simulator.ticdc.filters.table_routes import TableRoutes
from simulator.tidb.ddl import actions
from simulator.tidb.parser.ddl import parse_ddl
from simulator.tidb.parser.queries.query import parse_query
from simulator.tidb.parser.splitting import parse_tokens
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.restore.ddl import restore_statement
from simulator.tidb.restore.names import quote_name
from simulator.tidb.syntax.ddl import AlterDatabase, CreateDatabase, DropDatabase, Statement
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.tables import CreateTable, EmbeddedQuery

Target = Callable[[str, str], TableName]
"""The names that a schema and a table, or a schema and nothing, get."""

UNSUPPORTED = (actions.ADD_FULLTEXT_INDEX, actions.CREATE_HYBRID_INDEX)


def routed(event: Event, query: str, routes: TableRoutes) -> tuple[Event, str]:
    """The event and the text that is sent; raises DdlError (CDC:ErrTableRoutingFailed) where TiCDC stops."""
    if not routes.rules:
        return event, query
    if event.type_code in UNSUPPORTED:
        text = f"table routing does not support ddl type {event.type_code}, query: {query}"
        raise DdlError(text, "CDC:ErrTableRoutingFailed")
    statement = parse_ddl(query)
    found = renamed(statement, event.schema, routes.target) if statement else None
    if statement is None or found is None or found == statement:
        return event, query
    ending = ";" if query.endswith(";") else ""
    return replace(event, sent_as=routes.target(event.schema, event.table)), restore_statement(found) + ending


def renamed(statement: Statement, schema: str, target: Target) -> Statement:
    """The statement, or itself where no name of it gets another; `schema` is that of names without one."""
    if isinstance(statement, CreateDatabase | AlterDatabase | DropDatabase):
        return replace(statement, name=target(statement.name, "").schema)
    names = Names(schema, target)
    found: Statement = _with_targets(statement, names)
    return found if any(old != new for old, new in names.asked.items()) else statement


@dataclass(frozen=True)
class Names:
    """The names of a statement, those met so far with what they get."""

    schema: str
    target: Target
    asked: dict[TableName, TableName] = field(default_factory=dict)

    def of(self, name: TableName) -> TableName:
        full = TableName(name.schema or self.schema, name.name)
        self.asked[full] = self.target(*full)
        return self.asked[full]


def _with_targets(value: Any, names: Names) -> Any:
    """A value of a statement with every name in it asked for, whatever it is made of."""
    if isinstance(value, TableName):
        return names.of(value)
    if isinstance(value, tuple):
        return tuple(_with_targets(part, names) for part in value)
    if isinstance(value, EmbeddedQuery):
        return _query(value, names)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    inner = {part.name: _with_targets(getattr(value, part.name), names) for part in fields(value)}
    if isinstance(value, CreateTable):
        inner["schema"], inner["name"] = names.of(TableName(value.schema, value.name))
    return replace(value, **inner)


def _query(query: EmbeddedQuery, names: Names) -> EmbeddedQuery:
    """The SELECT of a view: its tables, and columns that are written behind a database and a table."""
    text = query.text
    try:
        tree = sqlglot.parse_one(text, read="mysql")
        spans: list[tuple[int, int, TableName]] = []
        for table in tree.find_all(exp.Table):
            if isinstance(table.this, exp.Identifier):
                first = table.args.get("db") or table.this
                spans.append((*_span(first, table.this), names.of(TableName(table.db, table.name))))
        targets = {(old.schema.lower(), old.name.lower()): new for old, new in names.asked.items()}
        for column in tree.find_all(exp.Column):
            known = targets.get((column.db.lower(), column.table.lower())) if column.db else None
            if known:
                spans.append((*_span(column.args["db"], column.args["table"]), known))
        for start, end, name in sorted(spans, reverse=True):
            text = f"{text[:start]}{quote_name(name.schema)}.{quote_name(name.name)}{text[end:]}"
        return parse_tokens(text, tokenize(text), parse_query)
    except (SqlglotError, SchemaError, RecursionError, KeyError) as error:
        raise DdlError(f"table routing failed: {error}", "CDC:ErrTableRoutingFailed") from error


def _span(first: exp.Expr, last: exp.Expr) -> tuple[int, int]:
    return int(first.meta["start"]), int(last.meta["end"]) + 1
