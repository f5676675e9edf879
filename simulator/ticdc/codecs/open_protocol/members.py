"""Columns as Open Protocol's members: `"id":{"t":3,"h":true,"f":11,"v":`, value, `}`, as each release writes them.

One law: all that depends on the table and the release alone is made once; a row adds nothing but its values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial

from simulator.releases import Release
from simulator.ticdc import table_info
from simulator.ticdc.codecs.members import Member
from simulator.ticdc.codecs.open_protocol.forms import FROM_NUMBERS, form, nothing, zero_is_null
from simulator.ticdc.codecs.raw_json import raw_quoted
from simulator.ticdc.codecs.text import quoted
from simulator.tidb.model import types
from simulator.tidb.model.table import Column, Table


@lru_cache(maxsize=1024)
def members(table: Table, release: Release, selected: frozenset[str] | None) -> tuple[Member, ...]:
    """The columns that rows have, in the order they are written; `selected` are those that column selectors leave."""
    return tuple(_made(table, release, table_info.flags(table, release), selected))


@lru_cache(maxsize=1024)
def old_members(table: Table, release: Release, selected: frozenset[str] | None) -> tuple[Member, ...]:
    """The columns that `p` may have where it lists changed ones alone."""
    bits = table_info.tidb_flags(table) if release.open_old_flags_raw else table_info.flags(table, release)
    made = (member for member in _made(table, release, bits, selected) if member.form is not nothing)
    if not release.open_old_zero_is_null:
        return tuple(made)
    return tuple(replace(member, form=partial(zero_is_null, form=member.form)) for member in made)


def string(text: str, release: Release) -> bytes:
    """A JSON string with its quotes, as the release's writer escapes it."""
    return quoted(text, release.short_control_escapes) if release.open_escapes_html else raw_quoted(text)


def _made(
        table: Table, release: Release, bits: Mapping[str, int], selected: frozenset[str] | None) -> Iterator[Member]:
    handle = table_info.handle_columns(table, release)
    marked = table_info.certain_columns(table) if release.open_marks_unique else handle
    place = {column.name: place for place, column in enumerate(table_info.visible_columns(table))}
    for column in _ordered(table, release):
        if selected is None or column.name in selected:
            head = _head(column, bits[column.name], column.name in marked, release)
            yield Member(
                place.get(column.name, 0), column.type, string(column.name, release) + b":{" + head, b"}",
                types.family(column.type) not in FROM_NUMBERS, column.name in handle,
                form(column.type, release) if column.name in place else nothing, head)


def _ordered(table: Table, release: Release) -> list[Column]:
    """The columns that the release's rows have, as it orders them (encoding/json sorts a map by the names' bytes)."""
    kept = [column for column in table.columns if _written(column, release)]
    return sorted(kept, key=lambda column: column.name.encode()) if release.open_sorts_columns else kept


def _written(column: Column, release: Release) -> bool:
    if column.generated == "virtual":
        return release.open_virtual
    return release.open_generated or not column.generated


def _head(column: Column, flags: int, marked: bool, release: Release) -> bytes:
    """What stands in a column's object before the value."""
    handle = b'"h":true,' if marked else b""
    return b'"t":%d,%s%s"v":' % (
        types.type_code(column.type), handle, b'"f":%d,' % flags if release.open_flags else b"")
