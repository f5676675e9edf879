"""Views as DESCRIBE and information_schema describe them: by the columns of their query."""

from __future__ import annotations

from simulator.errors import DdlError, SqlError
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import ViewInfo
from simulator.tidb.engine.context import StatementContext
from simulator.tidb.engine.queries import query_columns
from simulator.tidb.engine.result_columns import NOT_NULL
from simulator.tidb.model.table import Column, Table


def view_table(view: ViewInfo, context: StatementContext) -> Table:
    """Return a view as a table without keys and defaults. Raises SqlError 1356."""
    source = syntax.TableSource(syntax.TableName(view.schema, view.name))
    columns = query_columns(syntax.SelectTree((syntax.Star(),), source), context)
    return Table(
        view.schema,
        view.name,
        tuple(Column(column.name, column.type, bool(column.flags & NOT_NULL)) for column in columns),
    )


def valid_views(context: StatementContext) -> list[Table]:
    """Return the views whose queries are valid."""
    found = []
    for view in context.schema.catalog.views.values():
        try:
            found.append(view_table(view, context))
        except (SqlError, DdlError):
            continue
    return found
