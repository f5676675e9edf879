"""What a user says of the values of a column, as values: where they come from, and how often there is none.

One law: nothing here knows a table; what a column does not take is found where the two meet (`table_values`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, time
from typing import TypeAlias, Union

Scalar: TypeAlias = Union[str, int, float, date, time]
Bound: TypeAlias = Union[int, float, date, time]


@dataclass(frozen=True)
class Provider:
    name: str
    """Of Faker's."""


@dataclass(frozen=True)
class Choice:
    values: tuple[Scalar, ...]
    weights: tuple[float, ...] = ()
    """How often each comes beside the others; empty for all alike."""


@dataclass(frozen=True)
class Range:
    least: Bound
    greatest: Bound
    """Of the same kind; both may be chosen."""


@dataclass(frozen=True)
class Sequence:
    """Counts up by row."""

    first: int = 1
    step: int = 1


@dataclass(frozen=True)
class Distribution:
    name: str
    """normal, lognormal, exponential or zipf."""

    mean: float = 0.0
    deviation: float = 1.0
    """Both of the values themselves."""

    exponent: float = 1.0
    """Of zipf: the n-th value from `least` comes 1 / n ** exponent times as often as the first."""

    least: float | None = None
    greatest: float | None = None


@dataclass(frozen=True)
class Text:
    """Words of so many characters together."""

    least: int
    greatest: int


@dataclass(frozen=True)
class Reference:
    """What a row of another table holds that was there when this one came."""

    schema: str
    table: str
    column: str


@dataclass(frozen=True)
class Template:
    parts: tuple[tuple[str, str], ...]
    """Texts, and the name of the column that follows each; empty behind the last."""


@dataclass(frozen=True)
class Time:
    """When the row was inserted, or changed last."""

    changed: bool


@dataclass(frozen=True)
class Version:
    """How often the row was updated."""


Wanted: TypeAlias = Union[Provider, Choice, Range, Sequence, Distribution, Text, Reference, Template, Time, Version]


@dataclass(frozen=True)
class ColumnWanted:
    values: Wanted | None = None
    """None for values by the column's type."""

    null: float = 0.0
    """Share of the rows that have NULL."""


@dataclass(frozen=True)
class TableWanted:
    columns: Mapping[str, ColumnWanted] = field(default_factory=dict)
    """By the column's name; of the others the type decides."""

    update_columns: int | tuple[str, ...] | None = None
    """How many columns an UPDATE touches, or which; None for all that are in no key."""

    row_size: int | None = None
    """Bytes of TiDB text that a row has about; the texts without a generator share what the others leave."""
