"""The life of changefeeds through the API."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.openapi import BLACKHOLE, Answer, Api

from simulator import tso
from simulator.reader.decode import RowEvent


@pytest.fixture
def name(request: pytest.FixtureRequest, api: Api) -> str:
    """The name of a new changefeed."""
    name = f"of-{abs(hash(request.node.name))}"
    assert api.create(name).status == 200
    return name


def state(api: Api, name: str) -> str:
    return str(api.ask("GET", f"/changefeeds/{name}").json["state"])


def test_one_is_created_with_what_was_asked(api: Api) -> None:
    """Its defaults and zeros are there, as in TiCDC's answer, and the protocol of the URI is in the configuration."""
    now = api.ask("POST", "/tso", {}).json
    start_ts = tso.compose(now["timestamp"], now["logic_time"])
    answer = api.create(
        "asked", start_ts=start_ts, target_ts=start_ts + (1 << 40), replica_config={"filter": {"rules": ["shop.*"]}}
    )
    told = answer.json

    assert answer.status == 200
    assert (
        list(told)
        == (
            "upstream_id namespace id sink_uri create_time start_ts target_ts config state creator_version resolved_ts "
            "checkpoint_ts checkpoint_time"
        ).split()
    )
    assert (told["namespace"], told["id"], told["sink_uri"]) == ("default", "asked", BLACKHOLE)
    assert (told["start_ts"], told["checkpoint_ts"], told["resolved_ts"]) == (start_ts,) * 3
    assert (told["state"], told["creator_version"]) == ("normal", "v8.5.3")
    assert told["config"]["filter"] == {"rules": ["shop.*"]}
    assert told["config"]["sink"]["protocol"] == "canal-json"
    assert told["config"]["mounter"] == {"worker_num": 16}


def test_one_that_drops_everything_needs_no_protocol(api: Api) -> None:
    assert "protocol" not in api.create("dropped", "blackhole://").json["config"]["sink"]
    simple = {"sink": {"protocol": "simple"}}
    assert api.create("simple", "blackhole://", replica_config=simple).json["config"]["sink"]["protocol"] == "simple"
    feeds = api.served.changefeeds
    assert [feeds.get(name).changefeed.codec.protocol for name in ("dropped", "simple")] == ["open-protocol", "simple"]


def test_without_a_name_it_has_a_random_one(api: Api) -> None:
    names = {api.ask("POST", "/changefeeds", {"sink_uri": BLACKHOLE}).json["id"] for _ in range(2)}
    assert {len(name) for name in names} == {36}
    assert len(names) == 2


