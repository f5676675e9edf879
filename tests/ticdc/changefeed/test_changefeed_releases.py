"""sink-uri and changefeed.toml as each release reads them: what it has, its defaults, its mistakes and its errors."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import pytest
from support.codec_rows import EVERY, LAST, by_answer
from support.vectors.files import DEFAULT, UNRELEASED, files, kind, releases_of, vectors

from simulator.errors import ChangefeedError
from simulator.releases import Release, find, option_names, parse_release, releases_with
from simulator.ticdc import dispatch
from simulator.ticdc.changefeed import Changefeed, encoder, keys, load
from simulator.ticdc.codecs.codec_options import CodecOptions

OPEN = "kafka://127.0.0.1:9092/shop?protocol=open-protocol"
CANAL = "kafka://127.0.0.1:9092/shop?protocol=canal-json"
LARGE = "[sink.kafka-config.large-message-handle]\n"
OLD_VALUE = "enable-old-value = true\n"
SYNC, BDR = "enable-sync-point = true\n", "bdr-mode = true\n"
NO_BDR = "sink uri scheme is not supported in BDR mode, sink uri: "
INVALID = "CDC:ErrInvalidReplicaConfig"


def loaded(release: str, uri: str = OPEN, toml: str = "", architecture: str = "classic") -> Changefeed:
    return load(uri, toml, find(release, architecture))


def refused(release: str, uri: str = OPEN, toml: str = "", architecture: str = "classic") -> tuple[str, str]:
    """TiCDC's code and text."""
    with pytest.raises(ChangefeedError) as caught:
        loaded(release, uri, toml, architecture)
    assert "\n" not in str(caught.value)
    return caught.value.code, caught.value.text


SAID = {
    "?only-output-updated-columns": "since v7.1.0",
    "?content-compatible": "since v7.5.3 (and v6.5.6+, v7.1.3+)",
    "?output-row-key": "since v8.5.4 (new architecture)",
    "enable-old-value": "in v4.0.0–v7.3.0",
    "sink.large-message-only-handle-key-columns": "in v7.2.0",
    "sink.kafka-config.output-raw-change-event": "since v8.1.1 (and v6.5.10+, v7.1.6, v7.5.3+)",
    "sink.kafka-config.codec-config.encoding-format": "since v7.5.2",
    "scheduler": "since v6.6.0 (and v4.0.2–v6.0.0)",
    "?max-retry": "since v8.5.7, in v8.5.7+ of the new architecture",
    "event-collector-batch-bytes": "in v8.5.8 (new architecture)",
}


def test_who_has_an_option_is_told_in_words() -> None:
    assert {option: releases_with(option) for option in SAID} == SAID


def test_classic_releases_have_the_options_that_vectors_say() -> None:
    """All but two, of which the fact does not say all."""
    path = next(path for path in files(DEFAULT) if kind(path) == "facts.config")
    facts = {(vector.data["where"], vector.data["name"]): vector.data for vector in vectors(path)}
    found, wanted = {}, {}
    for (where, name), data in facts.items():
        if data["architecture"] != "new" and data["since"] != UNRELEASED:
            known = [release for release in EVERY if keys.key(where, name, release)]
            found[where, name], wanted[where, name] = (
                [release.name for release in each if release.architecture == "classic"]
                for each in (known, releases_of(data))
            )
    differing = {name for name in found if found[name] != wanted[name]}
    assert differing == {("sink-uri", "encoding-format"), ("sink", "send-bootstrap-to-all-partition")}


def test_an_option_that_no_release_names_is_in_all_of_them() -> None:
    assert all(release.has("?compression") for release in EVERY)


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
    wanted = f"sink-uri: {name} is ignored: TiCDC {release} does not have it ({releases_with(f'?{name}')})"
    assert feed == loaded(release, OPEN) or wanted in feed.warnings
    assert [said for said in feed.warnings if name in said] == [wanted]
    assert feed.codec == loaded(release).codec and feed.kafka == loaded(release).kafka


