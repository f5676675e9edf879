"""What was given: files of vectors, stories, recordings and recorded changefeeds; contents are read, not chosen among.

The name of a vector file says `<kind>.<architecture>-<release>[.<protocol>][.random].jsonl`, or `facts.<kind>.jsonl`
where each line names the releases it holds for. Any of them may end in `.gz`.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from simulator.releases import DEFAULT as DEFAULT_RELEASE
from simulator.releases import RELEASES, Release, find

DEFAULT = Path(__file__).parent.parent.parent / "vectors"
STORIES, RECORDINGS, ENDTOEND = (DEFAULT.with_name(name) for name in ("stories", "recordings", "endtoend"))

Json = Mapping[str, Any]


def parametrize(
    metafunc: pytest.Metafunc, argument: str, directory: Path, pattern: str, fast: str, suffix: str = ""
) -> None:
    """Give a test each file of a directory, by default the one in tests/; an option of that name names another.

    Cases whose whole name (without the suffix) does not match the regular expression `fast` are marked slow.
    """
    if argument not in metafunc.fixturenames:
        return
    searched = Path(metafunc.config.getoption(f"--{directory.name}") or directory)
    found = {path.name.removesuffix(suffix): path for path in sorted(searched.glob(pattern))}
    if not found:
        raise pytest.UsageError(f"no {directory.name} in {searched}")
    marks = {name: () if re.fullmatch(fast, name) else (pytest.mark.slow,) for name in found}
    metafunc.parametrize(argument, [pytest.param(path, id=name, marks=marks[name]) for name, path in found.items()])


def recorded_files(files: Json) -> dict[str, bytes]:
    """The files of a recorded storage sink."""
    return {
        path: content.encode() if isinstance(content, str) else base64.b64decode(content["base64"])
        for path, content in files.items()
    }


# -- vectors -----------------------------------------------------------------------------------------------------------

UNRELEASED = "unreleased"
"""The `since` of what only the development branch has."""


@dataclass(frozen=True)
class Vector:
    path: Path
    line: int
    release: Release
    data: Json

    @property
    def name(self) -> str:
        """What the test is called: file and id, or file and line."""
        line = f"{self.data['id']}#{self.line}" if "id" in self.data else f"line {self.line}"
        file = self.path.name
        return f"{file}: {line} {self.release.name}" if file.startswith("facts") else f"{file}: {line}"


def files(directory: Path) -> list[Path]:
    """Every vector file, by name."""
    return sorted(directory.glob("*.jsonl*"))


def kind(path: Path) -> str:
    """`rows`, `facts.dispatch`, …"""
    first, second = path.name.split(".")[:2]
    return f"facts.{second}" if first == "facts" else first


OF_ALL_RELEASES = {
    f"facts.{name}"
    for name in (
        "allow_list column_types config ddl_statements event_filter literals rename update_split validation".split()
    )
}
"""Kinds of facts that are checked for the first and the last release of each architecture that they hold for, and for
the default release. Others, TiCDC's tests of its last release, are checked for the last ones and the default release;
so are facts of validation without `since`."""


def is_about(kind: str, data: Json, release: Release) -> bool:
    """Whether the release has what the fact is about: event filters came with 6.2, Canal-JSON with 4.0.9 and its
    watermarks with 5.4."""
    if kind == "facts.event_filter":
        return bool(release.event_filter_names)
    if kind == "facts.literals" and data["protocol"] == "canal-json":
        return release.tidb_extension if data["kind"] == "watermark" else "canal-json" in release.protocols
    return True


def of_unknown_release(path: Path) -> bool:
    """Whether the file is for a release that the simulator does not have."""
    return kind(path) == path.name.split(".")[0] and _release(path) is None


def _release(path: Path) -> Release | None:
    found = re.match(r"\w+\.(\w+)-(v\d+\.\d+\.\d+)\.", path.name)
    return RELEASES.get(found.group(1), {}).get(found.group(2)) if found else None


def vectors(path: Path) -> Iterator[Vector]:
    """A vector for each line of a release's file, and for each fact and release that it is checked for."""
    of_file = _release(path)
    opened = gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")
    with opened as lines:
        for number, line in enumerate(lines, 1):
            data = json.loads(line)
            for release in [of_file] if of_file else of_fact(kind(path), data):
                yield Vector(path, number, release, data)


