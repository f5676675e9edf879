"""Reads what a changefeed has written to a storage: which sources are storages; which files there are, and their names,
against what TiCDC writes.

A path says of which version of which table a file is. TiCDC numbers the files of a directory without a gap, and an
index names the last of them. It writes the index before that file (up to new 8.5.4) or after it, so that where it was
stopped the last file may be missing, or not be named yet; earlier releases also write rows where they could not write
the index (tiflow v8.5: cdc/sink/dmlsink/cloudstorage/dml_worker.go flushMessages; ticdc v8.5.7:
downstreamadapter/sink/cloudstorage/writer.go writeDataFile).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from simulator.releases import Release
from simulator.ticdc.changefeed import STORAGE_SCHEMES, Storage
from simulator.ticdc.cloud_storage import METADATA, data_name, index_path

DAMAGED, MISSING = "file-damaged", "file-missing"
"""Checks of `reader.contract`."""

SHOWN = 60
"""Characters of a wrong content that are shown."""


@dataclass(frozen=True)
class FileFinding:
    """A file that is wrong or missing, or of which nothing tells whether it is."""

    path: str
    version: int
    schema: str
    table: str
    check: str
    """Its name in CHECKS; empty if it may be right."""

    why: str


def damaged(file: DataFile | IndexFile, why: str) -> FileFinding:
    """Return the finding of a file that is not as TiCDC writes it."""
    return FileFinding(file.path, file.version, file.schema, file.table, DAMAGED, why)


def last_named(index: IndexFile, content: bytes) -> tuple[int, int, str] | None:
    """Return number, its width and extension of the file that an index names; None for what TiCDC does not write."""
    text = content.decode("utf-8", "replace")
    named = ROWS.fullmatch(text.removesuffix("\n"))
    if named is None or not text.endswith("\n") or (named["dispatcher"] or "") != index.dispatcher:
        return None
    return int(named["number"]), len(named["number"]), named["extension"]


def index_findings(indexes: Iterable[tuple[IndexFile, bytes]]) -> Iterator[FileFinding]:
    """Yield the indexes that name no file."""
    for index, content in indexes:
        if last_named(index, content) is None:
            text = content.decode("utf-8", "replace")
            yield damaged(
                index,
                f"it says {text[:SHOWN]!r}; the name of a file as {data_name(1, 20, '.csv')!r} and LF is accepted",
            )


@dataclass(frozen=True)
class RowFileNames:
    """How a release of TiCDC names the files of rows of a changefeed."""

    release: Release
    storage: Storage
    extension: str

    def name(self, number: int, dispatcher: str) -> str:
        return data_name(number, self.storage.file_index_width, self.extension, dispatcher)

    def index(self, owner: DataFile | IndexFile) -> str:
        """Return the path of the index of the files in the directory of one of them."""
        return index_path(owner.directory, self.release, owner.dispatcher)


def row_file_findings(
    files: Sequence[DataFile], indexes: Sequence[tuple[IndexFile, bytes]], sizes: Mapping[str, int], names: RowFileNames
) -> Iterator[FileFinding]:
    """Yield what is wrong with the numbers of files of each directory, and its index."""
    by_directory: dict[tuple[str, str], dict[int, DataFile]] = {}
    for file in files:
        by_directory.setdefault((file.directory, file.dispatcher), {})[file.number] = file
    named = {(index.directory, index.dispatcher): (index, last_named(index, content)) for index, content in indexes}
    for place in sorted(by_directory.keys() | named.keys()):
        numbered = by_directory.get(place, {})
        index, last = named.get(place, (None, None))
        owner = index or next(iter(numbered.values()))
        width = names.storage.file_index_width
        if last is not None and index is not None and last[1:] != (max(width, len(str(last[0]))), names.extension):
            expected = names.name(last[0], index.dispatcher)
            yield damaged(index, f"it names a file otherwise than TiCDC does, which is {expected}")
        found = _Directory(owner, names).findings(numbered, sizes, last[0] if last else None, index is not None)
        yield from found


@dataclass(frozen=True)
class _Directory:
    """A directory of files of rows."""

    owner: DataFile | IndexFile
    names: RowFileNames

    def findings(
        self, numbered: Mapping[int, DataFile], sizes: Mapping[str, int], last: int | None, has_index: bool
    ) -> Iterator[FileFinding]:
        """Yield what is wrong with files whose index names the number `last`."""
        index_last = self.names.release.storage_index == "last"
        top = max(*numbered, last or 0, 0)
        for first, end in _gaps(numbered, top):
            if end == last and not index_last:
                yield self._finding(end, "", "its index names it, and it is not there: TiCDC writes the index first")
                end -= 1
            if first <= end:
                subject = "it is" if first == end else f"it and those up to {self._name(end)} are"
                yield self._finding(first, MISSING, f"{subject} not there, and TiCDC numbers files without a gap")
        if 0 in numbered:
            yield self._finding(0, DAMAGED, "TiCDC numbers the files of a directory from 1")
        for number, file in numbered.items():
            is_empty = sizes.get(file.path) == 0
            if last is not None and number > last:
                yield self._finding(
                    number, "", f"it comes after the last file that its index names: {self._why_beyond}"
                )
            elif is_empty and number == last and not index_last:
                yield self._finding(number, "", "it is empty: TiCDC may have been stopped before it wrote its rows")
            elif is_empty:
                yield self._finding(number, DAMAGED, "it is empty, and TiCDC writes no file without rows")
        if not has_index and numbered and self.names.release.storage_index != "none":
            yield FileFinding(
                self.names.index(self.owner),
                *self._place,
                "",
                f"it is not there, and there are files of rows: {self._why_beyond}",
            )

    @property
    def _place(self) -> tuple[int, str, str]:
        return self.owner.version, self.owner.schema, self.owner.table

    @property
    def _why_beyond(self) -> str:
        if self.names.release.storage_index == "last":
            return "TiCDC may have been stopped before it wrote the index"
        return "TiCDC goes on if it cannot write an index"

    def _finding(self, number: int, check: str, why: str) -> FileFinding:
        return FileFinding(f"{self.owner.directory}/{self._name(number)}", *self._place, check, why)

    def _name(self, number: int) -> str:
        return self.names.name(number, self.owner.dispatcher)


def _gaps(numbered: Iterable[int], top: int) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of numbers up to `top` that are not there."""
    present = sorted(number for number in numbered if number <= top)
    for before, after in zip([0, *present], [*present, top + 1]):
        if after - before > 1:
            yield before + 1, after - 1


