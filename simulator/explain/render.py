"""An explained row as lines for people, or as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simulator.explain.row import ColumnExplained, RowExplained
from simulator.read.lines import as_text, show
from simulator.ticdc.dispatch import ROW_ID, SINGLE_COLUMN, TS


def as_dict(found: RowExplained) -> dict[str, Any]:
    """For programs: everything, message bytes in hex."""
    result: dict[str, Any] = {**vars(found), "columns": [vars(column) for column in found.columns]}
    result["messages"] = [{"key": _hex(key), "value": _hex(value)} for key, value in found.messages]
    return result


def lines(found: RowExplained) -> Iterator[str]:
    """For people: the columns as a table, then where the row goes, then its bytes."""
    yield f"{found.op} on {found.schema}.{found.table} under TiCDC {found.release} ({found.architecture})"
    yield ""
    yield from _aligned(("column", "type", "mysqlType", "sqlType", "flags", ""), *map(_cells, found.columns))
    yield ""
    yield f"handle key   {', '.join(found.handle_key) or 'none'}"
    yield f"dispatcher   {found.dispatcher}: {_source(found)}"
    yield f"destination  {found.topic}/{found.partition} of {found.partitions} partitions"
    if found.sent_as:
        yield f"sent as      {found.sent_as}"
    if found.why:
        yield f"decision     {'sent' if found.sent else 'not sent'}"
        yield f"why          {found.why}"
    if found.moved_by:
        yield f"split        TiDB writes this UPDATE as DELETE and INSERT, since {', '.join(found.moved_by)} changes,"
        yield "             under which it stores the row: explain each by itself"
    if found.split_by:
        yield f"split        TiCDC sends this UPDATE as DELETE and INSERT, since {', '.join(found.split_by)} changes:"
        yield "             explain each by itself; output-raw-change-event=true keeps it whole, as below"
    for place, size in found.stored:
        yield f"stored       {size} bytes at {place}"
    for key, value in found.messages:
        for name, data in (("key", key), ("value", value)):
            yield f"{name:<12} {'null' if data is None else f'{len(data)} bytes'}"
            if data is not None:
                yield f"  text       {as_text(data)}"
                yield f"  hex        {data.hex()}"


def _source(found: RowExplained) -> str:
    """What the partition is made from."""
    values = ", ".join(found.hashed)
    if found.dispatcher in (TS, ROW_ID):
        return "the commit-ts" if found.dispatcher == TS else "the row id"
    if found.dispatcher == SINGLE_COLUMN:
        return f"hash {found.hash:#010x} of the JSON of {values} alone"
    return f"hash {found.hash:#010x} of schema, table" + (f" and the values of {values}" if values else "")


def _cells(column: ColumnExplained) -> tuple[str, ...]:
    names = ", ".join(column.flag_names) + ("" if column.sent else "; never sent")
    return show(column.name), str(column.type_code), column.mysql_type, str(column.sql_type), str(column.flags), names


def _aligned(*rows: tuple[str, ...]) -> Iterator[str]:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for cells in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex()
