"""sink-uri and changefeed.toml as each release reads them: what it has, its defaults, its mistakes and its errors."""

from __future__ import annotations

import pytest

from simulator.errors import ChangefeedError
from simulator.releases import RELEASES, Release, availability, find, option_names
from simulator.ticdc.changefeed import Changefeed, encoder, load
from simulator.ticdc.changefeed.model import partition_count
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.dispatch import topics

OPEN = "kafka://127.0.0.1:9092/shop?protocol=open-protocol"
CANAL = "kafka://127.0.0.1:9092/shop?protocol=canal-json"
LARGE = "[sink.kafka-config.large-message-handle]\n"
OLD_VALUE = "enable-old-value = true\n"


def loaded(release: str, uri: str = OPEN, toml: str = "", architecture: str = "classic") -> Changefeed:
    return load(uri, toml, find(release, architecture))


def refused(release: str, uri: str = OPEN, toml: str = "", architecture: str = "classic") -> tuple[str, str]:
    """TiCDC's code and text."""
    with pytest.raises(ChangefeedError) as caught:
        loaded(release, uri, toml, architecture)
    assert "\n" not in str(caught.value)
    return caught.value.code, caught.value.text


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("?only-output-updated-columns", "since v7.1.0"),
        ("?content-compatible", "since v7.5.3 (and v6.5.6+, v7.1.3+)"),
        ("?dial-timeout", "since v5.4.1 (and v5.2.4, v5.3.1+)"),
        ("?output-row-key", "since v8.5.4 (new architecture)"),
        ("enable-old-value", "in v4.0.0–v7.3.0"),
        ("sink.large-message-only-handle-key-columns", "in v7.2.0"),
        ("sink.open.output-old-value", "since v8.1.0 (and v7.5.2+)"),
        ("sink.kafka-config.output-raw-change-event", "since v8.1.1 (and v6.5.10+, v7.1.6, v7.5.3+)"),
        ("sink.kafka-config.large-message-handle", "since v7.3.0 (and v6.5.4+, v7.1.2+)"),
        ("sink.kafka-config.sasl-mechanism", "since v7.1.0 (and v6.1.7, v6.5.3+)"),
        ("sink.kafka-config.sasl-oauth-scopes", "since v7.1.1 (and v6.1.7, v6.5.3+)"),
        ("sink.kafka-config.partition-num", "since v7.1.0"),
        ("sink.kafka-config.codec-config.max-batch-size", "since v7.1.0"),
        ("sink.kafka-config.codec-config.encoding-format", "since v7.5.2"),
        ("sink.content-compatible", "since v7.5.3 (and v7.1.3+)"),
        (f"{option_names.LARGE}.claim-check-raw-value", "since v8.4.0"),
        ("scheduler", "since v6.6.0 (and v4.0.2–v6.0.0)"),
        ("?max-retry", "since v8.5.7, in v8.5.7+ of the new architecture"),
        ("event-collector-batch-bytes", "in v8.5.8 (new architecture)"),
    ],
)
def test_who_has_an_option_is_told_in_words(option: str, said: str) -> None:
    assert availability.releases_with(option) == said


def test_an_option_that_no_release_names_is_in_all_of_them() -> None:
    every = [release for releases in RELEASES.values() for release in releases.values()]
    assert all(availability.has(release, "?compression") for release in every)


@pytest.mark.parametrize(
    ("release", "name"),
    [
        ("v7.0.0", "only-output-updated-columns"),
        ("v5.3.4", "enable-tidb-extension"),
        ("v6.5.12", "required-acks"),
        ("v8.5.3", "output-row-key"),
        ("v4.0.8", "max-batch-size"),
    ],
)
def test_a_parameter_that_the_release_does_not_have_is_ignored_and_said(release: str, name: str) -> None:
    feed = loaded(release, f"{OPEN}&{name}=1")
    wanted = f"sink-uri: {name} is ignored: TiCDC {release} does not have it ({availability.releases_with(f'?{name}')})"
    assert feed == loaded(release, OPEN) or wanted in feed.warnings
    assert [said for said in feed.warnings if name in said] == [wanted]
    assert feed.codec == loaded(release).codec and feed.kafka == loaded(release).kafka


