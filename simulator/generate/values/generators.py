"""The generators of columns that a user can configure, as values, and the values of Faker's providers.

They do not know the table; `table_values` checks whether a column accepts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias, Union

from simulator.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from faker import Faker

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


PROVIDED = 1000
"""Values of a provider, whatever the number of rows, which choose among them."""

ACCEPTED = (str, int, float, Decimal, date, datetime, time, timedelta)


@lru_cache(1024)
def check_provider(name: str) -> None:
    """Raise UserError for a provider that Faker does not have, and for one whose values no column accepts."""
    from faker import Faker  # takes half a second

    faker = Faker()
    known = _provider_methods(faker)
    if name not in known:
        meant = did_you_mean(name.rpartition(".")[2], (each for each in known if _is_usable(faker, each)))
        raise UserError(
            f"Faker has no provider {name!r}.{meant} `python -m faker` lists them; a fixed text is written ['{name}']"
        )
    value = _asked(faker, name)
    if not isinstance(value, ACCEPTED):
        raise UserError(
            f"Faker's {name} gives a {type(value).__name__}, and a text, a number or a time is accepted; "
            "`python -m faker` lists all"
        )


def _provider_methods(faker: Faker) -> set[str]:
    """Return the methods of all providers, without those of Faker itself such as `seed`."""
    return {
        name
        for provider in faker.get_providers()
        for name in dir(provider)
        if not name.startswith("_") and callable(getattr(provider, name))
    }


def _is_usable(faker: Faker, name: str) -> bool:
    try:
        return isinstance(_asked(faker, name), ACCEPTED)
    except UserError:
        return False


@lru_cache(256)
def provided_values(name: str, seed: int) -> tuple[str, ...]:
    """Return values of a provider as text; raise UserError as `check_provider` does."""
    from faker import Faker

    check_provider(name)
    faker = Faker()
    faker.seed_instance(seed)
    return tuple(_as_text(_asked(faker, name)) for _ in range(PROVIDED))


def _asked(faker: Faker, name: str) -> object:
    try:
        return getattr(faker, name)()
    except Exception as error:
        raise UserError(
            f"{name!r} is no provider of Faker that gives a value by itself ({error}); `python -m faker` lists all"
        ) from None


def _as_text(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)
