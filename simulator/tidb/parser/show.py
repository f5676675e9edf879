"""Parse SHOW, DESCRIBE and ADMIN SHOW (tidb pkg/parser/parser.y, ShowStmt, ExplainStmt, AdminStmt).

What is not simulated is skipped: statistics, bindings, placement, regions, backups.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb import syntax
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.syntax.session import Show

PLAIN_KINDS = {
    "CHARSET": "CHARSET",
    "CHARACTER SET": "CHARSET",
    "CHAR SET": "CHARSET",
    "COLLATION": "COLLATION",
    "DATABASES": "DATABASES",
    "SCHEMAS": "DATABASES",
    "ENGINES": "ENGINES",
    "PLUGINS": "PLUGINS",
    "PROFILES": "PROFILES",
    "FUNCTION STATUS": "FUNCTION STATUS",
    "PROCEDURE STATUS": "PROCEDURE STATUS",
    "VARIABLES": "VARIABLES",
    "STATUS": "STATUS",
}
"""Kinds without an object, by their words; LIKE or WHERE may follow."""

OF_A_DATABASE = ("TABLE STATUS", "OPEN TABLES", "TABLES", "TRIGGERS", "EVENTS")
OBJECTS = ("TABLE", "VIEW", "SEQUENCE")


def parse_show(cursor: Cursor) -> syntax.SessionStatement:
    """Parse the rest of SHOW."""
    if cursor.accept("CREATE"):
        return _parse_create(cursor)
    if cursor.accept("COUNT ( * )"):
        return Show(cursor.one_of("WARNINGS", "ERRORS"), counts=True)
    for kind in ("WARNINGS", "ERRORS", "MASTER STATUS"):
        if cursor.accept(kind):
            return Show(kind)
    if cursor.accept("BINARY LOG STATUS"):
        return Show("MASTER STATUS")
    for what in ("PRIVILEGES", "BUILTINS"):
        if cursor.accept(what):
            return syntax.IgnoredStatement(f"SHOW {what}")
    if cursor.word() == "BINARY":
        cursor.unexpected("LOG STATUS")
    if cursor.accept("GRANTS"):
        return _parse_user(cursor) if cursor.accept("FOR") else Show("GRANTS")
    is_global = cursor.accept("GLOBAL")
    if is_global or cursor.accept("SESSION") or cursor.accept("LOCAL"):
        if cursor.word() not in ("VARIABLES", "STATUS"):
            return _skip(cursor)
    for words, kind in PLAIN_KINDS.items():
        if cursor.accept(words):
            return _with_filter(cursor, Show(kind, is_global=is_global))
    extended = cursor.accept("EXTENDED")
    full = cursor.accept("FULL")
    if not extended and cursor.accept("PROCESSLIST"):
        return Show("PROCESSLIST", full=full)
    if cursor.accept("COLUMNS") or cursor.accept("FIELDS"):
        return _with_filter(cursor, Show("COLUMNS", full=full, table=_parse_table(cursor)))
    if cursor.accept("INDEX") or cursor.accept("INDEXES") or cursor.accept("KEYS"):
        return _with_filter(cursor, Show("INDEX", table=_parse_table(cursor)))
    for kind in OF_A_DATABASE:
        if cursor.accept(kind):
            return _with_filter(cursor, Show(kind, full=full, database=_parse_database(cursor)))
    if cursor.accept("TABLE"):
        return _parse_of_table(cursor)
    return _skip(cursor)


def _parse_of_table(cursor: Cursor) -> syntax.SessionStatement:
    """Parse the rest of SHOW TABLE … NEXT_ROW_ID and of SHOW TABLE … REGIONS, which has no LIKE."""
    table = cursor.qualified_name()
    if cursor.accept("NEXT_ROW_ID"):
        return Show("NEXT_ROW_ID", table=table)
    while not cursor.at_end():
        if cursor.accept("REGIONS") and cursor.word() not in ("", "WHERE"):
            cursor.unexpected("WHERE")
        if not cursor.at_end():
            cursor.literal()
    return syntax.IgnoredStatement("SHOW TABLE REGIONS")


def parse_describe(cursor: Cursor) -> Show | None:
    """Parse the rest of DESCRIBE or EXPLAIN if a table follows; None for anything else, of which nothing is consumed."""
    if not cursor.is_free_name() or cursor.word() in ("FORMAT", "ANALYZE", "FOR", "TRACE", "EXPLORE"):
        return None
    show = Show("COLUMNS", table=cursor.qualified_name("a table"))
    if cursor.at_end():
        return show
    return replace(show, like=cursor.name("a column"))


def parse_admin_show(cursor: Cursor) -> syntax.SessionStatement:
    """Parse the rest of ADMIN SHOW DDL."""
    if not cursor.accept("JOBS"):
        return _skip(cursor)
    limit = cursor.integer() if cursor.kind() == "number" else None
    return _with_filter(cursor, Show("DDL JOBS", limit=limit))


def _parse_create(cursor: Cursor) -> syntax.SessionStatement:
    for word in OBJECTS:
        if cursor.accept(word):
            return Show(f"CREATE {word}", table=cursor.qualified_name())
    if cursor.accept("USER"):
        return replace(_parse_user(cursor), kind="CREATE USER")
    if cursor.accept("DATABASE") or cursor.accept("SCHEMA"):
        if_not_exists = cursor.accept("IF NOT EXISTS")
        return Show("CREATE DATABASE", database=cursor.name("a database"), if_not_exists=if_not_exists)
    return _skip(cursor)


def _parse_user(cursor: Cursor) -> Show:
    """Parse the rest of SHOW GRANTS FOR and SHOW CREATE USER."""
    start = cursor.next_token()
    while not cursor.at_end() and cursor.word() != "USING":
        cursor.literal()
    user = cursor.text_since(start)
    _skip(cursor)
    return Show("GRANTS", user="" if user.upper().startswith("CURRENT_USER") else user)


def _parse_table(cursor: Cursor) -> syntax.TableName:
    """Parse `FROM table [FROM database]`."""
    cursor.one_of("FROM", "IN")
    table = cursor.qualified_name()
    database = _parse_database(cursor)
    return syntax.TableName(database, table.name) if database else table


def _parse_database(cursor: Cursor) -> str:
    return cursor.name("a database") if cursor.accept("FROM") or cursor.accept("IN") else ""


def _with_filter(cursor: Cursor, show: Show) -> Show:
    if cursor.accept("LIKE"):
        pattern = cursor.grammar.simple_expression(cursor)
        if not isinstance(pattern, syntax.Literal):
            cursor.unexpected("a pattern in quotes")
        return replace(show, like=pattern.text)
    return replace(show, where=cursor.grammar.expression(cursor)) if cursor.accept("WHERE") else show


def _skip(cursor: Cursor) -> syntax.IgnoredStatement:
    while not cursor.at_end():
        cursor.literal()
    return syntax.IgnoredStatement("SHOW")