@pytest.mark.parametrize(
    ("release", "toml", "keys"),
    [
        ("v7.0.0", "[sink]\nonly-output-updated-columns = true", "sink.only-output-updated-columns"),
        ("v8.0.0", "[sink.open]\noutput-old-value = false", "sink.open"),
        ("v7.4.0", "enable-old-value = true", "enable-old-value"),
        ("v6.5.12", LARGE + "claim-check-storage-uri = 'file:///c'", f"{option_names.LARGE}.claim-check-storage-uri"),
        ("v7.4.0", "[sink]\ndispatchers = [{matcher = ['*.*'], columns = ['a']}]", "sink.dispatchers.columns"),
        ("v5.3.0", "[[sink.column-selectors]]\nmatcher = ['*.*']", "sink.column-selectors"),
        ("v6.3.0", "[filter]\nddl-allow-list = [1]", "filter.ddl-allow-list"),
        ("v6.1.6", "[sink.kafka-config]", "sink.kafka-config"),
    ],
)
def test_a_key_that_the_release_does_not_have_is_refused_by_strict_decoding(release: str, toml: str, keys: str) -> None:
    code, text = refused(release, OPEN, toml)
    start = f"component TiCDC changefeed's config file changefeed.toml contained unknown configuration options: {keys};"
    assert (code, text) == ("", f"{start} TiCDC {release} does not have it: {releases_with(keys)}")


def test_several_missing_keys_are_told_together() -> None:
    text = refused("v6.0.0", OPEN, "[sink]\ndispatchers=[{matcher=['*.*'], partition='ts', index='i'}]")[1]
    assert text.endswith(
        "sink.dispatchers.partition, sink.dispatchers.index; TiCDC v6.0.0 does not have them: "
        "sink.dispatchers.partition since v6.1.0, sink.dispatchers.index since v7.5.0"
    )


def test_a_key_that_no_release_has_stays_a_warning() -> None:
    assert "unknown key 'enable-olt-value' is ignored." in loaded("v6.5.0", OPEN, "enable-olt-value = 1").warnings[0]


BATCHES = "v5.0.6, v5.1.4 – v5.1.5, v5.2.4, v5.3.1"
OFF = "enable-old-value = false"
HANDLE = f"{LARGE}large-message-handle-option = 'handle-key-only'"
CLAIM = HANDLE.replace("handle-key-only", "claim-check")
IN_FILE = "[sink]\ncontent-compatible = true"


def asked(
    show: Callable[[Changefeed], Hashable], end: str = "", toml: str = "", protocol: str = "open-protocol"
) -> Callable[[Release], Any]:
    """Asks a release for something of a changefeed, or for the code with which it refuses it; None where it does not have
    the protocol or a key of the file."""

    def ask(release: Release) -> Hashable:
        old_values = "" if release.old_value or protocol == "open-protocol" or toml else OLD_VALUE
        try:
            return show(load(f"{OPEN.replace('open-protocol', protocol)}{end}", old_values + toml, release))
        except ChangefeedError as error:
            assert "\n" not in str(error)
            return None if "contained unknown configuration options" in error.text else error.code or None

    return ask


def batch(feed: Changefeed) -> tuple[int, int]:
    return feed.codec.max_batch_size, feed.codec.max_message_bytes


def compatible(feed: Changefeed) -> str:
    return f"{feed.codec.content_compatible} {feed.codec.only_output_updated_columns}"


def on_off(feed: Changefeed) -> str:
    return "on" if feed.codec.enable_old_value else "off"


