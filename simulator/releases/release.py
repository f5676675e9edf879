"""A TiCDC release: a name, an architecture and one field for each observable behaviour; releases are found by tag.

A name always means the same release; therefore a line (`v8.5`) is no name, because its latest tag would change.
`ticdc-sim releases` shows what the fields say of themselves (`behaviour`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache

from simulator.errors import UserError, did_you_mean
from simulator.releases.behaviour import Behaviour
from simulator.releases.codecs import (
    AvroBehaviours,
    AvroSchemaBehaviours,
    DebeziumBehaviours,
    MaxwellBehaviours,
    SimpleBehaviours,
)
from simulator.releases.messages import ChecksumBehaviours, MessageBehaviours
from simulator.releases.openapi import ApiBehaviours
from simulator.releases.rows import RowBehaviours
from simulator.releases.settings import SettingBehaviours
from simulator.releases.statement_texts import StatementTextBehaviours
from simulator.releases.statements import StatementBehaviours
from simulator.releases.storage import StorageBehaviours
from simulator.releases.tags import EVERY


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
    return f"unknown TiCDC release {name!r}.{did_you_mean(tag, tags)} Nearest: {', '.join(_nearest(tag, tags))}"


def _nearest(tag: str, tags: Sequence[str]) -> list[str]:
    """Return the tags of the same line, or of the same major version, or the last tag of every line."""
    for prefix in (_prefix(tag, 2), _prefix(tag, 1)):
        near = [candidate for candidate in tags if candidate.startswith(prefix)]
        if near:
            return near
    return list({candidate.rpartition(".")[0]: candidate for candidate in tags}.values())


def _prefix(tag: str, parts: int) -> str:
    return ".".join(tag.split(".")[:parts]) + "."
