"""The files of a storage as lines for people, or as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simulator.consumer import event_lines
from simulator.consumer.decode.stream_events import Event, Watermark
from simulator.consumer.storage.directory import StorageDirectory
from simulator.consumer.storage.events import FileEvent, events
from simulator.consumer.storage.schema_files import TableSchema
from simulator.errors import UserError, printable, printable_json


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
