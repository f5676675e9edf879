"""Stories: scripts of SQL beside what a real server logged of them (tests/stories/README.md says what must be equal).

What may differ is taken out of both sides by the README's rules, and all the rest is compared as it stands.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from simulator.columns import row_image
from simulator.errors import DdlError, SqlError
from simulator.releases import V8_5
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.engine import CommittedTransaction, FailedStatement, TableChanges
from simulator.tidb.engine.execution import Upstream, new_upstream
from simulator.tidb.errors import error_number
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.model.types import is_binary
from simulator.tidb.parser.script import split_script
from simulator.tidb.parser.sql import parse_sql

DEFAULT = Path(__file__).parent.parent / "stories"
START_MS = 1_700_000_000_000

Cell = str | None
Cells = dict[str, Cell]
RowKey = tuple[str, tuple[Cell, ...]]
"""Table, and the values of its key."""


@dataclass
class Transaction:
    """Rows by their keys before and after a transaction, those that it leaves as they are not counted."""

    statement: int
    before: dict[RowKey, Cells] = field(default_factory=dict)
    after: dict[RowKey, Cells] = field(default_factory=dict)


@dataclass(frozen=True)
class Ddl:
    statement: int
    text: str


@dataclass(frozen=True)
class Schema:
    """What a table is behind a statement; None where it is gone."""

    table: str
    columns: tuple[str, ...] | None
    key: tuple[str, ...]


@dataclass
class Log:
    """What happened, and what there is in the end."""

    events: list[Transaction | Ddl | Schema] = field(default_factory=list)
    failed: dict[int, int] = field(default_factory=dict)
    """Error number by statement."""

    final: dict[str, dict[tuple[Cell, ...], Cells]] = field(default_factory=dict)
    """Rows by key, by table."""

    definitions: list[tuple[int, str, Table | None]] = field(default_factory=list)
    """What the simulator holds of a table behind a statement; None where it is gone."""


def stories(directory: Path) -> list[Path]:
    """The scripts of a directory that have a log beside them."""
    return sorted(path for path in directory.glob("*.sql") if logged(path).exists())


def logged(story: Path) -> Path:
    return story.with_suffix(".jsonl.gz")


# -- what the server logged --------------------------------------------------------------------------------------------


def expected(story: Path) -> Log:
    """What the server made of a story."""
    log, keys, floats = Log(), {}, {}
    transactions: dict[int, Transaction] = {}
    with gzip.open(logged(story), "rt", encoding="utf-8") as lines:
        for entry in map(json.loads, lines):
            if "failed" in entry:
                log.failed[entry["failed"]] = entry["errno"]
            elif "ddl" in entry:
                log.events.append(Ddl(entry["stmt"], entry["ddl"]))
            elif "schema" in entry:
                name, columns = entry["schema"], entry["columns"]
                keys[name] = tuple(entry["key"] or ())
                floats[name] = {column for column, type in columns or () if type.startswith("float")}
                log.events.append(Schema(name, columns and tuple(column for column, _ in columns), keys[name]))
            elif "final" in entry:
                name = entry["final"]
                rows = [_cells(row, floats[name]) for row in entry["rows"]]
                log.final[name] = {_key(row, keys[name]): row for row in rows}
            else:
                name = entry["table"]
                if entry["txn"] not in transactions:
                    transactions[entry["txn"]] = Transaction(entry["stmt"])
                    log.events.append(transactions[entry["txn"]])
                _put(transactions[entry["txn"]], name, keys[name], entry["before"], entry["after"], floats[name])
    log.events = [event for event in log.events if says_something(event)]
    return log


def _put(
    transaction: Transaction,
    table: str,
    key: tuple[str, ...],
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    floats: set[str],
) -> None:
    old, new = (None if row is None else _cells(row, floats) for row in (before, after))
    if old == new:
        return
    if old is not None:
        transaction.before[table, _key(old, key)] = old
    if new is not None:
        transaction.after[table, _key(new, key)] = new


def _cells(row: Mapping[str, Any], floats: set[str]) -> Cells:
    return {name: _cell(value, name in floats) for name, value in row.items()}


def _cell(value: Any, is_float: bool) -> Cell:
    if isinstance(value, dict):
        return f"0x{value['hex']}"
    return _six_digits(value) if is_float and value is not None else value


def _six_digits(text: str) -> str:
    """A float as MySQL prints it."""
    return f"{float(np.float32(text)):.6g}"


def _key(row: Mapping[str, Cell], key: Iterable[str]) -> tuple[Cell, ...]:
    return tuple(row[name] for name in key)


def says_something(event: object) -> bool:
    return not isinstance(event, Transaction) or bool(event.before or event.after)


# -- what the simulator makes of it ------------------------------------------------------------------------------------


def happened(story: Path) -> Log:
    """What the scripted upstream makes of a story."""
    log, upstream = Log(), new_upstream(V8_5)
    for number, part in enumerate(split_script(story.read_bytes().decode("utf-8"))):
        try:
            statement = parse_sql(part.text, upstream.settings.sql_mode)
            assert statement is not None, part.text
            upstream, outcome = upstream.execute(statement, part.text, START_MS + number)
            if isinstance(outcome, FailedStatement):
                raise outcome.error
        except (SqlError, DdlError) as error:
            if part.fails is None:
                raise AssertionError(f"{story.name}:{part.line}: {error}: {part.text[:400]}") from error
            log.failed[number] = error_number(error)
            continue
        for event in outcome.events:
            if isinstance(event, CommittedTransaction):
                made = _transaction(event, number)
                if says_something(made):
                    log.events.append(made)
            else:
                log.events.append(Ddl(number, event.text))
                log.events += _schemas(event.before, event.after)
                log.definitions += ((number, *each) for each in _definitions(event.before, event.after))
    log.final = {name(table): _rows(upstream, table) for table in upstream.catalog.tables.values()}
    return log


def name(table: Table) -> str:
    return f"{table.schema}.{table.name}"


def _transaction(event: CommittedTransaction, number: int) -> Transaction:
    made = Transaction(number)
    for change in event.changes:
        _add(made, change)
    return made


def _add(made: Transaction, change: TableChanges) -> None:
    """One change for each key where TiDB's keys are the story's; each row of a key at most once on either side."""
    table, key = change.table, key_of(change.table)
    if table.clustered:
        assert len(set(change.handle.to_pylist())) == len(change.handle), "a key has one change in a transaction"
    for before, after in zip(_images(table, change.before), _images(table, change.after), strict=True):
        if before == after:
            continue
        for side, row in ((made.before, before), (made.after, after)):
            if row is not None:
                place = name(table), _key(row, key)
                assert place not in side, f"two rows of one key: {place}"
                side[place] = row


def _images(table: Table, images: pa.Array) -> Iterator[Cells | None]:
    columns = visible_columns(table)
    for image in images.to_pylist():
        yield None if image is None else _row(columns, row_image.cells_of(image))


def _row(columns: tuple[Column, ...], cells: Iterable[bytes | None]) -> Cells:
    return {column.name: _shown(column, cell) for column, cell in zip(columns, cells, strict=True)}


def _shown(column: Column, cell: bytes | None) -> Cell:
    """A cell as the log writes it."""
    if cell is None:
        return None
    text = cell.decode("utf-8")
    if is_binary(column.type):
        return f"0x{text.encode('latin-1').hex()}"
    return _six_digits(text) if column.type.name == "float" else text


def key_of(table: Table) -> tuple[str, ...]:
    """The columns of the primary key, else of the first unique key without NULL."""
    if table.primary_key:
        return table.primary_key
    filled = {column.name for column in table.columns if column.not_null}
    for index in table.indexes:
        if index.unique and filled.issuperset(part.name for part in index.columns):
            return tuple(part.name for part in index.columns)
    return ()


def _schemas(before: Catalog, after: Catalog) -> list[Schema]:
    """Of each table that a statement made, changed or took away."""
    return [
        Schema(table, None, ())
        if definition is None
        else Schema(table, tuple(column.name for column in visible_columns(definition)), key_of(definition))
        for table, definition in _definitions(before, after)
    ]


def _definitions(before: Catalog, after: Catalog) -> Iterator[tuple[str, Table | None]]:
    for place, table in after.tables.items():
        if before.tables.get(place) is not table:
            yield name(table), table
    for place, table in before.tables.items():
        if place not in after.tables:
            yield name(table), None


def _rows(upstream: Upstream, table: Table) -> dict[tuple[Cell, ...], Cells]:
    columns, key = visible_columns(table), key_of(table)
    rows = [
        _row(columns, cells)
        for cells in zip(*(text.to_pylist() for text in upstream.rows(table).texts().values()), strict=True)
    ]
    found = {_key(row, key): row for row in rows}
    assert len(found) == len(rows), f"two rows of one key in {name(table)}"
    return found


# -- both side by side -------------------------------------------------------------------------------------------------


def differences(wanted: Log, got: Log) -> list[str]:
    """What is not as the server had it: numbers of errors, the first event that differs, rows in the end."""
    found = _unequal("failed statement", wanted.failed, got.failed)
    events = enumerate(zip_longest(_comparable(wanted), _comparable(got)))
    place, theirs, mine = next(((place, *both) for place, both in events if both[0] != both[1]), (0, None, None))
    if isinstance(theirs, Transaction) and isinstance(mine, Transaction) and theirs.statement == mine.statement:
        for side in ("before", "after"):
            what = f"statement {mine.statement}, {side}:"
            found += _unequal(what, getattr(theirs, side), getattr(mine, side))
    elif theirs != mine:
        found.append(f"event {place}: {str(theirs)[:400]} wanted, {str(mine)[:400]} found")
    for table in sorted({*wanted.final, *got.final}):
        found += _unequal(f"in the end {table}:", wanted.final.get(table, {}), got.final.get(table, {}))
    return found


def _unequal(what: str, wanted: Mapping[Any, Any], got: Mapping[Any, Any]) -> list[str]:
    """Entries that differ, one line each; of rows their cells that do."""
    lines = []
    for key in sorted({*wanted, *got}, key=str):
        theirs, mine = wanted.get(key), got.get(key)
        if isinstance(theirs, dict) and isinstance(mine, dict):
            other = [name for name in {**theirs, **mine} if theirs.get(name) != mine.get(name)]
            theirs, mine = ({name: row.get(name) for name in other} for row in (theirs, mine))
        if theirs != mine:
            lines.append(f"{what} {key}: {theirs} wanted, {mine} found")
    return lines


def _comparable(log: Log) -> list[Transaction | Ddl | tuple[Schema, ...]]:
    """Events in order; of the tables that one statement changed, in no order, those that have other columns or another
    key than before."""
    made: list[Transaction | Ddl | tuple[Schema, ...]] = []
    known: dict[str, Schema] = {}
    for event in log.events:
        if not isinstance(event, Schema):
            made.append(event)
            continue
        same = known.get(event.table) == event
        known[event.table] = event
        if same:
            continue
        if made and isinstance(made[-1], tuple):
            made[-1] = tuple(sorted((*made[-1], event), key=str))
        else:
            made.append((event,))
    return made
