"""CREATE VIEW as the new architecture sends it: with the query that TiDB stores for the view.

TiDB's query is sent if it has a table of another database than the view's, or a column qualified by a table name. Its
tables then have their databases and its fields an alias. `*` stays, although TiDB would expand it. Sources: ticdc
v8.5.7 pkg/common/event/ddl_query_normalizer.go; tidb pkg/planner/core/logical_plan_builder.go addAliasName,
pkg/ddl/create_table.go BuildViewInfo.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from simulator.errors import SchemaError
from simulator.tidb.parser.queries.query import parse_query
from simulator.tidb.parser.splitting import parse_tokens
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.restore.names import quote_name
from simulator.tidb.syntax.ddl import CreateView

Insertion = tuple[int, str]
"""A position in the text, and the text to insert there."""


def qualify_view_query(statement: CreateView, schema: str, database: str) -> CreateView:
    """Return the statement with TiDB's query, or unchanged; `schema` is the view's, `database` the current one."""
    text = statement.query.text
    try:
        tree = sqlglot.parse_one(text, read="mysql")
        tables, columns = list(_tables(tree, database)), list(_columns(tree, database))
        if not columns and all((table.db or database).lower() == schema.lower() for table, _ in tables):
            return statement
        added = [insertion for _, insertion in tables if insertion] + columns + list(_aliases(tree, text))
        written = _inserted(text, added)
        return replace(statement, query=parse_tokens(written, tokenize(written), parse_query))
    except (SqlglotError, SchemaError, RecursionError, KeyError):
        return statement


def _tables(tree: exp.Expr, database: str) -> Iterator[tuple[exp.Table, Insertion | None]]:
    """Yield each table that is no common table expression, with the insertion of its missing database."""
    common = {expression.alias.lower() for expression in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and (table.db or table.name.lower() not in common):
            yield table, None if table.db else (_start(table.this), f"{quote_name(database)}.")


def _columns(tree: exp.Expr, database: str) -> Iterator[Insertion]:
    """Yield the database of each column that is qualified by the name of a table of its own SELECT."""
    for column in tree.find_all(exp.Column):
        name = column.args.get("table")
        if isinstance(name, exp.Identifier) and not column.db:
            schema = _schemas(column.parent_select, database).get(name.name.lower())
            if schema:
                yield _start(name), f"{quote_name(schema)}."


def _schemas(select: exp.Expr | None, database: str) -> dict[str, str]:
    """Return the database of the tables that a SELECT reads without an alias, by name; empty for an ambiguous name."""
    schemas: dict[str, str] = {}
    for table in _sources(select) if isinstance(select, exp.Select) else ():
        name = table.name.lower()
        schemas[name] = "" if name in schemas else table.db or database
    aliases = {table.alias.lower() for table in _sources(select, True)} if isinstance(select, exp.Select) else set()
    return {name: schema for name, schema in schemas.items() if name not in aliases}


def _sources(select: exp.Select, aliased: bool = False) -> Iterator[exp.Table]:
    """Yield the tables in FROM and JOIN, either those with an alias or those without."""
    begin = select.args.get("from_") or select.args.get("from")
    joins = [*([begin] if begin else []), *(select.args.get("joins") or [])]
    for table in (join.this for join in joins):
        if isinstance(table, exp.Table) and bool(table.alias) == aliased:
            yield table


def _aliases(tree: exp.Expr, text: str) -> Iterator[Insertion]:
    """Yield the alias of each field of the outermost SELECT that has none: a column's name, else the field's text."""
    if not isinstance(tree, exp.Select) or tree.args.get("with_") or tree.args.get("with"):
        return
    places = list(_fields(text))
    if len(places) != len(tree.selects):
        return
    for field, (start, stop) in zip(tree.selects, places, strict=True):
        if not isinstance(field, exp.Alias) and not field.is_star:
            yield stop, f" AS {quote_name(field.name if isinstance(field, exp.Column) else text[start:stop])}"


def _fields(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the fields of the first SELECT."""
    depth, start, last = 0, -1, 0
    for token in tokenize(text)[1:]:
        word = token.text.upper()
        if start < 0 and word in ("DISTINCT", "ALL", "DISTINCTROW"):
            continue
        if depth == 0 and word in (",", "FROM", "WHERE", "LIMIT", "ORDER BY"):
            yield start, last
            if word != ",":
                return
            start = -1
            continue
        start, last = token.start if start < 0 else start, token.end + 1
        depth += {"(": 1, ")": -1}.get(word, 0)
    yield start, last


def _start(name: exp.Identifier) -> int:
    return int(name.meta["start"])


def _inserted(text: str, added: list[Insertion]) -> str:
    """Insert everything, from the end so that positions stay valid."""
    for at, inserted in sorted(added, reverse=True):
        text = text[:at] + inserted + text[at:]
    return text
