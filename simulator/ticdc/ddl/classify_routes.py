"""A statement's event under table routing: its text and its names as messages have them.

One law: an event keeps its names where no name in its text gets another. Source: ticdc v8.5.7 pkg/routing/router.go
ApplyToDDLEvent.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.errors import DdlError
from simulator.ticdc.ddl.events import Event
from simulator.ticdc.ddl.route_names import renamed
from simulator.ticdc.filters.table_routes import TableRoutes
from simulator.tidb.ddl import actions
from simulator.tidb.parser.read import read_statement
from simulator.tidb.restore.restore import restored

UNSUPPORTED = (actions.ADD_FULLTEXT_INDEX, actions.CREATE_HYBRID_INDEX)


def routed(event: Event, query: str, routes: TableRoutes) -> tuple[Event, str]:
    """The event and the text that is sent; raises DdlError (CDC:ErrTableRoutingFailed) where TiCDC stops."""
    if not routes.rules:
        return event, query
    if event.type_code in UNSUPPORTED:
        text = f"table routing does not support ddl type {event.type_code}, query: {query}"
        raise DdlError(text, "CDC:ErrTableRoutingFailed")
    statement = read_statement(query)
    found = renamed(statement, event.schema, routes.target) if statement else None
    if statement is None or found is None or found == statement:
        return event, query
    ending = ";" if query.endswith(";") else ""
    return replace(event, sent_as=routes.target(event.schema, event.table)), restored(found) + ending
