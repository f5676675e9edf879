"""Tables from the text of CREATE TABLE. Every error is a SchemaError with line and column."""

from __future__ import annotations

import re
from functools import lru_cache

from simulator.errors import SchemaError
from simulator.nesting import TOO_DEEP
from simulator.tidb import syntax
from simulator.tidb.ddl.definitions.table import build_table
from simulator.tidb.model.table import Table
from simulator.tidb.parser.cursor import Cursor, position
from simulator.tidb.parser.ddl.create_table import begins_other_statement, parse_create_table
from simulator.tidb.parser.splitting import begins_with, parse_tokens, split_tokens, statement_text
from simulator.tidb.parser.tokens import tokenize

SOFT_DELETE_OPTIONS = re.compile(r"(?:\s*/\*T!\[(?:softdelete|active_active)\].*?\*/)+", re.DOTALL)

CACHED_TABLES = 1 << 16
"""Cached tables: two snapshots of a database define most of their tables with the same text."""


@lru_cache(CACHED_TABLES)
def create_table(text: str, schema: str = "") -> Table:
    """Return the table of the one CREATE TABLE in the text; other statements (SET NAMES, USE) are skipped.

    `schema` is the schema of an unqualified name. The same text gives the same object. Raises SchemaError.
    """
    tables = create_tables(text, schema)
    if len(tables) > 1:
        raise SchemaError(f"{len(tables)} CREATE TABLE statements in the text; one is accepted")
    if not tables:
        raise SchemaError("no CREATE TABLE statement in the text")
    return tables[0]


def create_tables(text: str, schema: str = "") -> tuple[Table, ...]:
    """Return the tables of all CREATE TABLE in the text, in order.

    SET, USE, DROP, CREATE DATABASE and the like are skipped; other statements raise SchemaError.
    """
    try:
        return tuple(
            build_table(
                parse_tokens(text, tokens, _parse_complete_table),
                schema,
                text,
                statement_text(text, tokens) + _options_behind(text, tokens[-1].end + 1),
            )
            for tokens in split_tokens(tokenize(text))
            if not begins_with(text, tokens, begins_other_statement)
        )
    except RecursionError:
        raise SchemaError(TOO_DEEP) from None


def _options_behind(text: str, end: int) -> str:
    """Return the options behind a statement that only a TiDB with SOFTDELETE reads."""
    options = SOFT_DELETE_OPTIONS.match(text, end)
    return options[0] if options else ""


def _parse_complete_table(parser: Cursor) -> syntax.CreateTable:
    """Parse a CREATE TABLE that defines its table completely. Raises SchemaError for LIKE, SELECT and INTERVAL."""
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
