"""What differs between TiCDC's releases: one field for each behaviour, which names the releases that have each value.

Code reads a field (`release.short_control_escapes`) and never compares names of releases. A name always means the same
release; therefore a line (`v8.5`) is no name, because its latest tag would change. `ticdc-sim releases` shows what the
fields say of themselves (`behaviour`): differences of two releases are computed from all fields.

Verified at every tag of tiflow (pkg/filter, cdc/changefeed.go, cdc/owner, cdc/model/sink.go, cdc/sink/codec,
pkg/sink/codec) and ticdc (pkg/filter, pkg/binlog-filter, pkg/sink/codec, pkg/common/event, logservice/schemastore).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import groupby

from simulator.errors import UserError, did_you_mean
from simulator.releases.behaviour import ANY, EVERY, Behaviour, Features
from simulator.releases.codecs import (
    AvroBehaviours,
    AvroSchemaBehaviours,
    DebeziumBehaviours,
    MaxwellBehaviours,
    SimpleBehaviours,
)
from simulator.releases.messages import ChecksumBehaviours, MessageBehaviours
from simulator.releases.rows import RowBehaviours
from simulator.releases.settings import SettingBehaviours
from simulator.releases.statement_texts import StatementTextBehaviours
from simulator.releases.statements import StatementBehaviours
from simulator.releases.storage import ApiBehaviours, StorageBehaviours


@dataclass(frozen=True, kw_only=True)
class Release(
    ApiBehaviours,
    AvroSchemaBehaviours,
    ChecksumBehaviours,
    SimpleBehaviours,
    StorageBehaviours,
    SettingBehaviours,
    StatementBehaviours,
    StatementTextBehaviours,
    MessageBehaviours,
    MaxwellBehaviours,
    DebeziumBehaviours,
    AvroBehaviours,
    RowBehaviours,
):
    """The observable behaviours of one TiCDC release. Fields are in the order of the bases, the last base first."""

    name: str
    """Its tag: `v8.5.3`."""

    architecture: str
    """`classic` (pingcap/tiflow) or `new` (pingcap/ticdc); shown to users, no code depends on it."""

    @property
    def title(self) -> str:
        """The name for users: `v8.5.4 (new)`."""
        return f"{self.name} ({self.architecture})"

    def has(self, option: str) -> bool:
        """Return whether it has `?parameter` of the sink-uri, or a dotted key or table of changefeed.toml.

        A setting that no release lists exists in all of them; one in a table that a release does not have does not exist
        there.
        """
        parts = option.split(".")
        within = {".".join(parts[: count + 1]) for count in range(len(parts))}
        return not within & _tracked_options() - self.options

    @property
    def older_rows_differ(self) -> bool:
        """Whether old values of rows that are older than a column may be others than TiDB reads."""
        return self.older_rows != "typed" or self.older_timestamps_in_utc


@cache
def behaviours() -> tuple[Behaviour, ...]:
    """Return every field that is a behaviour, those on the wire first."""
    return tuple(replace(field.metadata["behaviour"], name=field.name) for field in fields(Release) if field.metadata)


class Releases(Mapping[str, Release]):
    """The releases of an architecture by tag, each of which is put together when it is asked for."""

    def __init__(self, architecture: str, tags: Sequence[str]) -> None:
        self._architecture = architecture
        self._known: dict[str, Release | None] = dict.fromkeys(f"v{tag}" for tag in tags)

    def __getitem__(self, tag: str) -> Release:
        release = self._known[tag]
        if release is None:
            place = self._architecture, tag
            values = {behaviour.name: behaviour.value(place) for behaviour in behaviours()}
            release = self._known[tag] = Release(name=tag, architecture=self._architecture, **values)
        return release

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


RELEASES: Mapping[str, Mapping[str, Release]] = {
    architecture: Releases(architecture, tags) for architecture, tags in EVERY.items()
}
"""Architecture, then tag, in order of version (betas last)."""

DEFAULT = "v8.5.3"


def find(name: str, architecture: str | None = None) -> Release:
    """Return the release of a tag (`v7.1.3`, `7.1.3`), by default classic if both architectures have it.

    Raise UserError: for an unknown tag with the nearest tags, for a line (`8.5`) with its tags, for a tag that the
    architecture does not have with the tags that it has.
    """
    tag = name if name.startswith("v") else f"v{name}"
    for kind in RELEASES if architecture is None else (architecture,):
        if kind not in RELEASES:
            raise UserError(f"unknown architecture {kind!r}: TiCDC has {' and '.join(map(repr, RELEASES))}")
        if tag in RELEASES[kind]:
            return RELEASES[kind][tag]
    raise UserError(_unknown(name, tag, architecture))


def _unknown(name: str, tag: str, architecture: str | None) -> str:
    kinds = tuple(RELEASES) if architecture is None else (architecture,)
    if architecture is not None and any(tag in releases for releases in RELEASES.values()):
        has = list(RELEASES[architecture])
        span = f"begins with {has[0]}" if architecture == "new" else f"is {has[0]} – {has[-1]}"
        return f"TiCDC {tag} has no {architecture} architecture, which {span}"
    tags = list(dict.fromkeys(candidate for kind in kinds for candidate in RELEASES[kind]))
    line = [candidate for candidate in tags if candidate.startswith(f"{tag}.")]
    if line:
        return f"{name!r} is a line of TiCDC releases: name one of {', '.join(line)}"
    near = _nearest(tag, tags)
    alike = [each for each in tags if each.startswith(tag.partition(".")[0] + ".")] if _VERSION.match(tag) else tags
    return f"unknown TiCDC release {name!r}.{did_you_mean(tag, alike)} Nearest: {', '.join(near)}"


_VERSION = re.compile(r"v(\d+)(?:\.(\d+))?(?:\.(\d+))?")


def _nearest(tag: str, tags: Sequence[str]) -> list[str]:
    """Return the tags of the same line, or of the same major version, or the ones before and after the version, or the
    last tag of every line for what is no version."""
    for parts in (2, 1):
        prefix = ".".join(tag.split(".")[:parts]) + "."
        if near := [candidate for candidate in tags if candidate.startswith(prefix)]:
            return near
    if _VERSION.match(tag):
        ordered = sorted(tags, key=_version)
        after = next((place for place, each in enumerate(ordered) if _version(each) > _version(tag)), len(ordered))
        return ordered[max(after - 1, 0) : after + 1]
    return list({candidate.rpartition(".")[0]: candidate for candidate in tags}.values())


def _version(tag: str) -> tuple[int, ...]:
    match = _VERSION.match(tag)
    return tuple(int(part or 0) for part in match.groups()) if match else ()


def parse_release(name: str, architecture: str | None = None) -> Release:
    """Return the release of `v8.5.4`, or of `new:v8.5.4` whatever `architecture` is; raise UserError as `find` does."""
    kind, colon, tag = name.rpartition(":")
    return find(tag, kind) if colon else find(name, architecture)


def full_name(release: Release) -> str:
    """Return `classic:v8.5.4`, which `parse_release` parses."""
    return f"{release.architecture}:{release.name}"


V8_5 = find(DEFAULT)
"""The default release."""


# -- which releases have a setting -------------------------------------------------------------------------------------


@cache
def _tracked_options() -> frozenset[str]:
    """Return all settings that some releases have and others do not."""
    options = next(behaviour for behaviour in behaviours() if behaviour.name == "options")
    return frozenset[str]().union(*options.elements.values())


def releases_with(option: str) -> str:
    """Return which releases have a setting: `since v7.3.0 (and v6.5.4+, v7.1.2+)`, `in v7.2.0`, `since v8.5.4 (new
    architecture)`."""
    classic, new = (_spans(architecture, lambda release: release.has(option)) for architecture in ("classic", "new"))
    if not classic:
        return f"{new} (new architecture)"
    if not new and classic.startswith("since"):
        return f"{classic} (classic architecture)"
    whole = all(release.has(option) for release in _without_betas("new"))
    return classic if whole or not new else f"{classic}, {new} of the new architecture"


def describe_releases(release: Release, chosen: Callable[[Release], bool]) -> str:
    """Return the chosen releases of that release's architecture in words; empty if there are none."""
    return _spans(release.architecture, chosen)


