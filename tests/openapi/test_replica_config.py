"""`replica_config`: its defaults, Go's way of reading JSON into it, and the changefeed.toml that says the same."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import releases
from simulator.openapi.go_json import BodyError, Place, parse
from simulator.openapi.replica_config import (
    FIELDS,
    STRUCTS,
    ConfigField,
    config_fields,
    config_of,
    default_document,
    document_of,
    read_document,
    shown_document,
    zero_document,
)
from simulator.releases import Release
from simulator.ticdc.changefeed.keys import KEYS

RELEASES = [
    releases.find(name, architecture)
    for name, architecture in (("v6.5.6", None), ("v7.5.7", None), ("v8.5.3", None), ("v8.5.7", "new"))
]
V8_5 = releases.V8_5
URI = "kafka://127.0.0.1:9092/t"

DEFAULT = """{
    "memory_quota": 1073741824, "case_sensitive": false, "force_replicate": false, "ignore_ineligible_table": false,
    "check_gc_safe_point": true, "enable_sync_point": false, "enable_table_monitor": false, "bdr_mode": false,
    "sync_point_interval": 600000000000, "sync_point_retention": 86400000000000,
    "filter": {"rules": ["*.*"]},
    "mounter": {"worker_num": 16},
    "sink": {
        "csv": {"delimiter": ",", "quote": "\\"", "null": "\\\\N", "include_commit_ts": false,
                "binary_encoding_method": "base64", "output_old_value": false, "output_handle_key": false},
        "encoder_concurrency": 32, "terminator": "\\r\\n", "date_separator": "day", "enable_partition_separator": true,
        "enable_kafka_sink_v2": false, "only_output_updated_columns": false,
        "delete_only_output_handle_key_columns": false, "content_compatible": false, "advance_timeout": 150,
        "send_bootstrap_interval_in_sec": 120, "send_bootstrap_in_msg_count": 10000,
        "send_bootstrap_to_all_partition": true, "send-all-bootstrap-at-start": false, "debezium_disable_schema": false,
        "debezium": {"output_old_value": true}, "open": {"output_old_value": true}
    },
    "consistent": {"level": "none", "max_log_size": 64, "flush_interval": 2000, "meta_flush_interval": 200,
                   "encoding_worker_num": 16, "flush_worker_num": 8, "use_file_backend": false,
                   "memory_usage": {"memory_quota_percentage": 50}},
    "scheduler": {"enable_table_across_nodes": false, "region_threshold": 100000, "write_key_threshold": 0},
    "integrity": {"integrity_check_level": "none", "corruption_handle_level": "warn"},
    "changefeed_error_stuck_duration": 1800000000000,
    "synced_status": {"synced_check_interval": 300, "checkpoint_interval": 15}
}"""
"""`GetDefaultReplicaConfig` of tiflow v8.5.3 (pkg/config/replica_config.go), in the order of api/v2/model.go."""


def read(value: Any, release: Release = V8_5, zeros: bool = False) -> dict[str, Any]:
    base = zero_document(release) if zeros else default_document(release)
    return read_document(value, base, release, Place("ChangefeedConfig", ("replica_config",)))


def test_the_defaults_are_those_of_ticdc() -> None:
    assert json.dumps(shown_document(default_document(V8_5), V8_5)) == json.dumps(json.loads(DEFAULT))


def test_every_field_is_a_key_or_a_table_of_the_file() -> None:
    """And each has a struct; the other way round, what is missing in the API is of the simulator's other settings."""
    assert FIELDS.keys() == STRUCTS.keys()
    for release in RELEASES:
        for place in FIELDS:
            for field in config_fields(place, release).values():
                assert field.inner or field.key in KEYS[place], (place, field)


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)
def test_defaults_are_an_empty_file(release: Release) -> None:
    assert config_of(default_document(release), release) == {}
    assert document_of({}, release, "blackhole://") == default_document(release)


def test_a_file_says_what_the_body_says() -> None:
    """In TiCDC's spelling of the file; what is as by default is not said."""
    body = {
        "Case_Sensitive": True,
        "memory_quota": 1073741824,
        "unknown": 1,
        "sync_point_interval": "30m",
        "filter": {"rules": ["a.*", "!a.b"], "event_filters": [{"matcher": ["a.b"], "ignore_event": ["insert"]}]},
        "sink": {
            "dispatchers": [{"matcher": ["a.*"], "partition": "index-value", "topic": "x_{table}"}],
            "column_selectors": [{"matcher": ["a.b"], "columns": ["c"]}],
            "advance_timeout": 10,
            "file_index_width": 10,
            "csv": {"delimiter": ";"},
            "kafka_config": {"sasl_oauth_scopes": ["s"], "codec_config": {"max_batch_size": 7}},
            "open": {"output_old_value": False},
            "safe_mode": None,
        },
        "mounter": None,
    }
    assert config_of(read(body), V8_5) == {
        "case-sensitive": True,
        "sync-point-interval": "30m0s",
        "filter": {"rules": ["a.*", "!a.b"], "event-filters": [{"matcher": ["a.b"], "ignore-event": ["insert"]}]},
        "sink": {
            "csv": {"delimiter": ";"},
            "dispatchers": [{"matcher": ["a.*"], "partition": "index-value", "topic": "x_{table}"}],
            "column-selectors": [{"matcher": ["a.b"], "columns": ["c"]}],
            "file-index-digit": 10,
            "kafka-config": {"sasl-oauth-scopes": ["s"], "codec-config": {"max-batch-size": 7}},
            "advance-timeout-in-sec": 10,
            "open": {"output-old-value": False},
        },
    }


