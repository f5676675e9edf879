"""Requests about topics while a broker of several is down."""

from __future__ import annotations

import pytest

from simulator.errors import DeliveryError
from simulator.sinks.kafka import admin
from simulator.sinks.kafka.library import KafkaConnectionError, NodeNotReadyError
from simulator.sinks.kafka.settings import KafkaSettings


class BrokersWithoutSome:
    """Refuses requests as kafka-python does: the connection first, then a broker that it avoids."""

    def __init__(self, *errors: Exception) -> None:
        self.errors, self.closed = list(errors), False

    def describe_topics(self, topics: list[str]) -> list[dict[str, object]]:
        if self.errors:
            raise self.errors.pop(0)
        return [{"name": name, "error_code": 0, "partitions": [{}, {}]} for name in topics]

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> KafkaSettings:
    monkeypatch.setattr(admin, "with_reachable_broker", lambda settings: settings)
    return KafkaSettings(("127.0.0.1:1",), dial_timeout=0.5)


def test_a_request_goes_to_the_next_broker_when_one_refuses(
    settings: KafkaSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    brokers = BrokersWithoutSome(KafkaConnectionError("111 ECONNREFUSED"), NodeNotReadyError(1))
    monkeypatch.setattr(admin, "admin_client", lambda settings: brokers)
    assert admin.partition_count_of(settings, "orders") == 2
    assert brokers.closed


def test_a_request_that_no_broker_accepts_ends_after_dial_timeout(
    settings: KafkaSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    brokers = BrokersWithoutSome(*[KafkaConnectionError("111 ECONNREFUSED")] * 1000)
    monkeypatch.setattr(admin, "admin_client", lambda settings: brokers)
    with pytest.raises(DeliveryError, match="Kafka at 127.0.0.1:1 does not answer: .*ECONNREFUSED"):
        admin.partition_count_of(settings, "orders")
    assert brokers.closed
    assert 2 <= 1000 - len(brokers.errors) <= 10
