"""Vectors of the changefeed's settings: keys, defaults, and what TiCDC rejects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from simulator import changefeed, dispatch
from simulator.changefeed import keys
from simulator.errors import ChangefeedError
from simulator.releases import Release
from simulator.schema import parse
from vector_dispatch import contains
from vector_files import Vector, releases_of

T1 = "CREATE TABLE test.t1 (id INT PRIMARY KEY, a INT, KEY plain_idx (a))"
"""The table that the index rules of the vectors are about."""


def check_config(vector: Vector) -> None:
    """A vector of `facts.config`: the release knows the key; the default is that of the last release with the key."""
    data = vector.data
    key = keys.key(data["where"], data["name"], vector.release)
    assert key is not None
    if vector.release in last_releases(data):
        assert key.default == data["default"]


def last_releases(data: Mapping[str, Any]) -> list[Release]:
    """Of each architecture that the fact holds for."""
    return list({release.architecture: release for release in releases_of(data)}.values())


def check_validation(vector: Vector) -> None:
    """A vector of `facts.validation`."""
    data = vector.data
    if data["error"] is None:
        start(data["sink_uri"], data["toml"], vector.release)
        return
    with pytest.raises(ChangefeedError) as caught:
        start(data["sink_uri"], data["toml"], vector.release)
    assert contains(caught.value.text, data["error"])
    assert caught.value.code == data.get("error_code", caught.value.code)


def start(sink_uri: str, toml: str, release: Release) -> None:
    """All that TiCDC checks when a changefeed starts."""
    topic = re.search(r" \(topic has (\d+)\)$", sink_uri)
    made = changefeed.load(sink_uri[: topic.start()] if topic else sink_uri, toml, release)
    if topic:
        assert changefeed.partition_count(made.kafka.partition_num, int(topic.group(1))) == made.kafka.partition_num
    dispatch.verify_tables(dispatch.router(made, release), [parse.create_table(T1)])