def _spans(architecture: str, chosen: Callable[[Release], bool]) -> str:
    releases = _without_betas(architecture)
    runs = [[release.name for release in run] for wanted, run in groupby(releases, chosen) if wanted]
    open_end = [run for run in runs if run[-1] == releases[-1].name]
    others = [_span(run[0], run[-1], releases) for run in runs if run not in open_end]
    if not open_end:
        return f"in {', '.join(others)}" if others else ""
    return f"since {open_end[0][0]}" + (f" (and {', '.join(others)})" if others else "")


def _without_betas(architecture: str) -> list[Release]:
    return [release for release in RELEASES[architecture].values() if "-" not in release.name]


def _span(first: str, last: str, releases: list[Release]) -> str:
    """Return `v7.2.0` for one release, `v7.1.2+` to the end of its line, or `v4.0.0–v7.3.0`."""
    line = first.rpartition(".")[0]
    of_line = [release.name for release in releases if release.name.rpartition(".")[0] == line]
    if first == last:
        return first
    return f"{first}+" if last == of_line[-1] else f"{first}–{last}"


# -- in what two releases differ ---------------------------------------------------------------------------------------

OPEN_PROTOCOL = "open-protocol"


@dataclass(frozen=True)
class ReleaseDifference:
    """A behaviour that differs between two releases."""

    behaviour: Behaviour
    before: object
    after: object

    @property
    def removed(self) -> list[object]:
        """Members of a set that the second release lacks, in order."""
        return _without(self.before, self.after)

    @property
    def added(self) -> list[object]:
        """Members of a set that the first release lacks, in order."""
        return _without(self.after, self.before)


