"""Values of Faker's providers, a pool for each provider and seed.

Faker generates a thousand values of a column, whatever the number of rows; rows choose among them.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache

from faker import Faker

from simulator.errors import UserError, did_you_mean

POOL = 1000

ACCEPTED = (str, int, float, Decimal, date, datetime, time, timedelta)


@lru_cache(1024)
def check(name: str) -> None:
    """Raise UserError for a provider that Faker does not have, and for one whose values no column accepts."""
    faker = Faker()
    known = _methods(faker)
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


def _methods(faker: Faker) -> set[str]:
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
def pool(name: str, seed: int) -> tuple[str, ...]:
    """Return values of a provider as text; raise UserError as `check` does."""
    check(name)
    faker = Faker()
    faker.seed_instance(seed)
    return tuple(_text(_asked(faker, name)) for _ in range(POOL))


def _asked(faker: Faker, name: str) -> object:
    try:
        return getattr(faker, name)()
    except Exception as error:
        raise UserError(
            f"{name!r} is no provider of Faker that gives a value by itself ({error}); `python -m faker` lists all"
        ) from None


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)
