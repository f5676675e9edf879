"""Reads a whole CREATE TABLE statement.

One law: its parts come in TiDB's order: columns and keys, options, partitions, a query, ON COMMIT.
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb.parser.columns import end_column, read_column
from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.keys import begins_key, end_key, read_key
from simulator.tidb.parser.options import begins_option, read_option, unknown_option
from simulator.tidb.parser.partitions import read_partitioning
from simulator.tidb.parser.queries import read_query
from simulator.tidb.syntax.definitions import ColumnSyntax, KeySyntax, TableName
from simulator.tidb.syntax.tables import Query, TableOption, TableSyntax

__all__ = ["begins_option", "begins_other_statement", "read_create_table", "read_option", "read_options"]

OTHER_STATEMENTS = frozenset(("SET", "USE", "DROP", "LOCK", "UNLOCK", "START", "BEGIN", "COMMIT"))
OTHER_OBJECTS = frozenset((
    "DATABASE", "SCHEMA", "VIEW", "OR", "SEQUENCE", "PLACEMENT", "ALGORITHM", "DEFINER", "SQL", "USER", "ROLE",
    "RESOURCE",
))
BEFORE_QUERY = ("IGNORE", "REPLACE", "AS")
QUERIES = ("SELECT", "WITH", "TABLE", "VALUES", "(")


def begins_other_statement(parser: TiDBParser) -> bool:
    """Whether a statement comes that neither makes a table nor changes one."""
    if parser.word() == "CREATE":
        return parser.word_after() in OTHER_OBJECTS
    return parser.word() in OTHER_STATEMENTS


def read_create_table(parser: TiDBParser) -> TableSyntax:
    """A CREATE TABLE statement, up to its end; raises SchemaError."""
    start = parser.next_token()
    temporary = read_temporary(parser)
    exists = parser.accept("IF NOT EXISTS")
    name = TableName(*parser.qualified_free_name("the name of the table"))
    begun = parser.next_token()
    like = read_like(parser)
    if like:
        table = TableSyntax(*name, (), (), (), at=start.start, like=like, source_at=begun.start)
    else:
        table = body(parser, name, start.start)
    commit = read_on_commit(parser)
    if not parser.at_end():
        end_table(parser, table)
    if (commit is None) is (temporary == "global"):
        parser.fail("GLOBAL TEMPORARY and ON COMMIT go together; accepted: both or none", start)
    return replace(table, temporary=temporary, if_not_exists=exists, on_commit_delete=commit)


def read_temporary(parser: TiDBParser) -> str:
    """Passes over `CREATE [[GLOBAL] TEMPORARY] TABLE`: `global`, `local` or nothing."""
    found = ""
    if parser.accept("CREATE"):
        if parser.accept("GLOBAL TEMPORARY"):
            found = "global"
        elif parser.accept("TEMPORARY"):
            found = "local"
        if parser.accept("TABLE"):
            return found
    parser.unexpected("CREATE TABLE", ("CREATE", "TABLE"))


def read_like(parser: TiDBParser) -> TableName | None:
    """`LIKE t` or `(LIKE t)`; None where something else comes."""
    parenthesised = parser.accept("( LIKE")
    if not parenthesised and not parser.accept("LIKE"):
        return None
    name = TableName(*parser.qualified_free_name("a table"))
    if parenthesised:
        parser.expect(")")
    return name


def body(parser: TiDBParser, name: TableName, at: int) -> TableSyntax:
    """All between the table's name and ON COMMIT."""
    columns, keys = elements(parser)
    options = read_options(parser)
    partitioning = read_partitioning(parser) if parser.accept("PARTITION BY") else None
    begun = parser.next_token()
    duplicate, query = read_source(parser)
    source_at = 0 if parser.next_token() is begun else begun.start
    table = TableSyntax(*name, columns, keys, options, partitioning, at)
    return replace(table, query=query, on_duplicate=duplicate, source_at=source_at)


def elements(parser: TiDBParser) -> tuple[tuple[ColumnSyntax, ...], tuple[KeySyntax, ...]]:
    """The columns, and the keys that stand beside them; none of both where no parenthesis comes."""
    if parser.word() != "(":
        return (), ()
    read = parser.comma_separated(read_element)
    columns = tuple(element for element in read if isinstance(element, ColumnSyntax))
    return columns, tuple(element for element in read if isinstance(element, KeySyntax))


def read_element(parser: TiDBParser) -> ColumnSyntax | KeySyntax:
    """One column or key, and nothing behind it."""
    if begins_key(parser):
        key = read_key(parser)
        end_key(parser)
        return key
    column = read_column(parser)
    end_column(parser, column)
    return column


def read_options(parser: TiDBParser) -> tuple[TableOption, ...]:
    """The options that follow each other, commas between them or not; raises SchemaError."""
    if not begins_option(parser):
        return ()
    options = [read_option(parser)]
    while parser.accept(",") or begins_option(parser):
        options.append(read_option(parser))
    return tuple(options)


def read_source(parser: TiDBParser) -> tuple[str, Query | None]:
    """`[IGNORE | REPLACE] [AS] query`; TiDB's grammar takes the words without a query too."""
    duplicate = next((word for word in BEFORE_QUERY[:2] if parser.accept(word)), "")
    parser.accept("AS")
    return duplicate, read_query(parser) if parser.word() in QUERIES else None


def read_on_commit(parser: TiDBParser) -> bool | None:
    """Whether ON COMMIT deletes the rows; None where it does not come."""
    if not parser.accept("ON COMMIT"):
        return None
    if parser.accept("DELETE ROWS"):
        return True
    parser.expect("PRESERVE ROWS")
    return False


def end_table(parser: TiDBParser, table: TableSyntax) -> None:
    """Raises SchemaError: something follows that is no part of a table."""
    if table.partitioning or table.query or table.like or table.on_commit_delete is not None:
        parser.unexpected("the end of the statement")
    unknown_option(parser)
