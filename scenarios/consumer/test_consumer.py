"""The consumer, tested with messages as TiCDC sends them: in memory, and from a real Kafka."""

from __future__ import annotations

import pytest
from consumer import Consumer, run

from simulator import TiCDC

STORY = """
CREATE TABLE shop.item (id BIGINT PRIMARY KEY, name VARCHAR(20), stock INT);
INSERT INTO shop.item VALUES (1, 'tea', 5), (2, 'milk', 6), (3, 'rice', 7);
UPDATE shop.item SET stock = stock - 1 WHERE id < 3;
UPDATE shop.item SET id = id + 10 WHERE id = 2;
DELETE FROM shop.item WHERE id = 1;
ALTER TABLE shop.item ADD COLUMN price DECIMAL(8, 2);
UPDATE shop.item SET price = 1.5;
"""


def fed(ticdc: TiCDC, consumer: Consumer, times: int = 1) -> Consumer:
    messages = ticdc.messages()
    for message in messages * times:
        consumer.handle(message.partition, message.key or b"", message.value or b"")
    return consumer


@pytest.mark.ticdc(releases=["v5.4.0", "v6.5.6", "v8.5.3", "new:v8.5.4"])
def test_it_ends_with_the_rows_of_the_database(ticdc: TiCDC) -> None:
    ticdc.execute(STORY)
    consumer = fed(ticdc, Consumer(3))
    assert [row["id"] for row in consumer.rows("shop.item")] == [3, 12]
    assert consumer.rows("shop.item") == ticdc.rows("shop.item")


@pytest.mark.ticdc(sink_uri="kafka://kafka:9092/shop?protocol=open-protocol&partition-num=2")
def test_what_comes_twice_is_applied_once(ticdc: TiCDC) -> None:
    ticdc.execute(STORY)
    consumer = fed(ticdc, Consumer(2), times=2)
    assert consumer.rows("shop.item") == ticdc.rows("shop.item")
    assert len(consumer.statements) == 2


@pytest.mark.parametrize("scenario", ["duplicate-replay", "watermark-fallback", "ddl-replay"])
@pytest.mark.ticdc(
    releases=["v6.5.6", "v8.5.3", "new:v8.5.7"],
    sink_uri="kafka://kafka:9092/shop?protocol=open-protocol&partition-num=3",
    config='[sink]\ndispatchers = [{matcher = ["*.*"], partition = "index-value"}]\n',
)
def test_restarts_change_nothing(ticdc: TiCDC, scenario: str) -> None:
    """Rows and statements that come again, watermarks that stand still, broadcasts that break off."""
    ticdc.play(scenario)
    consumer = fed(ticdc, Consumer(3))
    assert consumer.tables
    for table in consumer.tables:
        assert consumer.rows(table) == ticdc.rows(table)


def test_nothing_is_applied_before_every_partition_is_past_it(ticdc: TiCDC) -> None:
    ticdc.execute(STORY)
    consumer = Consumer(4)
    assert fed(ticdc, consumer).rows("shop.item") == []


@pytest.mark.ticdc(sink_uri="kafka://kafka:9092/shop?protocol=open-protocol&partition-num=3")
@pytest.mark.parametrize("scenario", [None, "duplicate-replay", "watermark-fallback", "ddl-replay"])
def test_it_reads_a_real_kafka(ticdc_kafka: TiCDC, scenario: str | None) -> None:
    ticdc_kafka.execute(STORY)
    if scenario:
        ticdc_kafka.play(scenario)
    ticdc_kafka.messages()  # sends the watermark that lets everything be applied
    consumer = Consumer(3)
    run(ticdc_kafka.brokers, ticdc_kafka.topic, consumer, ticdc_kafka.watermark)
    assert "shop.item" in consumer.tables
    for table in consumer.tables:
        assert consumer.rows(table) == ticdc_kafka.rows(table)
