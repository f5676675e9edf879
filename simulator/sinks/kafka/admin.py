"""Topics before the first record: found or created, counted, and their limits asked, as TiCDC does when it starts.

One law: whatever would stop the run at its first record stops it here, on the driver
(tiflow pkg/sink/kafka/options.go AdjustOptions, cdc/sink/dmlsink/mq/manager/kafka_manager.go).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from simulator.errors import ChangefeedError, DeliveryError, UserError
from simulator.sinks.kafka.connect import client_options, reason, require_packages
from simulator.sinks.kafka.handshake import reachable
from simulator.sinks.kafka.library import (
    AuthorizationError,
    ConfigResource,
    ConfigResourceType,
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    InvalidTopicError,
    KafkaAdminClient,
    KafkaError,
    SaslAuthenticationFailedError,
    TopicAlreadyExistsError,
    for_code,
)
from simulator.sinks.kafka.settings import RECORD_BATCH_OVERHEAD, KafkaSettings
from simulator.ticdc.changefeed import partition_count


@dataclass(frozen=True)
class Prepared:
    """Topics that are ready to be written to."""

    partitions: dict[str, int]
    """how many partitions of each topic are used: always the first ones"""

    max_message_bytes: int
    """the effective one, for the encoder: the option, lowered to what the default topic takes"""

    settings: KafkaSettings
    """for the sink: record batches no larger than the topics take"""

    notes: tuple[str, ...]
    """what TiCDC would only log, for people"""


def prepare_topics(settings: KafkaSettings, topics: Mapping[str, int | None]) -> Prepared:
    """Checks or creates the topics; the first is the changefeed's default topic, its number the partition-num if given.

    Another topic's number is normally None: all partitions it has, or as many as the default topic's when created.
    Raises ChangefeedError as TiCDC does, UserError, and DeliveryError where Kafka does not answer in dial_timeout.
    """
    require_packages(settings.driver, settings.compression, settings.sasl.mechanism)
    with _admin(settings) as admin:
        found = _counts(admin, topics)
        default = next(iter(topics))
        limits = {topic: _limit(admin, topic if topic in found else None) for topic in topics}
        if settings.checks_insync_replicas == "all":
            _check_replicas(admin, settings, default if default in found else None)
        wanted = {
            topic: partition_count(number, found[topic], topic, settings.one_error_code) if topic in found else number
            for topic, number in topics.items()
        }
        used = {topic: count or wanted[default] or settings.new_topic_partitions for topic, count in wanted.items()}
        _create(admin, settings, {topic: used[topic] for topic in topics if topic not in found})
    ceiling = min(limits.values()) - RECORD_BATCH_OVERHEAD
    lowered = _lowered(settings, limits[default])
    ready = replace(settings, batch_bytes=min(settings.batch_bytes, ceiling), message_limit=min(limits.values()))
    return Prepared(used, lowered, ready, tuple(_notes(settings, lowered, used, found)))


def partitions(settings: KafkaSettings, topic: str) -> int:
    """How many partitions the topic has; raises UserError where there is no such topic."""
    with _admin(settings) as admin:
        found = _counts(admin, [topic])
    if topic not in found:
        raise UserError(f"there is no topic {topic!r} on Kafka at {settings.address}")
    return found[topic]


def grow_topic(settings: KafkaSettings, topic: str, count: int) -> None:
    """Gives the topic so many partitions, unless it has them; raises UserError and DeliveryError."""
    with _admin(settings) as admin:
        if _counts(admin, [topic]).get(topic, 0) < count:
            with suppress(InvalidPartitionsError):  # another task was faster
                admin.create_partitions({topic: count})
            _wait_visible(admin, {topic: count})


def described(settings: KafkaSettings, topics: Iterable[str]) -> dict[str, int | BaseException]:
    """How many partitions each topic has, or Kafka's error; raises KafkaError and OSError where Kafka is silent."""
    admin = KafkaAdminClient(**client_options(settings), request_timeout_ms=int(settings.read_timeout * 1000))
    try:
        found = admin.describe_topics(list(topics))
    finally:
        admin.close()
    errors = {topic["name"]: for_code(topic["error_code"])(topic["name"]) for topic in found if topic["error_code"]}
    return {topic["name"]: errors.get(topic["name"]) or len(topic["partitions"]) for topic in found}


def answers(address: str) -> bool:
    """Whether a Kafka answers there, asked for at most a second or two."""
    try:
        with _admin(KafkaSettings((address,), dial_timeout=1.0)) as admin:
            return bool(admin.list_topics() is not None)
    except (DeliveryError, UserError):
        return False


def delete_topics(address: str, topics: Iterable[str]) -> None:
    """Deletes those topics of the Kafka at `host:port` that exist; raises UserError and DeliveryError."""
    with _admin(KafkaSettings(tuple(address.split(",")))) as admin:
        found = list(_counts(admin, topics))
        if found:
            admin.delete_topics(found)


@contextmanager
def _admin(settings: KafkaSettings) -> Iterator[KafkaAdminClient]:
    """An admin client for a few questions; Kafka's refusals come out as errors of ours."""
    client = None
    reached = reachable(settings)
    try:
        client = KafkaAdminClient(**client_options(reached), request_timeout_ms=int(settings.read_timeout * 1000))
        yield client
    except (AuthorizationError, SaslAuthenticationFailedError) as error:
        raise UserError(f"Kafka at {settings.address} refuses {settings.client_id}: {reason(error)}") from error
    except (KafkaError, OSError, TimeoutError) as error:
        raise DeliveryError(f"Kafka at {settings.address} does not answer: {reason(error)}") from error
    finally:
        if client is not None:
            client.close()


