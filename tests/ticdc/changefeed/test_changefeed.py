"""sink-uri and changefeed.toml: what is taken, what is refused, and what is said about the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.errors import ChangefeedError
from simulator.ticdc.changefeed import DispatchRule, Kafka, Tls, load, load_file
from simulator.ticdc.changefeed.toml_file import parse_duration

URI = "kafka://127.0.0.1:9092/shop?protocol=open-protocol"
CANAL = "kafka://127.0.0.1:9092/shop?protocol=canal-json"
CONFIG, ALL = "[sink.kafka-config]\n", "[sink]\ndispatchers=[{matcher=['*.*']"


def test_a_sink_uri_alone_has_ticdcs_defaults() -> None:
    feed = load("kafka://h1:9092,h2:9093/shop?protocol=default")
    assert feed.kafka == Kafka(brokers=("h1:9092", "h2:9093"))
    assert (feed.topic, feed.codec.protocol, feed.codec.max_batch_size) == ("shop", "open-protocol", 16)
    assert (feed.rules, feed.case_sensitive, feed.force_replicate, feed.warnings) == (("*.*",), False, False, ())


def test_everything_of_the_uri_arrives() -> None:
    feed = load(
        f"{URI}&partition-num=4&replication-factor=2&max-message-bytes=1000&max-batch-size=3&compression=LZ4"
        "&auto-create-topic=f&required-acks=0&kafka-client-id=me&dial-timeout=1m1.5s&sasl-mechanism=plain&sasl-user=u"
        "&sasl-password=p%40%3D&ca=/a&cert=/b&key=/c&insecure-skip-verify=T"
    )
    assert feed.kafka.partition_num == 4 and feed.kafka.replication_factor == 2 and not feed.kafka.auto_create_topic
    assert feed.kafka.required_acks == 0 and feed.kafka.compression == "lz4" and feed.kafka.client_id == "me"
    assert feed.kafka.dial_timeout == 61.5 and feed.kafka.tls == Tls(True, "/a", "/b", "/c", True)
    assert (feed.kafka.sasl.mechanism, feed.kafka.sasl.user, feed.kafka.sasl.password) == ("PLAIN", "u", "p@=")
    assert (feed.codec.max_message_bytes, feed.codec.max_batch_size, feed.warnings) == (1000, 3, ())


def test_everything_of_the_file_arrives() -> None:
    feed = load(
        "kafka://h:1/t",
        """
        case-sensitive = true
        force-replicate = true
        [filter]
        rules = ["a.*", "!a.b"]
        [sink]
        protocol = "canal-json"
        only-output-updated-columns = true
        dispatchers = [
            {matcher = ["a.*"], dispatcher = "index-value", index = "uk", topic = "{schema}"},
            {matcher = ["b.*"], partition = "columns", columns = ["x", "y"]},
        ]
        [sink.kafka-config]
        partition-num = 7
        output-raw-change-event = true
        [sink.kafka-config.codec-config]
        enable-tidb-extension = true
    """,
    )
    assert feed.dispatchers == (
        DispatchRule(("a.*",), "index-value", "uk", (), "{schema}"),
        DispatchRule(("b.*",), "columns", "", ("x", "y")),
    )
    assert feed.rules == ("a.*", "!a.b") and feed.case_sensitive and feed.force_replicate
    assert feed.codec.enable_tidb_extension and feed.codec.only_output_updated_columns
    assert feed.kafka.partition_num == 7 and feed.output_raw_change_event and feed.warnings == ()


def test_the_uri_wins_and_the_conflict_is_said() -> None:
    feed = load(f"{URI}&partition-num=2", '[sink]\nprotocol = "canal-json"\n[sink.kafka-config]\npartition-num = 3')
    assert (feed.codec.protocol, feed.kafka.partition_num) == ("open-protocol", 2)
    assert feed.warnings == (
        "protocol differs in sink-uri and [sink] (open-protocol and canal-json): the sink-uri counts",
        "partition-num differs in sink-uri and [sink.kafka-config] (2 and 3): the sink-uri counts",
    )


def test_a_zero_in_the_uri_does_not_undo_the_file_as_in_ticdc() -> None:
    feed = load(f"{URI}&auto-create-topic=false", "[sink.kafka-config]\nauto-create-topic = true")
    assert feed.kafka.auto_create_topic
    assert "TiCDC takes a zero in the sink-uri for unset" in feed.warnings[0]


def test_secrets_are_neither_warned_about_nor_shown() -> None:
    uri = f"{URI}&sasl-mechanism=PLAIN&sasl-user=u&sasl-password=first!"
    feed = load(uri, '[sink.kafka-config]\nsasl-password = "second!"')
    assert feed.kafka.sasl.password == "first!" and feed.warnings != ()
    assert "first!" not in repr(feed) and "second!" not in repr(feed)


@pytest.mark.parametrize(
    ("uri", "toml", "warning"),
    [
        (f"{URI}&partition-nun=3", "", "unknown key 'partition-nun' is ignored. Did you mean 'partition-num'?"),
        (f"{URI}&max-batch-size=3&max-batch-size=4", "", "sink-uri: max-batch-size is given 2 times; the first counts"),
        (URI, "force-replicat = true", "unknown key 'force-replicat' is ignored. Did you mean 'force-replicate'?"),
        (URI, "[sink]\ndispatcher = []", "unknown key 'dispatcher' in [sink] is ignored. Did you mean 'dispatchers'?"),
        (URI, "[snk]\na = 1", "unknown key 'snk' is ignored. Did you mean 'sink'?"),
        (URI, "[sink]\ndispatchers=[{mather=['a.*']}]", "unknown key 'mather' in sink.dispatchers[1] is ignored."),
        (URI, "[sink]\nterminator = ''", "sink.terminator has no effect: it concerns storage sinks only"),
        (f"{URI}&encoding-format=json", "", "encoding-format has no effect with open-protocol"),
        (URI, "ignore-ineligible-table = true", "-table has no effect: this simulator does not do it yet"),
        (URI, "[mounter]\nworker-num = 8", "mounter.worker-num has no effect: it changes how TiCDC works inside"),
        (f"{URI}&enable-tidb-extension=true", "", "enable-tidb-extension has no effect with open-protocol"),
        (f"{CANAL}&max-batch-size=3", "", "max-batch-size has no effect with canal-json"),
        (f"{URI}&content-compatible=true", "", "content-compatible has no effect with open-protocol in the sink-uri"),
        (f"{URI}&compression=zip", "", "compression 'zip' is unknown, none is used; accepted: none, gzip"),
        (f"{URI}&sasl-user=u", "", "sasl-user has no effect: sasl-mechanism is not set"),
        (URI, f"{ALL}, partition='tabel'}}]", "default is used. Did you mean 'table'?"),
        (URI, f"{ALL}, partition='rowid'}}]", "deprecated, index-value is used"),
        (URI, f"{ALL}, partition='ts', index='i'}}]", "index has no effect with partition"),
    ],
)
def test_what_has_no_effect_is_said_by_name(uri: str, toml: str, warning: str) -> None:
    assert [said for said in load(uri, toml).warnings if warning in said] != []


@pytest.mark.parametrize(
    ("uri", "toml", "code", "text"),
    [
        ("kafka://h:1/t", "", "CDC:ErrSinkUnknownProtocol", "unknown '' message protocol for sink"),
        ("kafka://h:1/t?protocol=canal-jsn", "", "CDC:ErrSinkUnknownProtocol", "Did you mean 'canal-json'?"),
        ("kafka://h:1/t?protocol=craft", "", "", "protocol craft is not simulated yet; accepted: open-protocol"),
        ("kafka:///t?protocol=canal-json", "", "", "no Kafka broker in sink-uri"),
        ("kafka://h:1/a%20b?protocol=canal-json", "", "", "topic 'a b': Kafka takes letters"),
        ("127.0.0.1:9092/t", "", "CDC:ErrSinkURIInvalid", "kafka://host:port[,host:port]/topic"),
        ("mysql://root@h:1/", "", "", "scheme mysql is not simulated; accepted: kafka, kafka+ssl"),
        (f"{URI}&partition-num=3000000000", "", "CDC:ErrMySQLInvalidConfig", "value out of range"),
        (f"{URI}&partition-num=", "", "CDC:ErrKafkaInvalidPartitionNum", "invalid partition num 0"),
        (f"{URI}&auto-create-topic=yes", "", "CDC:ErrMySQLInvalidConfig", 'parsing "yes": invalid syntax'),
        (f"{URI}&read-timeout=10", "", "CDC:ErrKafkaInvalidConfig", 'time: missing unit in duration "10"'),
        (f"{URI}&sasl-mechanism=md5", "", "CDC:ErrKafkaInvalidConfig", "unknown md5 SASL mechanism"),
        (
            URI,
            "force-replicate = true\n[sink]\ndelete-only-output-handle-key-columns = true",
            "CDC:ErrCodecInvalidConfig",
            'force-replicate must be disabled when configuration "delete-only-output-handle-key-columns" is true.',
        ),
        (URI, f"{CONFIG}partition-num = 'a'", "", "kafka-config.partition-num = 'a': an integer is expected"),
        (URI, "[sink]\ndispatchers = [{matcher = '*.*'}]", "", "dispatchers[1].matcher = '*.*': a list of strings"),
        (URI, "sink = 1", "", "[sink] must be a table, got 1"),
        (URI, "a = \n", "", "changefeed.toml is not TOML: Invalid value (at line 1, column 5)"),
        (URI, "changefeed-error-stuck-duration = '5m'", "CDC:ErrInvalidReplicaConfig", "must be larger than 1800"),
        (URI, f"{CONFIG}sasl-oauth-client-id = 'x'", "CDC:ErrKafkaInvalidConfig", "type OAUTHBEARER, but got"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(uri: str, toml: str, code: str, text: str) -> None:
    with pytest.raises(ChangefeedError) as caught:
        load(uri, toml)
    assert text in str(caught.value) and caught.value.code == code and "\n" not in str(caught.value)


def test_the_files_name_is_in_its_mistakes(tmp_path: Path) -> None:
    file = tmp_path / "feed.toml"
    file.write_text("[sink]\nprotocoll = 1\n")
    assert load_file(URI, file).warnings[0].startswith(f"{file}: unknown key 'protocoll' in [sink]")
    assert load_file(URI).warnings == ()
    with pytest.raises(ChangefeedError, match="cannot read .*none.toml: No such file"):
        load_file(URI, tmp_path / "none.toml")


def test_more_partitions_than_a_topic_has_are_refused() -> None:
    assert [Kafka(()).partition_count(asked, 3) for asked in (None, 2, 3)] == [3, 2, 3]
    with pytest.raises(ChangefeedError, match=r"partition \(4\) specified in sink-uri is more than .* topic \(3\)"):
        Kafka(()).partition_count(4, 3)


@pytest.mark.parametrize(
    ("text", "seconds"), [("10s", 10.0), ("1m1.5s", 61.5), ("-1h", -3600.0), ("0", 0.0), ("5ms", 0.005), (".5s", 0.5)]
)
def test_durations_are_gos(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "10", "s", "1x", "1.2.3s", "-", "1 s"])
def test_durations_that_go_refuses_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="^time: "):
        parse_duration(text)