@pytest.mark.parametrize(
    ("release", "toml", "keys"),
    [
        ("v7.0.0", "[sink]\nonly-output-updated-columns = true", "sink.only-output-updated-columns"),
        (
            "v7.1.6",
            "[sink]\ndelete-only-output-handle-key-columns = true",
            "sink.delete-only-output-handle-key-columns",
        ),
        ("v8.0.0", "[sink.open]\noutput-old-value = false", "sink.open"),
        ("v8.1.0", "[sink.kafka-config]\noutput-raw-change-event = true", "sink.kafka-config.output-raw-change-event"),
        ("v7.4.0", "enable-old-value = true", "enable-old-value"),
        ("v7.2.0", LARGE + "large-message-handle-option = 'handle-key-only'", "sink.kafka-config.large-message-handle"),
        ("v6.5.12", LARGE + "claim-check-storage-uri = 'file:///c'", f"{option_names.LARGE}.claim-check-storage-uri"),
        ("v8.3.0", LARGE + "claim-check-raw-value = true", f"{option_names.LARGE}.claim-check-raw-value"),
        ("v7.4.0", "[sink]\ndispatchers = [{matcher = ['*.*'], columns = ['a']}]", "sink.dispatchers.columns"),
        ("v6.0.0", "[sink]\ndispatchers = [{matcher = ['*.*'], partition = 'ts'}]", "sink.dispatchers.partition"),
        ("v5.3.0", "[[sink.column-selectors]]\nmatcher = ['*.*']", "sink.column-selectors"),
        ("v6.3.0", "[filter]\nddl-allow-list = [1]", "filter.ddl-allow-list"),
        ("v6.1.6", "[sink.kafka-config]", "sink.kafka-config"),
        ("v6.6.0", "[sink.kafka-config]\nsasl-mechanism = 'PLAIN'", "sink.kafka-config"),
        ("v6.1.7", "[sink.kafka-config]\npartition-num = 2", "sink.kafka-config.partition-num"),
        ("v6.5.12", "[sink.kafka-config.codec-config]\nmax-batch-size = 2", "sink.kafka-config.codec-config"),
        ("v6.5.12", "[sink]\ncontent-compatible = true", "sink.content-compatible"),
    ],
)
def test_a_key_that_the_release_does_not_have_is_refused_as_by_ticdcs_strict_decoding(
    release: str, toml: str, keys: str
) -> None:
    code, text = refused(release, OPEN, toml)
    start = f"component TiCDC changefeed's config file changefeed.toml contained unknown configuration options: {keys};"
    assert (code, text) == ("", f"{start} TiCDC {release} does not have it: {availability.releases_with(keys)}")


def test_several_missing_keys_are_told_together() -> None:
    text = refused("v6.0.0", OPEN, "[sink]\ndispatchers=[{matcher=['*.*'], partition='ts', index='i'}]")[1]
    assert text.endswith(
        "sink.dispatchers.partition, sink.dispatchers.index; TiCDC v6.0.0 does not have them: "
        "sink.dispatchers.partition since v6.1.0, sink.dispatchers.index since v7.5.0"
    )


def test_a_key_that_no_release_has_stays_a_warning() -> None:
    assert "unknown key 'enable-olt-value' is ignored." in loaded("v6.5.0", OPEN, "enable-olt-value = 1").warnings[0]


@pytest.mark.parametrize(
    ("release", "batch", "size", "partitions", "case_sensitive"),
    [
        ("v4.0.8", 1 << 31, 512 << 20, 4, True),
        ("v4.0.9", 4096, 64 << 20, 4, True),
        ("v4.0.13", 16, 64 << 20, 4, True),
        ("v4.0.16", 16, 1 << 20, 3, True),
        ("v5.0.0", 4096, 64 << 20, 4, True),
        ("v5.0.6", 16, 10 << 20, 3, True),
        ("v5.2.3", 16, 1 << 20, 4, True),
        ("v5.3.0", 16, 1 << 20, 4, True),
        ("v5.3.1", 16, 10 << 20, 3, True),
        ("v6.5.5", 16, 10 << 20, 3, True),
        ("v6.5.6", 16, 10 << 20, 3, False),
        ("v6.6.0", 16, 10 << 20, 3, True),
        ("v7.1.3", 16, 10 << 20, 3, False),
        ("v7.4.0", 16, 10 << 20, 3, True),
        ("v7.5.0", 16, 10 << 20, 3, False),
    ],
)
def test_defaults_are_the_releases(release: str, batch: int, size: int, partitions: int, case_sensitive: bool) -> None:
    feed = loaded(release)
    assert (feed.codec.max_batch_size, feed.codec.max_message_bytes) == (batch, size)
    assert (feed.kafka.partitions, feed.case_sensitive, feed.warnings) == (partitions, case_sensitive, ())


