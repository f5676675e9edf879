"""The events of the files of a storage: rows, DDL statements, the checkpoint; their lines for people and programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from simulator.errors import UserError, printable, printable_json
from simulator.reader import event_lines
from simulator.reader.decode import decode
from simulator.reader.decode.stream_events import DdlEvent, Event, RowEvent, Watermark, time_of
from simulator.reader.storage.csv_rows import CsvFormat, merge_sides
from simulator.reader.storage.directory import StorageDirectory, StorageFile
from simulator.reader.storage.file_checks import DAMAGED, DataFile, FileFinding, IndexFile
from simulator.reader.storage.schema_files import TableSchema
from simulator.ticdc.cloud_storage import METADATA


@dataclass(frozen=True)
class FileEvent:
    """An event of a file, or why it cannot be read."""

    path: str
    row: int
    """The number of the row in the file, from 1; 0 for a file that is no rows."""

    event: Event | TableSchema | UserError
    check: str = ""
    """The check that failed, by its name in CHECKS, if a file itself is wrong."""

    text: str = ""
    """A row of CSV as it is in the file, with its end; both lines of an UPDATE."""

    row_id: int | None = None
    """The integer handle of a row of CSV, if it has one (`output-handle-key`)."""

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
    row, last_ts = 0, 0
    try:
        for each in (_csv_events if file.is_csv else _json_events)(file, directory):
            row = each.row
            last_ts = time_of(each.event) if isinstance(each.event, RowEvent) else last_ts
            yield each
    except UserError as error:
        yield FileEvent(file.path, row + 1, error)
    if why := directory.date_flaw(file, last_ts):
        yield FileEvent(file.path, 0, UserError(why), DAMAGED)


def _csv_events(file: DataFile, directory: StorageDirectory) -> Iterator[FileEvent]:
    columns, keys = directory.csv_columns(file), directory.key_columns(file)
    format, end = CsvFormat(directory.changefeed.codec), directory.changefeed.codec.terminator
    content = directory.content(file.path)
    if why := format.header_flaw(content, directory.header_columns(file)):
        yield FileEvent(file.path, 1, UserError(why))
    before: tuple[int, RowEvent, str] | None = None
    for row, text, cells in format.rows(content):
        try:
            event, is_side = format.event(cells, columns, keys)
            _check_table(event, file)
        except UserError as error:
            yield FileEvent(file.path, row, error)
            continue
        row_id = format.row_id(cells)
        if before is not None and is_side and event.op == "INSERT" and event.commit_ts == before[1].commit_ts:
            both = f"{before[2]}{end}{text}{end}"
            yield FileEvent(file.path, row, merge_sides(before[1], event), text=both, row_id=row_id)
            before = None
            continue
        if before is not None:
            yield FileEvent(file.path, before[0], UserError(ONE_SIDE))
        before = (row, event, text) if is_side and event.op == "DELETE" else None
        if before is None and is_side:
            yield FileEvent(file.path, row, UserError(ONE_SIDE))
        elif before is None:
            yield FileEvent(file.path, row, event, text=text + end, row_id=row_id)
    if before is not None:
        yield FileEvent(file.path, before[0], UserError(ONE_SIDE))


def _json_events(file: DataFile, directory: StorageDirectory) -> Iterator[FileEvent]:
    *texts, rest = directory.content(file.path).split(directory.changefeed.codec.terminator.encode())
    for row, text in enumerate(texts, 1):
        try:
            found = decode(None, text)
            if len(found) != 1:
                raise UserError(not_one(len(found)))
            _check_table(found[0], file)
            yield FileEvent(file.path, row, found[0])
        except UserError as error:
            yield FileEvent(file.path, row, error)
    if rest:
        yield FileEvent(file.path, len(texts) + 1, UserError("the file ends inside a row"))


ONE_SIDE = "one side of an UPDATE without the other: TiCDC writes D and I, with is-update true, one after the other"


def _check_table(event: Event, file: DataFile) -> None:
    """Raise UserError if an event is no row of the table that a file belongs to."""
    if not isinstance(event, RowEvent):
        raise UserError("it is no row, and files of rows have nothing else")
    if why := other_table(file, event.schema, event.table):
        raise UserError(why)


def not_one(rows: int) -> str:
    """Return why a message with that number of rows does not belong into a file."""
    return f"its data has {rows} rows, not one"


def other_table(file: DataFile, schema: str, table: str) -> str:
    """Return why rows of a table do not belong into a file; empty if they do."""
    if (schema, table) == (file.schema, file.table):
        return ""
    return f"a row of {schema}.{table} in a file of {file.schema}.{file.table}"


def lines(directory: StorageDirectory, as_json: bool = False) -> Iterator[str]:
    """Yield a line for each row, statement and schema file in order, and at last one for the checkpoint.

    Rows that cannot be read give a line, too. Raises UserError for a schema file or `metadata` that cannot be read.
    """
    for event in events(directory):
        yield printable_json(_document(event)) if as_json else printable(_line(event))


def _line(event: FileEvent) -> str:
    if isinstance(event.event, UserError):
        return f"{event.place} UNREADABLE {event.event}"
    return f"{event.place} {_time(event.event)} {_description(event.event)}"


def _time(event: Event | TableSchema) -> str:
    """Return TSO and time; `- -` for a row of CSV without include-commit-ts."""
    if isinstance(event, TableSchema):
        event = Watermark(event.version)
    if not isinstance(event, Watermark) and event.commit_ts is None and event.es is None:
        return "- -"
    ts, time = event_lines.event_time(event)
    return f"{ts or '-'} {time}"


def _description(event: Event | TableSchema) -> str:
    if isinstance(event, TableSchema):
        columns = ", ".join(f"{event_lines.name_text(column.name)} {column.type}" for column in event.columns)
        return f"SCHEMA {event_lines.name_text(event.schema, event.table)} ({columns})"
    return event_lines.describe(event)


def _document(event: FileEvent) -> dict[str, Any]:
    place: dict[str, Any] = {"file": event.path, **({"row": event.row} if event.row else {})}
    if isinstance(event.event, UserError):
        return {**place, "event": "UNREADABLE", "reason": str(event.event)}
    if isinstance(event.event, TableSchema):
        schema = event.event
        head = {**event_lines.as_dict(Watermark(schema.version)), "event": "SCHEMA"}
        columns = [{"name": column.name, "type": column.type} for column in schema.columns]
        return {**place, **head, "schema": schema.schema, "table": schema.table, "columns": columns}
    document = event_lines.as_dict(event.event)
    return {**place, **document, **({"time": None} if _time(event.event) == "- -" else {})}
