"""A fault of a step, when it is at work, and the keys that several faults have.

The times of a fault lie between all events before and after it. A key is parsed in the same way in all faults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from simulator import limits, tso
from simulator.errors import UserError, mask_secrets
from simulator.settings import DURATION, TEXT, Key, to_count, to_duration_ms, to_text


def number_from(least: int, most: int) -> tuple[Callable[[object], int], Mapping[str, Any]]:
    """Return a parser of whole numbers in that range, which raises UserError, and the JSON Schema of these numbers."""
    to_number = to_count(least, most)

    def parse(value: object) -> int:
        is_text = isinstance(value, str) and value.isdecimal() and len(value) < DIGITS
        return to_number(int(str(value)) if is_text else value)

    return parse, {"type": "integer", "minimum": least, "maximum": most}


def to_table(value: object) -> tuple[str, str]:
    """Parse `shop.item` as schema and name in lower case; raise UserError."""
    schema, dot, name = to_text(value).lower().partition(".")
    if not (schema and dot and name):
        raise UserError(f"expected a table with its database, such as shop.item, got {mask_secrets(repr(value))}")
    return schema, name


DIGITS = 20
"""From so many on, a number in a text is none that a fault takes."""


BACK_KEY = Key(
    "back_ms",
    to_duration_ms,
    DURATION,
    "For how long before it the checkpoint stood still, so that more is sent again; never from before the last "
    "statement.",
)
"""No watermark is sent for that long before the fault."""

AFTER_ROWS_KEY = Key("after_rows", *number_from(1, limits.FAULT_ROWS), "How many rows are sent before it.")
"""The fault comes among the rows of a transaction."""

FOR_KEY = Key("for_ms", to_duration_ms, DURATION, "How long it lasts in simulated time; to the end where unsaid.")
"""The fault ends then."""

TABLE_KEY = Key("table", to_table, TEXT, "The table whose rows it is about, such as shop.item; any where unsaid.")
"""The table must exist when the fault begins."""

TOPIC_KEY = Key("topic", to_text, TEXT, "The topic; the changefeed's default one where unsaid.")
PARTITIONS_KEY = Key("partitions", *number_from(1, limits.PARTITIONS), "How many partitions.")


@dataclass(frozen=True)
class Fault:
    name: str
    """A key of FAULTS."""

    values: Mapping[str, Any]
    """By the fields of the keys of its kind; keys without a value are missing."""

    at_ms: int
    """The millisecond of simulated time in which it begins. Nothing else happens in it, but for a fault among rows: that
    is the millisecond of their transaction.
    """

    where: str = ""
    """The prefix of error messages."""

    @property
    def at_ts(self) -> int:
        """A TSO above every event before it and below every event after it."""
        return tso.compose(self.at_ms) + 1

    @property
    def back_ms(self) -> int:
        return int(self.values.get(BACK_KEY.field, 0))

    @property
    def until_ts(self) -> int:
        """The TSO at which it ends by itself."""
        for_ms = self.values.get(FOR_KEY.field)
        return tso.FOREVER if for_ms is None else tso.compose(min(self.at_ms + for_ms, tso.physical(tso.FOREVER)))

    def refused(self, why: str) -> UserError:
        return UserError(f"{self.where}fault {self.name}: {why}")
