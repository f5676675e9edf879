"""Files of statements as a catalog: what exists before the statement that is explained.

One law: the files are run as TiDB would run them, USE included; what changes no schema in them is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable

from simulator.ddl.catalog import Catalog, Database, with_database
from simulator.ddl.evolve import applied
from simulator.ddl.read import reading, statement
from simulator.ddl.statements import CreateDatabase, CreateTable
from simulator.errors import DdlError, UserError
from simulator.schema.dialect import statements, tokenize


def read_catalog(files: Iterable[tuple[str, str]], database: str) -> Catalog:
    """What the statements of the files (name, text) make, beginning in an existing, empty database.

    A database that CREATE TABLE names exists. Raises UserError with the file for what TiDB would not take.
    """
    catalog = with_database(Catalog(), Database(database)) if database else Catalog()
    for name, text in files:
        try:
            catalog = _run(text, database, catalog)
        except DdlError as error:
            raise UserError(f"{name}: {error}") from error
    return catalog


def _run(text: str, database: str, catalog: Catalog) -> Catalog:
    with reading():
        parts = statements(tokenize(text))
    for tokens in parts:
        if tokens[0].text.upper() == "USE" and len(tokens) == 2:
            database = tokens[1].text
            continue
        try:
            with reading():
                read = statement(text, tokens, "")
        except DdlError as error:
            if error.code:
                raise
            continue
        if isinstance(read, CreateDatabase) and catalog.database(read.name):
            continue
        if isinstance(read, CreateTable) and not catalog.database(read.schema or database):
            catalog = with_database(catalog, Database(read.schema or database))
        catalog = applied(catalog, read, database, text[tokens[0].start:tokens[-1].end + 1])
    return catalog
