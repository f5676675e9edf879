"""Schema files: a table version with its columns and statement (tiflow v8.5: pkg/sink/cloudstorage/table_definition.go)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simulator.errors import DdlError, SqlError, UserError
from simulator.files import parse_error_reason
from simulator.releases import Release
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import Catalog, DatabaseInfo, with_database
from simulator.tidb.ddl.execute import execute_in_catalog
from simulator.tidb.ddl.session import Session
from simulator.tidb.parser.sql import parse_sql


@dataclass(frozen=True)
class CsvColumn:
    """A column of a schema file."""

    name: str
    type: str
    """As VARCHAR or `INT UNSIGNED`."""

    is_key: bool
    """Whether it is in the primary key."""


@dataclass(frozen=True)
class TableSchema:
    """A schema file."""

    path: str
    version: int
    schema: str
    table: str
    """Empty for a statement on a database."""

    query: str
    """Empty for a table that existed before the changefeed."""

    type: int
    """TiDB's type of the DDL job; 0 without a statement."""

    columns: Sequence[CsvColumn]


def table_schema(path: str, content: bytes) -> TableSchema:
    """Return what a schema file says (tiflow v8.5: pkg/sink/cloudstorage/table_definition.go). Raises UserError."""
    try:
        document: dict[str, Any] = json.loads(content)
        columns = [
            CsvColumn(str(each["ColumnName"]), str(each["ColumnType"]), each.get("ColumnIsPk") == "true")
            for each in document["TableColumns"] or ()
        ]
        names = str(document["Schema"]), str(document["Table"])
        return TableSchema(
            path, int(document["TableVersion"]), *names, str(document["Query"]), int(document["Type"]), columns
        )
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        missing = f"member {error} is missing" if isinstance(error, KeyError) else parse_error_reason(error)
        raise UserError(f"{path} is no schema file: {missing}") from error


def virtual_columns(schemas: Iterable[TableSchema], release: Release) -> Mapping[tuple[str, str, int], frozenset[str]]:
    """Return the names of the virtual columns of tables, by schema, table and version, as far as statements tell.

    Schema files list these columns, and rows of CSV do not have them. A statement on a table that existed before the
    changefeed cannot be executed here, and tells nothing.
    """
    catalog = Catalog()
    virtual: dict[tuple[str, str, int], frozenset[str]] = {}
    for file in schemas:
        if catalog.database(file.schema) is None:
            catalog = with_database(catalog, DatabaseInfo(file.schema))
        try:
            statement = parse_sql(file.query, frozenset())
            if isinstance(statement, syntax.Statement):
                _, catalog = execute_in_catalog(catalog, statement, file.query, Session(file.schema, None, release))
        except (SqlError, DdlError):
            continue
        table = catalog.table(file.schema, file.table)
        if table is not None:
            names = (column.name for column in table.columns if column.generated == "virtual")
            virtual[file.schema, file.table, file.version] = frozenset(names)
    return virtual
