"""The Kafka settings of a changefeed, checked as TiCDC checks them when the sink starts.

Order, codes and texts are those of pkg/sink/kafka/options.go (before 7.0 cdc/sink/**/producer/kafka).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from simulator import limits
from simulator.errors import ChangefeedError
from simulator.releases import Release
from simulator.ticdc.changefeed import security, toml_file
from simulator.ticdc.changefeed.model import Kafka
from simulator.ticdc.changefeed.sink_uri import ChangefeedSettings

INVALID = "CDC:ErrKafkaInvalidConfig"
COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
TIMEOUT = "10s"


def topic(settings: ChangefeedSettings) -> str:
    """Return the default topic, the URI's path; raise ChangefeedError (CDC:ErrKafkaInvalidConfig) without one."""
    name = settings.uri.topic
    if not name:
        text = "no topic is specified in sink-uri; accepted: kafka://host:port[,host:port]/topic?…"
        raise ChangefeedError(text, INVALID)
    return require_topic(name)


def require_topic(name: str) -> str:
    """Return the name of a topic; raise ChangefeedError if Kafka has none of that name."""
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", name) or name in (".", ".."):
        shown = name if len(name) <= 60 else f"{name[:60]}…"
        raise ChangefeedError(
            f"topic {shown!r}: Kafka takes letters, digits, '.', '_' and '-', at most 249 of them, and neither . nor .."
        )
    return name


def kafka(settings: ChangefeedSettings) -> Kafka:
    """Return the Kafka settings; raise ChangefeedError if TiCDC rejects them."""
    partitions, release = settings.get("partition-num"), settings.release
    if partitions == 0 and not release.refuses_zero_partitions:
        partitions = None
    if isinstance(partitions, int) and partitions <= 0:
        text = f"invalid partition num {partitions}; 1 or more is accepted"
        raise ChangefeedError(text, _code(release, "CDC:ErrKafkaInvalidPartitionNum"))
    if isinstance(partitions, int) and partitions > limits.PARTITIONS:
        raise ChangefeedError(f"partition-num {partitions}: at most {limits.PARTITIONS:,} are accepted by ticdc-sim")
    factor = settings.number("replication-factor", 1)
    if release.refuses_zero_timeouts and factor <= 0:
        raise ChangefeedError(f"invalid replication-factor {factor}; 1 or more is accepted", INVALID)
    client_id = settings.text("kafka-client-id", Kafka.client_id)
    if not re.fullmatch(r"[A-Za-z0-9._-]+", client_id):
        shown = toml_file.quote(client_id) if release.one_kafka_code else f"'{client_id}'"
        raise ChangefeedError(f"invalid kafka client ID {shown}", _code(release, "CDC:ErrKafkaInvalidClientID"))
    dial, write, read = (_timeout(settings, f"{name}-timeout") for name in ("dial", "write", "read"))
    acks = settings.number("required-acks", -1)
    if acks not in (-1, 0, 1):
        accepted = "only support these values: 0(NoResponse),1(WaitForLocal) and -1(WaitForAll)"
        if release.one_kafka_code:
            accepted = accepted.replace(",", ", ")
        code = _code(release, "CDC:ErrKafkaInvalidRequiredAcks")
        raise ChangefeedError(f"invalid required acks {acks}, {accepted}", code)
    compression = settings.text("compression", "none").strip().lower()
    kafka_settings = Kafka(
        brokers=_brokers(settings),
        partition_num=partitions if isinstance(partitions, int) else None,
        replication_factor=factor,
        auto_create_topic=settings.boolean("auto-create-topic", True),
        required_acks=acks,
        compression=compression if compression in COMPRESSIONS else "none",
        client_id=client_id,
        dial_timeout=dial,
        write_timeout=write,
        read_timeout=read,
        sasl=security.sasl(settings),
        tls=security.tls(settings),
        new_topic_partitions=release.new_topic_partitions,
        partition_num_limits=release.partition_num_limits,
        topic_limit=release.topic_limit,
        topic_limit_margin=release.topic_limit_margin,
        checks_insync_replicas=release.checks_insync_replicas,
        one_error_code=release.one_kafka_code,
    )
    security.check_client(settings, kafka_settings)
    _check_replicas(kafka_settings)
    return kafka_settings


def warnings(kafka: Kafka) -> Iterator[str]:
    """Yield a warning for settings that Kafka itself rejects."""
    if kafka.replication_factor < 1:
        factor = kafka.replication_factor
        yield f"replication-factor {factor}: Kafka creates no topic with that; 1 or more is accepted"


def _check_replicas(kafka: Kafka) -> None:
    # Kafka's min.insync.replicas is 1 at least
    if kafka.checks_insync_replicas != "none" and kafka.required_acks == -1 and kafka.replication_factor < 1:
        raise ChangefeedError(
            "TiCDC Kafka producer's `request.required.acks` defaults to -1, TiCDC cannot deliver messages when the "
            f"`replication-factor` {kafka.replication_factor} is smaller than the `min.insync.replicas`; "
            "1 or more is accepted",
            INVALID,
        )


def _brokers(settings: ChangefeedSettings) -> tuple[str, ...]:
    if not settings.uri.brokers:
        raise ChangefeedError("no Kafka broker in sink-uri; accepted: kafka://host:port[,host:port]/topic?…")
    return settings.uri.brokers


def _timeout(settings: ChangefeedSettings, name: str) -> float:
    try:
        seconds = toml_file.parse_duration(settings.text(name, TIMEOUT))
    except ValueError as error:
        text = f"{name}: {error}; accepted: a duration such as 10s"
        raise ChangefeedError(text, INVALID) from error
    if settings.release.refuses_zero_timeouts and seconds <= 0:
        raise ChangefeedError(f"{name} must be greater than zero", INVALID)
    return seconds


def _code(release: Release, own: str) -> str:
    """TiCDC's code for a setting that has one of its own in most releases."""
    return INVALID if release.one_kafka_code else own
