"""Parse CREATE TABLE: columns and keys, options, partitions, a query, ON COMMIT, in this order."""

from __future__ import annotations

from msgspec.structs import replace

from simulator.tidb import syntax
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.ddl.columns import expect_column_end, parse_column
from simulator.tidb.parser.ddl.keys import begins_key, expect_key_end, parse_key
from simulator.tidb.parser.ddl.options import begins_option, fail_unknown_option, parse_option
from simulator.tidb.parser.ddl.partitions import parse_partitioning
from simulator.tidb.parser.query import parse_query

OTHER_STATEMENTS = frozenset(("SET", "USE", "DROP", "LOCK", "UNLOCK", "START", "BEGIN", "COMMIT"))
OTHER_OBJECTS = frozenset("DATABASE SCHEMA VIEW OR SEQUENCE PLACEMENT ALGORITHM DEFINER SQL USER ROLE RESOURCE".split())
QUERIES = ("SELECT", "WITH", "TABLE", "VALUES", "(")


Columns = tuple[syntax.ColumnDefinition, ...]
Keys = tuple[syntax.KeyDefinition, ...]


def begins_other_statement(cursor: Cursor) -> bool:
    """Whether the next statement neither creates nor changes a table."""
    if cursor.word() == "CREATE":
        return cursor.word_after() in OTHER_OBJECTS
    return cursor.word() in OTHER_STATEMENTS


def parse_create_table(cursor: Cursor) -> syntax.CreateTable:
    """Parse a whole CREATE TABLE statement; raises SchemaError."""
    start = cursor.next_token()
    temporary = parse_temporary(cursor)
    if_not_exists = cursor.accept("IF NOT EXISTS")
    name = cursor.qualified_name("the name of the table")
    token = cursor.next_token()
    like = parse_like(cursor)
    if like:
        table = syntax.CreateTable(*name, (), (), (), at=start.start, like=like, source_at=token.start)
    else:
        table = parse_table_body(cursor, name, start.start)
    on_commit_delete = parse_on_commit(cursor)
    if not cursor.at_end():
        fail_after_table(cursor, table)
    if (on_commit_delete is None) is (temporary == "global"):
        cursor.fail("GLOBAL TEMPORARY and ON COMMIT go together; accepted: both or none", start)
    return replace(table, temporary=temporary, if_not_exists=if_not_exists, on_commit_delete=on_commit_delete)


def parse_temporary(cursor: Cursor) -> str:
    """Parse `CREATE [[GLOBAL] TEMPORARY] TABLE`, and return `global`, `local` or ""."""
    if cursor.accept("CREATE"):
        kind = "global" if cursor.accept("GLOBAL TEMPORARY") else "local" if cursor.accept("TEMPORARY") else ""
        if cursor.accept("TABLE"):
            return kind
    cursor.unexpected("CREATE TABLE", ("CREATE", "TABLE"))


def parse_like(cursor: Cursor) -> syntax.TableName | None:
    """Parse an optional `LIKE t` or `(LIKE t)`."""
    parenthesised = cursor.accept("( LIKE")
    if not parenthesised and not cursor.accept("LIKE"):
        return None
    name = cursor.qualified_name("a table")
    if parenthesised:
        cursor.expect(")")
    return name


def parse_table_body(cursor: Cursor, name: syntax.TableName, at: int) -> syntax.CreateTable:
    """Parse everything between the table's name and ON COMMIT."""
    columns, keys = parse_table_elements(cursor)
    options = parse_table_options(cursor)
    partitioning = parse_partitioning(cursor) if cursor.accept("PARTITION BY") else None
    token = cursor.next_token()
    on_duplicate, query = parse_source_query(cursor)
    source_at = 0 if cursor.next_token() is token else token.start
    table = syntax.CreateTable(*name, columns, keys, options, partitioning, at)
    return replace(table, query=query, on_duplicate=on_duplicate, source_at=source_at)


def parse_table_elements(cursor: Cursor) -> tuple[Columns, Keys]:
    """Parse the columns and keys in parentheses, if there are any."""
    elements = cursor.parenthesised_list(parse_table_element) if cursor.word() == "(" else ()
    columns = tuple(element for element in elements if isinstance(element, syntax.ColumnDefinition))
    return columns, tuple(element for element in elements if isinstance(element, syntax.KeyDefinition))


def parse_table_element(cursor: Cursor) -> syntax.ColumnDefinition | syntax.KeyDefinition:
    """Parse one column or key, which `,` or `)` must follow."""
    if begins_key(cursor):
        key = parse_key(cursor)
        expect_key_end(cursor)
        return key
    column = parse_column(cursor)
    expect_column_end(cursor, column)
    return column


def parse_table_options(cursor: Cursor) -> tuple[syntax.TableOption, ...]:
    """Parse table options, with or without commas between them; raises SchemaError."""
    options: list[syntax.TableOption] = []
    while begins_option(cursor) or options and cursor.accept(","):
        options.append(parse_option(cursor))
    return tuple(options)


def parse_source_query(cursor: Cursor) -> tuple[str, syntax.EmbeddedQuery | None]:
    """Parse `[IGNORE | REPLACE] [AS] [query]`. TiDB's grammar accepts the words without a query."""
    on_duplicate = next((word for word in ("IGNORE", "REPLACE") if cursor.accept(word)), "")
    cursor.accept("AS")
    return on_duplicate, parse_query(cursor) if cursor.word() in QUERIES else None


def parse_on_commit(cursor: Cursor) -> bool | None:
    """Parse an optional ON COMMIT, and return whether it deletes the rows."""
    return cursor.one_of("DELETE ROWS", "PRESERVE ROWS") == "DELETE ROWS" if cursor.accept("ON COMMIT") else None


def fail_after_table(cursor: Cursor, table: syntax.CreateTable) -> None:
    """Raise SchemaError for a token after the end of the table."""
    if table.partitioning or table.query or table.like or table.on_commit_delete is not None:
        cursor.unexpected("the end of the statement")
    fail_unknown_option(cursor)
