"""Topics before the first record, created if missing as TiCDC does when it starts.

Problems that would stop the run at its first record are reported here, on the driver (tiflow
pkg/sink/kafka/options.go AdjustOptions, cdc/sink/dmlsink/mq/manager/kafka_manager.go).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from simulator.errors import ChangefeedError, DeliveryError, UserError
from simulator.limits import counted
from simulator.sinks.kafka import RECORD_BATCH_OVERHEAD, KafkaSettings, library
from simulator.sinks.kafka.handshake import with_reachable_broker
from simulator.sinks.kafka.library import broker_error, client_options, failure, require_packages


@dataclass(frozen=True)
class PreparedTopics:
    """Topics that are ready for records."""

    partitions: dict[str, int]
    """Number of partitions of each topic that are used: always the first ones."""

    max_message_bytes: int
    """The encoder's limit: the option, lowered to the default topic's limit."""

    settings: KafkaSettings
    """The sink's settings, with record batches within the topics' limits."""

    notes: tuple[str, ...]
    """Messages for users that TiCDC only logs."""


def prepare_topics(settings: KafkaSettings, topics: Mapping[str, int | None]) -> PreparedTopics:
    """Check or create the topics; the first is the changefeed's default topic, its number the partition-num if set.

    The number of another topic is normally None: all partitions it has, or as many as the default topic's if it is
    created. Raise ChangefeedError as TiCDC does, UserError, and DeliveryError if Kafka does not answer within
    dial_timeout.
    """
    require_packages(settings.compression)
    with _admin(settings) as admin:
        existing = _counts(admin, topics)
        default = next(iter(topics))
        limits = {topic: _limit(admin, topic if topic in existing else None) for topic in topics}
        if settings.checks_insync_replicas == "all":
            _check_replicas(admin, settings, default if default in existing else None)
        requested = {
            topic: settings.partition_count(number, existing[topic], topic) if topic in existing else number
            for topic, number in topics.items()
        }
        created = topics[default] or requested[default] or settings.new_topic_partitions
        used = {topic: count or created for topic, count in requested.items()}
        _create(admin, settings, {topic: used[topic] for topic in topics if topic not in existing})
    ceiling = min(limits.values()) - RECORD_BATCH_OVERHEAD
    lowered = _lowered(settings, limits[default])
    ready = replace(settings, batch_bytes=min(settings.batch_bytes, ceiling), message_limit=min(limits.values()))
    return PreparedTopics(used, lowered, ready, tuple(_notes(settings, lowered, used, existing)))


def partition_count_of(settings: KafkaSettings, topic: str) -> int:
    """Return the topic's number of partitions; raise UserError if there is no such topic."""
    with _admin(settings) as admin:
        counts = _counts(admin, [topic])
    if topic not in counts:
        raise UserError(f"there is no topic {topic!r} on Kafka at {settings.address}")
    return counts[topic]


def grow_topic(settings: KafkaSettings, topic: str, count: int) -> None:
    """Increase the topic's partitions to that number; raise UserError and DeliveryError."""
    with _admin(settings) as admin:
        if _counts(admin, [topic]).get(topic, 0) < count:
            with suppress(library.InvalidPartitionsError):  # another task was faster
                admin.create_partitions({topic: count})
            _wait_visible(admin, {topic: count})


def describe_topics(settings: KafkaSettings, topics: Iterable[str]) -> dict[str, int | BaseException]:
    """Return each topic's number of partitions, or Kafka's error; raise KafkaError and OSError without an answer."""
    admin = admin_client(settings)
    try:
        descriptions = admin.describe_topics(list(topics))
    finally:
        admin.close()
    errors = {
        topic["name"]: library.for_code(topic["error_code"])(topic["name"])
        for topic in descriptions
        if topic["error_code"]
    }
    return {topic["name"]: errors.get(topic["name"]) or len(topic["partitions"]) for topic in descriptions}


def admin_client(settings: KafkaSettings) -> library.KafkaAdminClient:
    """Return a client, which the caller closes; raise KafkaError and OSError without an answer."""
    return library.KafkaAdminClient(**client_options(settings), request_timeout_ms=int(settings.read_timeout * 1000))


def is_answering(address: str) -> bool:
    """Return whether a Kafka broker answers at the address within a second or two."""
    try:
        with _admin(KafkaSettings((address,), dial_timeout=1.0)) as admin:
            return bool(admin.list_topics() is not None)
    except (DeliveryError, UserError):
        return False


def delete_topics(address: str, topics: Iterable[str]) -> None:
    """Delete those topics of the Kafka at `host:port` that exist; raise UserError and DeliveryError."""
    with _admin(KafkaSettings(tuple(address.split(",")))) as admin:
        existing = list(_counts(admin, topics))
        if existing:
            admin.delete_topics(existing)