TO_8_5_7 = "v8.5.8, new:v8.5.4 – v8.5.7, new:v26.3.1 – v9.0.0-beta.2.pre"
BEHAVIOURS: dict[str, tuple[Callable[[Release], Any], dict[Any, str]]] = {
    "rows in a batch, bytes of a message, partitions, and whether names are case-sensitive": (
        asked(lambda feed: (*batch(feed), feed.kafka.partitions, feed.case_sensitive)),
        {
            (1 << 31, 512 << 20, 4, True): "v4.0.0 – v4.0.8",
            (4096, 64 << 20, 4, True): "v4.0.9 – v4.0.12, v5.0.0",
            (16, 64 << 20, 4, True): "v4.0.13 – v4.0.15, v5.0.1 – v5.0.5, v5.1.0 – v5.1.3, v5.2.0 – v5.2.1",
            (16, 1 << 20, 3, True): "v4.0.16",
            (16, 1 << 20, 4, True): "v5.2.2 – v5.2.3, v5.3.0",
            (16, 10 << 20, 3, True): f"{BATCHES} – v6.5.5, v6.6.0 – v7.1.2, v7.2.0 – v7.4.0",
            (16, 10 << 20, 3, False): f"v6.5.6 – v6.5.12, v7.1.3 – v7.1.6, v7.5.0 – {LAST}",
        },
    ),
    "a max-batch-size out of range": (
        asked(lambda feed: feed.codec.max_batch_size, "&max-batch-size=-1"),
        {
            1 << 31: "v4.0.0 – v4.0.8",
            "CDC:ErrKafkaInvalidConfig": "v4.0.9 – v5.4.3",
            "CDC:ErrMQCodecInvalidConfig": "v6.0.0 – v6.2.0",
            "CDC:ErrCodecInvalidConfig": f"v6.3.0 – {LAST}",
        },
    ),
    "an unknown protocol": (
        asked(lambda feed: feed.codec.protocol, protocol="whatever"),
        {
            "open-protocol": "v4.0.0 – v5.3.4",
            "CDC:ErrMQSinkUnknownProtocol": "v5.4.0 – v6.2.0",
            "CDC:ErrSinkUnknownProtocol": f"v6.3.0 – {LAST}",
        },
    ),
    "a number that is none": (
        asked(bool, "&partition-num=x"),
        {
            "CDC:ErrKafkaInvalidConfig": "v4.0.0 – v7.0.0, new:v8.5.8",
            "CDC:ErrMySQLInvalidConfig": f"v7.1.0 – {TO_8_5_7}",
        },
    ),
    "zero partitions": (
        asked(lambda feed: feed.kafka.partition_num is not None, "&partition-num=0"),
        {
            False: "v4.0.0 – v4.0.4, v4.0.6 – v4.0.15, v5.0.0 – v5.2.3, v5.3.0",
            "CDC:ErrKafkaInvalidPartitionNum": f"v4.0.5, v4.0.16, v5.2.4, v5.3.1 – {TO_8_5_7}",
            "CDC:ErrKafkaInvalidConfig": "new:v8.5.8",
        },
    ),
    "enable-tidb-extension of Open Protocol, ignored with a warning": (
        asked(lambda feed: len(feed.warnings), "&enable-tidb-extension=true"),
        {
            1: f"v4.0.0 – v5.3.4, v6.5.2 – v6.5.12, v7.1.0 – {LAST}",
            "CDC:ErrKafkaInvalidConfig": "v5.4.0 – v5.4.3",
            "CDC:ErrMQCodecInvalidConfig": "v6.0.0 – v6.2.0",
            "CDC:ErrCodecInvalidConfig": "v6.3.0 – v6.5.1, v6.6.0 – v7.0.0",
        },
    ),
    "enable-tidb-extension = false of Open Protocol": (
        asked(lambda feed: len(feed.warnings), "&enable-tidb-extension=false"),
        {1: "v4.0.0 – v5.3.4", "CDC:ErrKafkaInvalidConfig": "v5.4.0 – v5.4.3", 0: f"v6.0.0 – {LAST}"},
    ),
    "old values": (asked(on_off), {"off": "v4.0.0 – v4.0.16", "on": f"v5.0.0 – {LAST}"}),
    "old values turned off": (asked(on_off, "", OFF), {"off": "v4.0.0 – v7.3.0"}),
    "Canal-JSON without old values": (
        asked(on_off, "", OFF, "canal-json"),
        {
            "CDC:ErrKafkaInvalidConfig": "v4.0.9 – v5.1.3, v5.2.0 – v5.2.3, v5.3.0",
            "on": "v5.1.4 – v5.1.5, v5.2.4, v5.3.1 – v7.3.0",
        },
    ),
    "force-replicate without old values": (
        asked(lambda feed: feed.force_replicate, "", f"force-replicate = true\n{OFF}"),
        {"CDC:ErrOldValueNotEnabled": "v4.0.8 – v6.5.2, v6.6.0 – v7.1.0", True: "v6.5.3 – v6.5.12, v7.1.1 – v7.3.0"},
    ),
    "only-output-updated-columns without old values": (
        asked(lambda feed: feed.codec.only_output_updated_columns, "&only-output-updated-columns=true", OFF),
        {False: "v4.0.0 – v7.0.0", "CDC:ErrCodecInvalidConfig": "v7.1.0 – v7.3.0"},
    ),
    # 6.5 and 7.1 take the word and do nothing
    "claim-check without a storage": (
        asked(lambda feed: feed.codec.large_message_handle_option, "", CLAIM),
        {"none": "v6.5.4 – v6.5.12, v7.1.2 – v7.1.6", "CDC:ErrInvalidReplicaConfig": f"v7.3.0 – {LAST}"},
    ),
    # tiflow v5.4.0 cdc/sink/producer/kafka/config.go; later ones ask for all three files
    "TLS with a CA alone": (
        asked(lambda feed: feed.kafka.tls.enabled, "&ca=/a"),
        {True: "v4.0.0 – v6.0.0", "CDC:ErrKafkaInvalidConfig": f"v6.1.0 – {LAST}"},
    ),
    # in the file it brings only-output-updated-columns to Open Protocol, too; in the sink-uri to Canal-JSON alone
    "content-compatible in the sink-uri for Open Protocol": (
        asked(compatible, "&content-compatible=true"),
        {"False False": f"v4.0.0 – {LAST}"},
    ),
    "content-compatible in the sink-uri for Canal-JSON": (
        asked(compatible, "&content-compatible=true", protocol="canal-json"),
        {
            "False False": "v4.0.9 – v6.5.5, v6.6.0 – v7.1.2, v7.2.0 – v7.5.2",
            "True True": f"v6.5.6 – v6.5.12, v7.1.3 – v7.1.6, v7.5.3 – {LAST}",
        },
    ),
    "content-compatible in the file for Open Protocol": (
        asked(compatible, "", IN_FILE),
        {"False True": f"v7.1.3 – v7.1.6, v7.5.3 – {LAST}"},
    ),
    "content-compatible in the file for Canal-JSON": (
        asked(compatible, "", IN_FILE, "canal-json"),
        {"True True": f"v7.1.3 – v7.1.6, v7.5.3 – {LAST}"},
    ),
    "output-row-key": (
        asked(lambda of: of.codec.output_row_key, "&output-row-key=true&enable-tidb-extension=true", "", "canal-json"),
        {False: "v4.0.9 – v8.5.8, new:v9.0.0-beta.1 – v9.0.0-beta.2.pre", True: "new:v8.5.4 – v26.3.4"},
    ),
    "output-old-value, said to be read and not minded": (
        asked(lambda feed: "does not mind it" in "".join(feed.warnings), "", "[sink.open]\noutput-old-value = false"),
        {
            False: "v7.5.2 – v7.5.8, v8.1.0 – v8.5.8, new:v8.5.6 – v26.3.4",
            True: "new:v8.5.4 – v8.5.5, new:v9.0.0-beta.1 – v9.0.0-beta.2.pre",
        },
    ),
    "the end of Canal-JSON's rows": (
        asked(lambda feed: feed.codec.terminator, "", "", "canal-json"),
        {"": f"v4.0.9 – v6.4.0, v6.5.12, v7.1.0 – {LAST}", "\r\n": "v6.5.0 – v6.5.11, v6.6.0 – v7.0.0"},
    ),
    "what a topic takes binds max-message-bytes": (
        asked(lambda feed: (feed.kafka.topic_limit, feed.kafka.topic_limit_margin, feed.kafka.checks_insync_replicas)),
        {
            ("ignored", 0, "none"): "v4.0.0 – v4.0.15, v5.0.0 – v5.0.5, v5.1.0 – v5.1.3, v5.2.0 – v5.2.3, v5.3.0",
            ("refuses", 0, "none"): "v4.0.16",
            ("lowers", 0, "none"): f"{BATCHES} – v5.3.4",
            ("lowers", 0, "all"): "v5.4.0 – v7.3.0",
            ("lowers", 128, "all"): f"v7.4.0 – {TO_8_5_7}",
            ("lowers", 128, "created"): "new:v8.5.8",
        },
    ),
    "what a topic takes binds max-message-bytes of Canal-JSON": (
        asked(lambda feed: feed.kafka.topic_limit, "", "", "canal-json"),
        {"ignored": "v4.0.9 – v5.0.5, v5.1.0 – v5.1.3, v5.2.0 – v5.2.3, v5.3.0", "lowers": f"{BATCHES} – {LAST}"},
    ),
    "warnings of a plain sink-uri, and the end of Open Protocol's rows": (
        asked(lambda feed: (feed.warnings, feed.codec.terminator)),
        {((), ""): f"v4.0.0 – {LAST}"},
    ),
    "a timeout of zero, where it is read": (
        asked(lambda feed: None, "&dial-timeout=0s"),
        {
            "CDC:ErrKafkaNewSaramaProducer": "v5.2.4, v5.3.1 – v5.3.4, v5.4.1 – v6.5.12",
            "CDC:ErrKafkaNewProducer": f"v6.6.0 – {TO_8_5_7}",
            "CDC:ErrKafkaInvalidConfig": "new:v8.5.8",
        },
    ),
}
"""What every release answers, by the tags of TiCDC at which its source was read."""


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_each_release_reads_a_changefeed_in_its_way(behaviour: str) -> None:
    ask, expected = BEHAVIOURS[behaviour]
    assert {answer: releases for answer, releases in by_answer(ask).items() if answer is not None} == expected


