"""Kafka: topics, producers and readers; and here the settings of its connection, from the sink-uri, which are sent to tasks."""

from __future__ import annotations

from dataclasses import dataclass, fields

from simulator.ticdc.changefeed import Kafka

RECORD_BATCH_OVERHEAD = 128
"""How many bytes record batches stay below a topic's limit, as TiCDC's messages do from 7.4 on."""

MAX_TIMEOUT = 86400.0
"""Maximum of timeouts in seconds: Python's sockets accept at most 24 days, TiCDC 292 years."""

TIMEOUTS = ("dial_timeout", "write_timeout", "read_timeout")


@dataclass(frozen=True)
class KafkaSettings(Kafka):
    """The settings of the Kafka sink, its topics and its readers. Sizes are bytes, times are seconds."""

    client_id: str = "ticdc-sim"
    max_message_bytes: int = 10485760
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

    @property
    def security_protocol(self) -> str:
        """Kafka's name of what is between a client and the brokers."""
        return ("SASL_" if self.sasl.mechanism else "") + ("SSL" if self.tls.enabled else "PLAINTEXT")


def of_changefeed(kafka: Kafka) -> KafkaSettings:
    """Return the settings of a changefeed's Kafka options."""
    timeouts = {name: min(getattr(kafka, name), MAX_TIMEOUT) for name in TIMEOUTS}
    return KafkaSettings(**{field.name: getattr(kafka, field.name) for field in fields(kafka)} | timeouts)
