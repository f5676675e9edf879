"""Recorded files of storage sinks, brought into one form with simulated ones (tests/endtoend/README.md).

TSOs become their rank, ids of partitions too, a date `DATE`; the files of a directory are one text, whose index has to
name the last of them.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

TSO = re.compile(rb"(?<!\d)4[57]\d{16}(?!\d)")
"""A TSO of a recording or of the simulator's default start."""

DATA = re.compile(
    r"(?P<table>[^/]+/[^/]+)/(?P<version>\d+)(/(?P<partition>\d+))?(/(?P<date>\d{4}(-\d\d){0,2}))?/CDC\d+\..+"
)
WITH_YEAR_ALONE = re.compile(
    r"(?P<table>[^/]+/[^/]+)/(?P<version>\d+)(/(?P<partition>\d+))?/(?P<date>\d{4})/CDC\d+\..+"
)
INDEX = re.compile(r"(.*)/meta/CDC\.index")
COMMIT_TS = re.compile(rb'"commitTs":(\d+)')
STABLE_ROWS = 12
"""Go's sort may change the order of equal rows where there are more (sort.Slice)."""

Lengths = Mapping[tuple[str, int, int], Sequence[int]]
"""How many rows each transaction has, by table, number of its version and number of its partition."""


def recorded_files(files: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of a recording."""
    return {
        path: content.encode() if isinstance(content, str) else base64.b64decode(content["base64"])
        for path, content in files.items()
    }


def written_files(directory: Path) -> dict[str, bytes]:
    """The files below a directory."""
    return {
        str(PurePosixPath(path.relative_to(directory))): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def transaction_lengths(feeds: Sequence[Mapping[str, Any]]) -> Lengths:
    """The transactions of a case, by its files of Canal-JSON, whose rows say their commit-ts; none without these."""
    files: Mapping[str, Any] = next((feed["files"] for feed in feeds if feed["name"] == "canal-file"), {})
    return {
        place: [len(list(rows)) for _, rows in groupby(COMMIT_TS.findall(content))]
        for place, content in _directories(recorded_files(files)).items()
    }


def unequal_files(expected: Mapping[str, bytes], found: Mapping[str, bytes], lengths: Lengths) -> list[str]:
    """Where files differ."""
    wanted, had = _one_form(expected, lengths), _one_form(found, lengths)
    wrong = [f"{path} is missing" for path in sorted(wanted.keys() - had.keys())]
    wrong += [f"{path} is not expected:\n  {had[path][:200]!r}" for path in sorted(had.keys() - wanted.keys())]
    for path in sorted(wanted.keys() & had.keys()):
        one, other = wanted[path], had[path]
        if one != other:
            wrong.append(_difference(path, one, other))
    return wrong


def _difference(path: str, one: bytes, other: bytes) -> str:
    at = next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    start = max(0, at - 150)
    return f"{path} at {at}:\n  {one[start : at + 150]!r} expected,\n  {other[start : at + 150]!r} found"


def _directories(files: Mapping[str, bytes]) -> dict[tuple[str, int, int], bytes]:
    """The rows of each directory, whatever its date, in order."""
    places = {path: place for path in sorted(files) if (place := _place(path))}
    versions = sorted({int(place["version"]) for place in places.values()})
    partitions = _partitions(files)
    joined: dict[tuple[str, int, int], bytes] = {}
    for path, place in places.items():
        number = partitions.index(int(place["partition"])) if place["partition"] else -1
        key = place["table"], versions.index(int(place["version"])), number
        joined[key] = joined.get(key, b"") + files[path]
    return joined


def _partitions(files: Mapping[str, bytes]) -> list[int]:
    return sorted({int(place["partition"]) for place in map(_place, files) if place and place["partition"]})


def _one_form(files: Mapping[str, bytes], lengths: Lengths) -> dict[str, bytes]:
    ranks, partitions = _ranks(files), _partitions(files)
    formed: dict[str, bytes] = {}
    for path, content in sorted(files.items()):
        place = _place(path)
        if path == "metadata":
            formed[path] = b"" if json.loads(content).keys() == {"checkpoint-ts"} else content
        elif INDEX.fullmatch(path):
            directory = path.removesuffix("/meta/CDC.index")
            names = [each.removeprefix(f"{directory}/") for each in files if each.startswith(f"{directory}/CDC")]
            if content.decode() != max(names, default="") + "\n":
                formed[path] = content
        elif place:
            number = f"/{partitions.index(int(place['partition']))}" if place["partition"] else ""
            date = "/" + re.sub(r"\d", "0", place["date"]) if place["date"] else ""
            version = ranks[place["version"].encode()].decode()
            directory = f"{place['table']}/{version}{number}{date}{PurePosixPath(path).suffix}"
            formed[directory] = formed.get(directory, b"") + _with_ranks(_plain(content, path), ranks)
        else:
            formed[_with_ranks(path.encode(), ranks).decode()] = _with_ranks(content, ranks)
    versions = sorted({place["version"] for place in map(_place, files) if place})
    ranked = {ranks[version.encode()].decode(): number for number, version in enumerate(versions)}
    for path in [path for path in formed if DIRECTORY.match(path)]:
        table, rank, partition = DIRECTORY.match(path).groups()  # type: ignore[union-attr]
        key = table, ranked[rank], -1 if partition is None else int(partition)
        formed[path] = _with_many_sorted(formed[path], lengths.get(key, ()))
    return formed


DIRECTORY = re.compile(r"([^/]+/[^/]+)/(ts\d+)(?:/(\d{1,3}))?(?:/0000[-0]*)?\.(?:csv|json)$")
"""The name of a directory of rows in one form."""


def _with_many_sorted(content: bytes, lengths: Sequence[int]) -> bytes:
    """Rows, those of a transaction with many of them by text."""
    quote = content[:1]
    pattern = rb"(?:%b(?:[^%b]|%b%b)*%b|[^%b\n])*\n" % ((quote,) * 6) if quote in (b'"', b"'") else rb"[^\n]*\n"
    rows = re.findall(pattern, content)
    if sum(lengths) != len(rows) or max(lengths, default=0) <= STABLE_ROWS:
        return content
    sent = iter(rows)
    each = ([next(sent) for _ in range(length)] for length in lengths)
    return b"".join(row for some in each for row in (sorted(some) if len(some) > STABLE_ROWS else some))


def _place(path: str) -> re.Match[str] | None:
    # without a partition a year alone looks like the id of one
    by_year = WITH_YEAR_ALONE.fullmatch(path)
    return by_year if by_year and 2000 < int(by_year["date"]) < 2100 else DATA.fullmatch(path)


def _ranks(files: Mapping[str, bytes]) -> dict[bytes, bytes]:
    texts = [each for path, content in files.items() if path != "metadata" for each in (path.encode(), content)]
    found = sorted({tso for text in texts for tso in TSO.findall(text)})
    return {tso: b"ts%d" % number for number, tso in enumerate(found)}


def _with_ranks(text: bytes, ranks: Mapping[bytes, bytes]) -> bytes:
    return TSO.sub(lambda tso: ranks[tso[0]], text)


def _plain(content: bytes, path: str) -> bytes:
    """Canal-JSON without the times of building, and with sorted members of maps."""
    if not path.endswith(".json"):
        return content
    text = re.sub(rb'"(es|ts)":\d+', rb'"\1":0', content)
    return re.sub(rb'"(sqlType|mysqlType)":(\{[^{}]*\})', _sorted_map, text)


def _sorted_map(found: re.Match[bytes]) -> bytes:
    return b'"%s":%s' % (found[1], json.dumps(json.loads(found[2]), sort_keys=True).encode())
