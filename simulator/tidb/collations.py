"""TiDB's collations: the weights of characters, and sort keys of whole columns of text.

Texts that a collation considers equal have equal keys, and smaller texts have smaller keys. Weights are tables from
code points to 16-bit numbers, built on first use; they compare as TiDB's do, but are other numbers (tidb
pkg/util/collate). This is a TiDB with new collations, the default since 6.0.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.cells import Bytes, Places, binary, buffers, raw, surrogate_unescaped
from simulator.tidb.model.types import ColumnType, is_text

Numbers = npt.NDArray[np.int64]

TOP = 0x110000
BASIC = 0x10000
"""The first code point outside of the basic plane. All of them are equal in _general_ci and _unicode_ci."""

REPLACEMENT = 0xFFFD


@dataclass(frozen=True)
class Weights:
    """The weights of every character. Characters without weights are ignored."""

    places: Numbers
    """The offset of each code point's weights, and the end. The last code point stands for all above it."""

    weights: npt.NDArray[np.uint16]

    @cached_property
    def sizes(self) -> Numbers:
        """The number of weights of each code point."""
        return np.diff(self.places)

    @cached_property
    def firsts(self) -> npt.NDArray[np.uint32]:
        """For each code point the first one with the same weights."""
        ends, weights = pa.py_buffer((2 * self.places).astype(np.int32)), pa.py_buffer(self.weights)
        weighed = pa.Array.from_buffers(pa.binary(), len(self.sizes), [None, ends, weights]).dictionary_encode()
        groups = weighed.indices.to_numpy()
        firsts: npt.NDArray[np.uint32] = np.unique(groups, return_index=True)[1].astype(np.uint32)[groups]
        return firsts

    @property
    def last(self) -> int:
        """The code point that stands for all above it."""
        return len(self.places) - 2


def _weights(weights_by_code: Sequence[Sequence[int]]) -> Weights:
    places = np.concatenate(([0], np.cumsum(np.fromiter(map(len, weights_by_code), np.int64, len(weights_by_code)))))
    flat = (weight for weights in weights_by_code for weight in weights)
    return Weights(places, np.fromiter(flat, np.uint16, int(places[-1])))


# -- _general_ci: a capital letter without accents ------------------------------------------------------------------

LATER = frozenset("ƞϙϵҋӆӊӎԁԃԅԇԉԋԍԏ")
"""Small letters whose capitals were added after Unicode 3.0, the source of MySQL's table."""

UNLIKE = {"ß": "S", "ϲ": "Σ", "Й": "Й", "й": "Й"}
GENERAL = (*range(0x600), *range(0x1E00, 0x2000), *range(0x2100, 0x2200), *range(0x2400, 0x2500), *range(0xFF00, BASIC))
"""The code points that may differ from their weights."""


@cache
def general() -> Weights:
    """Return the weights of _general_ci: one for each character, U+FFFD outside of the basic plane."""
    codes = np.arange(BASIC + 1)
    codes[[*GENERAL, BASIC]] = [*map(_general, map(chr, GENERAL)), REPLACEMENT]
    # A zero ends a key, so that weights begin with one.
    return Weights(np.arange(BASIC + 2), np.minimum(codes + 1, 0xFFFF).astype(np.uint16))


def _general(letter: str) -> int:
    base = UNLIKE.get(letter) or _capital(_bare(letter))
    return ord(base if unicodedata.category(base)[0] == "L" else _capital(letter))


def _bare(letter: str) -> str:
    """Return the letter without accents."""
    parts = unicodedata.ucd_3_2_0.decomposition(letter).split()
    return _bare(chr(int(parts[0], 16))) if len(parts) > 1 and parts[0][0] != "<" else letter


def _capital(letter: str) -> str:
    capital = letter.upper()
    return capital if len(capital) == 1 and letter not in LATER and not {letter, capital} & _unassigned() else letter


@cache
def _unassigned() -> frozenset[str]:
    """Return the characters of the basic plane that were added after Unicode 3.2."""
    return frozenset(letter for letter in map(chr, range(BASIC)) if unicodedata.ucd_3_2_0.category(letter) == "Cn")


# -- the Unicode collation algorithm: primary weights ---------------------------------------------------------------