REFUSED: dict[str, tuple[dict[str, Any], tuple[int, str, str]]] = {
    "no sink": (
        {},
        (400, "ErrSinkURIInvalid", "sink uri invalid 'sink_uri is empty, cannot create a changefeed without sink_uri'"),
    ),
    "a name with _": (
        {"sink_uri": BLACKHOLE, "changefeed_id": "a_b"},
        (400, "ErrAPIInvalidParam", "invalid changefeed_id: a_b"),
    ),
    "a long name": (
        {"sink_uri": BLACKHOLE, "changefeed_id": "a" * 129},
        (400, "ErrAPIInvalidParam", f"invalid changefeed_id: {'a' * 129}"),
    ),
    "a namespace": ({"sink_uri": BLACKHOLE, "namespace": "-"}, (400, "ErrAPIInvalidParam", "invalid namespace: -")),
    "a name that is there": (
        {"sink_uri": BLACKHOLE, "changefeed_id": "default"},
        (500, "ErrChangeFeedAlreadyExists", "changefeed already exists, default"),
    ),
    "a text for a number": (
        {"sink_uri": BLACKHOLE, "start_ts": "now"},
        (
            400,
            "ErrAPIInvalidParam",
            "invalid api parameter: json: cannot unmarshal string into Go struct field ChangefeedConfig.start_ts of type "
            "uint64",
        ),
    ),
    "a number for a text": (
        {"sink_uri": BLACKHOLE, "replica_config": {"sink": {"kafka_config": {"sasl_user": 1}}}},
        (
            400,
            "ErrAPIInvalidParam",
            "invalid api parameter: json: cannot unmarshal number into Go struct field "
            "KafkaConfig.replica_config.sink.kafka_config.sasl_user of type string",
        ),
    ),
    "a number that is too large": (
        {"sink_uri": BLACKHOLE, "replica_config": {"sink": {"kafka_config": {"replication_factor": 40000}}}},
        (
            400,
            "ErrAPIInvalidParam",
            "invalid api parameter: json: cannot unmarshal number 40000 into Go struct field "
            "KafkaConfig.replica_config.sink.kafka_config.replication_factor of type int16",
        ),
    ),
    "a duration": (
        {"sink_uri": BLACKHOLE, "replica_config": {"sync_point_interval": "10"}},
        (400, "ErrAPIInvalidParam", 'invalid api parameter: time: missing unit in duration "10"'),
    ),
    "a target before the start": (
        {"sink_uri": BLACKHOLE, "target_ts": 1},
        (400, "ErrTargetTsBeforeStartTs", "fail to create changefeed because target-ts 1 is earlier than start-ts …"),
    ),
    "a start in the future": (
        {"sink_uri": BLACKHOLE, "start_ts": 1 << 62},
        (400, "ErrAPIInvalidParam", "invalid start-ts 4611686018427387904, larger than current tso …"),
    ),
    "a start before the history": (
        {"sink_uri": BLACKHOLE, "start_ts": 1},
        (
            400,
            "ErrStartTsBeforeGC",
            "fail to create or maintain changefeed because start-ts 1 is earlier than or equal to GC safepoint at …",
        ),
    ),
    "a rule": (
        {"sink_uri": BLACKHOLE, "replica_config": {"filter": {"rules": ["a"]}}},
        (400, "ErrFilterRuleInvalid", "…"),
    ),
    "a protocol": (
        {"sink_uri": "kafka://127.0.0.1:9092/t?protocol=x"},
        (500, "ErrSinkUnknownProtocol", "unknown 'x' message protocol for sink…"),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_ticdc_refuses_has_its_code_and_text(api: Api, case: str) -> None:
    body, (status, code, text) = REFUSED[case]
    error = api.ask("POST", "/changefeeds", body).error

    assert error[:2] == (status, code)
    assert error[2].startswith(text.removesuffix("…")) if text.endswith("…") else error[2] == text


def test_bodies_that_are_no_json(api: Api) -> None:
    deep = "[" * 200 + "]" * 200
    texts = {
        "": "EOF",
        "{": "unexpected EOF",
        '{"sink_uri": "': "unexpected EOF",
        "nothing": "invalid character 'n' looking for beginning of value",
        "NaN": "invalid character 'N' looking for beginning of value",
        "[]": "json: cannot unmarshal array into Go value of type v2.ChangefeedConfig",
        "[" * 100_000: "exceeded max depth",
        f'["\\ud800", {deep}]': "exceeded max depth",
    }
    assert {body: api.ask("POST", "/changefeeds", body).error for body in texts} == {
        body: (400, "ErrAPIInvalidParam", f"invalid api parameter: {text}") for body, text in texts.items()
    }


def test_a_table_without_a_valid_index_is_refused_unless_it_is_to_be_ignored(serve: Callable[..., Api]) -> None:
    api = serve()
    api.run("CREATE TABLE test.good (id INT PRIMARY KEY)", "CREATE TABLE test.bad (id INT)")

    text = (
        "some tables are not eligible to replicate([test.bad]), if you want to ignore these tables, please set "
        "ignore_ineligible_table to true"
    )
    assert api.create("one").error == (400, "ErrTableIneligible", text)
    assert api.create("two", replica_config={"ignore_ineligible_table": True}).status == 200
    assert api.create("three", replica_config={"force_replicate": True}).status == 200
    assert api.create("four", replica_config={"filter": {"rules": ["test.g*"]}}).status == 200

    bad, good = [
        {"database_name": "test", "table_name": table, "table_id": number, "is_partition": False}
        for table, number in (("bad", 101), ("good", 100))
    ]
    assert api.ask("POST", "/verify_table", {"sink_uri": BLACKHOLE}).json == {
        "ineligible_tables": [bad],
        "eligible_tables": [good],
    }
    task = api.ask("GET", "/changefeeds/four").json["task_status"]
    capture = api.ask("GET", "/captures").json["items"][0]["id"]
    assert task == [{"capture_id": capture, "table_ids": [100]}]
    assert api.ask("GET", f"/processors/four/{capture}").json == {"table_ids": [100]}


def test_no_file_of_the_server_is_read_for_a_filter(serve: Callable[..., Api], tmp_path: Path) -> None:
    api, config = serve(), {"filter": {"rules": [f"@{tmp_path / 'rules'}"]}}
    refused = (400, "ErrFilterRuleInvalid", "filter rules in a file are not read by a server")
    (tmp_path / "rules").write_text("a.b\n:")
    assert api.create("one", replica_config=config).error == refused
    for path in ("/verify_table", "/get_all_tables"):
        answer = api.ask("POST", path, {"sink_uri": BLACKHOLE, "replica_config": config})
        assert answer.status == 404 or answer.error == refused


def test_texts_of_a_configuration_may_hold_any_character(serve: Callable[..., Api]) -> None:
    api, rules = serve(), ["*.*", "!`a\x7f`.*"]
    assert api.create("one", replica_config={"filter": {"rules": rules}}).status == 200
    assert api.ask("GET", "/changefeeds/one").json["config"]["filter"]["rules"] == rules


def test_they_are_listed_by_namespace_and_state(serve: Callable[..., Api]) -> None:
    api = serve()
    api.create("b")
    api.create("a")
    api.create("c", namespace="other")
    api.ask("POST", "/changefeeds/b/pause")

    def listed(query: str) -> list[str]:
        answer = api.ask("GET", f"/changefeeds{query}").json
        assert answer["total"] == len(answer["items"])
        return [item["id"] for item in answer["items"]]

    assert listed("") == listed("?state=all") == ["a", "b", "default"]
    assert listed("?state=stopped") == ["b"]
    assert listed("?state=normal&namespace=default") == ["a", "default"]
    assert listed("?namespace=other") == ["c"]
    assert listed("?state=finished") == listed("?namespace=none") == []
    assert api.ask("GET", "/changefeeds/c").error == (400, "ErrChangeFeedNotExists", "changefeed not exists, default/c")
    assert api.ask("GET", "/changefeeds/c?namespace=other").json["namespace"] == "other"


def test_one_is_paused_resumed_and_removed(api: Api, name: str) -> None:
    assert state(api, name) == "normal"
    assert api.ask("POST", f"/changefeeds/{name}/pause").json == {}
    told = api.ask("GET", f"/changefeeds/{name}").json
    assert (told["state"], told["admin_job_type"], "task_status" in told) == ("stopped", 1, False)
    assert api.ask("POST", f"/changefeeds/{name}/resume", "").error[2] == "invalid api parameter: EOF"
    assert api.ask("POST", f"/changefeeds/{name}/resume", {}).json == {}
    assert state(api, name) == "normal"
    assert api.ask("DELETE", f"/changefeeds/{name}").json == {}
    assert api.ask("DELETE", f"/changefeeds/{name}").json == {}
    assert api.ask("GET", f"/changefeeds/{name}").error[1] == "ErrChangeFeedNotExists"


def test_one_is_resumed_from_another_checkpoint(serve: Callable[..., Api]) -> None:
    """What lies above it comes again."""
    api = serve()
    api.create("again")
    api.run("CREATE TABLE test.t (id INT PRIMARY KEY)")
    before = tso.compose(api.ask("POST", "/tso", {}).json["timestamp"])
    api.run("INSERT INTO test.t VALUES (1)")
    feed = api.served.run_in_thread(lambda: api.served.changefeeds.get("again"))
    first = [event.commit_ts for event in api.served.run_in_thread(feed.events) if isinstance(event, RowEvent)]
    api.ask("POST", "/changefeeds/again/pause")
    assert api.ask("POST", "/changefeeds/again/resume", {"overwrite_checkpoint_ts": 1 << 62}).error[:2] == (
        400,
        "ErrAPIInvalidParam",
    )
    assert api.ask("POST", "/changefeeds/again/resume", {"overwrite_checkpoint_ts": before}).json == {}
    again = [event.commit_ts for event in api.served.run_in_thread(feed.events) if isinstance(event, RowEvent)]
    assert first == again != []


def test_a_stopped_one_is_updated(api: Api, name: str) -> None:
    path = f"/changefeeds/{name}"
    refused = api.ask("PUT", path, {"target_ts": 1 << 62})
    assert refused.error == (
        400,
        "ErrChangefeedUpdateRefused",
        "changefeed update error: can only update changefeed config when it is stopped or failed",
    )
    api.ask("POST", f"{path}/pause")
    updated = api.ask("PUT", path, {"target_ts": 1 << 62, "sink_uri": "blackhole://?protocol=simple"}).json
    assert (updated["target_ts"], updated["config"]["sink"]["protocol"]) == (1 << 62, "simple")
    assert (updated["state"], updated["sink_uri"]) == ("stopped", "blackhole://?protocol=simple")
    ignores = {"replica_config": {**updated["config"], "ignore_ineligible_table": True}}
    assert api.ask("PUT", path, ignores).json["config"] == ignores["replica_config"]
    assert api.ask("PUT", path, {"target_ts": 1}).error[2].startswith("can not update target_ts:1 less than start_ts:")
    same = "changefeed update error: changefeed config is the same with the old one, do nothing"
    assert api.ask("PUT", path, {}).error == (400, "ErrChangefeedUpdateRefused", same)
    assert (
        api.ask("PUT", path, {"replica_config": {"sink": {"protocol": "x"}}, "sink_uri": "kafka://h:1/t"})
        .error[2]
        .startswith("changefeed update error: [CDC:ErrSinkUnknownProtocol]unknown 'x' message protocol")
    )
    api.ask("POST", f"{path}/resume", {})
    assert state(api, name) == "normal"


def test_who_sends_back_what_was_answered_changes_no_secret(api: Api) -> None:
    """As `cdc cli changefeed update` does."""
    uri = "kafka://me:hidden@127.0.0.1:9092/t?protocol=canal-json&sasl-password=hidden"
    config = {"sink": {"kafka_config": {"sasl_user": "me", "sasl_password": "covert", "sasl_mechanism": "PLAIN"}}}
    created = api.create("secret", uri, replica_config=config)
    assert created.status == 200
    assert "hidden" not in created.text
    assert "covert" not in created.text
    api.ask("POST", "/changefeeds/secret/pause")
    told = api.ask("GET", "/changefeeds/secret")
    assert told.json["sink_uri"] == "kafka://me:xxxxx@127.0.0.1:9092/t?protocol=canal-json&sasl-password=xxxxx"
    back = {"sink_uri": told.json["sink_uri"], "replica_config": told.json["config"], "target_ts": 1 << 61}
    assert "hidden" not in api.ask("PUT", "/changefeeds/secret", back).text
    spec = api.served.run_in_thread(lambda: api.served.changefeeds.get("secret").spec)
    assert spec.sink_uri == uri
    assert "covert" in str(spec.config)


def test_status_and_synced(serve: Callable[..., Api]) -> None:
    """Everything is synced when nothing was written for the interval of the configuration."""
    api = serve()
    api.create("soon", replica_config={"synced_status": {"synced_check_interval": 10, "checkpoint_interval": 15}})
    status: Answer = api.ask("GET", "/changefeeds/soon/status")
    assert list(status.json) == ["state", "resolved_ts", "checkpoint_ts"]
    synced = api.ask("GET", "/changefeeds/soon/synced").json
    assert list(synced) == "synced sink_checkpoint_ts puller_resolved_ts last_synced_ts now_ts info".split()
    assert (synced["synced"], synced["info"]) == (False, "The data syncing is not finished, please wait")
    api.served.wait("20s")
    now = api.ask("GET", "/changefeeds/soon/synced").json
    assert (now["synced"], now["info"]) == (True, "Data syncing is finished")
    strict = {"replica_config": {"synced_status": {"synced_check_interval": 3600}}}
    assert api.ask("GET", "/changefeeds/soon/synced", strict).json["synced"] is False


def test_one_that_failed_says_why(serve: Callable[..., Api]) -> None:
    """With the time only in a list and in its status; an update of its configuration lets it go on."""
    api = serve()
    api.run("CREATE TABLE test.t (id INT PRIMARY KEY, text VARCHAR(2000))")
    uri = "kafka://127.0.0.1:9092/t?protocol=canal-json&max-message-bytes={}"
    api.create("small", uri.format(1000))
    api.run(f"INSERT INTO test.t VALUES (1, '{'x' * 2000}')")
    api.served.wait("2s")

    (listed,) = api.ask("GET", "/changefeeds?state=failed").json["items"]
    told = api.ask("GET", "/changefeeds/small").json
    status = api.ask("GET", "/changefeeds/small/status").json
    assert list(listed["error"]) == list(status["last_error"]) == ["time", "addr", "code", "message"]
    assert (told["state"], told["admin_job_type"], told["error"]["code"]) == ("failed", 1, "CDC:ErrMessageTooLarge")
    assert list(told["error"]) == ["addr", "code", "message"]
    assert told["error"]["message"] == listed["error"]["message"]
    assert (
        api.ask("GET", "/processors/small/x").error[2].startswith("invalid api parameter: changefeed in abnormal state")
    )

    assert api.ask("PUT", "/changefeeds/small", {"sink_uri": uri.format(5000)}).status == 200
    assert api.ask("POST", "/changefeeds/small/resume", {}).status == 200
    api.served.wait("2s")
    assert state(api, "small") == "normal"


def test_times_are_told_in_the_zone_of_the_servers(serve: Callable[..., Api]) -> None:
    told = serve(tz="Asia/Shanghai").ask("GET", "/changefeeds/default").json
    assert told["checkpoint_time"] == "2025-01-01 08:00:00.000"
    assert told["create_time"].endswith("+08:00")


def test_one_that_has_reached_its_target_is_finished(serve: Callable[..., Api]) -> None:
    api = serve()
    now_ms = api.ask("POST", "/tso", {}).json["timestamp"]
    api.create("short", target_ts=tso.compose(now_ms + 500))
    api.served.wait("2s")
    told = api.ask("GET", "/changefeeds/short").json
    assert (told["state"], told["admin_job_type"], told["checkpoint_ts"]) == ("finished", 4, told["target_ts"])
    assert [item["id"] for item in api.ask("GET", "/changefeeds").json["items"]] == ["default"]
    assert [item["id"] for item in api.ask("GET", "/changefeeds?state=finished").json["items"]] == ["short"]


def test_the_rest_of_the_server(api: Api) -> None:
    assert api.ask("GET", "/health").text == "{}"
    capture = api.ask("GET", "/captures").json["items"][0]
    assert capture == {
        "id": api.ask("GET", "/status").json["id"],
        "is_owner": True,
        "address": f"127.0.0.1:{api.server.port}",
        "cluster_id": "default",
    }
    processors = api.ask("GET", "/processors").json["items"]
    assert {"namespace": "default", "changefeed_id": "default", "capture_id": capture["id"]} in processors
    assert api.ask("GET", "/processors/default/none").error == (400, "ErrCaptureNotExist", "capture not exists, none")
    drain = api.ask("POST", "/captures/x/drain").error
    assert drain == (400, "ErrSchedulerRequestFailed", "scheduler request failed, only one capture alive")
    assert api.ask("POST", "/owner/resign").json == {}
    assert api.ask("POST", "/log", {"log_level": "debug"}).json == {}
    assert api.ask("POST", "/log", {"log_level": "loud"}).error[2] == "fail to change log level: loud"
    assert api.ask("POST", "/tso", {"id": 5}).error == (500, "ErrUpstreamNotFound", "upstream not found, cluster-id: 5")
    assert api.ask("GET", "/unsafe/metadata").status == 501


def test_the_new_architecture_tells_keyspaces_and_no_tasks(serve: Callable[..., Api]) -> None:
    api = serve("new:v8.5.7")
    told = api.create("one").json
    assert (
        list(told)
        == (
            "upstream_id id keyspace sink_uri create_time start_ts config state creator_version resolved_ts checkpoint_ts "
            "checkpoint_time gid maintainer_addr"
        ).split()
    )
    assert (told["keyspace"], told["maintainer_addr"]) == ("default", f"127.0.0.1:{api.server.port}")
    assert "force_replicate" not in told["config"]
    assert api.ask("GET", "/processors").json == {"total": 0, "items": []}
    assert api.ask("POST", "/changefeeds/one/pause").json == {}
    assert api.ask("PUT", "/changefeeds/one", {"start_ts": 1}).error[2] == "start_ts can not be updated"
    assert api.ask("POST", "/changefeeds/one/resume", "").json == {}
    assert api.ask("GET", "/changefeeds?keyspace=none").json == {"total": 0, "items": []}
    assert api.ask("POST", "/changefeeds/one/move_table").status == 501
    assert api.ask("DELETE", "/changefeeds/one").text == "{}"
    assert api.ask("DELETE", "/changefeeds/one").text == "null"
