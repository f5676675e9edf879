"""The events of the files of a storage: rows, DDL statements, the checkpoint; their lines for people and programs.

Rows of CSV are those of tiflow v8.5: pkg/sink/codec/csv/csv_message.go.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from simulator.columns.cells import pieces_between
from simulator.errors import UserError, printable, printable_json
from simulator.limits import counted
from simulator.reader import event_lines
from simulator.reader.decode import decode
from simulator.reader.events import ColumnInfo, DdlEvent, Event, Image, RowEvent, Value, Watermark, time_of
from simulator.reader.storage import DAMAGED, DataFile, FileFinding, IndexFile
from simulator.reader.storage.directory import StorageDirectory, StorageFile
from simulator.reader.storage.schema_files import CsvColumn, TableSchema
from simulator.ticdc.cloud_storage import METADATA
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.csv import META

OPERATIONS = {"I": "INSERT", "U": "UPDATE", "D": "DELETE"}
IS_UPDATE = {"true": True, "false": False}
COMMIT_TS = re.compile(r"[1-9][0-9]{0,17}")
ROW_ID = re.compile(r"0|-?[1-9][0-9]{0,18}")
SHOWN = 30
"""Characters of a wrong value that are shown."""

CONTROL = {"n": "\n", "r": "\r"}
BINARY = re.compile(r"(VAR)?BINARY|(TINY|MEDIUM|LONG)?BLOB")


@dataclass(frozen=True)
class CsvFormat:
    """How the rows of a changefeed are written."""

    options: CodecOptions

    def rows(self, content: bytes) -> Iterator[tuple[int, str, list[str | None]]]:
        """Yield the number, the text and the cells of each row, None for NULL.

        The rows of a file are numbered from 1, a header included. Raises UserError if the file ends inside a row.
        """
        numbered = ((number, *row) for number, row in enumerate(self._split(content), 1))
        return islice(numbered, self.header_rows, None)

    @property
    def header_rows(self) -> int:
        """How many rows of a file are a header."""
        return int(self.options.csv.output_field_header)

    def header_flaw(self, content: bytes, choices: Iterable[Sequence[CsvColumn]]) -> str:
        """Return why the first row is not the header of rows with one of these choices of columns; empty if it is."""
        csv = self.options.csv
        if not csv.output_field_header:
            return ""
        heads = ["operation", "table", "schema", *["commit-ts"] * csv.include_commit_ts]
        names = [META + head for head in (*heads, *["is-update"] * csv.output_old_value)]
        allowed = [csv.delimiter.join([*names, *(column.name for column in columns)]) for columns in choices]
        first, end, _ = content.decode("utf-8", "surrogateescape").partition(self.options.terminator)
        return "" if end and first in allowed else f"its header is {first[:SHOWN]!r}, {allowed[0]!r} is accepted"

    def _split(self, content: bytes) -> Iterator[tuple[str, list[str | None]]]:
        text, quote = content.decode("utf-8", "surrogateescape"), self.options.csv.quote
        cells: list[str | None] = []
        start = 0
        for match in self._cell.finditer(text):
            if match.start() == len(text) and not cells:
                return
            quoted = match["quoted"]
            cells.append(self._plain(match["plain"]) if quoted is None else quoted.replace(quote * 2, quote))
            if match["end"] == self.options.csv.delimiter:
                continue
            if not match["end"]:
                raise UserError("the file ends inside a row")
            yield text[start : match.start("end")], cells
            cells, start = [], match.end()

    def columns(self, count: int, choices: Sequence[Sequence[CsvColumn]]) -> Sequence[CsvColumn] | None:
        """Return the first of the choices that a row of `count` cells has; None if there is none."""
        return next((columns for columns in choices if len(columns) == count - self.head), None)

    def event(
        self, cells: Sequence[str | None], choices: Sequence[Sequence[CsvColumn]], keys: Sequence[CsvColumn] = ()
    ) -> tuple[RowEvent, bool]:
        """Return the event of a row of a table that has one of these choices of columns, or in a DELETE the `keys`.

        Returns also whether it is one side of an UPDATE. Raises UserError for a row of another form.
        """
        csv, values = self.options.csv, cells[self.head :]
        texts = iter([text or "" for text in cells])
        try:
            operation, table, schema = OPERATIONS[next(texts)], next(texts), next(texts)
            commit_ts = _commit_ts(next(texts)) if csv.include_commit_ts else None
            is_side = csv.output_old_value and IS_UPDATE[next(texts)]
        except (KeyError, StopIteration) as error:
            begin = f"I, U or D, table and schema{', commit-ts' * csv.include_commit_ts}"
            begin += ", true or false" * csv.output_old_value
            raise UserError(f"no row as [sink.csv] says: it does not begin with {begin}") from error
        if csv.output_old_value and operation == "UPDATE":
            raise UserError("no row as [sink.csv] says: with output-old-value an UPDATE is D and I")
        whole = self.columns(len(cells), choices)
        columns = self.columns(len(cells), [keys]) if whole is None and operation == "DELETE" and keys else whole
        if columns is None:
            why = f"it has {counted(len(values), 'value')}, and the schema file {counted(len(choices[0]), 'column')}"
            raise UserError(f"no row as [sink.csv] says: {why}")
        for column, cell in zip(columns, values, strict=True):
            if cell is None and column.not_null:
                raise UserError(f"no row as [sink.csv] says: {column.name} is NULL, and the schema file says NOT NULL")
        try:
            pairs = zip(columns, values, strict=True)
            image: Image = {column.name: self.value(cell, column.type) for column, cell in pairs}
        except ValueError as error:
            raise UserError(f"no row as [sink.csv] says: {error}") from error
        before, after = (image, None) if operation == "DELETE" else (None, image)
        row = RowEvent(commit_ts, schema, table, operation, before, after, column_infos(columns))
        return replace(row, only_handle=whole is None), is_side

    @property
    def head(self) -> int:
        """The number of cells before those of columns."""
        csv = self.options.csv
        return 3 + csv.include_commit_ts + csv.output_old_value + csv.output_handle_key

    def row_id(self, cells: Sequence[str | None]) -> int | None:
        """Return the handle of a row, if `output-handle-key` says it and it is an integer."""
        handle = (cells[self.head - 1] or "") if self.options.csv.output_handle_key else ""
        return int(handle) if ROW_ID.fullmatch(handle) and -(1 << 63) <= int(handle) < 1 << 63 else None

    def texts(self, content: bytes, count: int) -> pa.Array | None:
        """Return the rows of a file, each with its end; None if there are not so many.

        The quote and the last character of the end must be single bytes.
        """
        data, quote = np.frombuffer(content, np.uint8), self.options.csv.quote.encode()
        ends = np.flatnonzero(data == self.options.terminator.encode()[-1])
        if len(ends) != count + self.header_rows:  # those inside quotes are none
            ends = ends[np.searchsorted(np.flatnonzero(data == ord(quote)), ends) % 2 == 0]
        if len(ends) != count + self.header_rows:
            return None
        edges = np.concatenate(([0], ends + 1))[self.header_rows :]
        return pieces_between(edges.astype(np.int32), data)

    def value(self, text: str | None, type: str) -> Value:
        """Return the value of a cell of a column. Raises ValueError for bytes that are not encoded."""
        if text is None or not BINARY.fullmatch(type):
            return text
        is_hex = self.options.csv.binary_encoding_method == "hex"
        return bytes.fromhex(text) if is_hex else base64.b64decode(text, validate=True)

    @cached_property
    def _cell(self) -> re.Pattern[str]:
        csv = self.options.csv
        quote, delimiter, end = map(re.escape, (csv.quote, csv.delimiter, self.options.terminator))
        if quote:
            cell = rf"{quote}(?P<quoted>(?:[^{quote}]|{quote}{quote})*){quote}|(?P<plain>(?:(?!{delimiter}|{end}).)*)"
        else:
            cell = rf"(?P<quoted>(?!))|(?P<plain>(?:\\.|(?!{delimiter}|{end})[^\\])*)"
        return re.compile(rf"(?:{cell})(?P<end>{delimiter}|{end}|\Z)", re.DOTALL)

    def _plain(self, text: str) -> str | None:
        """Return the value of a cell that is not in quotes; only where no cell is, does it have escapes."""
        if text == self.options.csv.null:
            return None
        if self.options.csv.quote or "\\" not in text:
            return text
        return re.sub(r"\\(.)", lambda match: CONTROL.get(match[1], match[1]), text, flags=re.DOTALL)


def _commit_ts(text: str) -> int:
    """Return a commit-ts; raise UserError for what is none."""
    if not COMMIT_TS.fullmatch(text):
        raise UserError(f"no row as [sink.csv] says: its commit-ts is {text[:SHOWN]!r}, a number is accepted")
    return int(text)


def column_infos(columns: Sequence[CsvColumn]) -> dict[str, ColumnInfo]:
    """Return the infos of columns by name."""
    return {
        column.name: ColumnInfo(column.type.lower(), key=column.is_key, binary=bool(BINARY.fullmatch(column.type)))
        for column in columns
    }


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
    checkpoint_ts = directory.listing.checkpoint_ts
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
        if name := directory.listing.missing_file(file):
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
    content = directory.listing.content(file.path)
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
            update = replace(event, op="UPDATE", before=before[1].before)
            yield FileEvent(file.path, row, update, text=both, row_id=row_id)
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
    *texts, rest = directory.listing.content(file.path).split(directory.changefeed.codec.terminator.encode())
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
