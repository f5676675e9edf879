"""Reads a whole CREATE TABLE statement.

One law: its parts come in TiDB's order: columns and keys, options, partitions, a query, ON COMMIT.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb import syntax
from simulator.tidb.parser.columns import expect_column_end, parse_column
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.keys import begins_key, expect_key_end, parse_key
from simulator.tidb.parser.options import begins_option, fail_unknown_option, parse_option
from simulator.tidb.parser.partitions import parse_partitioning
from simulator.tidb.parser.queries.query import parse_query

OTHER_STATEMENTS = frozenset(("SET", "USE", "DROP", "LOCK", "UNLOCK", "START", "BEGIN", "COMMIT"))
OTHER_OBJECTS = frozenset("DATABASE SCHEMA VIEW OR SEQUENCE PLACEMENT ALGORITHM DEFINER SQL USER ROLE RESOURCE".split())
BEFORE_QUERY = ("IGNORE", "REPLACE", "AS")
QUERIES = ("SELECT", "WITH", "TABLE", "VALUES", "(")


def begins_other_statement(cursor: Cursor) -> bool:
    """Whether a statement comes that neither makes a table nor changes one."""
    if cursor.word() == "CREATE":
        return cursor.word_after() in OTHER_OBJECTS
    return cursor.word() in OTHER_STATEMENTS


def parse_create_table(cursor: Cursor) -> syntax.CreateTable:
    """A CREATE TABLE statement, up to its end; raises SchemaError."""
    start = cursor.next_token()
    temporary = parse_temporary(cursor)
    exists = cursor.accept("IF NOT EXISTS")
    name = cursor.qualified_name("the name of the table")
    begun = cursor.next_token()
    like = parse_like(cursor)
    if like:
        table = syntax.CreateTable(*name, (), (), (), at=start.start, like=like, source_at=begun.start)
    else:
        table = parse_table_body(cursor, name, start.start)
    commit = parse_on_commit(cursor)
    if not cursor.at_end():
        fail_after_table(cursor, table)
    if (commit is None) is (temporary == "global"):
        cursor.fail("GLOBAL TEMPORARY and ON COMMIT go together; accepted: both or none", start)
    return replace(table, temporary=temporary, if_not_exists=exists, on_commit_delete=commit)


def parse_temporary(cursor: Cursor) -> str:
    """Passes over `CREATE [[GLOBAL] TEMPORARY] TABLE`: `global`, `local` or nothing."""
    found = ""
    if cursor.accept("CREATE"):
        if cursor.accept("GLOBAL TEMPORARY"):
            found = "global"
        elif cursor.accept("TEMPORARY"):
            found = "local"
        if cursor.accept("TABLE"):
            return found
    cursor.unexpected("CREATE TABLE", ("CREATE", "TABLE"))


def parse_like(cursor: Cursor) -> syntax.TableName | None:
    """`LIKE t` or `(LIKE t)`; None where something else comes."""
    parenthesised = cursor.accept("( LIKE")
    if not parenthesised and not cursor.accept("LIKE"):
        return None
    name = cursor.qualified_name("a table")
    if parenthesised:
        cursor.expect(")")
    return name


def parse_table_body(cursor: Cursor, name: syntax.TableName, at: int) -> syntax.CreateTable:
    """All between the table's name and ON COMMIT."""
    columns, keys = parse_table_elements(cursor)
    options = parse_table_options(cursor)
    partitioning = parse_partitioning(cursor) if cursor.accept("PARTITION BY") else None
    begun = cursor.next_token()
    duplicate, query = parse_source_query(cursor)
    source_at = 0 if cursor.next_token() is begun else begun.start
    table = syntax.CreateTable(*name, columns, keys, options, partitioning, at)
    return replace(table, query=query, on_duplicate=duplicate, source_at=source_at)


def parse_table_elements(
    cursor: Cursor,
) -> tuple[tuple[syntax.ColumnDefinition, ...], tuple[syntax.KeyDefinition, ...]]:
    """The columns, and the keys that stand beside them; none of both where no parenthesis comes."""
    if cursor.word() != "(":
        return (), ()
    read = cursor.parenthesised_list(parse_table_element)
    columns = tuple(element for element in read if isinstance(element, syntax.ColumnDefinition))
    return columns, tuple(element for element in read if isinstance(element, syntax.KeyDefinition))


def parse_table_element(cursor: Cursor) -> syntax.ColumnDefinition | syntax.KeyDefinition:
    """One column or key, and nothing behind it."""
    if begins_key(cursor):
        key = parse_key(cursor)
        expect_key_end(cursor)
        return key
    column = parse_column(cursor)
    expect_column_end(cursor, column)
    return column


def parse_table_options(cursor: Cursor) -> tuple[syntax.TableOption, ...]:
    """The options that follow each other, commas between them or not; raises SchemaError."""
    if not begins_option(cursor):
        return ()
    options = [parse_option(cursor)]
    while cursor.accept(",") or begins_option(cursor):
        options.append(parse_option(cursor))
    return tuple(options)


def parse_source_query(cursor: Cursor) -> tuple[str, syntax.EmbeddedQuery | None]:
    """`[IGNORE | REPLACE] [AS] query`; TiDB's grammar takes the words without a query too."""
    duplicate = next((word for word in BEFORE_QUERY[:2] if cursor.accept(word)), "")
    cursor.accept("AS")
    return duplicate, parse_query(cursor) if cursor.word() in QUERIES else None


def parse_on_commit(cursor: Cursor) -> bool | None:
    """Whether ON COMMIT deletes the rows; None where it does not come."""
    if not cursor.accept("ON COMMIT"):
        return None
    if cursor.accept("DELETE ROWS"):
        return True
    cursor.expect("PRESERVE ROWS")
    return False


def fail_after_table(cursor: Cursor, table: syntax.CreateTable) -> None:
    """Raises SchemaError: something follows that is no part of a table."""
    if table.partitioning or table.query or table.like or table.on_commit_delete is not None:
        cursor.unexpected("the end of the statement")
    fail_unknown_option(cursor)