@pytest.mark.parametrize(
    ("release", "uri", "toml", "said"),
    [
        ("v7.5.1", "kafka://h:1/t?protocol=simple", "", "TiCDC has it since v"),
        ("v4.0.8", CANAL, "", "TiCDC has it since v"),
        ("v6.2.0", "kafka://h:1/t", "", "unknown '' message protocol"),
        ("v7.0.0", f"{OPEN}&partition-num=x", "", 'strconv.Atoi: parsing "x": invalid syntax'),
        ("v7.1.0", f"{OPEN}&partition-num=x", "", 'strconv.ParseInt: parsing "x": invalid syntax'),
        # an empty parameter is none before gin and a zero with it
        ("v7.1.0", f"{OPEN}&max-message-bytes=", "", "invalid max-message-bytes 0"),
        ("v5.4.0", f"{OPEN}&max-message-bytes=-1", "", "invalid max-message-bytes -1"),
        ("v8.5.3", f"{OPEN}&max-batch-size=-1", "", "invalid max-batch-size -1"),
        ("v5.4.0", f"{OPEN}&partition-num=0", "", "invalid partition num 0"),
        ("v5.4.3", f"{OPEN}&enable-tidb-extension=false", "", "-extension only support canal-json protocol"),
        ("v6.1.0", f"{OPEN}&enable-tidb-extension=true", "", "-extension only supports canal-json/avro protocol"),
        ("v4.0.9", CANAL, OFF, "Canal requires old value to be enabled"),
        ("v7.1.0", OPEN, f"force-replicate = true\n{OFF}", "old value is not enabled: "),
        (
            "v7.1.0",
            f"{OPEN}&only-output-updated-columns=true",
            OFF,
            'old value must be enabled when configuration "only-output-updated-columns" is true.',
        ),
        *(
            (tag, OPEN, f"force-replicate = true\n{HANDLE}", f'must be disabled, when the large message handle {said}"')
            for tag, said in (
                ("v6.5.4", 'option is set to "handle-key-only'),
                ("v7.1.2", 'option is set to "handle-key-only'),
                ("v7.4.0", 'is enabled, large message handle: "handle-key-only'),
                ("v8.5.3", 'is enabled, large message handle: "handle-key-only'),
            )
        ),
        ("v7.3.0", OPEN, CLAIM, "claim-check-storage-uri is empty"),
        ("v6.1.0", f"{OPEN}&ca=/a", "", "ca, cert and key files should all be supplied"),
    ],
)
def test_a_refusal_has_the_words_of_its_release(release: str, uri: str, toml: str, said: str) -> None:
    assert said in refused(release, uri, toml)[1]