def _counts(admin: KafkaAdminClient, topics: Iterable[str]) -> dict[str, int]:
    """Partition counts of those topics that exist."""
    described = admin.describe_topics(list(topics))
    return {topic["name"]: len(topic["partitions"]) for topic in described if topic["error_code"] == 0}


def _create(admin: KafkaAdminClient, settings: KafkaSettings, missing: Mapping[str, int]) -> None:
    if not missing:
        return
    if not settings.auto_create_topic:
        text = f"`auto-create-topic` is false, and {next(iter(missing))} not found"
        raise ChangefeedError(text, "CDC:ErrKafkaInvalidConfig")
    if settings.checks_insync_replicas == "created":
        _check_replicas(admin, settings, None)
    for topic, count in missing.items():
        asked = {"num_partitions": count, "replication_factor": settings.replication_factor}
        try:
            admin.create_topics({topic: asked})
        except TopicAlreadyExistsError:
            pass
        except (InvalidTopicError, InvalidPartitionsError, InvalidReplicationFactorError) as error:
            text = f"{topic}, {count} partitions, replication-factor {settings.replication_factor}: {reason(error)}"
            if settings.one_error_code:
                raise ChangefeedError(f"kafka admin API create-topic failed: {text}", "CDC:ErrKafkaAdminAPI") from error
            raise ChangefeedError(f"kafka create topic failed: {text}", "CDC:ErrKafkaCreateTopic") from error
    _wait_visible(admin, missing)


def _wait_visible(admin: KafkaAdminClient, topics: Mapping[str, int]) -> None:
    """A topic is usable only when every broker knows it: TiCDC asks six times, too."""
    for _ in range(40):
        if _counts(admin, topics) == dict(topics):
            return
        time.sleep(0.1)
    found = _counts(admin, topics)
    odd = next(topic for topic in topics if found.get(topic) != topics[topic])
    raise DeliveryError(f"topic {odd} was created with {topics[odd]} partitions, but Kafka shows {found.get(odd, 0)}")


def _check_replicas(admin: KafkaAdminClient, settings: KafkaSettings, topic: str | None) -> None:
    """TiCDC's validateMinInsyncReplicas: only where every in-sync replica must acknowledge."""
    minimum = _config(admin, topic, "min.insync.replicas", "min.insync.replicas")
    if settings.required_acks == -1 and minimum is not None and settings.replication_factor < minimum:
        raise ChangefeedError(
            "TiCDC Kafka producer's `request.required.acks` defaults to -1, TiCDC cannot deliver messages when the "
            f"`replication-factor` {settings.replication_factor} is smaller than the `min.insync.replicas` {minimum} "
            f"of {'topic' if topic else 'broker'}",
            "CDC:ErrKafkaInvalidConfig",
        )


def _lowered(settings: KafkaSettings, limit: int) -> int:
    """The encoder's max-message-bytes for a topic that takes `limit`; raises ChangefeedError where TiCDC does."""
    if settings.topic_limit == "refuses" and limit < settings.max_message_bytes:
        raise ChangefeedError(
            f"topic already exist, and topic's max.message.bytes({limit}) less than "
            f"max-message-bytes({settings.max_message_bytes})."
            "Please make sure `max-message-bytes` not greater than topic `max.message.bytes`",
            "CDC:ErrKafkaInvalidConfig",
        )
    if settings.topic_limit != "lowers":
        return settings.max_message_bytes
    return min(settings.max_message_bytes, limit - settings.topic_limit_margin)


def _limit(admin: KafkaAdminClient, topic: str | None) -> int:
    """Largest record batch in bytes: the topic's, or the brokers' for a topic that is to be created."""
    found = _config(admin, topic, "max.message.bytes", "message.max.bytes")
    return 1048588 if found is None else found


def _config(admin: KafkaAdminClient, topic: str | None, of_topic: str, of_broker: str) -> int | None:
    """A number from the topic's configuration, else from the controller's; None where Kafka keeps it to itself."""
    if topic is not None:
        resource, name = ConfigResource(ConfigResourceType.TOPIC, topic, [of_topic]), of_topic
    else:
        broker = admin.describe_cluster()["brokers"][0]
        number = str(broker.get("broker_id", broker.get("node_id")))
        resource, name = ConfigResource(ConfigResourceType.BROKER, number, [of_broker]), of_broker
    answer = admin.describe_configs([resource], config_filter="all")
    entries = answer[resource.resource_type.name.lower()][resource.name]
    return int(entries[name]["value"]) if name in entries else None


def _notes(settings: KafkaSettings, lowered: int, used: Mapping[str, int], found: Mapping[str, int]) -> Iterator[str]:
    if lowered < settings.max_message_bytes != KafkaSettings.max_message_bytes:
        yield f"max-message-bytes {settings.max_message_bytes} is more than the topic takes: {lowered} is used"
    for topic, count in used.items():
        if count < found.get(topic, count):
            yield f"topic {topic} has {found[topic]} partitions, only the first {count} are used (partition-num)"
