"""What there is in a storage, listed and read once, however often it is looked at with other knowledge of its changefeed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from simulator import limits
from simulator.errors import UserError
from simulator.reader.storage import (
    BY_ID,
    DAMAGED,
    NAMED,
    SCHEMA,
    SHOWN,
    DataFile,
    FileFinding,
    IndexFile,
    last_named,
    may_be_written,
    rows_file,
)
from simulator.reader.storage.schema_files import TableSchema, table_schema
from simulator.sinks.external_storage import ExternalStorage, reason
from simulator.ticdc.cloud_storage import METADATA


@dataclass(frozen=True)
class StorageListing:
    """The files of a storage: their names and sizes, and the content of those that are not of rows. All raise UserError."""

    storage: ExternalStorage

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """The bytes of all files by their paths."""
        found: dict[str, int] = {}
        foreign = 0
        try:
            for path, size in self.storage.files():
                found[path] = size
                foreign += not may_be_written(path)
                if foreign > limits.FOREIGN_FILES:
                    break
        except Exception as error:  # each driver has errors of its own
            raise UserError(f"{self.storage.shown} cannot be listed: {reason(error)}") from error
        if foreign > limits.FOREIGN_FILES:
            raise UserError(
                f"{self.storage.shown} has more than {limits.FOREIGN_FILES:,} files that no changefeed writes, such as "
                f"{next(path for path in found if not may_be_written(path))!r}: the directory of a changefeed is accepted"
            )
        return dict(sorted(found.items()))

    def content(self, path: str) -> bytes:
        """Return the content of a file."""
        try:
            content = self.storage.read(path)
        except Exception as error:  # each driver has errors of its own
            raise UserError(f"{path} cannot be read: {reason(error)}") from error
        if content is None:
            raise UserError(f"{path} has been removed")
        return content

    @cached_property
    def checkpoint(self) -> tuple[int | None, str]:
        """The checkpoint, and why it cannot be read; None if none was written, or it cannot be read."""
        if METADATA not in self.sizes:
            return None, ""
        content = self.content(METADATA)
        written = re.fullmatch(rb'\{"checkpoint-ts":([1-9]\d{0,17})\}', content)
        shown = content[:SHOWN].decode("utf-8", "replace")
        return (int(written[1]), "") if written else (None, f'it says {shown!r}; {{"checkpoint-ts":N}} is accepted')

    @property
    def checkpoint_ts(self) -> int | None:
        """The checkpoint; None if there is none that can be read."""
        return self.checkpoint[0]

    @cached_property
    def schema_files(self) -> Sequence[TableSchema | FileFinding]:
        """The schema files, and the findings of those that are damaged."""
        return [self._schema_file(path) for path in self.sizes if SCHEMA.fullmatch(path)]

    def _schema_file(self, path: str) -> TableSchema | FileFinding:
        try:
            return table_schema(path, self.content(path))
        except UserError as error:
            names = path.split("/")
            version = re.search(r"/(schema_)?(\d+)(_\d+\.json|/schema\.json)$", path)
            table = names[1] if len(names) == 4 else ""
            return FileFinding(path, int(version[2]) if version else 0, names[0], table, DAMAGED, str(error))

    @cached_property
    def row_files(self) -> Mapping[str, DataFile | IndexFile | None]:
        """The files of rows and indexes by path, None for one of which the table is not known."""
        named = {
            (file.path.partition("/")[0], file.version): (file.schema, file.table)
            for file in self.schema_files
            if isinstance(file, TableSchema)
        }
        found: dict[str, DataFile | IndexFile | None] = {}
        for path in self.sizes:
            by_id, match = BY_ID.fullmatch(path), NAMED.fullmatch(path)
            if by_id and (names := named.get((by_id["table"], int(by_id["version"])))):
                found[path] = rows_file(path, by_id, *names)
            elif match:
                found[path] = rows_file(path, match, match["schema"], match["table"])
        return found

    @cached_property
    def indexes(self) -> Sequence[tuple[IndexFile, bytes]]:
        """The indexes with their content."""
        return [(file, self.content(file.path)) for file in self.row_files.values() if isinstance(file, IndexFile)]

    def missing_file(self, index: IndexFile) -> str:
        """Return the name of the file that an index names and that is not there; empty if it is there."""
        content = self.content(index.path)
        name = content.decode("utf-8", "replace").rstrip("\n")
        return name if last_named(index, content) and f"{index.directory}/{name}" not in self.sizes else ""