@pytest.mark.parametrize(
    ("release", "toml", "code", "text"),
    [
        ("v6.5.12", SYNC, "CDC:ErrSinkURIInvalid", "the sink scheme (kafka) is not supported"),
        ("v7.0.0", SYNC, "CDC:ErrSinkURIInvalid", "not supported with syncpoint enabledsink uri: kafka://127.0"),
        ("v8.5.7", SYNC, "CDC:ErrSinkURIInvalid", "not supported with syncpoint enabledsink uri: kafka://127.0"),
        ("v8.5.7", f"{SYNC}sync-point-interval = '1500ms'", INVALID, "SyncPointInterval:1.5s must be larger than 30s"),
        ("v6.3.0", f"{SYNC}sync-point-retention = '40m'", INVALID, "Retention:40m0s must be larger than 1h0m0s"),
        ("new:v8.5.4", SYNC, INVALID, "The SyncPoint must be disabled when the downstream is not tidb or mysql"),
        ("new:v9.0.0-beta.2.pre", SYNC, "", "TiCDC's kafka sink never ends a sync point there"),
        *((tag, BDR, "CDC:ErrSinkURIInvalid", f"{NO_BDR}kafka://127.0.0.1:9092/shop") for tag in ("v6.5.0", "v8.5.7")),
    ],
)
def test_what_only_databases_have_is_refused_elsewhere(release: str, toml: str, code: str, text: str) -> None:
    with pytest.raises(ChangefeedError) as caught:
        load(OPEN, toml, parse_release(release))
    assert caught.value.code == code and text in caught.value.text


