"""Recorded files of storage sinks, brought into one form with simulated ones (tests/endtoend/README.md).

TSOs become their rank, ids of partitions too, a date `DATE`; the files of a directory are one text, whose index has to
name the last of them.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
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


def unequal_files(expected: Mapping[str, bytes], found: Mapping[str, bytes]) -> list[str]:
    """Where files differ."""
    wanted, had = _one_form(expected), _one_form(found)
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


def _one_form(files: Mapping[str, bytes]) -> dict[str, bytes]:
    ranks = _ranks(files)
    partitions = sorted({int(place["partition"]) for place in map(_place, files) if place and place["partition"]})
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
    return formed


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
