"""Sort keys of text, for whole columns.

Texts that a collation considers equal have equal keys, and smaller texts smaller keys. This is a TiDB with new
collations, the default since 6.0 (tidb: pkg/util/collate).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Bytes, Places, binary, buffers, raw, surrogate_unescaped
from simulator.tidb.collations.weights import WEIGHTS, Weights
from simulator.tidb.model.types import ColumnType, is_text

SPACE = 0x20


def is_exact(type: ColumnType) -> bool:
    """Whether different texts of the type are never equal."""
    return not is_text(type) or not pads_spaces(type.collation) and not has_weights(type.collation)


def pads_spaces(collation: str) -> bool:
    """Whether the collation ignores trailing spaces."""
    return collation != "binary" and "_0900_" not in collation


def has_weights(collation: str) -> bool:
    """Whether the collation compares texts by weights, not by bytes."""
    return collation in WEIGHTS


def sort_keys(collation: str, texts: pa.Array) -> pa.Array:
    """Return binary keys of texts, each with an end mark, so that other keys may follow it."""
    if collation == "latin1_bin":
        texts = surrogate_unescaped(texts)
    if pads_spaces(collation):
        texts = padded(texts)
    weights = WEIGHTS.get(collation)
    return _ended(texts) if weights is None else _weighed(texts, weights())


def padded(texts: pa.Array) -> pa.Array:
    """Remove trailing spaces, as a PAD SPACE collation does."""
    data, offsets = buffers(texts)
    nonempty = np.flatnonzero(offsets[1:] > offsets[:-1])
    if not (data[offsets[1:][nonempty] - 1] == SPACE).any():
        return texts
    return pc.ascii_rtrim(texts.view(pa.string()), " ")


def _ended(texts: pa.Array) -> pa.Array:
    """Escape zero bytes, and append two zero bytes."""
    data, _ = buffers(texts)
    cells = raw(texts)
    if not data.all():
        cells = pc.replace_substring(cells, b"\0", b"\0\1")
    return pc.binary_join_element_wise(cells, b"", b"\0\0")


def _weighed(texts: pa.Array, table: Weights) -> pa.Array:
    """Replace characters by weights of two bytes, none of which is zero, and append a zero."""
    codes, starts = _code_points(*buffers(texts))
    codes = codes if codes.dtype == np.uint8 else np.minimum(codes, table.last)
    sizes, places = table.sizes.take(codes), table.places.take(codes)
    if (sizes != 1).any():
        ends = np.concatenate(([0], np.cumsum(sizes)))
        places, starts = np.repeat(places - ends[:-1], sizes) + np.arange(ends[-1]), ends[starts]
    rows = starts + np.arange(len(starts))
    keys, is_weight = np.zeros(int(rows[-1]), ">u2"), np.ones(int(rows[-1]), np.bool_)
    is_weight[rows[1:] - 1] = False
    keys[is_weight] = table.weights.take(places)
    return binary(keys.view(np.uint8), 2 * rows, texts)


def _code_points(data: Bytes, offsets: Places) -> tuple[Bytes | npt.NDArray[np.uint32], Places]:
    """Return the characters of all cells, and the offset of each cell among them."""
    if not len(data) or data.max() < 0x80:
        return data, offsets
    leads = (data & 0xC0) != 0x80
    text = data.tobytes().decode("utf-8", "surrogatepass")
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    return codes, np.concatenate(([0], np.cumsum(leads)))[offsets]