def test_the_new_architecture_forgets_bdr_mode() -> None:
    (said,) = load(OPEN, BDR, parse_release("new:v8.5.4")).warnings
    assert "bdr-mode has no effect: it concerns database sinks only" in said


def test_bdr_mode_has_an_effect_where_active_active_needs_it() -> None:
    assert not loaded("v26.3.1", "file:///tmp/x?protocol=csv", ACTIVE + BDR, "new").warnings


def test_the_encoder_refuses_enable_tidb_extension_too() -> None:
    for tag in ("v6.1.0", "v7.0.0"):
        with pytest.raises(ChangefeedError, match="enable-tidb-extension only supports canal-json/avro protocol"):
            encoder.check(CodecOptions("open-protocol", enable_tidb_extension=True), find(tag))
        assert loaded(tag, f"{CANAL}&enable-tidb-extension=true").codec.enable_tidb_extension


@pytest.mark.parametrize(
    ("release", "uri", "toml", "warning"),
    [
        ("v8.5.7", f"{OPEN}&enable-tidb-extension=true", "", "it concerns canal-json and avro only"),
        ("v5.3.4", "kafka://h:1/t?protocol=whatever", "", "open-protocol is used"),
        ("v5.3.4", "kafka://h:1/t", "", "open-protocol is used"),
        ("v6.5.12", OPEN, CLAIM, "claim-check has no effect in TiCDC v6.5.12 (since v7.3.0)"),
        ("v7.2.0", CANAL, "[sink]\nlarge-message-only-handle-key-columns = true", "no effect with canal-json"),
        ("new:v8.5.4", f"{CANAL}&output-row-key=true", "", "output-row-key has no effect without"),
    ],
)
def test_a_warning_says_what_the_release_ignores(release: str, uri: str, toml: str, warning: str) -> None:
    (said,) = load(uri, toml, parse_release(release)).warnings
    assert warning in said


def test_4_0_9_takes_max_batch_size_for_max_message_bytes() -> None:
    """A mistake of that release alone (tiflow v4.0.9 cdc/sink/mq.go)."""
    codecs = [batch(loaded(release, f"{OPEN}&max-batch-size=7")) for release in ("v4.0.9", "v4.0.10")]
    assert codecs == [(4096, 7), (7, 64 << 20)]


def test_7_2_0_spells_handle_key_only_in_its_own_way() -> None:
    toml = "[sink]\nlarge-message-only-handle-key-columns = true"
    assert loaded("v7.2.0", OPEN, toml).codec.large_message_handle_option == "handle-key-only"
    assert loaded("v7.2.0", CANAL, toml).codec.large_message_handle_option == "none"


KAFKA_INVALID, REPLICA_INVALID = "CDC:ErrKafkaInvalidConfig", "CDC:ErrInvalidReplicaConfig"
NEW_PRODUCER, NEW_SINK = "CDC:ErrKafkaNewProducer", "CDC:ErrNewKafkaSink"
ACKS = "only support these values: 0(NoResponse), 1(WaitForLocal) and -1(WaitForAll)"
NO_USER = "kafka: invalid configuration (Net.SASL.User must not be empty"
BATCH, BYTES = "event-collector-batch-count", "event-collector-batch-bytes"
CHEK = f"{LARGE}large-message-handle-option = 'claim-chek'"


