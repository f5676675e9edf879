"""Whole databases in two states, written as exports of any format, and the change between them counted row by row.

What a state holds is said once, as values; files and expectations are both made from them.
"""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from simulator.consumer.decode import DdlEvent, Event, RowEvent, before_image
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.model.table import Column
from simulator.tidb.model.table import Table as Definition
from support import dumps
from support.playing import State, row_text, state_of

Row = Sequence[dumps.Value]
Rows = Sequence[Row]
Name = tuple[str, str]
Texts = tuple[str | None, ...]
Contents = dict[Name, Counter[Texts]]
"""How often each table has each row, as the text of its columns."""

BEFORE, AFTER = 0, 1


@dataclass(frozen=True)
class Table:
    """A table and its rows in both states; None where a state does not have it."""

    statement: str
    before: Rows | None = ()
    after: Rows | None = ()
    schema: str = "shop"

    @cached_property
    def definition(self) -> Definition:
        return create_table(self.statement, self.schema)

    @property
    def name(self) -> Name:
        return self.schema, self.definition.name

    @property
    def columns(self) -> list[Column]:
        """Those that an export has."""
        return [column for column in self.definition.columns if not column.generated]

    def rows(self, state: int) -> Rows | None:
        return (self.before, self.after)[state]


def write(directory: Path, tables: Iterable[Table], state: int, format: str = "sql", pos: int | None = None) -> Path:
    """The export of one state, each table in two files; `format` may end in .gz or .zst."""
    directory.mkdir(parents=True)
    if pos is not None:
        dumps.write_metadata(directory, pos)
    for table in tables:
        rows = table.rows(state)
        if rows is not None:
            dumps.write_schema(directory, *table.name, table.statement)
            half = len(rows) // 2
            for number, part in enumerate((rows[:half], rows[half:])):
                path = directory / dumps.file_name(*table.name, f".{number:09d}.{format}")
                path.write_bytes(_compressed(FORMATS[format.partition(".")[0]](table, part), path.suffix))
    return directory


def _sql(table: Table, rows: Rows) -> bytes:
    return dumps.sql(table.name[1], rows, [column.name for column in table.columns])


def _csv(table: Table, rows: Rows) -> bytes:
    return dumps.csv(rows, [column.name for column in table.columns])


def _parquet(table: Table, rows: Rows) -> bytes:
    """In the types that Dumpling gives such columns."""
    arrays = {
        column.name: parquet_column(column, [row[place] for row in rows]) for place, column in enumerate(table.columns)
    }
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(arrays), sink)
    return bytes(sink.getvalue())


FORMATS = {"sql": _sql, "csv": _csv, "parquet": _parquet}


def parquet_column(column: Column, values: Sequence[dumps.Value]) -> pa.Array:
    type = column.type
    if type.name == "bigint" and type.unsigned:
        numbers = [None if number is None else Decimal(number) for number in map(text, values)]
        return pa.array(numbers, pa.decimal128(20))
    if type.name in ("tinyint", "smallint", "mediumint", "int", "bigint", "year"):
        return pa.array([None if number is None else int(number) for number in map(text, values)], pa.int64())
    if type.name in ("float", "double"):
        return pa.array([None if number is None else float(number) for number in map(text, values)], pa.float64())
    if type.name == "decimal" and type.length <= 38:
        numbers = [None if number is None else Decimal(number) for number in map(text, values)]
        return pa.array(numbers, pa.decimal128(type.length, type.decimal))
    if type.name in ("datetime", "timestamp"):
        return pa.array(map(text, values), pa.string()).cast(pa.timestamp("us"))
    return pa.array(values, pa.binary() if any(isinstance(value, bytes) for value in values) else pa.string())


def text(value: dumps.Value) -> str | None:
    """TiDB's text of a value."""
    return value.decode("latin-1") if isinstance(value, bytes) else None if value is None else str(value)


def _compressed(data: bytes, suffix: str) -> bytes:
    if suffix == ".gz":
        return gzip.compress(data)
    return bytes(pa.compress(data, "zstd", asbytes=True)) if suffix == ".zst" else data


def state(tables: Iterable[Table], which: int) -> State:
    """What the tables of a state hold, as a consumer would."""
    return state_of(
        (table.definition, b"\xff".join(b"\xfe" if cell is None else cell.encode() for cell in _texts(table, row)))
        for table in tables
        for row in table.rows(which) or ()
    )


def contents(tables: Iterable[Table], state: int) -> Contents:
    """What the tables of a state hold."""
    return {
        table.name: Counter(_texts(table, row) for row in rows)
        for table in tables
        if (rows := table.rows(state)) is not None
    }


def _texts(table: Table, row: Row) -> Texts:
    return tuple(_text_of(column, value) for column, value in zip(table.columns, row, strict=True))


def _text_of(column: Column, value: dumps.Value) -> str | None:
    if column.type.name == "bit" and isinstance(value, bytes):
        return str(int.from_bytes(value))
    return str(float(value)) if column.type.name in ("float", "double") and isinstance(value, str) else text(value)


def contents_after(events: Iterable[Event], before: Contents, tables: Iterable[Table]) -> Contents:
    """What a state holds when the events of a stream have happened, in whatever order: rows are only counted."""
    definitions: Mapping[Name, Table] = {table.name: table for table in tables}
    found = {name: Counter(rows) for name, rows in before.items()}
    dropped: set[Name] = set()
    for event in events:
        if isinstance(event, RowEvent):
            table = definitions[event.schema, event.table]
            rows = found.setdefault(table.name, Counter())
            for image, by in ((before_image(event), -1), (event.after, 1)):
                if image is not None:
                    texts = row_text(image, table.definition)
                    rows[_texts(table, [texts[column.name] for column in table.columns])] += by
        elif isinstance(event, DdlEvent) and event.type in (4, "ERASE"):
            dropped.add((event.schema, event.table))
    return {
        name: Counter({row: times for row, times in rows.items() if times})
        for name, rows in found.items()
        if name not in dropped
    }
