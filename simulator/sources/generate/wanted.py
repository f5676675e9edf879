"""What a user says of the values of a column, and how it is read: a provider of Faker, a list, a range, a fixed value.

One law: what cannot be is refused when a scenario is read, before any row is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, TypeAlias, Union

from simulator.errors import UserError

Scalar: TypeAlias = Union[str, int, float, date]


@dataclass(frozen=True)
class Provider:
    name: str
    """Of Faker's."""


@dataclass(frozen=True)
class Choice:
    values: tuple[Scalar, ...]


@dataclass(frozen=True)
class Range:
    least: int | float | date
    greatest: int | float | date
    """Of the same kind; both may be chosen."""


Wanted: TypeAlias = Union[Provider, Choice, Range]

ACCEPTED = (
    "a provider of Faker such as 'email', a list to choose from such as ['new', 'paid'], {min = 1, max = 9}, "
    "or a number")


def to_columns(value: object) -> Mapping[str, Wanted]:
    """By column; raises UserError with every mistake."""
    if not isinstance(value, dict):
        raise UserError(f"expected a table such as {{name = 'name', price = {{min = 1, max = 9}}}}, got {value!r}")
    found, mistakes = {}, []
    for column, given in value.items():
        try:
            found[column] = _wanted(given)
        except UserError as error:
            mistakes.append(f"{column}: {error}")
    if mistakes:
        raise UserError(*mistakes)
    return found


def _wanted(value: object) -> Wanted:
    match value:
        case str():
            from simulator.sources.generate import providers  # Faker takes half a second

            providers.check(value)
            return Provider(value)
        case list() if value and all(isinstance(each, str | int | float | date) for each in value):
            return Choice(tuple(map(_scalar, value)))
        case dict() if value.keys() == {"min", "max"}:
            return _range(value["min"], value["max"])
        case int() | float() | date():
            return Choice((_scalar(value),))
    raise UserError(f"expected {ACCEPTED}; got {value!r}")


def _scalar(value: Any) -> Scalar:
    found: Scalar = int(value) if isinstance(value, bool) else value
    return found


def _range(least: Any, greatest: Any) -> Range:
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (least, greatest))
    if not numbers and not (isinstance(least, date) and type(least) is type(greatest)):
        raise UserError(f"expected min and max as two numbers, two dates or two times; got {least!r} and {greatest!r}")
    if isinstance(least, datetime) and (least.tzinfo is None) != (greatest.tzinfo is None):
        raise UserError("min and max: of two times, both or neither name a time zone")
    if least > greatest:
        raise UserError(f"min is {least}, which is above max, {greatest}")
    return Range(least, greatest)
