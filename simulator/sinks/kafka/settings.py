"""Settings of the connection to Kafka, from the sink-uri; they are sent to tasks."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.ticdc.changefeed import Kafka, Sasl, Tls

RECORD_BATCH_OVERHEAD = 128
"""How many bytes record batches stay below a topic's limit, as TiCDC's messages do from 7.4 on."""

MAX_TIMEOUT = 86400.0
"""Maximum of timeouts in seconds: Python's sockets accept at most 24 days, TiCDC 292 years."""


@dataclass(frozen=True)
class KafkaSettings:
    """The settings of the Kafka sink, its topics and its readers. Sizes are bytes, times are seconds."""

    brokers: tuple[str, ...]
    """`host:port` of each broker."""

    client_id: str = "ticdc-sim"
    required_acks: int = -1
    """-1 for all in-sync replicas, 1 for the leader, 0 for none."""

    compression: str = "none"
    """none, gzip, snappy, lz4, zstd"""

    max_message_bytes: int = 10485760
    topic_limit: str = "lowers"
    """What happens if a topic accepts less than max_message_bytes: it `lowers` or `refuses` it, or is `ignored`."""

    topic_limit_margin: int = RECORD_BATCH_OVERHEAD
    """How many bytes max_message_bytes stays below the topic's limit."""

    new_topic_partitions: int = 3
    """Partitions of a topic that TiCDC creates without partition-num."""

    checks_insync_replicas: str = "all"
    """For which topics a replication_factor below min.insync.replicas is refused: `all`, `created` or `none`."""

    one_error_code: bool = False
    """As `Kafka.one_error_code` of the changefeed."""

    replication_factor: int = 1
    auto_create_topic: bool = True
    dial_timeout: float = 10.0
    write_timeout: float = 10.0
    read_timeout: float = 10.0
    sasl: Sasl = Sasl()
    tls: Tls = Tls()

    driver: str = "kafka-python"
    """The client library: kafka-python, or `confluent` (the extra `fast`)."""

    prepared_batches: bool = True
    """Whether kafka-python gets prepared record batches (its private API, only at the tested version)."""

    batch_bytes: int = 1 << 20
    """Largest record batch; `prepare_topics` lowers it to what the topics take."""

    message_limit: int | None = None
    """The topics' smallest max.message.bytes, set by `prepare_topics`."""

    in_flight_bytes: int = 16 << 20
    """Maximum of written and unacknowledged bytes per sink; kafka-python has no limit."""

    grown: tuple[tuple[str, int], ...] = ()
    """Topics whose partitions increase to a number when the first record for a new one comes."""

    silence: float = 120.0
    """The run ends without an acknowledgement for this time."""

    stall: float = 30.0
    """The producer is replaced without an acknowledgement for this time."""

    @property
    def address(self) -> str:
        """The brokers as a user wrote them."""
        return ",".join(self.brokers)


def of_changefeed(kafka: Kafka) -> KafkaSettings:
    """Return the settings of a changefeed's Kafka options."""
    return KafkaSettings(
        kafka.brokers,
        client_id=kafka.client_id,
        required_acks=kafka.required_acks,
        compression=kafka.compression,
        topic_limit_margin=kafka.topic_limit_margin,
        new_topic_partitions=kafka.new_topic_partitions,
        checks_insync_replicas=kafka.checks_insync_replicas,
        one_error_code=kafka.one_error_code,
        replication_factor=kafka.replication_factor,
        auto_create_topic=kafka.auto_create_topic,
        dial_timeout=min(kafka.dial_timeout, MAX_TIMEOUT),
        write_timeout=min(kafka.write_timeout, MAX_TIMEOUT),
        read_timeout=min(kafka.read_timeout, MAX_TIMEOUT),
        sasl=kafka.sasl,
        tls=kafka.tls,
    )
