"""The files of a storage in the order in which a consumer reads them.

The files of a version of a table come after its schema file and before all files of later versions, as in TiCDC's own
consumer (tiflow v8.5: cmd/storage-consumer/main.go).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

from simulator import tso
from simulator.errors import ChangefeedError, UserError
from simulator.reader import truth_metadata
from simulator.reader.storage import (
    BY_ID,
    DAMAGED,
    LIKE_TICDC,
    SCHEMA,
    UNFINISHED,
    DataFile,
    FileFinding,
    IndexFile,
    RowFileNames,
    index_findings,
    is_date,
    misplaced,
    row_file_findings,
    twice,
    version_findings,
)
from simulator.reader.storage.listing import StorageListing
from simulator.reader.storage.schema_files import CsvColumn, TableSchema, Version, old_names, told_tables
from simulator.releases import V8_5, Release, find
from simulator.sinks.external_storage import ExternalStorage
from simulator.ticdc.changefeed import Changefeed, load_file
from simulator.ticdc.cloud_storage import METADATA, SCHEMA_JSON, date_text
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.codecs.csv import CSV
from simulator.ticdc.dispatch import Selector, compile_selectors
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl import Action
from simulator.tidb.model.table import Table

READERS = (V8_5, find("v8.5.8", "new"), find("v7.1.6"))
"""Releases that together know the settings of files."""


MOST_WEST = 12 * 3600 * 1000
"""Milliseconds of a day that is not yet over in UTC−12. The date of a file is that of TiCDC's clock and time zone when
it is written (tiflow v8.5: pkg/sink/cloudstorage/path.go GenerateDateStr)."""

StorageFile: TypeAlias = "TableSchema | DataFile | IndexFile | FileFinding"


@dataclass(frozen=True)
class JsonColumns:
    """The names of columns that rows of Canal-JSON have."""

    most: frozenset[str]
    least: frozenset[str]
    """Those without which there is no row; none if it is not known which columns are virtual."""

    keys: frozenset[str]
    """Those of a DELETE that has the handle key alone."""


@dataclass(frozen=True)
class StorageDirectory:
    """A storage that a changefeed has written to."""

    listing: StorageListing
    changefeed: Changefeed
    release: Release | None = None
    """The release of the changefeed, if both are known; None if files may be of any."""

    told: Sequence[FileFinding] = ()
    """What is wrong with its files by what else is known."""

    tables: Mapping[Version, Table] = field(default_factory=dict)
    """The tables of versions; none if statements in its files tell them."""

    is_simulated: bool = False
    """Whether it is a run of this simulator, which writes a file at the time of its last row."""

    @cached_property
    def files(self) -> Sequence[StorageFile]:
        """All schema files, files of rows, indexes and what is wrong with them, in order. Raises UserError."""
        read = (
            file
            for file in (*self.listing.schema_files, *self.listing.row_files.values())
            if isinstance(file, TableSchema | DataFile | IndexFile)
        )
        wrong = (finding for finding in (*self.findings, *self.told) if finding.check)
        return _order_renames(sorted((*read, *wrong), key=_place))

    @property
    def skipped(self) -> list[str]:
        """The paths of files that are none of a changefeed."""
        known = {METADATA, *(file.path for file in self.files)}
        return [path for path in self.listing.sizes if path not in known]

    @cached_property
    def schemas(self) -> Mapping[Version, TableSchema]:
        """The schema files of tables by schema, table and version."""
        schemas = (file for file in self.files if isinstance(file, TableSchema))
        return {(file.schema, file.table, file.version): file for file in schemas}

    @cached_property
    def _told_tables(self) -> Mapping[Version, Table]:
        statements = (file for file in self.files if isinstance(file, TableSchema) and file.query)
        return self.tables or told_tables(statements, V8_5)

    def uri_with(self, protocol: str) -> str:
        """Return the sink-uri of a changefeed of that protocol which writes here."""
        assert self.changefeed.storage is not None
        return re.sub(r"(?<=[?&]protocol=)csv(?=&|$)", protocol, self.changefeed.storage.uri)

    def csv_columns(self, file: DataFile) -> Sequence[Sequence[CsvColumn]]:
        """Return the columns that the rows of a file may have: the first of them with as many as a row has.

        A release writes virtual columns or not, heeds column selectors or not, and writes the key alone of a DELETE or
        not. Raises UserError if there is no schema file.
        """
        schema = self._schema_of(file)
        virtual = self._virtual_names(schema) or frozenset()
        stored = [column for column in schema.columns if column.name not in virtual]
        selected = self._selected(file, stored)
        if self.release is None:
            return [each for each in (stored, selected or [], schema.columns) if each]
        if self.release.storage_selectors and selected is not None:
            return [selected]
        if not self.release.csv_virtual_columns:
            return [stored]
        return [[replace(column, not_null=column.not_null and column in stored) for column in schema.columns]]

    def header_columns(self, file: DataFile) -> Sequence[Sequence[CsvColumn]]:
        """Return the columns that the header of a file may have. Raises UserError if there is no schema file."""
        return [*self.csv_columns(file), self._schema_of(file).columns]

    def json_columns(self, file: DataFile) -> JsonColumns | None:
        """Return the columns that rows of Canal-JSON have; None if that is not known."""
        try:
            schema = self._schema_of(file)
        except UserError:
            return None  # which a finding tells
        virtual, keys = self._virtual_names(schema), frozenset(column.name for column in self.key_columns(file))
        every = frozenset(column.name for column in schema.columns)
        selected = self._selected(file, schema.columns)
        if selected is None or self.release is not None and not self.release.storage_selectors:
            return JsonColumns(every, frozenset() if virtual is None else every - virtual, keys)
        names = frozenset(column.name for column in selected)
        most = every if self.release is None else names
        return JsonColumns(most, frozenset() if virtual is None else names - virtual, keys)

    def _schema_of(self, file: DataFile) -> TableSchema:
        """Return the schema file of the rows of a file. Raises UserError if there is none."""
        schema = self.schemas.get((file.schema, file.table, file.version))
        if schema is None:
            raise UserError(f"there is no schema file of version {file.version} of {file.schema}.{file.table}")
        return schema

    def date_flaw(self, file: DataFile, last_ts: int) -> str:
        """Return why TiCDC writes no rows up to `last_ts` at the date in a file's path; empty if it may."""
        assert self.changefeed.storage is not None
        separator, date = self.changefeed.storage.date_separator, file.directory.rpartition("/")[2]
        if self.release is None or not last_ts or not is_date(separator, date):
            return ""
        time = tso.physical(last_ts)
        last = date_text(separator, time)
        if self.is_simulated:
            return "" if date == last else f"its date is {date}, and its last row is of {last}"
        earliest = date_text(separator, time - MOST_WEST)
        return "" if date >= earliest else f"its date is {date}, and its last row is of {last}, UTC, or later elsewhere"

    def _virtual_names(self, schema: TableSchema) -> frozenset[str] | None:
        """Return the columns that rows do not have; None if nothing tells them."""
        table = self._told_tables.get((schema.schema, schema.table, schema.version))
        return None if table is None else frozenset(each.name for each in table.columns if each.generated == "virtual")

    def _selected(self, file: DataFile, columns: Sequence[CsvColumn]) -> Sequence[CsvColumn] | None:
        """Return the columns that a column selector leaves; None if none is about the table."""
        selector = next((each for each in self._selectors if each.tables.match(file.schema, file.table)), None)
        return None if selector is None else [column for column in columns if selector.columns.match(column.name)]

    def key_columns(self, file: DataFile) -> Sequence[CsvColumn]:
        """Return the columns of a DELETE that has the handle key alone; none if all have more. Raises UserError."""
        codec, schema = self.changefeed.codec, self._schema_of(file)
        if self.release is not None and not codec.delete_only_output_handle_key_columns:
            if codec.enable_old_value or codec.protocol == CSV.protocol.name and not self.release.csv_delete_by_key:
                return ()
        table = self._told_tables.get((schema.schema, schema.table, schema.version))
        names = None if table is None else frozenset(handle_key(table))
        return [each for each in schema.columns if (each.is_key if names is None else each.name in names)]

    @cached_property
    def _selectors(self) -> Sequence[Selector]:
        return compile_selectors(self.changefeed.column_selectors, self.changefeed.case_sensitive)

    @cached_property
    def findings(self) -> Sequence[FileFinding]:
        """What is wrong with the files themselves, or may be."""
        return list(self._findings())

    def _findings(self) -> Iterator[FileFinding]:
        for schema in self.listing.schema_files:
            if isinstance(schema, FileFinding):
                yield schema
            elif schema.flaw:
                yield FileFinding(schema.path, schema.version, schema.schema, schema.table, DAMAGED, schema.flaw)
        yield from index_findings(self.listing.indexes)
        if why := self.listing.checkpoint[1]:
            yield FileFinding(METADATA, 0, METADATA, "", DAMAGED, why)
        if self.release is not None:
            yield from self._of_release(self.release)

    def _of_release(self, release: Release) -> Iterator[FileFinding]:
        """Yield what a release does not write."""
        listing, storage = self.listing, self.changefeed.storage
        assert storage is not None
        names = RowFileNames(release, storage, CODECS[self.changefeed.codec.protocol].file_extension)
        for path in listing.sizes:
            why = self._why_unexpected(path, names)
            if why:
                yield FileFinding(path, 0, *_names_in(path), DAMAGED, why)
        rows = [file for file in listing.row_files.values() if isinstance(file, DataFile)]
        yield from row_file_findings(rows, listing.indexes, listing.sizes, names)
        schemas = [file for file in listing.schema_files if isinstance(file, TableSchema)]
        named = [((file.schema, file.table, file.version), file.path) for file in schemas]
        yield from twice(() if storage.use_table_id_as_path else named)
        yield from version_findings(rows, dict(named))
        if METADATA not in listing.sizes:
            why = "it is not there, and nothing tells up to where the files are complete"
            yield FileFinding(METADATA, 0, METADATA, "", "", why)

    def _why_unexpected(self, path: str, names: RowFileNames) -> str:
        if path == METADATA or UNFINISHED.fullmatch(path) or not LIKE_TICDC.fullmatch(path):
            return ""
        if SCHEMA.fullmatch(path):
            in_meta = not path.endswith(f"/{SCHEMA_JSON}")
            release = names.release
            return "" if in_meta == release.storage_schema_names else f"TiCDC {release.name} writes no such schema file"
        file = self.listing.row_files.get(path)
        if file is not None:
            return misplaced(file, names)
        if BY_ID.fullmatch(path) and names.storage.use_table_id_as_path:
            return "there is no schema file of this table id and version"
        return "TiCDC writes no file of such a name there"