class _RetryingClient:
    """An admin client that repeats a request, for so many seconds, while the broker it is sent to accepts no connection.

    kafka-python 3.0.12 sends a request to any broker of the cluster, also to one that has just died, and raises its
    error; it avoids that broker for a while then. TiCDC's client asks the next one.
    """

    def __init__(self, client: library.KafkaAdminClient, seconds: float) -> None:
        self._client, self._seconds = client, seconds

    def __getattr__(self, request: str) -> Callable[..., Any]:
        return partial(self._ask, getattr(self._client, request))

    def _ask(self, request: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        end = time.monotonic() + self._seconds
        while True:
            try:
                return request(*arguments, **options)
            except (library.KafkaConnectionError, library.NodeNotReadyError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)


@contextmanager
def _admin(settings: KafkaSettings) -> Iterator[Any]:
    """Open an admin client for a few requests; Kafka's errors become UserError or DeliveryError."""
    client = None
    reachable_settings = with_reachable_broker(settings)
    try:
        client = admin_client(reachable_settings)
        yield _RetryingClient(client, settings.dial_timeout)
    except (library.AuthorizationError, library.SaslAuthenticationFailedError) as error:
        raise UserError(f"Kafka at {settings.address} refuses {settings.client_id}: {broker_error(error)}") from error
    except (library.KafkaError, OSError, TimeoutError) as error:
        raise DeliveryError(f"Kafka at {settings.address} {failure(error)}") from error
    finally:
        if client is not None:
            client.close()


def _counts(admin: library.KafkaAdminClient, topics: Iterable[str]) -> dict[str, int]:
    """Return the partitions of the topics that exist; raise Kafka's error for another reason not to show one."""
    described = admin.describe_topics(list(topics))
    for topic in described:
        if topic["error_code"] not in NOT_THERE:
            raise library.for_code(topic["error_code"])(topic["name"])
    return {topic["name"]: len(topic["partitions"]) for topic in described if topic["error_code"] == 0}


NOT_THERE = frozenset({0, 3, 5, 17})
"""NONE, UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE (of a new topic), INVALID_TOPIC_EXCEPTION."""


def _create(admin: library.KafkaAdminClient, settings: KafkaSettings, missing: Mapping[str, int]) -> None:
    if not missing:
        return
    if not settings.auto_create_topic:
        text = f"`auto-create-topic` is false, and {next(iter(missing))} not found"
        raise ChangefeedError(text, "CDC:ErrKafkaInvalidConfig")
    if settings.checks_insync_replicas == "created":
        _check_replicas(admin, settings, None)
    for topic, count in missing.items():
        options = {"num_partitions": count, "replication_factor": settings.replication_factor}
        (answer,) = admin.create_topics({topic: options}, raise_errors=False)["topics"]
        error = library.for_code(answer["error_code"])()
        if isinstance(error, library.NoError | library.TopicAlreadyExistsError):
            continue
        why = broker_error(error, answer.get("error_message") or "")
        text = f"{topic}, {counted(count, 'partition')}, replication-factor {settings.replication_factor}: {why}"
        if settings.one_error_code:
            raise ChangefeedError(f"kafka admin API create-topic failed: {text}", "CDC:ErrKafkaAdminAPI")
        raise ChangefeedError(f"kafka create topic failed: {text}", "CDC:ErrKafkaCreateTopic")
    _wait_visible(admin, missing)


def _wait_visible(admin: library.KafkaAdminClient, topics: Mapping[str, int]) -> None:
    """Wait until every broker knows the topics; TiCDC asks six times, too."""
    for _ in range(40):
        if _counts(admin, topics) == dict(topics):
            return
        time.sleep(0.1)
    counts = _counts(admin, topics)
    differing = next(topic for topic in topics if counts.get(topic) != topics[topic])
    raise DeliveryError(
        f"topic {differing} was created with {counted(topics[differing], 'partition')}, but Kafka shows {counts.get(differing, 0)}"
    )


def _check_replicas(admin: library.KafkaAdminClient, settings: KafkaSettings, topic: str | None) -> None:
    """Check as TiCDC's validateMinInsyncReplicas, if all in-sync replicas must acknowledge."""
    minimum = _config(admin, topic, "min.insync.replicas", "min.insync.replicas")
    if settings.required_acks == -1 and minimum is not None and settings.replication_factor < minimum:
        raise ChangefeedError(
            "TiCDC Kafka producer's `request.required.acks` defaults to -1, TiCDC cannot deliver messages when the "
            f"`replication-factor` {settings.replication_factor} is smaller than the `min.insync.replicas` {minimum} "
            f"of {'topic' if topic else 'broker'}",
            "CDC:ErrKafkaInvalidConfig",
        )


def _lowered(settings: KafkaSettings, limit: int) -> int:
    """Return the encoder's max-message-bytes for a topic with that limit; raise ChangefeedError if TiCDC does."""
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


def _limit(admin: library.KafkaAdminClient, topic: str | None) -> int:
    """Return the largest record batch in bytes: the topic's limit, or the brokers' for a new topic."""
    limit = _config(admin, topic, "max.message.bytes", "message.max.bytes")
    return 1048588 if limit is None else limit


def _config(admin: library.KafkaAdminClient, topic: str | None, of_topic: str, of_broker: str) -> int | None:
    """Return a number from the topic's configuration, else from the controller's; None if Kafka does not reveal it."""
    if topic is not None:
        resource, name = library.ConfigResource(library.ConfigResourceType.TOPIC, topic, [of_topic]), of_topic
    else:
        number = str(admin.describe_cluster()["controller_id"])
        resource, name = library.ConfigResource(library.ConfigResourceType.BROKER, number, [of_broker]), of_broker
    answer = admin.describe_configs([resource], config_filter="all")
    entries = answer[resource.resource_type.name.lower()][resource.name]
    return int(entries[name]["value"]) if name in entries else None


def _notes(
    settings: KafkaSettings, lowered: int, used: Mapping[str, int], existing: Mapping[str, int]
) -> Iterator[str]:
    if lowered < settings.max_message_bytes != KafkaSettings.max_message_bytes:
        yield f"max-message-bytes {settings.max_message_bytes} is more than the topic takes: {lowered} is used"
    for topic, count in used.items():
        if count < existing.get(topic, count):
            yield f"topic {topic} has {counted(existing[topic], 'partition')}, only the first {count} are used (partition-num)"
