"""The files of a storage in the order in which a consumer reads them.

The files of a version of a table come after its schema file and before all files of later versions, as in TiCDC's own
consumer (tiflow v8.5: cmd/storage-consumer/main.go).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from simulator.consumer.storage.schema_files import TableSchema, table_schema, virtual_columns
from simulator.errors import UserError
from simulator.files import parse_error_reason
from simulator.releases import V8_5
from simulator.sinks.external_storage import ExternalStorage, reason
from simulator.ticdc.changefeed import Changefeed, load_file
from simulator.ticdc.storage import METADATA

SCHEMA = re.compile(r"(?P<schema>[^/]+)/((?P<table>[^/]+)/)?meta/schema_(?P<version>\d+)_\d{10}\.json")
INDEX = re.compile(r"(?P<schema>[^/]+)/(?P<table>[^/]+)/(?P<version>\d+)/(\d+/)?(\d{4}(-\d\d){0,2}/)?meta/CDC\.index")
DATA = re.compile(
    r"(?P<schema>[^/]+)/(?P<table>[^/]+)/(?P<version>\d+)/(\d+/)?(\d{4}(-\d\d){0,2}/)?CDC\d+\.(?P<format>csv|json)"
)


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


@dataclass(frozen=True)
class StorageDirectory:
    """A storage that a changefeed has written to."""

    storage: ExternalStorage
    changefeed: Changefeed

    @cached_property
    def files(self) -> Sequence[TableSchema | DataFile | IndexFile]:
        """All schema files, files of rows and indexes, in order. Raises UserError."""
        return sorted(self._files(), key=lambda file: (file.version, not isinstance(file, TableSchema), file.path))

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
        directory = index.path.removesuffix("/meta/CDC.index")
        return "" if self._has(f"{directory}/{name}") else name

    def _files(self) -> Iterator[TableSchema | DataFile | IndexFile]:
        for path in self._paths:
            if match := SCHEMA.fullmatch(path):
                yield table_schema(path, self.content(path))
            elif match := DATA.fullmatch(path):
                place = int(match["version"]), match["schema"], match["table"]
                yield DataFile(path, *place, match["format"] == "csv")
            elif match := INDEX.fullmatch(path):
                yield IndexFile(path, int(match["version"]), match["schema"], match["table"])


def open_directory(source: str, config: str | Path | None = None) -> StorageDirectory:
    """Open a storage by its path or URI; `config` is the changefeed.toml with which it was written.

    Raises UserError if there are no such files, ChangefeedError for a config that TiCDC rejects.
    """
    uri = source if "://" in source else Path(source).absolute().as_uri()
    if "protocol=" not in uri.partition("?")[2]:
        uri += ("&" if "?" in uri else "?") + "protocol=csv"
    changefeed = load_file(uri, config)  # refuses what is no URI
    directory = StorageDirectory(ExternalStorage(source, "the storage"), changefeed)
    if not directory.files:
        raise UserError(
            f"{directory.storage.shown} has no files of a changefeed: no schema_*.json, no CDC*.csv or .json"
        )
    return directory