@pytest.mark.parametrize(
    ("end", "before", "since", "text"),
    [
        ("&partition-num=0", "CDC:ErrKafkaInvalidPartitionNum", KAFKA_INVALID, "invalid partition num 0"),
        ("&partition-num=x", "CDC:ErrMySQLInvalidConfig", KAFKA_INVALID, "sink-uri partition-num: strconv.ParseInt"),
        ("&max-retry=x", "CDC:ErrMySQLInvalidConfig", KAFKA_INVALID, "sink-uri max-retry: strconv.ParseInt"),
        ("&max-batch-size=x", "CDC:ErrMySQLInvalidConfig", "CDC:ErrSinkInvalidConfig", "sink-uri max-batch-size: strc"),
        ("&kafka-client-id=a/b", "CDC:ErrKafkaInvalidClientID", KAFKA_INVALID, 'invalid kafka client ID "a/b"'),
        ("&required-acks=5", "CDC:ErrKafkaInvalidRequiredAcks", KAFKA_INVALID, f"invalid required acks 5, {ACKS}"),
        ("&required-acks=1&replication-factor=0", "", KAFKA_INVALID, "invalid replication-factor 0"),
        ("&dial-timeout=0s", NEW_PRODUCER, KAFKA_INVALID, "dial-timeout must be greater than zero"),
        ("&write-timeout=-1s", NEW_PRODUCER, KAFKA_INVALID, "write-timeout must be greater than zero"),
        ("&read-timeout=0", NEW_PRODUCER, KAFKA_INVALID, "read-timeout must be greater than zero"),
        ("&sasl-mechanism=PLAIN&sasl-password=p", NEW_PRODUCER, NEW_SINK, NO_USER),
        (CHEK, "", REPLICA_INVALID, "unknown large-message-handle-option claim-chek; accepted: none, "),
        (f"{BATCH} = -1", None, REPLICA_INVALID, f"invalid replica config, {BATCH} must be set not smaller than 0"),
        (f"{BATCH} = 8193", None, REPLICA_INVALID, f"invalid replica config, {BATCH} must be set not larger than %d%!"),
        (f"{BYTES} = -1", None, REPLICA_INVALID, f"invalid replica config, {BYTES} must be set not smaller than 0"),
    ],
)
def test_the_new_8_5_8_refuses_more_by_fewer_codes(end: str, before: str | None, since: str, text: str) -> None:
    """The classic one stays as it was; `before` is empty where 8.5.7 takes the parameter or line of the file, and None
    where it does not know it."""
    uri, toml = (OPEN + end, "") if end[0] == "&" else (OPEN, end)
    code, said = refused("v8.5.8", uri, toml, "new")
    assert code == since and said.startswith(text)
    for release in ("new:v8.5.7", "v8.5.8"):
        assert asked(lambda feed: "", *((end, "") if end[0] == "&" else ("", end)))(parse_release(release)) == before


def test_8_5_8_of_the_new_architecture_has_a_batch_of_the_event_collector() -> None:
    """Which is inside of TiCDC; zero is none."""
    said = loaded("v8.5.8", OPEN, f"{BATCH} = 0\n{BYTES} = 0\n[consistent]\n{BATCH} = 5\n", "new").warnings
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
        dispatch.validate_expression("a{tables}", release=find(release, architecture))
    assert caught.value.code == code and caught.value.text.startswith("invalid topic expression: a{tables}")


def test_more_partitions_than_the_topic_has_have_the_releases_code() -> None:
    for release, architecture, code in (
        ("v8.5.7", "new", "CDC:ErrKafkaInvalidPartitionNum"),
        ("v8.5.8", "new", KAFKA_INVALID),
    ):
        kafka = loaded(release, f"{OPEN}&partition-num=4", "", architecture).kafka
        with pytest.raises(ChangefeedError) as caught:
            kafka.partition_count(kafka.partition_num, 3, "shop")
        assert caught.value.code == code


@pytest.mark.parametrize(
    ("releases", "used"),
    [("v5.4.3 v6.5.6 v7.1.3 v7.5.0 v8.5.3", 2), ("v6.0.0 v6.1.7 v6.5.5 v6.6.0 v7.0.0 v7.1.2 v7.2.0 v7.4.0", 4)],
)
def test_partition_num_limits_a_default_topic_that_has_more(releases: str, used: int) -> None:
    """Not where TiCDC asks Kafka for the number (tiflow issue 9952, cdc/sink/mq/manager/kafka_manager.go)."""
    for release in releases.split():
        kafka = loaded(release, f"{OPEN}&partition-num=2", "").kafka
        assert (release, kafka.partition_count(kafka.partition_num, 4)) == (release, used)


SPANS = "[scheduler]\nenable-table-across-nodes = true\n"


