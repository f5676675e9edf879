"""The files of a storage as lines for people, or as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from simulator.consumer import event_lines
from simulator.consumer.decode import decode
from simulator.consumer.decode.stream_events import DdlEvent, Event, Watermark
from simulator.consumer.storage.csv_rows import CsvFormat, merge_sides
from simulator.consumer.storage.directory import DataFile, IndexFile, StorageDirectory
from simulator.consumer.storage.schema_files import TableSchema
from simulator.errors import UserError, printable, printable_json
from simulator.ticdc.storage import METADATA


@dataclass(frozen=True)
class FileEvent:
    """An event of a file, or why it cannot be read."""

    path: str
    row: int
    """The number of the row in the file, from 1; 0 for a file that is no rows."""

    event: Event | TableSchema | UserError


def lines(directory: StorageDirectory, as_json: bool = False) -> Iterator[str]:
    """Yield a line for each row, statement and schema file in order, and at last one for the checkpoint.

    Rows that cannot be read give a line, too. Raises UserError for a schema file or `metadata` that cannot be read.
    """
    for event in events(directory):
        yield printable_json(_document(event)) if as_json else printable(_line(event))


def events(directory: StorageDirectory) -> Iterator[FileEvent]:
    """Yield the events of all files in order."""
    for file in directory.files:
        if isinstance(file, TableSchema):
            statement = DdlEvent(file.version, file.schema, file.table, file.query, file.type)
            yield FileEvent(file.path, 0, statement if file.query else file)
        elif isinstance(file, IndexFile):
            if name := directory.missing_file(file):
                yield FileEvent(file.path, 0, UserError(f"it names {name}, which is not there"))
        else:
            yield from _numbered(file, directory)
    checkpoint_ts = directory.checkpoint_ts()
    if checkpoint_ts is not None:
        yield FileEvent(METADATA, 0, Watermark(checkpoint_ts))


def _numbered(file: DataFile, directory: StorageDirectory) -> Iterator[FileEvent]:
    row = 0
    try:
        for row, event in (_csv_events if file.is_csv else _json_events)(file, directory):
            yield FileEvent(file.path, row, event)
    except UserError as error:
        yield FileEvent(file.path, row + 1, error)


def _csv_events(file: DataFile, directory: StorageDirectory) -> Iterator[tuple[int, Event | UserError]]:
    version = file.schema, file.table, file.version
    schema = directory.schemas.get(version)
    if schema is None:
        raise UserError(f"there is no schema file of version {file.version} of {file.schema}.{file.table}")
    virtual = directory.virtual_columns.get(version, frozenset())
    columns = [(name, type) for name, type in schema.columns if name not in virtual]
    format = CsvFormat(directory.changefeed.codec)
    first_side = None
    for row, (_, cells) in enumerate(format.rows(directory.content(file.path)), 1):
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


def _line(event: FileEvent) -> str:
    place = f"{event.path}:{event.row}" if event.row else event.path
    if isinstance(event.event, UserError):
        return f"{place} UNREADABLE {event.event}"
    return f"{place} {_time(event.event)} {_description(event.event)}"


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
        columns = ", ".join(f"{event_lines.quote_if_needed(name)} {type}" for name, type in event.columns)
        return f"SCHEMA {event.schema}.{event.table} ({columns})"
    return event_lines.describe(event)


def _document(event: FileEvent) -> dict[str, Any]:
    place: dict[str, Any] = {"file": event.path, **({"row": event.row} if event.row else {})}
    if isinstance(event.event, UserError):
        return {**place, "event": "UNREADABLE", "reason": str(event.event)}
    if isinstance(event.event, TableSchema):
        schema = event.event
        head = {**event_lines.as_dict(Watermark(schema.version)), "event": "SCHEMA"}
        columns = [{"name": name, "type": type} for name, type in schema.columns]
        return {**place, **head, "schema": schema.schema, "table": schema.table, "columns": columns}
    document = event_lines.as_dict(event.event)
    return {**place, **document, **({"time": None} if _time(event.event) == "- -" else {})}