def test_4_0_9_takes_max_batch_size_for_max_message_bytes() -> None:
    """A mistake of that release alone (tiflow v4.0.9 cdc/sink/mq.go)."""
    codecs = {release: loaded(release, f"{OPEN}&max-batch-size=7").codec for release in ("v4.0.9", "v4.0.10")}
    assert {name: (codec.max_batch_size, codec.max_message_bytes) for name, codec in codecs.items()} == {
        "v4.0.9": (4096, 7),
        "v4.0.10": (7, 64 << 20),
    }


@pytest.mark.parametrize(
    ("release", "uri", "code"),
    [
        ("v5.4.0", "kafka://h:1/t?protocol=whatever", "CDC:ErrMQSinkUnknownProtocol"),
        ("v6.2.0", "kafka://h:1/t", "CDC:ErrMQSinkUnknownProtocol"),
        ("v6.3.0", "kafka://h:1/t?protocol=whatever", "CDC:ErrSinkUnknownProtocol"),
        ("v7.5.1", "kafka://h:1/t?protocol=simple", "CDC:ErrSinkUnknownProtocol"),
        ("v4.0.8", CANAL, ""),
    ],
)
def test_a_protocol_that_the_release_does_not_know_is_an_error(release: str, uri: str, code: str) -> None:
    """One that came later also before 5.4, where TiCDC would send Open Protocol in its stead."""
    found, text = refused(release, uri)
    assert found == code and ("whatever" in text or "''" in text or "TiCDC has it since v" in text)


@pytest.mark.parametrize("protocol", ["", "?protocol=whatever"])
def test_up_to_5_3_open_protocol_stands_in_for_none_and_for_unknown_ones(protocol: str) -> None:
    feed = loaded("v5.3.4", f"kafka://h:1/t{protocol}")
    assert feed.codec.protocol == "open-protocol" and "open-protocol is used" in feed.warnings[0]
    assert loaded("v5.3.4", OPEN).warnings == ()


@pytest.mark.parametrize(
    ("release", "code", "text"),
    [
        ("v7.0.0", "CDC:ErrKafkaInvalidConfig", 'strconv.Atoi: parsing "x": invalid syntax'),
        ("v7.1.0", "CDC:ErrMySQLInvalidConfig", 'strconv.ParseInt: parsing "x": invalid syntax'),
    ],
)
def test_what_does_not_parse_has_the_releases_code(release: str, code: str, text: str) -> None:
    found = refused(release, f"{OPEN}&partition-num=x")
    assert found[0] == code and text in found[1]


def test_an_empty_parameter_is_none_before_gin_and_a_zero_with_it() -> None:
    assert loaded("v7.0.0", f"{OPEN}&max-message-bytes=").codec.max_message_bytes == 10 << 20
    assert refused("v7.1.0", f"{OPEN}&max-message-bytes=")[1] == "invalid max-message-bytes 0"


@pytest.mark.parametrize(
    ("release", "code"),
    [
        ("v5.4.0", "CDC:ErrKafkaInvalidConfig"),
        ("v6.1.0", "CDC:ErrMQCodecInvalidConfig"),
        ("v6.3.0", "CDC:ErrCodecInvalidConfig"),
        ("v8.5.3", "CDC:ErrCodecInvalidConfig"),
    ],
)
def test_limits_out_of_range_have_the_releases_code(release: str, code: str) -> None:
    assert refused(release, f"{OPEN}&max-batch-size=-1") == (code, "invalid max-batch-size -1")
    assert refused(release, f"{OPEN}&max-message-bytes=-1") == (code, "invalid max-message-bytes -1")


