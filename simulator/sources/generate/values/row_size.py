"""How long the texts of a table are that nobody asked for, where its rows are to have some size.

One law: no text gets more than its column holds, and what it cannot take the others share alike.
"""

from __future__ import annotations

from collections.abc import Mapping

from simulator.errors import UserError
from simulator.sources.generate.values.generators import Text
from simulator.sources.generate.values.pools import Documents
from simulator.sources.generate.values.reading import LONGEST
from simulator.tidb.model.types import ColumnType, family
from simulator.tidb.values.strings import BYTES

DOCUMENT = 60
"""Bytes of a JSON document around its text."""


def holds(type: ColumnType) -> int:
    """Bytes of ASCII that a column takes at most; 0 for one that holds no text."""
    kind = family(type)
    if kind in ("string", "text"):
        return min(BYTES.get(type.name, type.length), LONGEST)
    return LONGEST if kind == "json" else 0


def shares(missing: int, room: Mapping[str, int]) -> dict[str, int]:
    """How many of the bytes that are missing each column gets. Raises UserError where there is not room enough."""
    if sum(room.values()) < missing:
        raise UserError(
            f"row-size: {missing:,} bytes are missing beside the columns that have a generator or are no texts, and "
            f"the others hold {sum(room.values()):,}: {', '.join(room) or 'there are none'}"
        )
    found, left = {}, missing
    for count, (name, most) in enumerate(sorted(room.items(), key=lambda item: item[1])):
        found[name] = min(most, -(-left // (len(room) - count)))
        left -= found[name]
    return found


def filling(type: ColumnType, size: int) -> Text | Documents:
    """Texts of about so many bytes."""
    if family(type) == "json":
        return Documents(max(size, DOCUMENT))
    spread = min(size // 10, holds(type) - size)
    return Text(size - spread, size + spread)
