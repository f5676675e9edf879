"""Vectors of the changefeed's settings: keys, defaults, and what TiCDC rejects."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from simulator.errors import ChangefeedError
from simulator.releases import RELEASES, Release
from simulator.ticdc import changefeed, dispatch
from simulator.ticdc.changefeed import keys
from simulator.ticdc.filters import replication
from simulator.ticdc.filters.event_filters import event_filters
from simulator.ticdc.filters.row_expressions import check_expressions
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.model.table import Table
from support.vectors.dispatch import contains
from support.vectors.files import Vector, releases_of
from support.vectors.kinds import Kind, keys_of

T1 = "CREATE TABLE test.t1 (id INT PRIMARY KEY, a INT, KEY plain_idx (a))"
"""The table that the index rules of the vectors are about."""


def check_config(vector: Vector) -> None:
    """A vector of `facts.config`: the release knows the key; the default is that of the last release with the key."""
    data = vector.data
    key = keys.key(data["where"], data["name"], vector.release)
    assert key is not None
    assert key.kind in ACCEPTED.get(data.get("accepted", ""), [key.kind])
    if vector.release in last_releases(data):
        assert key.default == data["default"]


ACCEPTED = {
    "bool": ["bool"],
    "list": ["texts"],
    "SQL expression": ["text"],
    "list of TSO": ["ints"],
    "Go duration": ["duration", "text"],
    "list of action codes": ["ints"],
    "list of column names": ["texts"],
    "table-filter rules": ["texts"],
    "column names": ["texts"],
    "array of tables": ["rows"],
    "text": ["text"],
    **dict.fromkeys(("integer", "integer > 0", "integer >= 0"), ["int", "int16", "int32"]),
}
"""What a vector says is accepted → the kinds of value that keys may be of; other words say more than a kind."""


def check_unreleased(vector: Vector) -> None:
    """A key that is in no release: none here knows it."""
    where, name = vector.data["where"], vector.data["name"]
    known = [release.name for of in RELEASES.values() for release in of.values() if keys.key(where, name, release)]
    assert known == []


def last_releases(data: Mapping[str, Any]) -> list[Release]:
    """Of each architecture that the fact holds for."""
    return list({release.architecture: release for release in releases_of(data)}.values())


def check_validation(vector: Vector) -> None:
    """A vector of `facts.validation`."""
    data = vector.data
    tables = [create_table(text) for text in data.get("tables", [T1])]
    if data["error"] is None and "error_code" not in data:
        start(data["sink_uri"], data["toml"], tables, vector.release)
        return
    with pytest.raises(ChangefeedError) as caught:
        start(data["sink_uri"], data["toml"], tables, vector.release)
    assert contains(caught.value.text, data["error"] or "")
    assert caught.value.code == data.get("error_code", caught.value.code)


def start(sink_uri: str, toml: str, tables: Sequence[Table], release: Release) -> None:
    """All that TiCDC checks when a changefeed starts: settings, filters, and the rules of the tables that there are."""
    topic = re.search(r" \(topic has (\d+)\)$", sink_uri)
    made = changefeed.load(sink_uri[: topic.start()] if topic else sink_uri, toml, release)
    if topic:
        assert changefeed.partition_count(made.kafka.partition_num, int(topic.group(1))) == made.kafka.partition_num
    replication(made.rules, made.case_sensitive, made.ignore_txn_start_ts, release)
    check_expressions(event_filters(made.event_filters, release, made.case_sensitive), tables)
    dispatch.verify_tables(dispatch.router(made, release), tables)


KINDS = {
    "facts.config": Kind(check_config, keys_of("where name default accepted meaning"), check_unreleased),
    "facts.validation": Kind(check_validation, keys_of("sink_uri toml tables error error_code")),
}
