"""No body makes a server fail: each has an answer, or an error with a code of TiCDC."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.openapi import BLACKHOLE, Api, serving

from simulator import releases
from simulator.openapi.replica_config import FIELDS

NAMES = sorted({name.rstrip("?*-") for names in FIELDS.values() for name in names.split()})
KNOWN = ["changefeed_id", "namespace", "sink_uri", "start_ts", "target_ts", "replica_config", "overwrite_checkpoint_ts"]
TEXTS = st.sampled_from(
    [BLACKHOLE, "file:///tmp/x", "kafka://h:9092/t?protocol=avro", "a b", "\ud800", "0", "10m", "*.*"]
)
SCALARS = st.none() | st.booleans() | st.integers(-1, 1 << 65) | st.floats() | st.text(max_size=4) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=15,
)
BODIES = st.dictionaries(st.sampled_from(KNOWN), VALUES, max_size=5) | VALUES
PATHS = sorted(
    path.replace("{changefeed_id}", "fed").replace("{capture_id}", "some")
    for path in releases.V8_5.api_paths
    if not path.startswith("GET") or "synced" in path
)


@pytest.fixture(scope="module")
def fed() -> Any:
    """A served TiDB with a changefeed that is paused, so that it can be updated."""
    with serving() as api:
        api.create("fed")
        api.ask("POST", "/changefeeds/fed/pause")
        yield api


@pytest.mark.parametrize("path", PATHS)
@given(body=BODIES)
def test_every_body_has_an_answer_or_an_error_with_a_code(fed: Api, path: str, body: Any) -> None:
    method, _, where = path.partition(" ")
    answer = fed.ask(method, where, json.dumps(body))

    assert answer.status in (200, 400, 500, 501)
    if answer.status != 200:
        assert answer.error[1].startswith("Err")
        assert answer.text.count("\n") == 3
