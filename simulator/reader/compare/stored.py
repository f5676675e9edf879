"""Compares what two changefeeds have written to storages: rows as they are in files, and schema files.

Which rows share a file, the number of a file and its date follow from when files were flushed, and are not compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from simulator.errors import UserError
from simulator.files import PARSE_ERRORS, parse_error_reason
from simulator.reader.compare.events import EVERYTHING, ComparedEvent
from simulator.reader.compare.pairs import Identities, differences
from simulator.reader.compare.streams import StreamComparison, check_ignored
from simulator.reader.decode import DECODERS, protocol_of
from simulator.reader.storage.csv_rows import CsvFormat
from simulator.reader.storage.directory import StorageDirectory, open_directory
from simulator.reader.storage.file_checks import DataFile, FileFinding, IndexFile
from simulator.reader.storage.schema_files import TableSchema
from simulator.ticdc.cloud_storage import METADATA, SCHEMA_JSON

TABLE_VERSION = re.compile(r'(?<="TableVersion": )\d+')


def compare_storages(
    a: str, b: str, config: str | Path | None = None, ignored: Iterable[str] = EVERYTHING, limit: int | None = None
) -> StreamComparison:
    """Compare two storages by paths or URIs. `config` is the changefeed.toml with which both were written.

    Rows are compared as texts. All of them are held in memory. At most `limit` differences are kept. Raises UserError
    for files that cannot be read, ChangefeedError for a config that TiCDC rejects.
    """
    ignored = check_ignored(ignored)
    comparison, identities = StreamComparison(), Identities()
    sides = [_by_table(open_directory(source, config), ignored) for source in (a, b)]
    for table in dict.fromkeys(name for side in sides for name in side):
        left, right = (side.get(table, []) for side in sides)
        comparison.messages = [count + len(side) for count, side in zip(comparison.messages, (left, right))]
        comparison.same_bytes += _leading_equal(left, right)
        events, others = ([event for _, event in side] for side in (left, right))
        sorts = "order" in ignored and all(event.commit_ts for event in (*events, *others))
        comparison.note(differences(events, others, identities, sorts), limit)
    if disorder := identities.disorder():
        comparison.partitions.append(disorder)
    return comparison


TextAndEvent = tuple[str, ComparedEvent]
"""The text of a row or schema file as it is, and its event without what is ignored."""


def _by_table(directory: StorageDirectory, ignored: frozenset[str]) -> dict[str, list[TextAndEvent]]:
    """Return the events of each table in order; those of a database and `metadata` have places of their own."""
    tables: dict[str, list[TextAndEvent]] = {}
    for file in directory.files:
        if isinstance(file, IndexFile):
            continue
        if isinstance(file, FileFinding):
            raise UserError(f"{file.path}: {file.why}")
        events = tables.setdefault(".".join(name for name in (file.schema, file.table) if name), [])
        if isinstance(file, TableSchema):
            events.append(_schema_event(file, directory, ignored, len(events)))
        else:
            read = _csv_events if file.is_csv else _json_events
            events += read(file, directory, ignored, len(events))
    if "watermarks" not in ignored and directory.checkpoint_ts() is not None:
        text = directory.content(METADATA).decode()
        tables[METADATA] = [(text, ComparedEvent(METADATA, 0, 0, directory.checkpoint_ts() or 0, "", "", text))]
    return tables


def _leading_equal(left: list[TextAndEvent], right: list[TextAndEvent]) -> int:
    return next(
        (place for place, (one, other) in enumerate(zip(left, right)) if one[0] != other[0]), min(len(left), len(right))
    )


def _schema_event(file: TableSchema, directory: StorageDirectory, ignored: frozenset[str], number: int) -> TextAndEvent:
    text = directory.content(file.path).decode("utf-8", "surrogateescape")
    table = f"{file.schema}.{file.table}"
    shown = TABLE_VERSION.sub("0", text) if "commit-ts" in ignored else text
    checksum = "" if file.path.endswith(f"/{SCHEMA_JSON}") else file.path[-len("0123456789.json") :]
    return text, ComparedEvent(table, 0, number, file.version, table, checksum, shown)


def _csv_events(
    file: DataFile, directory: StorageDirectory, ignored: frozenset[str], first: int
) -> Iterator[TextAndEvent]:
    options, table = directory.changefeed.codec, f"{file.schema}.{file.table}"
    rows = CsvFormat(options).rows(directory.content(file.path))
    for number, (_, text, cells) in enumerate(rows, first):
        commit_ts, shown = 0, text
        if options.csv.include_commit_ts:
            written = cells[3] if len(cells) > 3 else None
            if written is None or not written.isdecimal():
                raise UserError(f"{file.path} has a row without a commit-ts: {text[:60]}")
            commit_ts = int(written)
            shown = text.replace(written, "0", 1) if "commit-ts" in ignored else text
        yield text, ComparedEvent(table, 0, number, commit_ts, table, "", shown, _version(file, ignored))


def _json_events(
    file: DataFile, directory: StorageDirectory, ignored: frozenset[str], first: int
) -> Iterator[TextAndEvent]:
    table, terminator = f"{file.schema}.{file.table}", directory.changefeed.codec.terminator.encode()
    content = directory.content(file.path)
    for number, text in enumerate(content.removesuffix(terminator).split(terminator) if content else (), first):
        try:
            event = DECODERS[protocol_of(None, text)].comparable(None, text, ignored, {})
        except PARSE_ERRORS as error:
            raise UserError(f"{file.path} has a row that cannot be read: {parse_error_reason(error)}") from error
        shown = text.decode("utf-8", "surrogateescape")
        yield shown, ComparedEvent(table, 0, number, event.commit_ts, table, "", event.value, _version(file, ignored))


def _version(file: DataFile, ignored: frozenset[str]) -> tuple[tuple[str, int], ...]:
    """Return the version in the path of a row, of which only the correspondence is compared."""
    return (("version", file.version),) if "commit-ts" in ignored else ()