def version_findings(files: Iterable[DataFile], known: Mapping[tuple[str, str, int], object]) -> Iterator[FileFinding]:
    """Yield the versions of tables that have rows and no schema file."""
    places = sorted({(file.version, file.schema, file.table) for file in files if not file.is_csv})
    for version, schema, table in places:
        if (schema, table, version) not in known:
            why = f"there is no schema file of version {version} of {schema}.{table}, and there are rows of it"
            yield FileFinding(f"{schema}/{table}/{version}", version, schema, table, MISSING, why)


def twice(schemas: Iterable[tuple[tuple[str, str, int], str]]) -> Iterator[FileFinding]:
    """Yield schema files of a version of which there is another one; each is a name with version, and its path."""
    for (schema, table, version), group in groupby(sorted(schemas), lambda each: each[0]):
        first, *others = (path for _, path in group)
        for path in others:
            yield FileFinding(path, version, schema, table, DAMAGED, f"{first} has the same version of the table")


SCHEMA = re.compile(r"([^/]+/){1,2}meta/schema_\d+_\d{10}\.json|[^/]+/[^/]+/\d+/schema\.json")
DATE = r"(\d{4}(-\d\d){0,2}/)?"
NAMED = re.compile(
    rf"(?P<directory>(?P<schema>[^/]+)/(?P<table>[^/]+)/(?P<version>\d+)/(\d+/)?{DATE})(?P<file>(meta/)?CDC[^/]*)"
)
BY_ID = re.compile(rf"(?P<directory>(?P<table>\d+)/(?P<version>\d+)/{DATE})(?P<file>(meta/)?CDC[^/]*)")
"""The paths of rows, by names or, with use-table-id-as-path, by ids."""

ROWS = re.compile(r"CDC(_(?P<dispatcher>\w+)_)?(?P<number>\d+)(?P<extension>\.csv|\.json)")
INDEX = re.compile(r"(meta/)?CDC(_(?P<dispatcher>\w+))?\.index")
LIKE_TICDC = re.compile(r"(.*/)?(CDC[^/]*|schema[^/]*|[^/]*\.(csv|json|index))")
"""Files that a consumer may take for TiCDC's; it ignores others."""

