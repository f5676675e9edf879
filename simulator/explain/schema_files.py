"""Files of statements as a catalog: what exists before the statement that is explained.

One law: the files are run as TiDB 8.5 would run them, USE included; what changes no schema in them is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from simulator.errors import DdlError, UserError
from simulator.releases import V8_5
from simulator.tidb.ddl.catalog import Catalog, DatabaseInfo, with_database
from simulator.tidb.ddl.execute import execute_in_catalog
from simulator.tidb.ddl.session import Session
from simulator.tidb.parser.ddl import parse_errors, parse_statement
from simulator.tidb.parser.splitting import split_tokens
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.syntax.ddl import CreateDatabase, Statement
from simulator.tidb.syntax.tables import CreateTable


def read_catalog(files: Iterable[tuple[str, str]], database: str) -> Catalog:
    """What the statements of the files (name, text) make, beginning in that current database.

    Raises UserError with the file for what TiDB would not take.
    """
    catalog = Catalog()
    for name, text in files:
        try:
            for current, read, own in _statements(text, database):
                _, catalog = execute_in_catalog(
                    _prepared(catalog, read, current), read, own, Session(current, None, V8_5)
                )
        except DdlError as error:
            raise UserError(f"{name}: {error}") from error
    return _with(catalog, database)


def _statements(text: str, database: str) -> Iterator[tuple[str, Statement, str]]:
    """Current database, statement and its text, of what is DDL."""
    with parse_errors():
        parts = split_tokens(tokenize(text))
    for tokens in parts:
        if tokens[0].text.upper() == "USE" and len(tokens) == 2:
            database = tokens[1].text
            continue
        try:
            with parse_errors():
                read = parse_statement(text, tokens, "")
        except DdlError as error:
            if error.code:
                raise
            continue
        yield database, read, text


def _prepared(catalog: Catalog, read: Statement, database: str) -> Catalog:
    """A database that is not created in the files is taken to be there; one that is created twice, once."""
    if isinstance(read, CreateDatabase):
        key = read.name.lower()
        return replace(catalog, databases={name: known for name, known in catalog.databases.items() if name != key})
    return _with(catalog, read.schema or database) if isinstance(read, CreateTable) else catalog


def _with(catalog: Catalog, database: str) -> Catalog:
    known = not database or catalog.database(database)
    return catalog if known else with_database(catalog, DatabaseInfo(database))
