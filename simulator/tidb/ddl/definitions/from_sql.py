"""CREATE TABLE text → Table: the door to sqlglot for everyone who has a table's definition as text.

One law: whatever the text, it gives a Table or a SchemaError with line and column.
"""

from __future__ import annotations

from functools import lru_cache

from simulator.errors import SchemaError
from simulator.tidb.ddl.definitions.table import DEFAULT_CHARSET, build_column, build_table
from simulator.tidb.model.table import Column, Table
from simulator.tidb.parser.columns import parse_column
from simulator.tidb.parser.create_table import begins_other_statement, parse_create_table
from simulator.tidb.parser.cursor import Cursor, position
from simulator.tidb.parser.splitting import begins_with, parse_tokens, split_tokens, statement_text
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.syntax.definitions import ColumnDefinition
from simulator.tidb.syntax.tables import CreateTable

CACHED_TABLES = 1 << 16
"""Tables that are not read again: two snapshots of a database say most of them in the same words."""


@lru_cache(CACHED_TABLES)
def create_table(text: str, schema: str = "") -> Table:
    """The table of the one CREATE TABLE in the text; other statements (SET NAMES, USE) are passed over.

    The schema is the statement's where the name is qualified, else the argument. The same words give the same object.
    Raises SchemaError.
    """
    tables = create_tables(text, schema)
    if len(tables) > 1:
        raise SchemaError(f"{len(tables)} CREATE TABLE statements in the text; one is accepted")
    if not tables:
        raise SchemaError("no CREATE TABLE statement in the text")
    return tables[0]


def create_tables(text: str, schema: str = "") -> tuple[Table, ...]:
    """The table of each CREATE TABLE in the text, in order.

    Statements that make no table and change none (SET, USE, DROP, CREATE DATABASE, …) are passed over; any other raises
    SchemaError.
    """
    try:
        return tuple(
            build_table(parse_tokens(text, tokens, _parse_complete_table), schema, text, statement_text(text, tokens))
            for tokens in split_tokens(tokenize(text))
            if not begins_with(text, tokens, begins_other_statement)
        )
    except RecursionError:
        raise SchemaError("the statement is nested too deeply") from None


def parse_column_definition(text: str) -> Column:
    """A column definition as in prose: arguments that TiDB demands (VARCHAR's length) may be missing."""
    return build_column(parse_tokens(text, tokenize(text), _parse_column_in_prose), DEFAULT_CHARSET, text, prose=True)


def _parse_column_in_prose(parser: Cursor) -> ColumnDefinition:
    return parse_column(parser, prose=True)


def _parse_complete_table(parser: Cursor) -> CreateTable:
    """A CREATE TABLE statement that says all of its table itself; raises SchemaError for any other."""
    table = parse_create_table(parser)
    if table.like:
        _raise_at(parser, table.source_at, f"CREATE TABLE {table.name!r} LIKE another table: write its columns out")
    if table.source_at:
        _raise_at(parser, table.source_at, "CREATE TABLE … SELECT is not what TiDB takes; write the columns out")
    if table.partitioning and table.partitioning.interval:
        _raise_at(
            parser,
            table.partitioning.interval.at,
            "INTERVAL partitioning is not expanded here; write its partitions out, as SHOW CREATE TABLE does",
        )
    return table


def _raise_at(parser: Cursor, at: int, message: str) -> None:
    raise SchemaError(f"{position(parser.sql, at)}: {message}")