@pytest.mark.parametrize(("release", "zero"), [("v4.0.15", True), ("v5.1.5", True), ("v5.4.0", False)])
def test_zero_partitions_are_none_or_an_error(release: str, zero: bool) -> None:
    if zero:
        assert loaded(release, f"{OPEN}&partition-num=0").kafka.partition_num is None
    else:
        code, text = refused(release, f"{OPEN}&partition-num=0")
        assert code == "CDC:ErrKafkaInvalidPartitionNum" and text.startswith("invalid partition num 0")


@pytest.mark.parametrize("release", ["v6.1.0", "v6.1.7", "v6.2.0", "v6.4.0", "v6.5.0", "v6.5.1", "v6.6.0", "v7.0.0"])
def test_enable_tidb_extension_is_refused_by_open_protocol(release: str) -> None:
    """By the settings and, whatever they come from, by the encoder."""
    said = "enable-tidb-extension only supports canal-json/avro protocol"
    assert refused(release, f"{OPEN}&enable-tidb-extension=true") == (find(release).codec_error, said)
    with pytest.raises(ChangefeedError, match=said):
        encoder.check(CodecOptions("open-protocol", enable_tidb_extension=True), find(release))
    assert loaded(release, f"{CANAL}&enable-tidb-extension=true").codec.enable_tidb_extension
    assert loaded(release, f"{OPEN}&enable-tidb-extension=false").codec.protocol == "open-protocol"


def test_5_4_refuses_enable_tidb_extension_even_as_false() -> None:
    said = ("CDC:ErrKafkaInvalidConfig", "enable-tidb-extension only support canal-json protocol")
    assert [refused("v5.4.3", f"{OPEN}&enable-tidb-extension={asked}") for asked in ("true", "false")] == [said, said]


@pytest.mark.parametrize("release", ["v6.5.2", "v6.5.12", "v7.1.0", "v8.5.7"])
def test_enable_tidb_extension_is_ignored_by_open_protocol(release: str) -> None:
    (warning,) = loaded(release, f"{OPEN}&enable-tidb-extension=true").warnings
    assert warning == "enable-tidb-extension has no effect with open-protocol: it concerns canal-json and avro only"


@pytest.mark.parametrize(
    ("release", "given", "enabled"),
    [
        ("v4.0.4", None, False),
        ("v4.0.16", None, False),
        ("v4.0.16", True, True),
        ("v5.0.0", None, True),
        ("v5.0.0", False, False),
        ("v7.3.0", None, True),
        ("v7.3.0", False, False),
        ("v7.4.0", None, True),
    ],
)
def test_old_values_are_off_in_4_0_optional_up_to_7_3_and_on_after(
    release: str, given: bool | None, enabled: bool
) -> None:
    toml = "" if given is None else f"enable-old-value = {str(given).lower()}"
    assert loaded(release, OPEN, toml).codec.enable_old_value is enabled


@pytest.mark.parametrize("release", ["v4.0.9", "v5.0.6", "v5.1.3", "v5.2.3", "v5.3.0"])
def test_canal_json_without_old_values_is_refused(release: str) -> None:
    code, text = refused(release, CANAL, "enable-old-value = false")
    assert code == "CDC:ErrKafkaInvalidConfig" and text.startswith("Canal requires old value to be enabled")
    assert loaded(release, CANAL, OLD_VALUE).codec.enable_old_value


@pytest.mark.parametrize("release", ["v5.1.4", "v5.2.4", "v5.3.1", "v5.4.0", "v7.3.0"])
def test_canal_json_turns_old_values_on(release: str) -> None:
    feed = loaded(release, CANAL, "enable-old-value = false")
    assert feed.codec.enable_old_value
    assert feed.warnings == ("enable-old-value = false has no effect: canal-json turns it on",)


@pytest.mark.parametrize("release", ["v4.0.8", "v5.4.3", "v6.1.7", "v6.5.2", "v6.6.0", "v7.0.0", "v7.1.0"])
def test_force_replicate_needs_old_values(release: str) -> None:
    code, text = refused(release, OPEN, "force-replicate = true\nenable-old-value = false")
    assert code == "CDC:ErrOldValueNotEnabled" and text.startswith("old value is not enabled: ")


