"""The columns of Canal-JSON's rows: which there are, in which order, their types and the texts of their values.

One law: all of it follows from table, release and options, and is made once for all rows of a table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from simulator.columns.cells import latin1
from simulator.releases import Release
from simulator.ticdc import table_info
from simulator.ticdc.codecs import values
from simulator.ticdc.codecs.binary import disguised
from simulator.ticdc.codecs.canal_json import types as canal_types
from simulator.ticdc.codecs.canal_json.nulls import nulled
from simulator.ticdc.codecs.members import Form, Member
from simulator.ticdc.codecs.text import escape, quoted
from simulator.tidb.model import types
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import ColumnType


@dataclass(frozen=True)
class CanalColumn:
    member: Member
    text: Form
    """The texts of values, not escaped yet; null where the release takes a value for NULL."""

    sql_type: bytes
    promotion: tuple[int, int] | None
    """See canal_types.promotion."""

    mysql_type: bytes
    """`"id":"int unsigned"`."""

    selected: bool
    """Whether column selectors leave it."""


_ORDERS: dict[str, Callable[[Column], bytes]] = {
    "table": lambda column: b"",
    "name": lambda column: column.name.encode("utf-8", "surrogatepass"),
    "escaped-name": lambda column: quoted(column.name),
}


@lru_cache(maxsize=1024)
def columns(table: Table, selected: frozenset[str] | None, full: bool, release: Release) -> tuple[CanalColumn, ...]:
    """Every column that rows can have, in the release's order; `full`: mysqlType with sizes (content-compatible)."""
    handle, visible = table_info.handle_columns(table, release), table_info.visible_columns(table)
    places = {column.name: place for place, column in enumerate(visible)}
    candidates = table.columns if release.canal_virtual_columns else visible
    return tuple(
        _column(column, places.get(column.name), column.name in handle, full, release,
                selected is None or column.name in selected)
        for column in sorted(candidates, key=_ORDERS[release.canal_column_order]))


def _column(
        column: Column, place: int | None, handle: bool, full: bool, release: Release, selected: bool) -> CanalColumn:
    type, name = column.type, quoted(column.name)
    text = _nothing if place is None else nulled(_text(type, release), type, release)
    is_text = types.family(type) in ("string", "text", "json")
    member = Member(place or 0, type, name + b":", b"", True, handle, _escaped(text) if is_text else text)
    promotion = None if place is None else canal_types.promotion(type, release)
    return CanalColumn(
        member, text, b"%d" % canal_types.sql_type(type, release), promotion,
        name + b":" + quoted(canal_types.mysql_type(type, full, release)), selected)


def _text(type: ColumnType, release: Release) -> Form:
    family = types.family(type)
    if family == "float":
        return values.widened_plain_float if release.float_widened else values.plain_float
    if family == "string" and types.is_binary(type) and not release.canal_latin1_strings:
        return _bytes_as_text
    return _TEXTS.get(family, _as_it_is)


def _as_it_is(cells: pa.Array, type: ColumnType) -> pa.Array:
    return cells


def _bytes_as_text(cells: pa.Array, type: ColumnType) -> pa.Array:
    return disguised(latin1(cells))


def _nothing(cells: pa.Array, type: ColumnType) -> pa.Array:
    return pa.nulls(len(cells), pa.binary())


_TEXTS: dict[str, Form] = {"enum": values.enum_number, "set": values.set_number}


def _escaped(text: Form) -> Form:
    return lambda cells, type: escape(text(cells, type), short_controls=False)
