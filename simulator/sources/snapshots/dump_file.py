"""A dump of many tables in one file, as mysqldump writes it: its tables, and where the rows of each one are.

Its DDL is executed as TiDB would. Python takes a step for each statement that is not another INSERT of the same table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from simulator.columns.cells import Bytes, Places
from simulator.errors import DdlError, SchemaError
from simulator.releases import V8_5
from simulator.sources.snapshots import quoting, records, sql_comments, sql_text, streams
from simulator.sources.snapshots.quoting import Malformed
from simulator.sources.snapshots.sql_text import Header
from simulator.sources.snapshots.streams import FilePart
from simulator.tidb.ddl.catalog import Catalog, DatabaseInfo, Key, object_key
from simulator.tidb.ddl.execute import execute_in_catalog
from simulator.tidb.ddl.session import Session
from simulator.tidb.parser.ddl import parse_ddl

Area = tuple[int, int]
"""Start and end of INSERT statements of one table."""

_DATABASE = re.compile(rb"^--.*?\bDatabase: *`?([^`\r\n]+?)`?[ \t]*$", re.MULTILINE)
"""In the head of mysqldump's files and of phpMyAdmin's."""

_HEAD = 1 << 12
_USE = re.compile(rb"\s*USE\s+(`(?:[^`]|``)+`|[^\s;]+)\s*;", re.IGNORECASE)
_DELIMITER = re.compile(rb"\s*DELIMITER[ \t]+(\S+)", re.IGNORECASE)
_DELIMITED = re.compile(rb"\n[ \t]*DELIMITER[ \t]+;[^\n]*\n", re.IGNORECASE)
_DDL = re.compile(
    rb"\s*(?:(?:CREATE|DROP|ALTER)\s+(?:TABLE|DATABASE|SCHEMA)|CREATE\s+(?:UNIQUE\s+|FULLTEXT\s+)?INDEX|DROP\s+INDEX)\b",
    re.IGNORECASE,
)
_IGNORED = re.compile(
    rb"\s*(?:;|(?:SET|LOCK|UNLOCK|START|BEGIN|COMMIT|FLUSH|ANALYZE|GRANT|DELIMITER)\b|(?:CREATE|DROP|ALTER)\s+(?:OR\s+REPLACE\s+"
    rb"|ALGORITHM\s*=\s*\w+\s+|DEFINER\s*=\s*\S+\s+|SQL\s+SECURITY\s+\w+\s+)*(?:VIEW|TRIGGER|EVENT|PROCEDURE|FUNCTION|USER"
    rb"|ROLE|SEQUENCE)\b|ALTER\s+TABLE\s+\S+\s+(?:DIS|EN)ABLE\s+KEYS\b)",
    re.IGNORECASE,
)


@dataclass
class Dump:
    """What a dump has so far."""

    catalog: Catalog = field(default_factory=Catalog)
    areas: dict[Key, list[Area]] = field(default_factory=dict)
    schema: str = ""
    """The current database."""

    rows_of: Key | None = None
    """The table of the statement before, if that was an INSERT."""


def read(part: FilePart) -> Dump:
    """Read a dump; raise SnapshotError."""
    dump = Dump()
    offset, blocks = streams.text(part)
    carry, waiting, size, beginning = b"", [next(blocks, b"")], 0, offset
    for block in chain(blocks, (None,)):
        if block is not None:
            waiting.append(block)
            size += len(block)
            if size < len(carry):  # so that a long statement is not searched again with every block
                continue
        carry, waiting, size = b"".join((carry, *waiting)), [], 0
        if offset == beginning and not dump.schema and (named := _DATABASE.search(carry[:_HEAD])):
            _use(dump, named[1])
        try:
            consumed = _statements(dump, carry, offset)
            if block is None and (left := sql_text.unfinished(carry[consumed:])) >= 0:
                raise Malformed("the file ends inside a statement, a comment or quotes", consumed + left)
        except Malformed as error:
            raise records.error_at(part, offset + error.position, error.text) from None
        carry, offset = carry[consumed:], offset + consumed
    return dump


def _statements(dump: Dump, data: bytes, offset: int) -> int:
    """Take the complete statements of a text that lies at that offset; return its length. Raise Malformed."""
    begin = 0
    while True:
        text, marks = sql_comments.plain(data[begin:], b";", dump=True)
        ends = marks.outside + 1
        starts = np.concatenate([[0], ends[:-1]])
        delimiter = _take_statements(dump, text, data[begin:], (starts, ends), (begin, offset))
        if delimiter < 0:
            return begin + (int(ends[-1]) if len(ends) else 0)
        following = _DELIMITED.search(data, begin + delimiter)
        if following is None:
            return begin + delimiter
        begin = following.end()


def _take_statements(
    dump: Dump, text: bytes, data: bytes, spans: tuple[Places, Places], places: tuple[int, int]
) -> int:
    """Take each statement; return where a command DELIMITER is, and -1 if there is none."""
    starts, ends = spans
    begin, offset = places
    index, array = 0, np.frombuffer(text, np.uint8)
    while index < len(ends):
        start, end = int(starts[index]), int(ends[index])
        inserted = sql_text.INSERT.match(text, start, end)
        if inserted is not None:
            count = _alike(array, starts[index:], ends[index:], inserted.end() - start)
            span = start, int(ends[index + count - 1])
            _take_rows(dump, sql_text.header_of(inserted), offset + begin, span, begin + _first(text, start, end))
            index += count
            continue
        dump.rows_of = None
        command = _DELIMITER.match(text, start)
        if command is not None and command[1] != b";":
            return start
        _take(dump, text[start:end], data[start:end], begin + _first(text, start, end))
        index += 1
    return -1


def _first(text: bytes, start: int, end: int) -> int:
    """Return where a statement's first word is."""
    return end - len(text[start:end].lstrip())


