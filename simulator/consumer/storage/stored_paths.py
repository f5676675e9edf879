"""What the paths of a storage say: which file is of which version of which table, and where TiCDC would write it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from simulator.releases import Release
from simulator.ticdc.changefeed.model import Storage
from simulator.ticdc.storage import METADATA, data_name, index_path

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


def misplaced(file: DataFile | IndexFile, storage: Storage, release: Release, extension: str) -> str:
    """Return why TiCDC writes no such file with these settings; empty if it does."""
    parts = file.directory.split("/")[2 if storage.use_table_id_as_path else 3 :]
    separator = storage.date_separator
    if separator in DATES and not (parts and is_date(separator, parts.pop())):
        return f"with date-separator {separator}, TiCDC ends its directory with a date as {date_like(separator)}"
    if parts and (len(parts) > 1 or not parts[0].isdecimal()):
        return f"with date-separator {separator}, TiCDC writes no directory {'/'.join(parts)}"
    if parts and not (storage.enable_partition_separator and not storage.use_table_id_as_path):
        return f"without enable-partition-separator, TiCDC writes no directory {parts[0]}"
    if isinstance(file, IndexFile):
        expected = index_path(file.directory, release, file.dispatcher)
        if release.storage_index == "none":
            return f"TiCDC {release.name} writes no index"
    else:
        name = data_name(file.number, storage.file_index_width, extension, file.dispatcher)
        expected = f"{file.directory}/{name}"
    if bool(file.dispatcher) != storage.dispatcher_names:
        return f"{'with' if storage.dispatcher_names else 'without'} a dispatcher, TiCDC names its files otherwise"
    return "" if file.path == expected else f"TiCDC names it {expected}"


def is_date(separator: str, text: str) -> bool:
    """Return whether a text has the form of a date in a path; never if paths have none."""
    return separator in DATES and re.fullmatch(DATES[separator], text) is not None


def date_like(separator: str) -> str:
    """Return an example of a date in a path."""
    return {"year": "2025", "month": "2025-01"}.get(separator, "2025-01-31")
