"""Casts of values that a column takes as they are, without looking at anything else. Any other value has `cast_value`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType

from simulator.tidb.model.types import INTEGER_BITS, ColumnType
from simulator.tidb.values.numbers import bounds

QuickCast = Callable[[bytes], "bytes | None"]
"""Returns the cell that the body of a datum is, None if that is not certain."""

PLAIN_CHARSETS = ("utf8mb4", "utf8", "latin1", "ascii", "gbk", "binary")
"""Character sets in which ASCII is itself."""

_DATE = re.compile(rb"(?!0000)[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])")
_MOMENT = re.compile(_DATE.pattern + rb" (?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]")


@lru_cache(4096)
def quick_casts(type: ColumnType) -> Mapping[str, QuickCast]:
    """Return the quick casts to a type by the kind of datum."""
    if type.name in INTEGER_BITS:
        low, high = bounds(type)
        return MappingProxyType({"int": lambda body: body if low <= int(body) <= high else None})
    if type.name == "varchar" and type.charset in PLAIN_CHARSETS:
        length = type.length
        return MappingProxyType({"string": lambda body: body if len(body) <= length and body.isascii() else None})
    if type.name == "date":
        return MappingProxyType({"string": _matching(_DATE)})
    if type.name == "datetime" and type.decimal <= 0:
        return MappingProxyType({"string": _matching(_MOMENT)})
    return MappingProxyType({})


def _matching(pattern: re.Pattern[bytes]) -> QuickCast:
    return lambda body: body if pattern.fullmatch(body) else None