@dataclass(frozen=True)
class ReleaseLine:
    """Releases of one architecture with the same first two numbers."""

    architecture: str
    name: str
    releases: tuple[Release, ...]
    changes: tuple[tuple[Release, int], ...]
    """The releases that differ from the one before them in the line, with the number of differences; the first is
    compared with the first of the previous line."""


def described(features: Features, *releases: Release) -> Iterator[tuple[Behaviour, tuple[object, ...]]]:
    """Yield the behaviours that concern a changefeed, those on the wire first, with the value in each release.

    A release whose default of `enable-old-value` is false is as one where the changefeed says so.
    """
    if features.settings is not None and not all(release.old_value for release in releases):
        features = replace(features, settings=features.settings | {"enable-old-value"})
    for behaviour in behaviours():
        if features.fit(behaviour.concern):
            values = (getattr(release, behaviour.name) for release in releases)
            yield behaviour, tuple(features.restricted(behaviour.concern, value) for value in values)


def differences(before: Release, after: Release, features: Features = ANY) -> tuple[ReleaseDifference, ...]:
    """Return the behaviours in which the second release differs and that concern a changefeed, those on the wire first.

    What concerns a protocol that one of them lacks is left out: `protocols` itself differs.
    """
    return tuple(
        ReleaseDifference(behaviour, *values)
        for behaviour, values in described(features, before, after)
        if values[0] != values[1] and _in_both(behaviour.concern.protocols, before, after)
    )


def has_protocol(release: Release, features: Features) -> bool:
    """Return whether a release has the protocol of a changefeed; every release has Open Protocol, up to 5.3 as `default`."""
    return features.protocol in ("", OPEN_PROTOCOL) or bool(features.spellings & release.protocols)


def _in_both(protocols: tuple[str, ...], before: Release, after: Release) -> bool:
    """Return whether both releases have one of the protocols, if there are any."""
    return not protocols or not {OPEN_PROTOCOL, *before.protocols & after.protocols}.isdisjoint(protocols)


def lines(architecture: str | None = None, features: Features = ANY) -> tuple[ReleaseLine, ...]:
    """Return every line of one architecture or of both, in order of version; changes are those of `differences`."""
    chosen = [name for name in RELEASES if architecture in (None, name)]
    return tuple(line for name in chosen for line in _lines(name, RELEASES[name], features))


def _lines(architecture: str, releases: Mapping[str, Release], features: Features) -> Iterator[ReleaseLine]:
    above: Release | None = None
    for name in dict.fromkeys(map(_line, releases)):
        of_line = tuple(release for tag, release in releases.items() if _line(tag) == name)
        yield ReleaseLine(architecture, name, of_line, tuple(_changes(of_line, above, features)))
        above = of_line[0]


def _changes(releases: Sequence[Release], above: Release | None, features: Features) -> Iterator[tuple[Release, int]]:
    for before, release in zip((above, *releases), releases):
        count = len(differences(before, release, features)) if before else 0
        if count:
            yield release, count


def _line(tag: str) -> str:
    match = re.match(r"v\d+\.\d+", tag)
    return match[0] if match else tag


def _without(these: object, those: object) -> list[object]:
    if isinstance(these, frozenset) and isinstance(those, frozenset):
        return sorted(these - those)
    return []
