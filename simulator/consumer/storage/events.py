"""The events of the files of a storage: rows, DDL statements and the checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simulator.consumer.decode import decode
from simulator.consumer.decode.stream_events import DdlEvent, Event, RowEvent, Watermark
from simulator.consumer.storage.csv_rows import CsvFormat, merge_sides
from simulator.consumer.storage.directory import StorageDirectory, StorageFile
from simulator.consumer.storage.file_checks import FileFinding
from simulator.consumer.storage.schema_files import TableSchema
from simulator.consumer.storage.stored_paths import DataFile, IndexFile
from simulator.errors import UserError
from simulator.ticdc.storage import METADATA


@dataclass(frozen=True)
class FileEvent:
    """An event of a file, or why it cannot be read."""

    path: str
    row: int
    """The number of the row in the file, from 1; 0 for a file that is no rows."""

    event: Event | TableSchema | UserError
    check: str = ""
    """The check that failed, by its name in CHECKS, if a file itself is wrong."""

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
    if isinstance(file, FileFinding):
        yield FileEvent(file.path, 0, UserError(file.why), file.check)
    elif isinstance(file, TableSchema):
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
    columns, keys = directory.csv_columns(file), directory.key_columns(file)
    format = CsvFormat(directory.changefeed.codec)
    content = directory.content(file.path)
    if why := format.header_flaw(content, directory.header_columns(file)):
        yield 1, UserError(why)
    before: tuple[int, RowEvent] | None = None
    for row, _, cells in format.rows(content):
        try:
            event, is_side = format.event(cells, columns, keys)
            _check_table(event, file)
        except UserError as error:
            yield row, error
            continue
        if before is not None and is_side and event.op == "INSERT" and event.commit_ts == before[1].commit_ts:
            yield row, merge_sides(before[1], event)
            before = None
            continue
        if before is not None:
            yield before[0], UserError(ONE_SIDE)
        before = (row, event) if is_side and event.op == "DELETE" else None
        if before is None:
            yield row, UserError(ONE_SIDE) if is_side else event
    if before is not None:
        yield before[0], UserError(ONE_SIDE)


def _json_events(file: DataFile, directory: StorageDirectory) -> Iterator[tuple[int, Event | UserError]]:
    *texts, rest = directory.content(file.path).split(directory.changefeed.codec.terminator.encode())
    for row, text in enumerate(texts, 1):
        try:
            for event in decode(None, text):
                _check_table(event, file)
                yield row, event
        except UserError as error:
            yield row, error
    if rest:
        yield len(texts) + 1, UserError("the file ends inside a row")


ONE_SIDE = "one side of an UPDATE without the other: TiCDC writes D and I, with is-update true, one after the other"


def _check_table(event: Event, file: DataFile) -> None:
    """Raise UserError if an event is no row of the table that a file belongs to."""
    if not isinstance(event, RowEvent):
        raise UserError("it is no row, and files of rows have nothing else")
    if why := other_table(file, event.schema, event.table):
        raise UserError(why)


def other_table(file: DataFile, schema: str, table: str) -> str:
    """Return why rows of a table do not belong into a file; empty if they do."""
    if (schema, table) == (file.schema, file.table):
        return ""
    return f"a row of {schema}.{table} in a file of {file.schema}.{file.table}"
