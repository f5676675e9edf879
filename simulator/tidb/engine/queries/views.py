"""Views as DESCRIBE and information_schema describe them: by the columns of their query."""

from __future__ import annotations

from dataclasses import replace

from simulator.errors import DdlError, SqlError
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import ViewInfo
from simulator.tidb.engine.queries.results import result_column
from simulator.tidb.engine.scopes.scope import QueryScope, StatementCompilation
from simulator.tidb.engine.sessions.result_columns import NOT_NULL
from simulator.tidb.model.table import Column, Table


def view_table(view: ViewInfo, compilation: StatementCompilation) -> Table:
    """Return a view as a table without keys and defaults. Raises SqlError 1356."""
    source = syntax.TableSource(syntax.TableName(view.schema, view.name))
    shown = QueryScope(replace(compilation)).build(syntax.SelectTree((syntax.Star(),), source))
    columns = [result_column(field) for field in shown.fields]
    return Table(
        view.schema,
        view.name,
        tuple(Column(column.name, column.type, bool(column.flags & NOT_NULL)) for column in columns),
    )


def valid_views(compilation: StatementCompilation) -> list[Table]:
    """Return the views whose queries are valid."""
    found = []
    for view in compilation.context.schema.catalog.views.values():
        try:
            found.append(view_table(view, compilation))
        except (SqlError, DdlError):
            continue
    return found