UNFINISHED = re.compile(r"(.*/)?([^/]+\.tmp\.[0-9a-f-]{36}|\.[0-9a-f-]{36})")
"""Files that were being written (tidb: pkg/objstore/local.go WriteFile)."""


def may_be_written(path: str) -> bool:
    """Return whether a changefeed may have written a file at a path."""
    return path == METADATA or any(form.fullmatch(path) for form in (SCHEMA, NAMED, BY_ID, UNFINISHED))


DATES = {"year": r"\d{4}", "month": r"\d{4}-\d\d", "day": r"\d{4}-\d\d-\d\d"}
"""The date in a path, by `date-separator`; others have none."""


@dataclass(frozen=True)
class DataFile:
    """A file of rows."""

    path: str
    version: int
    schema: str
    table: str
    directory: str
    number: int
    extension: str
    dispatcher: str = ""

    @property
    def is_csv(self) -> bool:
        return self.extension == ".csv"


@dataclass(frozen=True)
class IndexFile:
    """The index of a directory of files of rows."""

    path: str
    version: int
    schema: str
    table: str
    directory: str
    """That of the rows."""

    dispatcher: str = ""


def rows_file(path: str, match: re.Match[str], schema: str, table: str) -> DataFile | IndexFile | None:
    """Return the file of rows or index at a path (NAMED, BY_ID); None for another name."""
    place = path, int(match["version"]), schema, table, match["directory"].rstrip("/")
    if index := INDEX.fullmatch(match["file"]):
        return IndexFile(*place, index["dispatcher"] or "")
    rows = ROWS.fullmatch(match["file"])
    if rows is None:
        return None
    return DataFile(*place, int(rows["number"]), rows["extension"], rows["dispatcher"] or "")


def misplaced(file: DataFile | IndexFile, names: RowFileNames) -> str:
    """Return why TiCDC writes no such file with these settings; empty if it does."""
    storage = names.storage
    parts = file.directory.split("/")[2 if storage.use_table_id_as_path else 3 :]
    separator = storage.date_separator
    if separator in DATES and not (parts and is_date(separator, parts.pop())):
        return f"with date-separator {separator}, TiCDC ends its directory with a date as {date_like(separator)}"
    if parts and (len(parts) > 1 or not parts[0].isdecimal()):
        return f"with date-separator {separator}, TiCDC writes no directory {'/'.join(parts)}"
    if parts and not (storage.enable_partition_separator and not storage.use_table_id_as_path):
        return f"without enable-partition-separator, TiCDC writes no directory {parts[0]}"
    if isinstance(file, IndexFile):
        expected = names.index(file)
        if names.release.storage_index == "none":
            return f"TiCDC {names.release.name} writes no index"
    else:
        expected = f"{file.directory}/{names.name(file.number, file.dispatcher)}"
    if bool(file.dispatcher) != storage.dispatcher_names:
        return f"{'with' if storage.dispatcher_names else 'without'} a dispatcher, TiCDC names its files otherwise"
    return "" if file.path == expected else f"TiCDC names it {expected}"


def is_date(separator: str, text: str) -> bool:
    """Return whether a text has the form of a date in a path; never if paths have none."""
    return separator in DATES and re.fullmatch(DATES[separator], text) is not None


def date_like(separator: str) -> str:
    """Return an example of a date in a path."""
    return {"year": "2025", "month": "2025-01"}.get(separator, "2025-01-31")


LIKE_FILES = (
    *("*/meta/schema_*.json", "*/*/meta/schema_*.json", "*/*/*/schema.json"),
    *("*/*/[0-9]*/CDC*", "*/*/[0-9]*/*/CDC*", "*/*/[0-9]*/*/*/CDC*", "[0-9]*/[0-9]*/*/CDC*"),
)
"""Patterns of schema files and files of rows."""


def is_storage(source: str) -> bool:
    """Return whether a source is the URI of a storage, or a directory to which a changefeed has written as to one."""
    if "://" in source:
        return source.partition("://")[0] in STORAGE_SCHEMES
    directory = Path(source)
    try:
        return (directory / "metadata").is_file() or any(True for like in LIKE_FILES for _ in directory.glob(like))
    except OSError:  # who lists the directory says why
        return False
