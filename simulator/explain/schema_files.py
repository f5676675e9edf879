"""Reads files of statements as a catalog: the tables before the explained statement.

The files are executed as TiDB 8.5 would, including USE. Statements that change no schema are skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from simulator.errors import DdlError, UserError
from simulator.releases import V8_5
from simulator.tidb.ddl.catalog import Catalog, DatabaseInfo, with_database
from simulator.tidb.ddl.execute import execute_in_catalog
from simulator.tidb.ddl.session import Session
from simulator.tidb.parser.ddl.statements import parse_errors, parse_statement
from simulator.tidb.parser.splitting import split_tokens
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.syntax.ddl import CreateDatabase
from simulator.tidb.syntax.definitions import Statement
from simulator.tidb.syntax.tables import CreateTable


def catalog_from_files(files: Iterable[tuple[str, str]], database: str) -> Catalog:
    """Return the catalog after the statements of the files (name, text), starting in that database; raises UserError
    with the file name for a statement that TiDB rejects."""
    catalog = Catalog()
    for name, text in files:
        try:
            for current, statement, own in _statements(text, database):
                _, catalog = execute_in_catalog(
                    _with_existing_database(catalog, statement, current), statement, own, Session(current, None, V8_5)
                )
        except DdlError as error:
            raise UserError(f"{name}: {error}") from error
    return _ensure_database(catalog, database)


def _statements(text: str, database: str) -> Iterator[tuple[str, Statement, str]]:
    """Yield current database, statement and text of the DDL statements."""
    with parse_errors():
        parts = split_tokens(tokenize(text))
    for tokens in parts:
        if tokens[0].text.upper() == "USE" and len(tokens) == 2:
            database = tokens[1].text
            continue
        try:
            with parse_errors():
                statement = parse_statement(text, tokens, "")
        except DdlError as error:
            if error.code:
                raise
            continue
        yield database, statement, text


def _with_existing_database(catalog: Catalog, statement: Statement, database: str) -> Catalog:
    """Add a database that the files do not create; drop one that they create again."""
    if isinstance(statement, CreateDatabase):
        key = statement.name.lower()
        return replace(catalog, databases={name: known for name, known in catalog.databases.items() if name != key})
    return _ensure_database(catalog, statement.schema or database) if isinstance(statement, CreateTable) else catalog


def _ensure_database(catalog: Catalog, database: str) -> Catalog:
    known = not database or catalog.database(database)
    return catalog if known else with_database(catalog, DatabaseInfo(database))