@pytest.mark.parametrize("release", ["v6.5.3", "v7.1.1", "v7.2.0", "v7.3.0"])
def test_force_replicate_does_not_need_old_values(release: str) -> None:
    assert loaded(release, OPEN, "force-replicate = true\nenable-old-value = false").force_replicate


@pytest.mark.parametrize("release", ["v7.1.0", "v7.2.0", "v7.3.0"])
def test_updated_columns_alone_need_old_values(release: str) -> None:
    code, text = refused(release, f"{OPEN}&only-output-updated-columns=true", "enable-old-value = false")
    assert (code, text) == (
        "CDC:ErrCodecInvalidConfig",
        'old value must be enabled when configuration "only-output-updated-columns" is true.',
    )


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("v6.5.4", 'when the large message handle option is set to "handle-key-only"'),
        ("v7.1.2", 'when the large message handle option is set to "handle-key-only"'),
        ("v7.4.0", 'when the large message handle is enabled, large message handle: "handle-key-only"'),
        ("v8.5.3", 'when the large message handle is enabled, large message handle: "handle-key-only"'),
    ],
)
def test_force_replicate_and_handle_key_only_contradict_each_other(release: str, text: str) -> None:
    toml = f"force-replicate = true\n{LARGE}large-message-handle-option = 'handle-key-only'"
    assert refused(release, OPEN, toml) == ("CDC:ErrCodecInvalidConfig", f"force-replicate must be disabled, {text}")


def test_claim_check_came_after_handle_key_only() -> None:
    """6.5 and 7.1 take the word and do nothing."""
    toml = f"{LARGE}large-message-handle-option = 'claim-check'"
    feed = loaded("v6.5.12", OPEN, toml)
    assert feed.codec.large_message_handle_option == "none"
    assert feed.warnings == ("large-message-handle-option claim-check has no effect in TiCDC v6.5.12 (since v7.3.0)",)
    assert "claim-check-storage-uri is empty" in refused("v7.3.0", OPEN, toml)[1]


def test_7_2_0_spells_handle_key_only_in_its_own_way() -> None:
    toml = "[sink]\nlarge-message-only-handle-key-columns = true"
    assert loaded("v7.2.0", OPEN, toml).codec.large_message_handle_option == "handle-key-only"
    canal = loaded("v7.2.0", CANAL, toml)
    assert canal.codec.large_message_handle_option == "none" and "no effect with canal-json" in canal.warnings[0]


def test_up_to_6_0_a_ca_alone_turns_tls_on() -> None:
    """Later ones ask for all three files (tiflow v5.4.0 cdc/sink/producer/kafka/config.go)."""
    assert loaded("v6.0.0", f"{OPEN}&ca=/a").kafka.tls.enabled and not loaded("v6.0.0", OPEN).kafka.tls.enabled
    assert refused("v6.1.0", f"{OPEN}&ca=/a")[1] == "ca, cert and key files should all be supplied"


@pytest.mark.parametrize(
    ("release", "place", "open_updated"),
    [
        ("v6.5.6", "uri", False),
        ("v7.1.3", "uri", False),
        ("v7.1.3", "file", True),
        ("v8.5.3", "uri", False),
        ("v8.5.3", "file", True),
    ],
)
def test_content_compatible_means_two_things(release: str, place: str, open_updated: bool) -> None:
    """In the file it brings only-output-updated-columns to Open Protocol, too; in the sink-uri to Canal-JSON alone."""
    end, toml = ("&content-compatible=true", "") if place == "uri" else ("", "[sink]\ncontent-compatible = true")
    canal, other = loaded(release, CANAL + end, toml).codec, loaded(release, OPEN + end, toml).codec
    assert canal.content_compatible and canal.only_output_updated_columns
    assert (other.content_compatible, other.only_output_updated_columns) == (False, open_updated)


def test_output_row_key_is_the_new_architectures_and_needs_the_extension() -> None:
    uri = f"{CANAL}&output-row-key=true"
    assert loaded("v8.5.4", f"{uri}&enable-tidb-extension=true", "", "new").codec.output_row_key
    assert "output-row-key has no effect without" in loaded("v8.5.4", uri, "", "new").warnings[0]
    assert not loaded("v8.5.4", uri).codec.output_row_key


