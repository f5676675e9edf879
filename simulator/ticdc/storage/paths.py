"""The layout of a storage: directories of rows, names of files, the checkpoint (tiflow: pkg/sink/cloudstorage/path.go)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from simulator.releases import Release

METADATA = "metadata"
DATE_FORMATS = {"none": "", "year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d", "": ""}
"""The date in a path, by `date-separator`."""

SCHEMA_JSON = "schema.json"
"""The name of a schema file in releases that have it beside the rows of its version."""

SCHEMA_FILE = re.compile(r"schema_(\d+)_(\d{10})\.json")


@dataclass(frozen=True)
class StoredTable:
    """A version of a table, or of a partition, with the schema file that its rows need."""

    schema: str
    name: str
    version: int
    partition_id: int | None
    """The directory of the partition; None without one."""

    schema_path: str
    schema_text: bytes
    table_directory: str
    """The first part of the directories of its rows: schema and name, or its id."""

    header: bytes = b""
    """The first line of a file; empty if there is none."""

    dispatcher: str = ""
    """What the names of its files have of its dispatcher; empty if they have none."""

    @property
    def keeps_version(self) -> bool:
        """Whether the schema file belongs to this version alone, and so has no checksum in its name."""
        return self.schema_path.endswith(f"/{SCHEMA_JSON}")

    @property
    def checksum(self) -> str:
        """The end of the names of schema files with the same columns."""
        return self.schema_path[-len("0123456789.json") :]


def data_directory(table: StoredTable, version: int, date: str) -> str:
    """Return the directory of a table's rows; `version` is that of the schema file in use."""
    partition = [] if table.partition_id is None else [str(table.partition_id)]
    return "/".join([table.table_directory, str(version), *partition, *([date] if date else [])])


def data_name(number: int, width: int, extension: str, dispatcher: str = "") -> str:
    """Return the name of a file of rows, which are numbered from 1 in each directory."""
    return f"CDC{f'_{dispatcher}_' if dispatcher else ''}{number:0{width}d}{extension}"


def data_number(name: str, extension: str) -> int:
    """Return the number in the name of a file of rows; raise ValueError for another name."""
    match = re.fullmatch(rf"CDC(?:_\w+_)?(\d+){re.escape(extension)}", name)
    if match is None:
        raise ValueError(f"'{name}' is a invalid file name")
    return int(match[1])


def index_path(directory: str, release: Release, dispatcher: str = "") -> str:
    """Return the path of the file that names the last file of a directory, in a release that has it."""
    place = directory if release.storage_index == "beside" else f"{directory}/meta"
    return f"{place}/CDC{f'_{dispatcher}' if dispatcher else ''}.index"


def date_text(separator: str, physical_ms: int) -> str:
    """Return the date of a flush at that time, in UTC."""
    return datetime.fromtimestamp(physical_ms / 1000, UTC).strftime(DATE_FORMATS[separator])


def checkpoint_text(ts: int) -> bytes:
    """Return the content of `metadata`."""
    return b'{"checkpoint-ts":%d}' % ts
