"""Schema files: a table version with its columns and statement (tiflow v8.5: pkg/sink/cloudstorage/table_definition.go)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from simulator.errors import DdlError, SqlError, UserError
from simulator.files import PARSE_ERRORS, parse_error_reason
from simulator.releases import Release
from simulator.ticdc.cloud_storage import SCHEMA_JSON, columns_checksum
from simulator.tidb import syntax
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.catalog import Catalog, DatabaseInfo, with_database
from simulator.tidb.ddl.execute import execute_in_catalog
from simulator.tidb.ddl.session import Session
from simulator.tidb.model.table import Table
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.syntax.statements import RenameTable

Version: TypeAlias = "tuple[str, str, int]"
"""The names of a schema and a table, and the version of the table."""


@dataclass(frozen=True)
class CsvColumn:
    """A column of a schema file."""

    name: str
    type: str
    """As VARCHAR or `INT UNSIGNED`."""

    is_key: bool
    """Whether it is in the primary key."""

    not_null: bool = False


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
    """The columns that rows may have: none that is hidden."""

    texts: Sequence[bytes] = ()
    """All columns as JSON texts, hidden ones, too; none if the file is not of TiCDC's form."""

    flaw: str = ""
    """Why TiCDC does not write this file at its path; empty if it does."""


FORM = re.compile(
    rb"""\{
    "Table": (?P<table>"[^\n]*"),
    "Schema": (?P<schema>"[^\n]*"),
    "Version": 1,
    "TableVersion": [0-9]+,
    "Query": "[^\n]*",
    "Type": [0-9]+,
    "TableColumns": (null|\[\n(?P<columns>.*)\n    \]),
    "TableColumnsTotal": (?P<total>[0-9]+)
\}""",
    re.DOTALL,
)
"""The text of a schema file (tiflow v8.5: pkg/sink/cloudstorage/table_definition.go MarshalWithQuery)."""

LATEST = (1 << 63) - 1
"""The greatest TSO."""

SHOWN = 40
"""Digits of a wrong number that are shown."""

HIDDEN = "_V$_"
"""The begin of the names of columns that TiDB makes for expression indexes (tidb: pkg/ddl/ddl_api.go
expressionIndexPrefix)."""

COLUMN = re.compile(rb" {8}(\{\n.*?\n {8}\})", re.DOTALL)


def _flaw(schema: TableSchema, content: bytes) -> str:
    """Return why TiCDC does not write this schema file at its path; empty if it does."""
    form = FORM.fullmatch(content)
    if form is None or b",\n".join(b" " * 8 + text for text in schema.texts) != (form["columns"] or b""):
        return "it does not have the members of a schema file in TiCDC's form"
    if int(form["total"]) != len(schema.texts):
        return f"its TableColumnsTotal is {int(form['total'])}, and it has {len(schema.texts)} columns"
    if bool(schema.query) != bool(schema.type):
        return f"its Type is {schema.type}, and it has {'a' if schema.query else 'no'} statement"
    directory, _, name = schema.path.rpartition("/")
    if name == SCHEMA_JSON:
        expected = f"{schema.schema}/{schema.table}/{schema.version}/{SCHEMA_JSON}"
    else:
        names = [column.name for column in schema.columns]
        checksum = columns_checksum(form["table"], form["schema"], zip(names, schema.texts, strict=True))
        by_id = schema.table and re.fullmatch(r"\d+/meta", directory)
        named = f"{schema.schema}/{schema.table}/meta" if schema.table else f"{schema.schema}/meta"
        expected = f"{directory if by_id else named}/schema_{schema.version}_{checksum:010d}.json"
    return "" if schema.path == expected else f"it has the content of {expected}, by its names, version and checksum"


def table_schema(path: str, content: bytes) -> TableSchema:
    """Return what a schema file says (tiflow v8.5: pkg/sink/cloudstorage/table_definition.go). Raises UserError."""
    try:
        document: dict[str, Any] = json.loads(content)
        columns = [
            CsvColumn(
                _text(each["ColumnName"]),
                _text(each["ColumnType"]),
                each.get("ColumnIsPk") == "true",
                each.get("ColumnNullable") == "false",
            )
            for each in document["TableColumns"] or ()
        ]
        schema, table, query = (_text(document[name]) for name in ("Schema", "Table", "Query"))
        version, type = int(document["TableVersion"]), int(document["Type"])
        if not 0 <= version <= LATEST:
            raise ValueError(f"TableVersion {str(version)[:SHOWN]} is no TSO")
        texts = tuple(COLUMN.findall(content))
        read = TableSchema(
            path, version, schema, table, query, type, columns, texts if len(texts) == len(columns) else ()
        )
        return replace(read, columns=_without_hidden(columns), flaw=_flaw(read, content))
    except PARSE_ERRORS as error:
        missing = f"member {error} is missing" if isinstance(error, KeyError) else parse_error_reason(error)
        raise UserError(f"it is no schema file: {missing}") from error


def _without_hidden(columns: Iterable[CsvColumn]) -> Sequence[CsvColumn]:
    """Return the columns without those of expression indexes, which are hidden, and which rows do not have."""
    return [column for column in columns if not column.name.startswith(HIDDEN)]


def _text(value: object) -> str:
    """Return a text without lone surrogates, which only damaged files have."""
    return str(value).encode("utf-8", "replace").decode()


def told_tables(schemas: Iterable[TableSchema], release: Release) -> Mapping[Version, Table]:
    """Return the tables by schema, name and version, as far as statements tell.

    Schema files tell neither virtual columns, which rows do not have, nor a handle key that is no primary key. A
    statement on a table that existed before the changefeed cannot be executed here, and tells nothing.
    """
    catalog = Catalog()
    tables: dict[Version, Table] = {}
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
            tables[file.schema, file.table, file.version] = table
    return tables


def old_names(file: TableSchema) -> Iterator[tuple[str, str]]:
    """Yield schema and name, in lower case, of the tables that a statement renames."""
    if file.type != Action.RENAME_TABLE:
        return
    try:
        statement = parse_sql(file.query, frozenset())
    except (SqlError, DdlError):
        return
    if isinstance(statement, RenameTable):
        for old, _ in statement.pairs:
            yield (old.schema or file.schema).lower(), old.name.lower()
