"""The bytes by which TiDB sorts and compares text, for whole columns.

One law: what a collation calls equal has equal bytes, and smaller text smaller ones, of a TiDB whose new collations are
on (its default since 6.0; tidb: pkg/util/collate).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Bytes, Places, binary, buffers, raw, surrogate_unescaped
from simulator.tidb.collations.weights import BASIC, WEIGHTS, Weights
from simulator.tidb.model.types import ColumnType, is_text

SPACE = 0x20


def is_exact(type: ColumnType) -> bool:
    """Whether no two different texts of the type are equal."""
    return not is_text(type) or not pads(type.collation) and not is_weighed(type.collation)


def pads(collation: str) -> bool:
    """Whether spaces at the end of texts do not count."""
    return collation != "binary" and "_0900_" not in collation


def is_weighed(collation: str) -> bool:
    """Whether texts compare otherwise than their bytes."""
    return collation in WEIGHTS


def sortable(collation: str, texts: pa.Array) -> pa.Array:
    """Binary keys of texts, each with an end mark, so that others may follow it."""
    if collation == "latin1_bin":
        texts = surrogate_unescaped(texts)
    if pads(collation):
        texts = padded(texts)
    made = WEIGHTS.get(collation)
    return _ended(texts) if made is None else _weighed(texts, made())


def padded(texts: pa.Array) -> pa.Array:
    """As a PAD SPACE collation sees them: without the spaces at their end."""
    data, offsets = buffers(texts)
    filled = np.flatnonzero(offsets[1:] > offsets[:-1])
    if not (data[offsets[1:][filled] - 1] == SPACE).any():
        return texts
    return pc.ascii_rtrim(texts.view(pa.string()), " ")


def _ended(texts: pa.Array) -> pa.Array:
    """Zero bytes escaped, two zero bytes as the end."""
    data, _ = buffers(texts)
    cells = raw(texts)
    if not data.all():
        cells = pc.replace_substring(cells, b"\0", b"\0\1")
    return pc.binary_join_element_wise(cells, b"", b"\0\0")


def _weighed(texts: pa.Array, table: Weights) -> pa.Array:
    """Weights of two bytes, none of them zero, and a zero as the end."""
    codes, starts = _code_points(*buffers(texts))
    codes = codes if codes.dtype == np.uint8 else np.minimum(codes, table.last)
    sizes, places = table.sizes.take(codes), table.places.take(codes)
    if (sizes != 1).any():
        ends = np.concatenate(([0], np.cumsum(sizes)))
        places, starts = np.repeat(places - ends[:-1], sizes) + np.arange(ends[-1]), ends[starts]
    rows = starts + np.arange(len(starts))
    found, weighs = np.zeros(int(rows[-1]), ">u2"), np.ones(int(rows[-1]), np.bool_)
    weighs[rows[1:] - 1] = False
    found[weighs] = table.weights.take(places)
    return binary(found.view(np.uint8), 2 * rows, texts)


def alike(collation: str, texts: pa.Array) -> pa.Array:
    """Strings with each character in the place of all that weigh the same, as LIKE compares them: one by one, and for
    _unicode_ci those outside of the basic plane by themselves (tidb: pkg/util/collate/unicode_0400_ci_impl.go)."""
    table = WEIGHTS[collation]()
    codes, starts = _code_points(*buffers(texts))
    codes = codes.astype(np.uint32)
    found = table.firsts.take(np.minimum(codes, table.last))
    if collation.endswith("_unicode_ci"):
        found = np.where(codes < BASIC, found, codes)
    sizes = 1 + sum((found >= least).astype(np.int64) for least in (0x80, 0x800, BASIC))
    ends = np.concatenate(([0], np.cumsum(sizes)))
    text = found.tobytes().decode("utf-32-le", "surrogatepass").encode("utf-8", "surrogatepass")
    return binary(np.frombuffer(text, np.uint8), ends[starts], texts).view(pa.string())


def _code_points(data: Bytes, offsets: Places) -> tuple[Bytes | npt.NDArray[np.uint32], Places]:
    """The characters of all cells, and where each cell begins among them."""
    if not len(data) or data.max() < 0x80:
        return data, offsets
    leads = (data & 0xC0) != 0x80
    text = data.tobytes().decode("utf-8", "surrogatepass")
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    return codes, np.concatenate(([0], np.cumsum(leads)))[offsets]