@pytest.mark.parametrize(("release", "minded"), [("v8.5.5", False), ("v8.5.6", True)])
def test_two_releases_of_the_new_architecture_do_not_mind_output_old_value(release: str, minded: bool) -> None:
    warnings = loaded(release, OPEN, "[sink.open]\noutput-old-value = false", "new").warnings
    assert [said for said in warnings if "reads it and does not mind it" in said] == list(warnings)
    assert bool(warnings) is not minded


@pytest.mark.parametrize(("release", "ends"), [("v6.4.0", ""), ("v6.5.0", "\r\n"), ("v7.0.0", "\r\n"), ("v7.1.0", "")])
def test_some_releases_end_canal_jsons_rows_with_the_terminator(release: str, ends: str) -> None:
    assert loaded(release, CANAL).codec.terminator == ends
    assert loaded(release, OPEN).codec.terminator == ""


@pytest.mark.parametrize(
    ("release", "limit", "margin", "checks"),
    [
        ("v4.0.15", "ignored", 0, "none"),
        ("v4.0.16", "refuses", 0, "none"),
        ("v5.0.6", "lowers", 0, "none"),
        ("v5.3.0", "ignored", 0, "none"),
        ("v5.4.0", "lowers", 0, "all"),
        ("v7.3.0", "lowers", 0, "all"),
        ("v7.4.0", "lowers", 128, "all"),
        ("v8.5.7", "lowers", 128, "all"),
    ],
)
def test_what_a_topic_takes_binds_max_message_bytes_as_in_the_release(
    release: str, limit: str, margin: int, checks: str
) -> None:
    kafka = loaded(release).kafka
    assert (kafka.topic_limit, kafka.topic_limit_margin, kafka.checks_insync_replicas) == (limit, margin, checks)


@pytest.mark.parametrize(("release", "limit"), [("v4.0.15", "ignored"), ("v4.0.16", "ignored"), ("v5.0.6", "lowers")])
def test_one_release_looks_at_what_a_topic_takes_for_open_protocol_alone(release: str, limit: str) -> None:
    assert loaded(release, CANAL, OLD_VALUE).kafka.topic_limit == limit


EVERY = [release for releases in RELEASES.values() for release in releases.values()]


@pytest.mark.parametrize("release", EVERY, ids=lambda release: f"{release.architecture} {release.name}")
def test_every_release_takes_a_plain_sink_uri_without_a_warning(release: Release) -> None:
    assert load(OPEN, "", release).warnings == ()
    if "canal-json" in release.protocols:
        assert load(CANAL, OLD_VALUE if not release.old_value else "", release).warnings == ()


KAFKA_INVALID, REPLICA_INVALID = "CDC:ErrKafkaInvalidConfig", "CDC:ErrInvalidReplicaConfig"