def _alike(array: Bytes, starts: Places, ends: Places, length: int) -> int:
    """Return how many statements from the first on begin with the same bytes."""
    beginning, count, step = array[starts[0] : starts[0] + length], 1, 64
    while count < len(starts):
        some = slice(count, count + step)
        room = ends[some] - starts[some] >= length
        places = np.minimum(starts[some][:, None] + np.arange(length), len(array) - 1)
        same = room & (array[places] == beginning).all(axis=1)
        if not same.all():
            return count + int(np.argmin(same))
        count, step = count + len(same), step * 4
    return count


def _take_rows(dump: Dump, header: Header, offset: int, span: Area, position: int) -> None:
    key = object_key(header.schema or dump.schema, header.table)
    if key not in dump.catalog.tables:
        raise Malformed(f"rows of table `{header.table}` before its CREATE TABLE", position)
    areas = dump.areas.setdefault(key, [])
    first = areas.pop()[0] if dump.rows_of == key else offset + span[0]
    areas.append((first, offset + span[1]))
    dump.rows_of = key


def _take(dump: Dump, text: bytes, data: bytes, position: int) -> None:
    """Take a statement that is no INSERT, given without comments and as it is."""
    used = _USE.match(text)
    if used is not None:
        _use(dump, used[1])
    elif _IGNORED.match(text):
        sql_comments.check_modes(text, position)
    elif _DDL.match(text):
        try:
            _execute(dump, data.decode("utf-8", "replace").rstrip().removesuffix(";"))
        except (DdlError, SchemaError) as error:
            more = ": USE db; before it says in which" if "No database" in str(error) else ""
            raise Malformed(f"{error}{more}", position) from None
    else:
        raise Malformed(
            f"only CREATE, ALTER, DROP and INSERT with VALUES are read from a dump, found {quoting.excerpt(text)}",
            position,
        )


def _use(dump: Dump, name: bytes) -> None:
    dump.schema = sql_text.unquoted(name)
    if dump.catalog.database(dump.schema) is None:
        known = {**dump.catalog.databases, dump.schema.lower(): DatabaseInfo(dump.schema)}
        dump.catalog = replace(dump.catalog, databases=known)


def _execute(dump: Dump, text: str) -> None:
    statement = parse_ddl(text)
    if statement is None:
        return
    session = Session(dump.schema, None, V8_5, sql_mode=frozenset(), foreign_key_checks=False)
    _, dump.catalog = execute_in_catalog(dump.catalog, statement, text, session)
    dump.areas = {key: areas for key, areas in dump.areas.items() if key in dump.catalog.tables}
