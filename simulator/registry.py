"""A registry whose values are in modules that are imported when they are first asked for, so that a short command does
not wait for what it does not use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pkgutil import resolve_name
from typing import TypeVar

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """Values by name, given as places of the form `package.module:NAME`."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = dict(places)
        self._values: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._values:
            self._values[name] = resolve_name(self._places[name])
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