ENTRY = re.compile(r"^([0-9A-F]+) *; *((?:\[[^\]]*\])+)", re.MULTILINE)
PRIMARY = re.compile(r"\[[.*]([0-9A-F]+)")


def _allkeys(version: str) -> dict[int, list[int]]:
    """Return the nonzero primary weights of single characters in Unicode's default table."""
    text = (files("pyuca") / f"allkeys-{version}.txt").read_text("utf-8")
    return {
        int(code, 16): [weight for weight in (int(digits, 16) for digits in PRIMARY.findall(elements)) if weight]
        for code, elements in ENTRY.findall(text)
    }


def _implicit(codes: Numbers, base: int) -> Numbers:
    """Return the two weights of characters that are in no table."""
    return np.stack((base + (codes >> 15), codes & 0x7FFF | 0x8000), axis=-1)


def _based(ranges: Iterable[tuple[int, int, int]], top: int) -> Numbers:
    """Return the implicit weights of all code points, with the bases of ranges (first, last, base)."""
    implicit = _implicit(np.arange(top), 0xFBC0)
    for first, last, base in ranges:
        implicit[first : last + 1] = _implicit(np.arange(first, last + 1), base)
    return implicit


HANGUL, VOWELS, TRAILS = range(0xAC00, 0xD7A4), 21, 28


