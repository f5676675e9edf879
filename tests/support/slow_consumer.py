"""An example consumer, as a process: it takes so many messages a second, and commits what it has taken.

python slow_consumer.py ADDRESS TOPIC GROUP MESSAGES_A_SECOND
"""

from __future__ import annotations

import sys
import time

from kafka import KafkaConsumer, TopicPartition

POLLS = 40
"""A second."""


def consume(address: str, topic: str, group: str, fastest: int, partitions: int = 2) -> None:
    """Until it is killed.

    The partitions are assigned, not subscribed to: a member that joins while the topic is being created may be given
    none of them until its metadata is renewed, five minutes later.
    """
    consumer = KafkaConsumer(
        bootstrap_servers=address, group_id=group, enable_auto_commit=False, auto_offset_reset="earliest"
    )
    consumer.assign([TopicPartition(topic, number) for number in range(partitions)])
    while True:
        began = time.monotonic()
        found = consumer.poll(timeout_ms=100, max_records=fastest // POLLS)
        if found:
            consumer.commit()
        taken = sum(map(len, found.values()))
        time.sleep(max(0.0, began + taken / fastest - time.monotonic()))


if __name__ == "__main__":
    consume(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