@pytest.mark.parametrize(
    ("setting", "releases"),
    [
        ("type", "in v4.0.2–v6.0.0"),
        ("region-per-span", "since v6.6.0 (classic architecture)"),
        ("region-threshold", "since v7.0.0"),
        ("region-count-per-span", "since v8.5.4 (new architecture)"),
        ("enable-splittable-check", "since v8.5.4 (new architecture)"),
        ("balance-score-threshold", "since v8.5.4 (new architecture)"),
        ("min-traffic-percentage", "since v8.5.4 (new architecture)"),
        ("max-traffic-percentage", "since v8.5.4 (new architecture)"),
        ("force-split", "since v8.5.5 (new architecture)"),
        ("region-count-refresh-interval", "since v8.5.5 (new architecture)"),
    ],
)
def test_each_key_of_the_scheduler_has_its_releases(setting: str, releases: str) -> None:
    """pkg/config/scheduler_config.go at every tag."""
    assert releases_with(f"scheduler.{setting}") == releases


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("region-threshold = -1", "region-threshold must be larger than 0"),
        ("region-count-per-span = 0", "region-count-per-span must be larger than 0"),
        ("region-count-refresh-interval = '0s'", "region-count-refresh-interval must be larger than 0"),
        ("balance-score-threshold = 0", "balance-score-threshold must be larger than 0"),
        ("min-traffic-percentage = 1", "min-traffic-percentage must be between 0 and 1"),
        ("max-traffic-percentage = 1.0", "max-traffic-percentage must be greater than 1"),
        ("force-split = 'yes'", "changefeed.toml: scheduler.force-split = 'yes': true or false is expected"),
        ("max-traffic-percentage = '2'", "changefeed.toml: scheduler.max-traffic-percentage = '2': a number is"),
    ],
)
def test_the_scheduler_refuses_what_splits_no_table(line: str, text: str) -> None:
    assert refused("v8.5.5", toml=SPANS + line, architecture="new")[1].startswith(text)


def test_the_scheduler_changes_no_message() -> None:
    lines = "min-traffic-percentage = 0.5\nforce-split = true\nregion-count-refresh-interval = '1m'\n"
    without, changefeed = loaded("v8.5.5", architecture="new"), loaded("v8.5.5", toml=SPANS + lines, architecture="new")
    assert changefeed.codec == without.codec and all("has no effect" in line for line in changefeed.warnings)
    assert len(changefeed.warnings) == 4


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("", "performance-mode = 'low-latency'"),
        ("[sink.debezium]\n", "include-start-ts = true"),
        ("[sink.kafka-config.codec-config]\n", "avro-include-before-value = true"),
        ("[[filter.event-filters]]\nmatcher = ['*.*']\n", "ignore-update-only-columns = ['a']"),
        ("[sink]\n", "only-output-pk-columns = true"),
    ],
)
@pytest.mark.parametrize("architecture", ["classic", "new"])
def test_what_lies_on_a_branch_is_known_by_name(table: str, key: str, architecture: str) -> None:
    code, text = refused("v8.5.4", toml=table + key, architecture=architecture)
    assert "unknown configuration options: " in text and text.endswith("master or another branch, not released")


def test_a_parameter_of_a_branch_is_ignored() -> None:
    (warning,) = loaded("v26.3.4", f"{OPEN}&debezium-include-start-ts=true", architecture="new").warnings
    assert warning.startswith("sink-uri: debezium-include-start-ts is ignored: it is of TiCDC's master")


FILES, ACTIVE = "file:///tmp/f?protocol=canal-json", "enable-active-active = true\n"
PROGRESS = "active-active-progress-interval"


@pytest.mark.parametrize(
    ("release", "uri", "toml", "text"),
    [
        ("v26.3.1", OPEN, ACTIVE, "invalid replica config, enable-active-active requires bdr-mode to be true"),
        ("v26.3.4", OPEN, ACTIVE + BDR, "invalid replica config, enable-active-active only supports tidb"),
        ("v26.3.1", OPEN, f"{PROGRESS} = '0s'", f"invalid replica config, the {PROGRESS}"),
        ("v8.5.7", OPEN, ACTIVE, "component TiCDC changefeed's config file changefeed.toml contained unknown"),
    ],
)
def test_active_active_is_refused(release: str, uri: str, toml: str, text: str) -> None:
    """ticdc v26.3.1: pkg/config/replica_config.go ValidateAndAdjust."""
    assert refused(release, uri, toml, "new")[1].startswith(text)


def test_the_intervals_of_active_active_have_no_effect_on_kafka() -> None:
    toml = f"active-active-sync-stats-interval = '0s'\n{PROGRESS} = '1m'"
    assert all("database sinks only" in line for line in loaded("v26.3.1", OPEN, toml, "new").warnings)