def _names_in(path: str) -> tuple[str, str]:
    """Return the first directories of a path, as the names of a schema and a table."""
    first, *others = path.split("/")[:-1] or [path]
    return first, others[0] if others else ""


def open_directory(source: str, config: str | Path | None = None) -> StorageDirectory:
    """Open a storage by its path or URI; `config` is the changefeed.toml with which it was written.

    Raises UserError if there are no such files, ChangefeedError for a config that TiCDC rejects.
    """
    if "://" not in source and Path(source, truth_metadata.FILE).is_file():
        raise UserError(f"{source} holds a truth, which is no stream: --truth {source} is where it is asked for")
    changefeed = _changefeed(_with_protocol(source, "csv"), config)  # refuses what is no URI
    directory = StorageDirectory(StorageListing(ExternalStorage(source, "the storage")), changefeed)
    if not directory.files:
        raise UserError(
            f"{directory.listing.storage.shown} has no files of a changefeed: no schema_*.json, no CDC*.csv or .json"
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


def _place(file: StorageFile) -> tuple[int, int, str]:
    """Return what files are ordered by: statements of a version first, then its other schema files, then rows."""
    kind = 2 if not isinstance(file, TableSchema) else 0 if file.query else 1
    return file.version, kind, file.path


def _order_renames(files: Iterable[StorageFile]) -> list[StorageFile]:
    """Return files in their order, but of the renames of one statement those first whose new name is free."""
    ordered: list[StorageFile] = []
    for _, group in groupby(
        files, lambda file: (file.version, isinstance(file, TableSchema) and file.type == Action.RENAME_TABLE)
    ):
        waiting = list(group)
        while waiting:
            taken = {name for file in waiting if isinstance(file, TableSchema) for name in old_names(file)}
            free = (file for file in waiting if (file.schema.lower(), file.table.lower()) not in taken)
            ordered.append(next(free, waiting[0]))
            waiting.remove(ordered[-1])
    return ordered
