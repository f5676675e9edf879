"""The keys of vectors: a check declares those that it follows, and a vector that has another one fails.

A key is followed, or it is prose, by which nothing could be checked.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from support.vectors.files import UNRELEASED, Vector

Keys: TypeAlias = "Mapping[str, Keys]"
"""Names, each with those of the objects that it holds, alone or in a list; none: whatever is inside."""


def keys_of(names: str, **inner: Keys) -> Keys:
    """Keys of plain values or of anything, and keys of objects that are followed, too."""
    return {**{name: {} for name in names.split()}, **inner}


PROSE = keys_of("id source note notes origin doubt comment")
"""What any vector may say for people."""

DATED = keys_of("architecture since until other_release_lines release")
"""What says which releases a fact is about."""


@dataclass(frozen=True)
class Kind:
    """How vectors of one kind are checked."""

    check: Callable[[Vector], None]
    keys: Keys
    absent: Callable[[Vector], None] | None = None
    """What checks a fact of no release; where there is none, such facts cannot be."""

    alike: Callable[[Vector], Hashable] | None = None
    """Vectors for which this is equal may be checked together."""

    check_together: Callable[[Sequence[Vector]], None] | None = None

    def groups(self, vectors: Iterable[Vector]) -> list[list[Vector]]:
        """Vectors that are checked together."""
        if self.alike is None:
            return [[vector] for vector in vectors]
        found: dict[Hashable, list[Vector]] = {}
        for vector in vectors:
            found.setdefault(self.alike(vector), []).append(vector)
        return [*found.values()]

    def run_together(self, vectors: Sequence[Vector]) -> None:
        """Fails as `run`; what is wrong with one of a group, and with which of them, `run` tells."""
        if len(vectors) == 1 or self.check_together is None:
            for vector in vectors:
                self.run(vector)
            return
        for vector in vectors:
            self._follow(vector)
        self.check_together(vectors)

    def run(self, vector: Vector) -> None:
        """Fails with what differs, or with the keys that nothing here follows."""
        self._follow(vector)
        if vector.data.get("since") == UNRELEASED:
            assert self.absent, "a fact that is of no release"
            self.absent(vector)
        else:
            self.check(vector)

    def _follow(self, vector: Vector) -> None:
        more = sorted(unknown(vector.data, every(self.keys)))
        assert not more, f"nothing here follows {', '.join(more)}"


def every(keys: Keys) -> Keys:
    """These keys, and those that any vector may have."""
    return {**keys, **PROSE, **DATED}


def unknown(data: object, keys: Keys, at: str = "") -> Iterator[str]:
    """The full names of what is in an object, or in those of a list, and not among the keys."""
    if isinstance(data, list):
        for item in data:
            yield from unknown(item, keys, at)
    elif isinstance(data, Mapping):
        for name, value in data.items():
            if name not in keys:
                yield f"{at}{name}"
            elif keys[name]:
                yield from unknown(value, keys[name], f"{at}{name}.")
