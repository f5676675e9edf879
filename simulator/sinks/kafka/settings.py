"""What a run needs to know to speak to Kafka: plain values, as sink-uri gives them, that travel to tasks."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.ticdc.changefeed import Kafka, Sasl, Tls

RECORD_BATCH_OVERHEAD = 128
"""How many bytes our record batches stay below a topic's limit, as TiCDC's messages do from 7.4 on."""

LONGEST = 86400.0
"""Seconds that anything is waited for: Python's sockets take no more than 24 days, TiCDC 292 years."""


@dataclass(frozen=True)
class KafkaSettings:
    """Everything the Kafka sink, its topics and its readers are told. Sizes are bytes, times are seconds."""

    brokers: tuple[str, ...]
    """`host:port` each"""

    client_id: str = "ticdc-sim"
    required_acks: int = -1
    """-1 all in-sync replicas, 1 the leader, 0 none is awaited"""

    compression: str = "none"
    """none, gzip, snappy, lz4, zstd"""

    max_message_bytes: int = 10485760
    topic_limit: str = "lowers"
    """What a topic does that takes less than max_message_bytes: `lowers` it, `refuses` it, or is `ignored`."""

    topic_limit_margin: int = RECORD_BATCH_OVERHEAD
    """How many bytes max_message_bytes stays below what the topic takes."""

    new_topic_partitions: int = 3
    """Of a topic that TiCDC creates without partition-num."""

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
    """The library that sends: kafka-python, or `confluent` (the extra `fast`)."""

    prepared_batches: bool = True
    """Whether kafka-python is handed ready record batches (its private API, only at the version that was tested)."""

    batch_bytes: int = 1 << 20
    """Largest record batch; `prepare_topics` lowers it to what the topics take."""

    message_limit: int | None = None
    """The topics' smallest max.message.bytes, where `prepare_topics` has asked for it."""

    in_flight_bytes: int = 16 << 20
    """Written but not acknowledged, per sink: kafka-python itself sets no bound."""

    grown: tuple[tuple[str, int], ...] = ()
    """Topics that get so many partitions while the run lasts, when the first record for a new one comes."""

    silence: float = 120.0
    """Without any acknowledgement for so long, the run ends."""

    stall: float = 30.0
    """Without any acknowledgement for so long, the producer is taken for hung and replaced."""

    @property
    def address(self) -> str:
        """The brokers as a user wrote them."""
        return ",".join(self.brokers)


def of_changefeed(kafka: Kafka) -> KafkaSettings:
    """What TiCDC's options say of how Kafka is reached and used."""
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
        dial_timeout=min(kafka.dial_timeout, LONGEST),
        write_timeout=min(kafka.write_timeout, LONGEST),
        read_timeout=min(kafka.read_timeout, LONGEST),
        sasl=kafka.sasl,
        tls=kafka.tls,
    )
