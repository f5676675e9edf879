"""Helpers for columns of text that Arrow's kernels lack. Null stays null, and an invalid cell becomes null."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import binary, buffers


def utf8(raw: pa.Array) -> pa.Array:
    """Cast a string or binary array to strings, with null for invalid UTF-8."""
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        if len(raw) == 1:
            return pa.nulls(1, pa.string())
        half = len(raw) // 2
        return pa.concat_arrays([utf8(raw.slice(0, half)), utf8(raw.slice(half))])


def null_unless(mask: pa.Array, cells: pa.Array) -> pa.Array:
    """Return the cells where the mask is true, null elsewhere."""
    return pc.if_else(mask, cells, pa.scalar(None, cells.type))


def replace_unusual(
    cells: pa.Array, usual: pa.Array, odd: Callable[[pa.Array], pa.Array], made: pa.Array | None = None
) -> pa.Array:
    """Return the usual cells, or `made` in their place, with the others converted by `odd`.

    A cell is unusual if `usual` is false or null.
    """
    others = pc.and_not(cells.is_valid(), pc.fill_null(usual, False))
    made = cells if made is None else made
    if not pc.any(others).as_py():
        return made
    return pc.replace_with_mask(made, others, odd(cells.filter(others)))


def map_distinct(texts: pa.Array, function: Callable[[str], str | None]) -> pa.Array:
    """Call a function once for each distinct text: for rare values that no kernel converts."""
    distinct = texts.dictionary_encode()
    values = [None if text is None else function(text) for text in distinct.dictionary.to_pylist()]
    return pa.array(values, pa.string()).take(distinct.indices)


def cast_or_none(text: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Cast text to another type, or return None if Arrow cannot parse all of it."""
    try:
        return text.cast(kind)
    except pa.ArrowInvalid:
        return None


def matches(text: pa.Array, pattern: str) -> pa.Array:
    """Whether each whole text matches a regular expression."""
    return pc.match_substring_regex(text, f"^(?:{pattern})$")


def contains_character(cells: pa.Array, character: str) -> bool:
    """Whether a string array contains an ASCII character."""
    return bool((buffers(cells)[0] == ord(character)).any())


def latin1_text(bytes: pa.Array) -> pa.Array:
    """Decode bytes as Latin-1."""
    data, offsets = buffers(bytes)
    wide = np.flatnonzero(data >= 0x80)
    if not len(wide):
        return bytes.cast(pa.string())
    text = np.frombuffer(data.tobytes().decode("latin-1").encode(), np.uint8)
    return binary(text, offsets + np.searchsorted(wide, offsets), bytes).view(pa.string())
