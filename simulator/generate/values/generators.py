"""The generators of columns that a user can configure, as values.

They do not know the table; `table_values` checks whether a column accepts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, time
from typing import TypeAlias, Union

Scalar: TypeAlias = Union[str, int, float, date, time]
Bound: TypeAlias = Union[int, float, date, time]


@dataclass(frozen=True)
class FakerProvider:
    name: str
    """A provider of Faker."""


@dataclass(frozen=True)
class ValueChoice:
    values: tuple[Scalar, ...]
    weights: tuple[float, ...] = ()
    """Relative frequencies; empty for equal ones."""


@dataclass(frozen=True)
class Range:
    least: Bound
    greatest: Bound
    """Of the same type as `least`; both are included."""


@dataclass(frozen=True)
class NumberSequence:
    """A number that counts up by row."""

    first: int = 1
    step: int = 1


@dataclass(frozen=True)
class Distribution:
    name: str
    """normal, lognormal, exponential or zipf."""

    mean: float = 0.0
    deviation: float = 1.0
    """Mean and deviation are those of the values."""

    exponent: float = 1.0
    """For zipf: the n-th value from `least` is 1 / n ** exponent times as frequent as the first."""

    least: float | None = None
    greatest: float | None = None


@dataclass(frozen=True)
class Text:
    """Words with that many characters in all."""

    least: int
    greatest: int


@dataclass(frozen=True)
class Reference:
    """The value of a row of another table that existed when this row was inserted."""

    schema: str
    table: str
    column: str


@dataclass(frozen=True)
class Template:
    parts: tuple[tuple[str, str], ...]
    """Texts, each with the name of the column after it; empty after the last."""


@dataclass(frozen=True)
class RowTime:
    """When the row was inserted, or last changed."""

    changed: bool


@dataclass(frozen=True)
class UpdateCount:
    """How often the row was updated."""


Generator: TypeAlias = Union[
    FakerProvider, ValueChoice, Range, NumberSequence, Distribution, Text, Reference, Template, RowTime, UpdateCount
]


@dataclass(frozen=True)
class ColumnGenerator:
    values: Generator | None = None
    """None for default values by the column's type."""

    null: float = 0.0
    """Share of rows with NULL."""


@dataclass(frozen=True)
class TableGenerators:
    columns: Mapping[str, ColumnGenerator] = field(default_factory=dict)
    """By column name; the others have default values by type."""

    update_columns: int | tuple[str, ...] | None = None
    """How many columns an UPDATE changes, or which; None for all that are in no key."""

    row_size: int | None = None
    """Approximate bytes of TiDB text of a row; texts without a generator fill the rest."""