def of_fact(kind: str, data: Json) -> list[Release]:
    """The releases that a fact is checked for."""
    if "since" not in data:
        return [find(data["release"], data["architecture"])]
    if data["since"] == UNRELEASED:
        return [find(DEFAULT_RELEASE)]
    found = [release for release in releases_of(data) if is_about(kind, data, release)]
    assert found, f"a vector that no release is checked for: {data}"
    dated = kind in OF_ALL_RELEASES and (kind != "facts.validation" or data["since"] is not None)
    first = {release.architecture: release for release in reversed(found if dated else [])}
    last = {release.architecture: release for release in found}
    default = find(DEFAULT_RELEASE)
    return list(dict.fromkeys([*first.values(), *last.values(), *([default] if holds(data, default) else [])]))


def releases_of(data: Json) -> list[Release]:
    """Every release that a fact holds for."""
    return [release for releases in RELEASES.values() for release in releases.values() if holds(data, release)]


def holds(data: Json, release: Release) -> bool:
    """Whether a fact is about that release: its architecture, and since and until or a line of back-ports."""
    if data["architecture"] not in ("both", release.architecture):
        return False
    since, until, own = data["since"], data.get("until"), numbers(release.name)
    if "-" in release.name:
        return release.name in (since, until)
    if (since is None or numbers(since) <= own) and (until is None or own <= numbers(until)):
        return True
    return any(_in_line(line, own) for line in data.get("other_release_lines") or ())


def _in_line(line: str, own: tuple[int, ...]) -> bool:
    """`v7.1.3+` is 7.1.3 and later of 7.1, `v7.5.7` that release alone."""
    first = numbers(line.rstrip("+"))
    return own[:2] == first[:2] and own >= first if line.endswith("+") else own == first


@cache
def numbers(tag: str) -> tuple[int, ...]:
    """Of `v7.5.1` 7, 5 and 1."""
    return tuple(map(int, re.findall(r"\d+", tag)[:3]))


# -- their checks ------------------------------------------------------------------------------------------------------

Keys: TypeAlias = "Mapping[str, Keys]"
"""Names, each with those of the objects that it holds, alone or in a list; none: whatever is inside."""


def keys_of(names: str, **inner: Keys) -> Keys:
    """Keys of plain values or of anything, and keys of objects that are followed, too."""
    return {**{name: {} for name in names.split()}, **inner}


OF_ANY = keys_of("id source note notes origin doubt comment architecture since until other_release_lines release")
"""Prose, by which nothing could be checked, and what says which releases a fact is about."""


@dataclass(frozen=True)
class Kind:
    """How vectors of one kind are checked: by keys that the check follows; a vector that has another one fails."""

    check: Callable[[Vector], None]
    keys: Keys
    absent: Callable[[Vector], None] | None = None
    """What checks a fact of no release; where there is none, such facts cannot be."""

    alike: Callable[[Vector], Hashable] | None = None
    """Vectors for which this is equal may be checked together."""

    check_together: Callable[[Sequence[Vector]], None] | None = None

    def failures(self, vectors: Iterable[Vector]) -> Iterator[BaseException]:
        """What is wrong with single vectors, or with a group where each of them holds alone."""
        groups: dict[Hashable, list[Vector]] = {}
        for vector in vectors:
            groups.setdefault(self.alike(vector) if self.alike else len(groups), []).append(vector)
        for group in groups.values():
            yield from self._of_group(group)

    def _of_group(self, group: Sequence[Vector]) -> Iterator[BaseException]:
        together: BaseException | None = None
        if len(group) > 1 and self.check_together:
            try:
                for vector in group:
                    self._follow(vector)
                self.check_together(group)
                return
            except (Exception, pytest.fail.Exception) as error:
                together = error
        for vector in group:
            try:
                self.run(vector)
            except (Exception, pytest.fail.Exception) as error:
                error.add_note(vector.name)
                together = None
                yield error
        if together:
            together.add_note(" and ".join(vector.name for vector in group))
            yield together

    def run(self, vector: Vector) -> None:
        """Fails with what differs, or with the keys that nothing here follows."""
        self._follow(vector)
        if vector.data.get("since") == UNRELEASED:
            assert self.absent, "a fact that is of no release"
            self.absent(vector)
        else:
            self.check(vector)

    def _follow(self, vector: Vector) -> None:
        more = sorted(unknown(vector.data, {**self.keys, **OF_ANY}))
        assert not more, f"nothing here follows {', '.join(more)}"


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


def contains(made: str, wanted: str) -> bool:
    """Whether a text holds all fixed parts of a wanted one, in order; `…`, `%v` and `%s` stand for anything."""
    return re.search(".*".join(map(re.escape, re.split("…|%v|%s", wanted))), made, re.DOTALL) is not None
