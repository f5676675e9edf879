"""The events of the files of a storage: rows, DDL statements and the checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simulator.consumer.decode import decode
from simulator.consumer.decode.stream_events import DdlEvent, Event, Watermark
from simulator.consumer.storage.csv_rows import CsvFormat, merge_sides
from simulator.consumer.storage.directory import DataFile, IndexFile, StorageDirectory, StorageFile
from simulator.consumer.storage.schema_files import TableSchema
from simulator.errors import UserError
from simulator.ticdc.storage import METADATA


@dataclass(frozen=True)
class FileEvent:
    """An event of a file, or why it cannot be read."""

    path: str
    row: int
    """The number of the row in the file, from 1; 0 for a file that is no rows."""

    event: Event | TableSchema | UserError

    @property
    def place(self) -> str:
        """The file, and the number of the row."""
        return f"{self.path}:{self.row}" if self.row else self.path


def events(directory: StorageDirectory) -> Iterator[FileEvent]:
    """Yield the events of all files in order."""
    for file in directory.files:
        yield from file_events(file, directory)
    checkpoint_ts = directory.checkpoint_ts()
    if checkpoint_ts is not None:
        yield FileEvent(METADATA, 0, Watermark(checkpoint_ts))


def file_events(file: StorageFile, directory: StorageDirectory) -> Iterator[FileEvent]:
    """Yield the events of a file; none for an index whose file is there."""
    if isinstance(file, TableSchema):
        statement = DdlEvent(file.version, file.schema, file.table, file.query, file.type)
        yield FileEvent(file.path, 0, statement if file.query else file)
    elif isinstance(file, IndexFile):
        if name := directory.missing_file(file):
            yield FileEvent(file.path, 0, UserError(f"it names {name}, which is not there"))
    else:
        yield from _numbered(file, directory)


def _numbered(file: DataFile, directory: StorageDirectory) -> Iterator[FileEvent]:
    row = 0
    try:
        for row, event in (_csv_events if file.is_csv else _json_events)(file, directory):
            yield FileEvent(file.path, row, event)
    except UserError as error:
        yield FileEvent(file.path, row + 1, error)


def _csv_events(file: DataFile, directory: StorageDirectory) -> Iterator[tuple[int, Event | UserError]]:
    columns, format = directory.csv_columns(file), CsvFormat(directory.changefeed.codec)
    first_side = None
    for row, _, cells in format.rows(directory.content(file.path)):
        try:
            event, is_side = format.event(cells, columns)
        except UserError as error:
            yield row, error
            continue
        if is_side and event.op == "DELETE":
            first_side = event
        elif is_side and first_side is not None:
            yield row, merge_sides(first_side, event)
            first_side = None
        else:
            yield row, event


def _json_events(file: DataFile, directory: StorageDirectory) -> Iterator[tuple[int, Event | UserError]]:
    *texts, rest = directory.content(file.path).split(directory.changefeed.codec.terminator.encode())
    for row, text in enumerate(texts, 1):
        try:
            for event in decode(None, text):
                yield row, event
        except UserError as error:
            yield row, error
    if rest:
        yield len(texts) + 1, UserError("the file ends inside a row")
