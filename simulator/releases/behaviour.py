"""The tags of TiCDC's releases, ranges of them as text, and what is said of a field of Release.

A range, such as `4.0.6–6.1.5, 6.6; new 8.5.4`, is of the classic architecture unless `new` stands before it; what follows
`; ` begins anew. `6.6` is the whole line, `4.0.6–6.5` ends with the last release of 6.5, `6.5.4+` goes to the newest
release. A range has every release between its ends by version, those of lines that TiCDC ported back to among them.
`classic` and `new` alone are all releases of an architecture. A beta is in no range but by its name.

A behaviour says what it means, in which releases it has which value, which changefeeds it concerns, and where TiCDC
implements it. Sources without a repository are tiflow's for the classic architecture and ticdc's for the new one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

CLASSIC = {
    **{"4.0": range(17), "5.0": range(7), "5.1": range(6), "5.2": range(5), "5.3": range(5), "5.4": range(4)},
    **{"6.0": range(1), "6.1": range(8), "6.2": range(1), "6.3": range(1), "6.4": range(1), "6.5": range(13)},
    **{"6.6": range(1), "7.0": range(1), "7.1": range(7), "7.2": range(1), "7.3": range(1), "7.4": range(1)},
    **{"7.5": range(9), "7.6": range(1), "8.0": range(1), "8.1": range(3), "8.2": range(1), "8.3": range(1)},
    **{"8.4": range(1), "8.5": range(9)},
}
"""The lines of pingcap/tiflow, and the patches of each."""

NEW = {"8.5": range(4, 9), "26.3": range(1, 5)}
"""Those of pingcap/ticdc. 8.5.8 is as its branch stood ten days before the tag (release-8.5, 799216ba3, 17 August 2026)."""

BETAS = ("9.0.0-beta.1", "9.0.0-beta.2.pre")
"""Of pingcap/ticdc."""

FullName = tuple[str, str]
"""Architecture and tag of a release."""


def _of_lines(lines: Mapping[str, Sequence[int]]) -> tuple[str, ...]:
    return tuple(f"{line}.{patch}" for line, patches in lines.items() for patch in patches)


TAGS = {"classic": _of_lines(CLASSIC), "new": _of_lines(NEW)}
"""In order of version, without betas."""

EVERY = {"classic": TAGS["classic"], "new": (*TAGS["new"], *BETAS)}
"""The same with betas, which come last."""


@cache
def releases_in(ranges: str) -> frozenset[FullName]:
    """Return the releases of ranges; raises ValueError for a text that is none."""
    return frozenset(release for part in ranges.split("; ") for release in _of_part(part))


def _of_part(part: str) -> Iterator[FullName]:
    """Return the releases of ranges of one architecture."""
    architecture = "new" if part.startswith("new") else "classic"
    tags = EVERY[architecture] if part == architecture else _of_ranges(part.removeprefix("new "), TAGS[architecture])
    return ((architecture, f"v{tag}") for tag in tags)


def _of_ranges(ranges: str, tags: tuple[str, ...]) -> Iterator[str]:
    for text in ranges.split(", "):
        yield from [text] if text in BETAS else _between(text, tags)


def _between(text: str, tags: tuple[str, ...]) -> Sequence[str]:
    found = re.fullmatch(r"([\d.]+)(?:–([\d.]+)|(\+))?", text)
    if found is None:
        raise ValueError(f"{text!r} is no range of releases")
    first, last, open_end = found.groups()
    start = _of(first, tags)[0]
    end = len(tags) - 1 if open_end else _of(last or first, tags)[-1]
    return tags[start : end + 1]


@cache
def _of(text: str, tags: tuple[str, ...]) -> list[int]:
    """Return the places of a release, or of those of a line."""
    places = [place for place, tag in enumerate(tags) if tag == text or tag.rpartition(".")[0] == text]
    if not places:
        raise ValueError(f"{text!r} is neither a release nor a line")
    return places


@dataclass(frozen=True)
class Concern:
    """The changefeeds that a behaviour concerns: those that fit every member. An empty member fits all."""

    protocols: tuple[str, ...] = ()
    """By TiCDC's latest names."""

    sink: str = ""
    """`kafka` or `storage`."""

    settings: tuple[str, ...] = ()
    """The changefeed has one of them: `enable-old-value`, or with its table `dispatchers.topic`."""

    default_of: str = ""
    """The setting that the changefeed leaves to the release."""

    members: str = ""
    """Which members of a set concern a changefeed: its `settings`, or its `protocol`; empty for all."""