@cache
def unicode_9() -> Weights:
    """Return the weights of utf8mb4_0900_ai_ci: Unicode 9.0 (tidb: pkg/util/collate/ucadata/generator/main.go)."""
    known = _allkeys("9.0.0")
    known[REPLACEMENT] = [REPLACEMENT]
    known[0xFDFA] = known[0xFDFA][:8]
    for place, code in enumerate(HANGUL):
        lead, rest = divmod(place, VOWELS * TRAILS)
        jamo = [0x1100 + lead, 0x1161 + rest // TRAILS, *([0x11A7 + rest % TRAILS] if rest % TRAILS else ())]
        known[code] = [known[part][0] for part in jamo]
    implicit = _based(
        (
            (0x3400, 0x4DB5, 0xFB80),
            (0x20000, 0x2A6D6, 0xFB80),
            (0x2A700, 0x2B734, 0xFB80),
            (0x2B740, 0x2B81D, 0xFB80),
            (0x2B820, 0x2CEA0, 0xFB80),
            (0x4E00, 0x9FD5, 0xFB40),
            (0xFA0E, 0xFA29, 0xFB40),
        ),
        TOP,
    )
    tangut = np.arange(0x17000, 0x18B00)
    implicit[tangut] = np.stack((np.full(len(tangut), 0xFB00), tangut - 0x17000 | 0x8000), axis=-1)
    return _filled(implicit, known)


def _filled(implicit: Numbers, known: dict[int, list[int]]) -> Weights:
    """The table of `known` characters, and of all others."""
    codes = np.fromiter(known, np.int64, len(known))
    sizes = np.full(len(implicit), 2)
    sizes[codes] = np.fromiter(map(len, known.values()), np.int64, len(known))
    places = np.concatenate(([0], np.cumsum(sizes)))
    listed = np.zeros(len(implicit), np.bool_)
    listed[codes] = True
    weights = np.empty(int(places[-1]), np.uint16)
    kept = np.repeat(listed, sizes)
    weights[~kept] = implicit[~listed].ravel()
    weights[kept] = [weight for code in sorted(known) for weight in known[code]]
    return Weights(places, weights)


APART = {
    **dict.fromkeys("Đđ", ("d", 1)),
    **dict.fromkeys("Ðð", ("d", 2)),
    **dict.fromkeys("Ħħ", ("h", 1)),
    **dict.fromkeys("Łł", ("l", 1)),
    **dict.fromkeys("ØøǾǿ", ("o", 1)),
    "ℏ": ("h", 1),
    **dict.fromkeys("ÆæǢǣǼǽ", ("a", 1)),
    "์": ("ๅ", 1),
    "ํ": ("ๅ", 2),
    "໌": ("ໄ", 1),
    "ໍ": ("ໄ", 2),
    "Ŀ": ("l·", 0),
    "ŀ": ("l·", 0),
    **{letter: (digit, 0) for letter, digit in zip("৴৵৶৷", "1234", strict=True)},
    **{chr(code): (chr(code + 0x30), 0) for code in range(0x10A0, 0x10C6)},
    "\u180e": ("", 0),
}
"""Characters with other weights in Unicode 4.0 than in 5.2, as similar characters and an offset after them."""


@cache
def unicode_4() -> Weights:
    """Return the weights of _unicode_ci: Unicode 4.0, from the table of 5.2.

    Their orders differ only in a few characters of small scripts. Characters that were added after 3.2 follow the
    others.
    """
    old = unicodedata.ucd_3_2_0
    table = _allkeys("5.2.0")
    known = {
        code: [weight << 2 for weight in weights]
        for code, weights in table.items()
        if code < BASIC and old.category(chr(code)) != "Cn" and code not in (0xFA0E, 0xFA0F, 0xFDFA)
    }
    for letter, (like, after) in APART.items():
        known[ord(letter)] = [(weight << 2) + after for base in like for weight in table[ord(base)]]
    implicit = _based(((0x3400, 0x4DB5, 0xFB80), (0x4E00, 0x9FA5, 0xFB40), (0xFA0E, 0xFA0F, 0xFB40)), BASIC + 1) << 2
    known[BASIC] = [REPLACEMENT << 2]
    used = np.unique(np.concatenate((implicit.ravel(), [weight for weights in known.values() for weight in weights])))
    ranks = {code: (np.searchsorted(used, weights) + 1).tolist() for code, weights in known.items()}
    return _filled(np.searchsorted(used, implicit) + 1, ranks)


# -- GBK and GB18030 ------------------------------------------------------------------------------------------------


def _coded(charset: str, fold: Callable[[str], str] = str) -> Weights:
    """Return weights from the bytes of characters in a charset, two bytes a weight. Missing characters are `?`."""
    codes = [fold(chr(code)).encode(charset, "replace") for code in range(BASIC)]
    weights_by_code = [
        [code[0] << 8] if len(code) == 1 else [int.from_bytes(code[at : at + 2]) for at in range(0, len(code), 2)]
        for code in codes
    ]
    # A zero ends a key. Only NUL would have the weight zero.
    return _weights([*([max(weight, 1) for weight in weights] for weights in weights_by_code), [ord("?") << 8]])


@cache
def gbk() -> Weights:
    return _coded("gbk")


@cache
def gbk_chinese() -> Weights:
    """Return the weights of gbk_chinese_ci. TiDB sorts ideographs by pronunciation, the simulator by code."""
    return _coded("gbk", _folded)


@cache
def gb18030() -> Weights:
    return _with_planes(_coded("gb18030"))


@cache
def gb18030_chinese() -> Weights:
    return _with_planes(_coded("gb18030", _folded))


def _with_planes(basic: Weights) -> Weights:
    """Add the characters beyond the basic plane, with consecutive codes of four bytes."""
    number = np.arange(TOP - BASIC)
    pairs = np.stack(
        (0x90 + number // 12600 << 8 | 0x30 + number // 1260 % 10, 0x81 + number // 10 % 126 << 8 | 0x30 + number % 10),
        axis=-1,
    )
    begun = int(basic.places[BASIC])
    places = np.concatenate((basic.places[:BASIC], begun + 2 * np.arange(len(number) + 1)))
    return Weights(places, np.concatenate((basic.weights[:begun], pairs.ravel().astype(np.uint16))))


def _folded(letter: str) -> str:
    return letter.upper() if letter < "\x80" else letter


WEIGHTS: dict[str, Callable[[], Weights]] = {
    **dict.fromkeys(("utf8_general_ci", "utf8mb4_general_ci"), general),
    **dict.fromkeys(("utf8_unicode_ci", "utf8mb4_unicode_ci"), unicode_4),
    "utf8mb4_0900_ai_ci": unicode_9,
    "gbk_bin": gbk,
    "gbk_chinese_ci": gbk_chinese,
    "gb18030_bin": gb18030,
    "gb18030_chinese_ci": gb18030_chinese,
}
"""The builders of weights by collation. Other collations compare bytes."""


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
