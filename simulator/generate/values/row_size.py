"""The lengths of default texts in tables with a configured row size.

No text is longer than its column; the others share the rest equally.
"""

from __future__ import annotations

from collections.abc import Mapping

from simulator.errors import UserError
from simulator.generate.values.generators import Text
from simulator.generate.values.pools import Documents
from simulator.generate.values.reading import LONGEST
from simulator.tidb.model.types import ColumnType, family
from simulator.tidb.values.documents import BYTES

DOCUMENT = 60
"""Bytes of a JSON document without its text."""


def text_capacity(type: ColumnType) -> int:
    """Return the maximum bytes of ASCII in a column; 0 for one that holds no text."""
    kind = family(type)
    if kind in ("string", "text"):
        return min(BYTES.get(type.name, type.length), LONGEST)
    return LONGEST if kind == "json" else 0


def share_bytes(missing: int, room: Mapping[str, int]) -> dict[str, int]:
    """Return how many of the missing bytes each column gets; raise UserError if there is not enough room."""
    if sum(room.values()) < missing:
        raise UserError(
            f"row-size: {missing:,} bytes are missing beside the columns that have a generator or are no texts, and "
            f"the others hold {sum(room.values()):,}: {', '.join(room) or 'there are none'}"
        )
    shares, left = {}, missing
    for count, (name, most) in enumerate(sorted(room.items(), key=lambda item: item[1])):
        shares[name] = min(most, -(-left // (len(room) - count)))
        left -= shares[name]
    return shares


def filling_text(type: ColumnType, size: int) -> Text | Documents:
    """Return a generator of texts with about that many bytes."""
    if family(type) == "json":
        return Documents(max(size, DOCUMENT))
    spread = min(size // 10, text_capacity(type) - size)
    return Text(size - spread, size + spread)