def test_what_a_body_of_update_does_not_name_is_zero_within_a_table_that_it_names() -> None:
    """TiCDC reads it into an empty struct; tables that it does not name have their defaults."""
    told = config_of(read({"mounter": {}, "case_sensitive": True, "check_gc_safe_point": True}, zeros=True), V8_5)
    assert told == {"memory-quota": 0, "case-sensitive": True, "mounter": {"worker-num": 0}}
    assert document_of(told, V8_5, URI)["memory_quota"] == 1 << 30


def test_the_file_as_users_write_it_becomes_a_document() -> None:
    """With the old spelling `dispatcher`, and keys in capitals, which TOML in Go finds, too."""
    config = {
        "Case-Sensitive": True,
        "sync-point-interval": "1h",
        "sink": {"dispatchers": [{"matcher": ["a.*"], "dispatcher": "ts"}], "unknown": 1},
    }
    told = document_of(config, V8_5, f"{URI}?protocol=canal-json&transaction-atomicity=none")
    assert told["case_sensitive"] is True
    assert told["sync_point_interval"] == 3600 * 10**9
    assert told["sink"]["dispatchers"][0]["partition"] == "ts"
    assert (told["sink"]["protocol"], told["sink"]["transaction_atomicity"]) == ("canal-json", "none")
    stored = document_of({"integrity": {"integrity-check-level": "correctness"}}, V8_5, "file:///x?protocol=csv")
    assert (stored["sink"]["file_index_width"], stored["integrity"]["integrity_check_level"]) == (20, "none")


def values(field: ConfigField, release: Release) -> st.SearchStrategy[Any]:
    """JSON values of a field."""
    if field.inner:
        rows = documents(field.inner, release)
        return st.lists(rows, max_size=2) if field.kind else rows
    words = st.text(min_size=1, max_size=5)
    whole = st.integers(1, (1 << 15) - 1)
    by_kind: dict[str, st.SearchStrategy[Any]] = {
        "bool": st.booleans(),
        "text": words,
        "texts": st.lists(words, min_size=1, max_size=2),
        "ints": st.lists(whole, min_size=1, max_size=2),
        "number": st.floats(0, 1e6),
        "duration": st.integers(1, 10**6).map(lambda seconds: seconds * 10**9),
    }
    return by_kind.get(field.kind, whole)


@cache
def documents(place: str, release: Release) -> st.SearchStrategy[dict[str, Any]]:
    fields = config_fields(place, release).values()
    return st.fixed_dictionaries({}, optional={field.name: values(field, release) for field in fields})


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)
@given(data=st.data())
def test_a_document_comes_back_from_its_file(release: Release, data: st.DataObject) -> None:
    """Whatever a body says: nothing is lost, and the same body read again changes nothing."""
    body = data.draw(documents("(top level)", release))
    body.pop("ignore_ineligible_table", None)  # a changefeed has it beside its file
    document = read(body, release)
    assert read(body, release) == document

    back = document_of(config_of(document, release), release, "kafka://127.0.0.1:9092/t")
    assert shown_document(back, release) == shown_document(_filled(document), release)


def _filled(document: dict[str, Any]) -> dict[str, Any]:
    """The document with what TiCDC fills in of large messages."""
    handle = ((document["sink"] or {}).get("kafka_config") or {}).get("large_message_handle")
    if handle is None:
        return document
    names = {name: handle[name] or "none" for name in handle if name.startswith("large_message_handle_")}
    kafka = {**document["sink"]["kafka_config"], "large_message_handle": {**handle, **names}}
    return {**document, "sink": {**document["sink"], "kafka_config": kafka}}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(sorted(config_fields("sink", V8_5)) + ["sink", "filter"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(value=JSON)
def test_any_json_is_read_or_refused_in_words_of_go(value: Any) -> None:
    try:
        config_of(read(value), V8_5)
    except BodyError as error:
        assert str(error).startswith(("json: cannot unmarshal ", "time: ", "invalid duration"))


@given(body=st.binary(max_size=40))
def test_any_bytes_are_parsed_or_refused(body: bytes) -> None:
    try:
        json.dumps(parse(body), ensure_ascii=False).encode()
    except BodyError as error:
        assert str(error)
