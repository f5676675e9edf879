"""Whole databases in two states, written as exports of any format as Dumpling does (pingcap/tidb dumpling/export).

What a state holds is said once, as values; files and expectations are both made from them.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import cycle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.model.table import Column
from simulator.tidb.model.table import Table as Definition
from support.playing import State, state_of

DATA = Path(__file__).parent.parent.parent / "scenarios" / "data"
AIRPORTS = DATA / "airports-20250224", DATA / "airports-20260905"
"""The shipped part of two releases of airportsdata, SQL before and CSV after."""

Value = None | int | str | bytes
"""int: a bare number; str: text; bytes: a value of a binary column."""

Row = Sequence[Value]
Rows = Sequence[Row]
Name = tuple[str, str]
Texts = tuple[str | None, ...]

_SQL = {0: b"\\0", 10: b"\\n", 13: b"\\r", 92: b"\\\\", 39: b"\\'", 34: b'\\"', 26: b"\\Z"}
_CSV = {0: b"\\0", 10: b"\\n", 13: b"\\r", 92: b"\\\\", 34: b'\\"'}
_UNSAFE = re.compile(r'[\x00-\x1f%"*./:<>?\\|]|-(?=schema)', re.IGNORECASE)


def file_name(schema: str, table: str, rest: str) -> str:
    """`db.table` with what file names cannot have as %XX."""
    parts = [_UNSAFE.sub(lambda found: f"%{ord(found[0]):02X}", name) for name in (schema, table)]
    return ".".join(parts) + rest


def write_schema(directory: Path, schema: str, table: str, statement: str) -> None:
    text = "/*!40101 SET NAMES binary*/;\n" + statement + ";\n"
    (directory / file_name(schema, table, "-schema.sql")).write_text(text, "utf-8")


def write_metadata(directory: Path, pos: int) -> None:
    (directory / "metadata").write_text(
        f"Started dump at: 2026-01-01 00:00:00\nSHOW MASTER STATUS:\n\tLog: tidb-binlog\n\tPos: {pos}\n\tGTID:\n\n"
        "Finished dump at: 2026-01-01 00:00:01\n"
    )


def sql_value(value: Value, escape: bool = True, quote: bytes = b"'") -> bytes:
    if value is None:
        return b"NULL"
    if isinstance(value, int):
        return str(value).encode()
    if isinstance(value, bytes):
        return b"x'" + value.hex().encode() + b"'"
    data = value.encode()
    return quote + (_escaped(data, _SQL) if escape else data.replace(quote, quote * 2)) + quote


def csv_value(value: Value, escape: bool = True) -> bytes:
    if value is None:
        return b"\\N"
    if isinstance(value, int):
        return str(value).encode()
    data = value if isinstance(value, bytes) else value.encode()
    return b'"' + (_escaped(data, _CSV) if escape else data.replace(b'"', b'""')) + b'"'


def _escaped(data: bytes, escapes: Mapping[int, bytes]) -> bytes:
    return b"".join(escapes.get(byte, bytes([byte])) for byte in data)


def sql(
    table: str,
    rows: Sequence[Sequence[Value]],
    columns: Sequence[str] = (),
    statement: int = 3,
    escape: bool = True,
    quotes: Sequence[bytes] = (b"'",),
) -> bytes:
    """INSERT statements of `statement` rows each, whose values have one of `quotes` after the other."""
    names = " (" + ",".join(f"`{name.replace('`', '``')}`" for name in columns) + ")" if columns else ""
    head = f"INSERT INTO `{table.replace('`', '``')}`{names} VALUES\n".encode()
    each = cycle(quotes)
    lines = [b"(" + b",".join(sql_value(value, escape, next(each)) for value in row) + b")" for row in rows]
    text = b"".join(head + b",\n".join(lines[at : at + statement]) + b";\n" for at in range(0, len(lines), statement))
    return b"/*!40101 SET NAMES binary*/;\n" + text


def csv(
    rows: Sequence[Sequence[Value]], columns: Sequence[str] = (), escape: bool = True, end: bytes = b"\r\n"
) -> bytes:
    """CSV, with a header where `columns` are given."""
    lines = [b",".join(csv_value(name, escape) for name in columns)] if columns else []
    lines += [b",".join(csv_value(value, escape) for value in row) for row in rows]
    return b"".join(line + end for line in lines)


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
        write_metadata(directory, pos)
    for table in tables:
        rows = table.rows(state)
        if rows is not None:
            write_schema(directory, *table.name, table.statement)
            half = len(rows) // 2
            for number, part in enumerate((rows[:half], rows[half:])):
                path = directory / file_name(*table.name, f".{number:09d}.{format}")
                path.write_bytes(_compressed(FORMATS[format.partition(".")[0]](table, part), path.suffix))
    return directory


def _sql(table: Table, rows: Rows) -> bytes:
    return sql(table.name[1], rows, [column.name for column in table.columns])


def _csv(table: Table, rows: Rows) -> bytes:
    return csv(rows, [column.name for column in table.columns])


def _parquet(table: Table, rows: Rows) -> bytes:
    """In the types that Dumpling gives such columns."""
    arrays = {
        column.name: parquet_column(column, [row[place] for row in rows]) for place, column in enumerate(table.columns)
    }
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(arrays), sink)
    return bytes(sink.getvalue())


FORMATS = {"sql": _sql, "csv": _csv, "parquet": _parquet}


def parquet_column(column: Column, values: Sequence[Value]) -> pa.Array:
    type, texts = column.type, [text(value) for value in values]
    if type.name in ("float", "double"):
        return pa.array([number and float(number) for number in texts], pa.float64())
    if (type.name == "bigint" and type.unsigned) or (type.name == "decimal" and type.length <= 38):
        kind = pa.decimal128(20) if type.name == "bigint" else pa.decimal128(type.length, type.decimal)
        return pa.array([number and Decimal(number) for number in texts], kind)
    if type.name in ("tinyint", "smallint", "mediumint", "int", "bigint", "year"):
        return pa.array([number and int(number) for number in texts], pa.int64())
    if type.name in ("datetime", "timestamp"):
        return pa.array(texts, pa.string()).cast(pa.timestamp("us"))
    return pa.array(values, pa.binary() if any(isinstance(value, bytes) for value in values) else pa.string())


def text(value: Value) -> str | None:
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


def _texts(table: Table, row: Row) -> Texts:
    return tuple(_text_of(column, value) for column, value in zip(table.columns, row, strict=True))


def _text_of(column: Column, value: Value) -> str | None:
    if column.type.name == "bit" and isinstance(value, bytes):
        return str(int.from_bytes(value))
    return str(float(value)) if column.type.name in ("float", "double") and isinstance(value, str) else text(value)
