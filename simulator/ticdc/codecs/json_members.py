"""Columns as members of a JSON object.

A member is a list of pieces, constants and columns of values. The pieces of a whole row are joined in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Mask, latin1
from simulator.columns.row_image import Image, UncutCells
from simulator.ticdc.codecs.wire_numbers import to_float64
from simulator.ticdc.codecs.wire_text import join, scatter, surrogate_escaped
from simulator.ticdc.mounter import UNTYPED, is_untyped
from simulator.tidb.model.types import ColumnType, family, is_binary

Piece: TypeAlias = "bytes | pa.Array | UncutCells"

Converter = Callable[[pa.Array, ColumnType], pa.Array]
"""Convert cells of TiDB text to text for the wire; nulls stay nulls."""


def unchanged(cells: pa.Array, type: ColumnType) -> pa.Array:
    """Return the cells unchanged."""
    return cells


def always_null(cells: pa.Array, type: ColumnType) -> pa.Array:
    """Return NULL for every cell: the format of columns that images do not have."""
    return pa.nulls(len(cells), pa.binary())


@dataclass(frozen=True)
class Escaping:
    """A format that leaves most texts as they are."""

    convert: Converter
    is_plain: Callable[[bytes], bool]
    """Whether texts with no other bytes than these stay as they are."""

    def __call__(self, cells: pa.Array, type: ColumnType) -> pa.Array:
        return self.convert(cells, type)


@dataclass(frozen=True)
class MaybeUntyped:
    """The format of a column that some rows lack, where TiCDC has a string instead of a value (`mounter`)."""

    typed: Converter
    untyped: Converter
    """The format of such a string."""

    is_alike: bool = False
    """Whether the encoder turns values of the column into strings before it compares them."""

    def __call__(self, cells: pa.Array, type: ColumnType) -> pa.Array:
        marked = is_untyped(cells)
        if not pc.any(marked, min_count=0).as_py():
            return self.typed(cells, type)
        strings = self.untyped(pc.replace_substring(cells, UNTYPED, b"", max_replacements=1), type)
        values = self.typed(pc.if_else(marked, pa.scalar(None, pa.binary()), cells), type)
        return pc.if_else(marked, strings, values)


def untyped_texts(cells: pa.Array, type: ColumnType) -> pa.Array:
    """Return strings in place of values of a type as JSON has them before it is escaped: bytes are no text."""
    return surrogate_escaped(latin1(cells)) if family(type) == "bit" or is_binary(type) else cells


@dataclass(frozen=True)
class JsonMember:
    """A column as a member of a JSON object."""

    position: int
    """Position of the column among the visible columns."""

    type: ColumnType
    opening: bytes
    """Text before the value: `"id":` or `"id":{"t":3,"h":true,"f":11,"v":`."""

    closing: bytes
    quoted: bool
    """Whether the value is a JSON string."""

    handle: bool
    """Whether the column belongs to the handle key."""

    convert: Converter

    bare: bytes = b""
    """Text before the value of a member without name and braces."""


def member_pieces(member: JsonMember, cells: pa.Array, bare: bool = False) -> list[Piece]:
    """Return the pieces of one member for TiDB texts of its column; a null becomes `null`."""
    cells = member.convert(cells, member.type)
    opening, closing = (member.bare, b"") if bare else (member.opening, member.closing)
    if not member.quoted:
        return [opening, cells, closing]
    if cells.null_count == 0:
        return [opening + b'"', cells, b'"' + closing]
    quotes = pa.scalar(b'"', pa.binary())
    strings = pc.binary_join_element_wise(quotes, cells, quotes, pa.scalar(b"", pa.binary()))
    return [opening, strings, closing]


def named_object(name: bytes, members: Sequence[JsonMember], image: Image) -> list[Piece]:
    """Return `,"data":{…}` for the name `data`; Go leaves an empty map out."""
    return [b',"%s":{' % name, *object_pieces(members, image), b"}"] if members else []


def object_pieces(members: Sequence[JsonMember], image: Image) -> list[Piece]:
    """Return the pieces of all members with commas between them, without the braces."""
    pieces: list[Piece] = []
    for member in members:
        pieces.append(b"," if pieces else b"")
        if _is_unchanged(member.convert, image) and (cells := image.uncut(member.position)) is not None:
            quote = b'"' if member.quoted else b""
            pieces += [member.opening + quote, cells, quote + member.closing]
        else:
            pieces += member_pieces(member, image.cells(member.position))
    return pieces


def _is_unchanged(convert: Converter, image: Image) -> bool:
    """Return whether a format leaves the cells as they are in the image."""
    return convert is unchanged or isinstance(convert, Escaping) and image.satisfies(convert.is_plain)


@dataclass(frozen=True)
class PartialMember:
    """A member that only some rows have."""

    member: JsonMember
    where: Mask
    bare: bool = False


def partial_members(members: Iterable[PartialMember], image: Image) -> pa.Array:
    """Return the members of each row that has them, with commas between them; empty text for none."""
    begun = np.zeros(image.rows, np.bool_)
    pieces: list[Piece] = []
    for partial in members:
        if partial.where.any():
            pieces += _partial_pieces(partial, image.cells(partial.member.position), begun)
            begun |= partial.where
    return join(*pieces) if pieces else pa.repeat(pa.scalar(b"", pa.binary()), image.rows)


def _partial_pieces(partial: PartialMember, cells: pa.Array, begun: Mask) -> list[Piece]:
    """Return the pieces of a member that only some rows have; `begun` are the rows that have a member already."""
    if partial.where.all():
        return [_comma(begun), *member_pieces(partial.member, cells, partial.bare)]
    some = cells.filter(pa.array(partial.where))
    text = join(_comma(begun[partial.where]), *member_pieces(partial.member, some, partial.bare))
    return [scatter(text, partial.where)]


def _comma(begun: Mask) -> Piece:
    if begun.all() or not begun.any():
        return b"," if begun.all() else b""
    return pc.if_else(pa.array(begun), pa.scalar(b",", pa.binary()), pa.scalar(b"", pa.binary()))


def is_changed(member: JsonMember, old: Image, new: Image) -> Mask:
    """Return where TiCDC sees a change: values as bytes, floats as numbers (tiflow v8.5 pkg/sink/codec/encoder.go)."""
    before, after = old.cells(member.position), new.cells(member.position)
    differs: Mask | None = None
    if isinstance(member.convert, MaybeUntyped):
        differs = np.asarray(pc.xor(is_untyped(before), is_untyped(after)), bool) & (not member.convert.is_alike)
        before, after = (pc.replace_substring(cells, UNTYPED, b"") for cells in (before, after))
    if family(member.type) == "float":
        before, after = to_float64(before), to_float64(after)
    changed = is_different(before, after)
    return changed if differs is None else changed | differs


def is_different(before: pa.Array, after: pa.Array) -> Mask:
    """Return where values are neither equal nor both null."""
    differs = pc.not_equal(before, after)
    if differs.null_count:
        differs = pc.fill_null(differs, pc.xor(before.is_null(), after.is_null()))
    mask: Mask = differs.to_numpy(zero_copy_only=False)
    return mask
