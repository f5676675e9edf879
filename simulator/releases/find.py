"""Tag → Release: every tag of every line has the behaviours of the last one before it that changed something.

One law: a name means one release for ever, so that a line (`v8.5`) is no name: its latest tag would change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from simulator.errors import UserError, did_you_mean
from simulator.releases import classic_4, classic_5, classic_6, classic_7_8, new
from simulator.releases.release import Release

Lines = Mapping[str, tuple[int, Sequence[Release]]]


def _tags(lines: Lines) -> Iterator[Release]:
    for line, (last, changed) in lines.items():
        found = {_patch(release.name): release for release in changed}
        for patch in range(min(found), last + 1):
            release = found[max(number for number in found if number <= patch)]
            yield release if patch in found else replace(release, name=f"{line}.{patch}")


def _patch(name: str) -> int:
    return int(name.rpartition(".")[2])


def _by_name(releases: Iterator[Release] | Sequence[Release]) -> dict[str, Release]:
    return {release.name: release for release in releases}


RELEASES: Mapping[str, Mapping[str, Release]] = {
    "classic": _by_name(_tags({**classic_4.LINES, **classic_5.LINES, **classic_6.LINES, **classic_7_8.LINES})),
    "new": _by_name(_tags(new.LINES)) | _by_name(new.BETAS),
}
"""Architecture, then tag, in order of version (betas last)."""

DEFAULT = "v8.5.3"


def find(name: str, architecture: str | None = None) -> Release:
    """The release of that tag (`v7.1.3`, `7.1.3`), classic where both architectures have it and none is said.

    Raises UserError: an unknown tag with those nearest to it, a line (`8.5`) with its tags, a tag that the architecture
    does not have with the tags it has.
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
    tags = list(dict.fromkeys(known for kind in kinds for known in RELEASES[kind]))
    line = [known for known in tags if known.startswith(f"{tag}.")]
    if line:
        return f"{name!r} is a line of TiCDC releases: name one of {', '.join(line)}"
    return f"unknown TiCDC release {name!r}.{did_you_mean(tag, tags)} Nearest: {', '.join(_nearest(tag, tags))}"


def _nearest(tag: str, tags: Sequence[str]) -> list[str]:
    """The tags of the same line, or of the same major version, or the last of every line."""
    for prefix in (_prefix(tag, 2), _prefix(tag, 1)):
        near = [known for known in tags if known.startswith(prefix)]
        if near:
            return near
    return list({known.rpartition(".")[0]: known for known in tags}.values())


def _prefix(tag: str, parts: int) -> str:
    return ".".join(tag.split(".")[:parts]) + "."
