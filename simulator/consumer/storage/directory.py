"""The files of a storage in the order in which a consumer reads them.

The files of a version of a table come after its schema file and before all files of later versions, as in TiCDC's own
consumer (tiflow v8.5: cmd/storage-consumer/main.go).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

from simulator.consumer.storage.schema_files import CsvColumn, TableSchema, table_schema, virtual_columns
from simulator.errors import ChangefeedError, DdlError, SqlError, UserError
from simulator.files import parse_error_reason
from simulator.releases import V8_5, find
from simulator.sinks.external_storage import ExternalStorage, reason
from simulator.ticdc.changefeed import Changefeed, load_file
from simulator.ticdc.dispatch.selectors import Selector, compile_selectors
from simulator.ticdc.storage import METADATA
from simulator.tidb.ddl.actions import Action
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.syntax.ddl import RenameTable

SCHEMA = re.compile(r"([^/]+/){1,2}meta/schema_\d+_\d{10}\.json|[^/]+/[^/]+/\d+/schema\.json")
DATE = r"(\d{4}(-\d\d){0,2}/)?"
NAMED = rf"(?P<schema>[^/]+)/(?P<table>[^/]+)/(?P<version>\d+)/(\d+/)?{DATE}"
BY_ID = rf"(?P<table>\d+)/(?P<version>\d+)/{DATE}"
"""The directories of rows, by names or, with use-table-id-as-path, by ids."""

FILE = r"(CDC(_\w+_)?\d+\.(?P<format>csv|json)|(meta/)?CDC(_\w+)?\.index)"
"""A file of rows, or an index."""

READERS = (V8_5, find("v8.5.8", "new"), find("v7.1.6"))
"""Releases that together know the settings of files."""


@dataclass(frozen=True)
class DataFile:
    """A file of rows."""

    path: str
    version: int
    schema: str
    table: str
    is_csv: bool


@dataclass(frozen=True)
class IndexFile:
    """The index of a directory of files of rows."""

    path: str
    version: int
    schema: str
    table: str


StorageFile: TypeAlias = "TableSchema | DataFile | IndexFile"


@dataclass(frozen=True)
class StorageDirectory:
    """A storage that a changefeed has written to."""

    storage: ExternalStorage
    changefeed: Changefeed

    @cached_property
    def files(self) -> Sequence[StorageFile]:
        """All schema files, files of rows and indexes, in order. Raises UserError."""
        files = sorted(self._files(), key=lambda file: (file.version, not isinstance(file, TableSchema), file.path))
        return _order_renames(files)

    @property
    def skipped(self) -> list[str]:
        """The paths of files that are none of a changefeed."""
        known = {METADATA, *(file.path for file in self.files)}
        return [path for path in self._paths if path not in known]

    @cached_property
    def schemas(self) -> Mapping[tuple[str, str, int], TableSchema]:
        """The schema files of tables by schema, table and version."""
        schemas = (file for file in self.files if isinstance(file, TableSchema))
        return {(file.schema, file.table, file.version): file for file in schemas}

    @cached_property
    def virtual_columns(self) -> Mapping[tuple[str, str, int], frozenset[str]]:
        """The columns of tables that rows of CSV do not have, by schema, table and version."""
        statements = (file for file in self.files if isinstance(file, TableSchema) and file.query)
        return virtual_columns(statements, V8_5)

    def uri_with(self, protocol: str) -> str:
        """Return the sink-uri of a changefeed of that protocol which writes here."""
        assert self.changefeed.storage is not None
        return re.sub(r"(?<=[?&]protocol=)csv(?=&|$)", protocol, self.changefeed.storage.uri)

    def csv_columns(self, file: DataFile) -> Sequence[Sequence[CsvColumn]]:
        """Return the columns that the rows of a file may have: the first of them with as many as a row has.

        A release writes virtual columns or not, heeds column selectors or not, and writes the key alone of a DELETE or
        not. Raises UserError if there is no schema file.
        """
        version = file.schema, file.table, file.version
        schema = self.schemas.get(version)
        if schema is None:
            raise UserError(f"there is no schema file of version {file.version} of {file.schema}.{file.table}")
        virtual = self.virtual_columns.get(version, frozenset())
        stored = [column for column in schema.columns if column.name not in virtual]
        selector = next((each for each in self._selectors if each.tables.match(file.schema, file.table)), None)
        selected = [column for column in stored if selector is not None and selector.columns.match(column.name)]
        return [each for each in (stored, selected, schema.columns) if each]

    @cached_property
    def _selectors(self) -> Sequence[Selector]:
        return compile_selectors(self.changefeed.column_selectors, self.changefeed.case_sensitive)

    def checkpoint_ts(self) -> int | None:
        """Return the checkpoint; None if none was written. Raises UserError."""
        if not self._has(METADATA):
            return None
        try:
            return int(json.loads(self.content(METADATA))["checkpoint-ts"])
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise UserError(f'{METADATA} has no {{"checkpoint-ts": N}}: {parse_error_reason(error)}') from error

    def content(self, path: str) -> bytes:
        """Return the content of a file. Raises UserError."""
        try:
            content = self.storage.read(path)
        except Exception as error:  # each driver has errors of its own
            raise UserError(f"{path} cannot be read: {reason(error)}") from error
        if content is None:
            raise UserError(f"{path} has been removed")
        return content

    @cached_property
    def _paths(self) -> Sequence[str]:
        try:
            return self.storage.paths()
        except Exception as error:  # each driver has errors of its own
            raise UserError(f"{self.storage.shown} cannot be listed: {reason(error)}") from error

    def _has(self, path: str) -> bool:
        return path in self._paths

    def missing_file(self, index: IndexFile) -> str:
        """Return the name of the file that an index names and that is not there; empty if it is there."""
        name = self.content(index.path).decode("utf-8", "replace").rstrip("\n")
        directory = index.path.rpartition("/")[0].removesuffix("/meta")
        return "" if self._has(f"{directory}/{name}") else name

    def _files(self) -> Iterator[StorageFile]:
        named: dict[tuple[str, int], tuple[str, str]] = {}
        for path in self._paths:
            if SCHEMA.fullmatch(path):
                schema = table_schema(path, self.content(path))
                named[path.partition("/")[0], schema.version] = schema.schema, schema.table
                yield schema
        for path in self._paths:
            by_id, match = re.fullmatch(BY_ID + FILE, path), re.fullmatch(NAMED + FILE, path)
            names = named.get((by_id["table"], int(by_id["version"]))) if by_id else None
            if by_id and names:
                yield _file(path, by_id, *names)
            elif match:
                yield _file(path, match, match["schema"], match["table"])


def _file(path: str, match: re.Match[str], schema: str, table: str) -> DataFile | IndexFile:
    place = int(match["version"]), schema, table
    return DataFile(path, *place, match["format"] == "csv") if match["format"] else IndexFile(path, *place)


def open_directory(source: str, config: str | Path | None = None) -> StorageDirectory:
    """Open a storage by its path or URI; `config` is the changefeed.toml with which it was written.

    Raises UserError if there are no such files, ChangefeedError for a config that TiCDC rejects.
    """
    changefeed = _changefeed(_with_protocol(source, "csv"), config)  # refuses what is no URI
    directory = StorageDirectory(ExternalStorage(source, "the storage"), changefeed)
    if not directory.files:
        raise UserError(
            f"{directory.storage.shown} has no files of a changefeed: no schema_*.json, no CDC*.csv or .json"
        )
    return directory


def _changefeed(sink_uri: str, config: str | Path | None) -> Changefeed:
    """Return the changefeed in the first release that accepts the file; raises ChangefeedError if none does."""
    errors = []
    for release in READERS:
        try:
            return load_file(sink_uri, config, release)
        except ChangefeedError as error:
            errors.append(error)
    raise errors[0]


def _with_protocol(source: str, protocol: str) -> str:
    """Return a path or URI as a sink-uri."""
    uri = source if "://" in source else Path(source).absolute().as_uri()
    if "protocol=" in uri.partition("?")[2]:
        return uri
    return f"{uri}{'&' if '?' in uri else '?'}protocol={protocol}"


def _order_renames(files: Iterable[StorageFile]) -> list[StorageFile]:
    """Return files in their order, but of the renames of one statement those first whose new name is free."""
    ordered: list[StorageFile] = []
    for _, group in groupby(
        files, lambda file: (file.version, isinstance(file, TableSchema) and file.type == Action.RENAME_TABLE)
    ):
        waiting = list(group)
        while waiting:
            old_names = {name for file in waiting if isinstance(file, TableSchema) for name in _old_names(file)}
            free = (file for file in waiting if (file.schema.lower(), file.table.lower()) not in old_names)
            ordered.append(next(free, waiting[0]))
            waiting.remove(ordered[-1])
    return ordered


def _old_names(file: TableSchema) -> Iterator[tuple[str, str]]:
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
