"""Writes directories as Dumpling does (pingcap/tidb dumpling/export), for tests of what reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path

Value = None | int | str | bytes
"""int: a bare number; str: text; bytes: a value of a binary column."""

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
