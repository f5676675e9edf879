"""Columns as members of a JSON object. One law: a member is its opening constant and its value, and is not glued before
the whole row is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask
from simulator.columns.row_image import Image
from simulator.ticdc.codecs.json_text import join, scattered
from simulator.ticdc.codecs.wire_numbers import numeric
from simulator.tidb.model.types import ColumnType, family

Piece: TypeAlias = "bytes | pa.Array"

Form = Callable[[pa.Array, ColumnType], pa.Array]
"""Cells of TiDB text → text that goes on the wire as it is; nulls stay."""


def as_it_is(cells: pa.Array, type: ColumnType) -> pa.Array:
    """The form of what needs none."""
    return cells


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


def member_pieces(member: Member, cells: pa.Array, bare: bool = False) -> list[Piece]:
    """One member's pieces for TiDB texts of its column; a null in them stands for `null`."""
    cells = member.form(cells, member.type)
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
        pieces += [b"," if pieces else b"", *member_pieces(member, image.cells(member.position))]
    return pieces


@dataclass(frozen=True)
class PartialMember:
    """A member that only some rows have."""

    member: Member
    where: Mask
    bare: bool = False


def partial_members(members: Iterable[PartialMember], image: Image) -> pa.Array:
    """The image's members in the rows that have them, with commas between them; empty text for none."""
    begun = np.zeros(image.rows, np.bool_)
    pieces: list[Piece] = []
    for partial in members:
        if partial.where.any():
            pieces += _partial_pieces(partial, image.cells(partial.member.position), begun)
            begun |= partial.where
    return join(*pieces) if pieces else pa.repeat(pa.scalar(b"", pa.binary()), image.rows)


def _partial_pieces(partial: PartialMember, cells: pa.Array, begun: Mask) -> list[Piece]:
    """What the other rows do not have is not made; `begun`: the rows that have members already."""
    if partial.where.all():
        return [_comma(begun), *member_pieces(partial.member, cells, partial.bare)]
    some = cells.filter(pa.array(partial.where))
    text = join(_comma(begun[partial.where]), *member_pieces(partial.member, some, partial.bare))
    return [scattered(text, partial.where)]


def _comma(begun: Mask) -> Piece:
    if begun.all() or not begun.any():
        return b"," if begun.all() else b""
    return pc.if_else(pa.array(begun), pa.scalar(b",", pa.binary()), pa.scalar(b"", pa.binary()))


def differs(member: Member, old: Image, new: Image) -> Mask:
    """Where TiCDC sees a change: values as bytes, floats as numbers (tiflow v8.5 pkg/sink/codec/encoder.go)."""
    before, after = old.cells(member.position), new.cells(member.position)
    if family(member.type) == "float":
        before, after = numeric(before), numeric(after)
    return unequal(before, after)


def unequal(before: pa.Array, after: pa.Array) -> Mask:
    """Where values are neither equal nor both null."""
    found = pc.not_equal(before, after)
    if found.null_count:
        found = pc.fill_null(found, pc.xor(before.is_null(), after.is_null()))
    mask: Mask = found.to_numpy(zero_copy_only=False)
    return mask