@pytest.mark.parametrize(
    ("parameters", "toml", "before", "since", "text"),
    [
        ("&partition-num=0", "", "CDC:ErrKafkaInvalidPartitionNum", KAFKA_INVALID, "invalid partition num 0"),
        (
            "&partition-num=x",
            "",
            "CDC:ErrMySQLInvalidConfig",
            KAFKA_INVALID,
            "sink-uri partition-num: strconv.ParseInt",
        ),
        ("&max-retry=x", "", "CDC:ErrMySQLInvalidConfig", KAFKA_INVALID, "sink-uri max-retry: strconv.ParseInt"),
        (
            "&max-batch-size=x",
            "",
            "CDC:ErrMySQLInvalidConfig",
            "CDC:ErrSinkInvalidConfig",
            "sink-uri max-batch-size: strc",
        ),
        ("&kafka-client-id=a/b", "", "CDC:ErrKafkaInvalidClientID", KAFKA_INVALID, 'invalid kafka client ID "a/b"'),
        (
            "&required-acks=5",
            "",
            "CDC:ErrKafkaInvalidRequiredAcks",
            KAFKA_INVALID,
            "invalid required acks 5, only support these values: 0(NoResponse), 1(WaitForLocal) and -1(WaitForAll)",
        ),
        ("&required-acks=1&replication-factor=0", "", "", KAFKA_INVALID, "invalid replication-factor 0"),
        ("&dial-timeout=0s", "", "CDC:ErrKafkaNewProducer", KAFKA_INVALID, "dial-timeout must be greater than zero"),
        ("&write-timeout=-1s", "", "CDC:ErrKafkaNewProducer", KAFKA_INVALID, "write-timeout must be greater than zero"),
        ("&read-timeout=0", "", "CDC:ErrKafkaNewProducer", KAFKA_INVALID, "read-timeout must be greater than zero"),
        (
            "&sasl-mechanism=PLAIN&sasl-password=p",
            "",
            "CDC:ErrKafkaNewProducer",
            "CDC:ErrNewKafkaSink",
            "kafka: invalid configuration (Net.SASL.User must not be empty",
        ),
        (
            "",
            f"{LARGE}large-message-handle-option = 'claim-chek'",
            "",
            REPLICA_INVALID,
            "unknown large-message-handle-option claim-chek; accepted: none, handle-key-only, claim-check. Did you mean",
        ),
        (
            "",
            "event-collector-batch-count = -1",
            "(unknown)",
            REPLICA_INVALID,
            "invalid replica config, event-collector-batch-count must be set not smaller than 0",
        ),
        (
            "",
            "event-collector-batch-count = 8193",
            "(unknown)",
            REPLICA_INVALID,
            "invalid replica config, event-collector-batch-count must be set not larger than %d%!(EXTRA int=8192)",
        ),
        (
            "",
            "event-collector-batch-bytes = -1",
            "(unknown)",
            REPLICA_INVALID,
            "invalid replica config, event-collector-batch-bytes must be set not smaller than 0",
        ),
    ],
)
def test_8_5_8_of_the_new_architecture_refuses_more_and_with_fewer_codes(
    parameters: str, toml: str, before: str, since: str, text: str
) -> None:
    """The classic one stays as it was; `before` is nothing where 8.5.7 takes it."""
    code, said = refused("v8.5.8", OPEN + parameters, toml, "new")
    assert code == since and said.startswith(text)
    for release, architecture in (("v8.5.7", "new"), ("v8.5.8", "classic")):
        if before == "(unknown)":
            said = refused(release, OPEN + parameters, toml, architecture)[1]
            assert "contained unknown configuration options" in said
        elif before:
            assert refused(release, OPEN + parameters, toml, architecture)[0] == before
        else:
            assert loaded(release, OPEN + parameters, toml, architecture).topic == "shop"


def test_8_5_8_of_the_new_architecture_has_a_batch_of_the_event_collector() -> None:
    """Which is inside of TiCDC; zero is none."""
    toml = (
        "event-collector-batch-count = 0\nevent-collector-batch-bytes = 0\n[consistent]\n"
        "event-collector-batch-count = 5\n"
    )
    said = loaded("v8.5.8", OPEN, toml, "new").warnings
    assert [line.partition(" has no effect")[0] for line in said] == [
        f"changefeed.toml: {name}event-collector-batch-{what}"
        for name, what in (("", "count"), ("", "bytes"), ("consistent.", "count"))
    ]


@pytest.mark.parametrize(
    ("release", "architecture", "code"),
    [
        ("v8.5.7", "new", "CDC:ErrKafkaTopicExprInvalid"),
        ("v8.5.8", "classic", "CDC:ErrKafkaTopicExprInvalid"),
        ("v8.5.8", "new", KAFKA_INVALID),
    ],
)
def test_a_topic_expression_that_is_none_has_the_releases_code(release: str, architecture: str, code: str) -> None:
    with pytest.raises(ChangefeedError) as caught:
        topics.validate("a{tables}", release=find(release, architecture))
    assert caught.value.code == code and caught.value.text.startswith("invalid topic expression: a{tables}")


def test_more_partitions_than_the_topic_has_have_the_releases_code() -> None:
    for release, architecture, code in (
        ("v8.5.7", "new", "CDC:ErrKafkaInvalidPartitionNum"),
        ("v8.5.8", "new", KAFKA_INVALID),
    ):
        kafka = loaded(release, f"{OPEN}&partition-num=4", "", architecture).kafka
        with pytest.raises(ChangefeedError) as caught:
            partition_count(kafka.partition_num, 3, "shop", kafka.one_error_code)
        assert caught.value.code == code
