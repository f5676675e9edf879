"""Columns as members of a JSON object. One law: a member is its opening constant and its value, and is not glued before
the whole row is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from simulator.codecs.images import Image
from simulator.codecs.text import join, without_first_byte
from simulator.codecs.values import numeric
from simulator.schema.table import ColumnType
from simulator.schema.types import family

Piece: TypeAlias = "bytes | pa.Array"

Form = Callable[[pa.Array, ColumnType], pa.Array]
"""Cells of TiDB text → text that goes on the wire as it is; nulls stay."""


@dataclass(frozen=True)
class Member:
    position: int
    """Of the column among the visible columns."""

    type: ColumnType
    opening: bytes
    """What stands before the value: `"id":` or `"id":{"t":3,"h":true,"f":11,"v":`."""

    closing: bytes
    quoted: bool
    """Whether the value is a JSON string."""

    handle: bool
    """Whether the column belongs to the handle key."""

    form: Form

    bare: bytes = b""
    """What stands before the value where a member goes without its name and braces."""


def member_pieces(member: Member, image: Image, bare: bool = False) -> list[Piece]:
    """One member's pieces; a null in them stands for `null`."""
    cells = member.form(image.cells(member.position), member.type)
    opening, closing = (member.bare, b"") if bare else (member.opening, member.closing)
    if not member.quoted:
        return [opening, cells, closing]
    if cells.null_count == 0:
        return [opening + b'"', cells, b'"' + closing]
    quotes = pa.scalar(b'"', pa.binary())
    strings = pc.binary_join_element_wise(quotes, cells, quotes, pa.scalar(b"", pa.binary()))
    return [opening, strings, closing]


def object_pieces(members: Sequence[Member], image: Image) -> list[Piece]:
    """All members with commas between them, without the braces."""
    pieces: list[Piece] = []
    for member in members:
        pieces += [b"," if pieces else b"", *member_pieces(member, image)]
    return pieces


def changed_members(members: Sequence[Member], old: Image, new: Image) -> pa.Array:
    """The old image's members whose values differ from the new ones, with commas between them; empty text for none."""
    return differing_members(members, old, [same(member, old, new) for member in members])


def differing_members(members: Sequence[Member], old: Image, equal: Sequence[pa.Array]) -> pa.Array:
    """The image's members where they are not `equal` (boolean, no nulls), with commas between them; empty text for
    none."""
    empty = pa.scalar(b"", pa.binary())
    kept = [
        pc.if_else(one, empty, join(b",", *member_pieces(member, old)))
        for member, one in zip(members, equal, strict=True)]
    if not kept:
        return pa.repeat(empty, old.rows)
    return without_first_byte(join(*kept))


def same(member: Member, old: Image, new: Image) -> pa.Array:
    """Whether TiCDC takes the values for equal: as bytes, floats as numbers (tiflow v8.5 pkg/sink/codec/encoder.go)."""
    before, after = old.cells(member.position), new.cells(member.position)
    if family(member.type) == "float":
        before, after = numeric(before), numeric(after)
    return both_equal(before, after)


def both_equal(before: pa.Array, after: pa.Array) -> pa.Array:
    """Whether values are equal or both null."""
    return pc.or_(pc.fill_null(pc.equal(before, after), False), pc.and_(before.is_null(), after.is_null()))