@dataclass(frozen=True)
class Features:
    """What is known of a changefeed, whatever its release. An empty member is not known."""

    protocol: str = ""
    """By TiCDC's latest name."""

    spellings: frozenset[str] = frozenset()
    """All names of the protocol, as `Release.protocols` has them."""

    sink: str = ""
    """`kafka` or `storage`."""

    settings: frozenset[str] | None = None
    """The settings and tables that it has, as `Release.options` spells them; None if they are not known."""

    def fit(self, concern: Concern) -> bool:
        """Return whether a behaviour may concern the changefeed."""
        return (
            (not self.protocol or not concern.protocols or self.protocol in concern.protocols)
            and (not self.sink or not concern.sink or self.sink == concern.sink)
            and (self.settings is None or not concern.settings or any(map(self._has, concern.settings)))
            and not (concern.default_of and self._has(concern.default_of))
        )

    def restricted(self, concern: Concern, value: object) -> object:
        """Return a value without the members of a set that do not concern the changefeed."""
        if concern.members == "settings" and self.settings is not None and isinstance(value, frozenset):
            return value & self.settings
        if concern.members == "protocol" and self.protocol and isinstance(value, frozenset):
            return value & self.spellings
        return value

    def _has(self, setting: str) -> bool:
        if setting == "protocol" and self.protocol:
            return True
        return any(f".{name.lstrip('?')}".endswith(f".{setting}") for name in self.settings or ())


ANY = Features()
"""Of all changefeeds."""


ON_THE_WIRE = "on the wire"

Meant = str | tuple[str, str]
"""The ranges of releases with a value, and what the value means, if it is a word."""


@dataclass(frozen=True)
class Behaviour:
    """The description of one observable behaviour. It has one of `when`, `values` and `elements`."""

    chapter: str
    section: str
    meaning: str
    """A sentence without its full stop."""

    sources: tuple[str, ...]
    """Files or folders of TiCDC or TiDB with functions in them (`cdc/model/sink.go FromJob`), and issues."""

    then: str = "."
    """What follows the sentence, its punctuation first."""

    when: str = ""
    """The ranges of releases where it is true."""

    values: Mapping[Any, Meant] = field(default_factory=dict)
    """Each value, and where it is the one."""

    elements: Mapping[str, Set[Any]] = field(default_factory=dict)
    """The elements of a set that are in it in ranges of releases."""

    concern: Concern = Concern()

    name: str = ""
    """The field's name."""

    @cached_property
    def ranges(self) -> tuple[tuple[str, Any], ...]:
        """The ranges, each with the value or the elements that it has."""
        if self.when:
            return ((self.when, True),)
        if self.elements:
            return tuple(self.elements.items())
        return tuple((meant if isinstance(meant, str) else meant[0], value) for value, meant in self.values.items())

    def value(self, release: FullName) -> Any:
        """Return the value in a release."""
        found = [value for ranges, value in self.ranges if release in releases_in(ranges)]
        if self.when:
            return bool(found)
        return frozenset().union(*found) if self.elements else found[0]

    @property
    def documentation(self) -> str:
        """The text on one line, with values, releases and sources."""
        return f"{self.meaning}{self.then} {'. '.join(self._told())} ({', '.join(self.sources)})."

    def _told(self) -> Iterator[str]:
        for ranges, value in self.ranges:
            meaning = self.means(value)
            shown = sorted(value) if isinstance(value, Set) else [value]
            what = "" if value is True else ", ".join(f"`{each}`" for each in shown) + ": "
            yield f"{what}{meaning}{', ' * bool(meaning)}{ranges}"

    @property
    def on_the_wire(self) -> bool:
        """Whether it concerns the content and the place of messages."""
        return self.chapter == ON_THE_WIRE

    def means(self, value: object) -> str:
        """Return the description of one of several values; empty if it has none."""
        meant = "" if isinstance(value, Set) else self.values.get(value, "")
        return "" if isinstance(meant, str) else meant[1]


def section(
    chapter: str, name: str, *protocols: str, sink: str = "", settings: tuple[str, ...] = ()
) -> Callable[..., Any]:
    """Return a function that makes the fields of a section as Behaviour and Concern describe them.

    What concerns the section concerns a field that does not say otherwise.
    """
    shared = Concern(protocols, sink, settings)

    def behaviour(
        meaning: str,
        *sources: str,
        then: str = ".",
        when: str = "",
        values: Mapping[Any, Meant] | None = None,
        elements: Mapping[str, Set[Any]] | None = None,
        **concern: Any,
    ) -> Any:
        ranges = when, values or {}, elements or {}
        described = Behaviour(chapter, name, meaning, sources, then, *ranges, replace(shared, **concern))
        return field(metadata={"behaviour": described})

    return behaviour
