"""The Kafka sink: batches in order, a limit of bytes in flight, and a producer that is replaced after failures.

Unacknowledged records are sent again, in order, by a new producer: at least once, as in TiCDC. Records without an
acknowledgement for `silence` seconds end their partition.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter

from simulator.errors import SimulatorError
from simulator.limits import counted
from simulator.sinks.kafka import KafkaSettings
from simulator.sinks.kafka.admin import describe_topics, grow_topic
from simulator.sinks.kafka.handshake import with_reachable_broker
from simulator.sinks.kafka.library import (
    IllegalStateError,
    KafkaError,
    UnknownTopicOrPartitionError,
    reason,
    require_packages,
)
from simulator.sinks.kafka.producers import (
    PERMANENT_ERRORS,
    AbortedBatch,
    PreparedProducer,
    RecordBatch,
    SendOutcome,
    SentBatch,
    failed_future,
    retry_batches,
    split_into_batches,
)
from simulator.sinks.records import (
    CountedSink,
    DeliveryReport,
    Latencies,
    LatencyRecorder,
    Records,
    WaitListener,
    by_partition,
    ignore_waiting,
)

POLL = 1.0

LAST_TRY = 1.0
"""Minimum seconds for a connection, however little time is left."""

STOPPED = (AbortedBatch, IllegalStateError)
"""Errors of batches that waited in a producer when another one failed."""

SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 1.0
"""Seconds between two producers, so that a batch that always fails does not resend others without end."""


class KafkaSink(CountedSink):
    """Writes to the topics by their index; one per task, which owns its partitions."""

    def __init__(self, settings: KafkaSettings, topics: Sequence[str], waiting: WaitListener = ignore_waiting) -> None:
        require_packages(settings.compression)
        super().__init__()
        self._settings = settings
        self._topics = topics
        self._waiting = waiting
        self._producer: PreparedProducer | None = None
        self._known: dict[str, int | BaseException] = {}
        self._flights: deque[SentBatch] = deque()
        self.in_flight = self.resent = 0
        self._measured = LatencyRecorder()
        self._last_acknowledged = 0.0
        self._acknowledged: dict[tuple[int, int], float] = {}
        self._producer_since = 0.0
        self._oldest: RecordBatch | None = None
        self._paused = 0.0
        self._given_up = False
        self._cause: BaseException | None = None

    def latencies(self) -> Latencies:
        """Return those from the first handover of a record to its acknowledgement."""
        return self._measured.take()

    def write(self, records: Records) -> None:
        """Pass the records to the producer; wait for acknowledgements while too many bytes are in flight."""
        for run in by_partition(records):
            for batch in split_into_batches(run, self._settings.batch_bytes):
                self._make_room(batch.size)
                self._send_or_fail(batch)
        while self._flights and self._check_oldest(0.0):
            pass

    def drain(self) -> None:
        """Wait until everything is acknowledged, or some partition has failed."""
        while self._flights and not self.failed:
            self._check_oldest(POLL)

    def close(self) -> list[DeliveryReport]:
        """Wait for every acknowledgement, or for the silence that ends the run."""
        while self._flights:
            self._check_oldest(POLL)
        if self._producer is not None:
            self._producer.finish(self._settings.write_timeout)
            self._producer = None
        return self._counters.accounts()

    def _make_room(self, size: int) -> None:
        while self._flights and self.in_flight + size > self._settings.in_flight_bytes:
            self._check_oldest(POLL)

    def _send_or_fail(self, batch: RecordBatch) -> None:
        if self._counters[batch.place].error is None:
            if self._given_up:
                self._fail(batch, self._silence(batch))
            elif self._producer is not None or self._connect(time.monotonic()):
                self._send(batch, time.monotonic())
            else:
                self._give_up([batch])

    def _send(self, batch: RecordBatch, since: float) -> None:
        """Pass a batch to the producer; without a future if Kafka lacks the topic, until the next producer asks."""
        topic, future = self._topics[batch.topic], None
        count = self._partition_count(topic)
        if isinstance(count, PERMANENT_ERRORS):
            future = failed_future(count)
        elif isinstance(count, int):
            if batch.partition >= count:
                why = self._grow_topic(topic, batch.partition)
                if why:
                    self._fail(batch, why)
                    return
            assert self._producer is not None, "there is a producer where something is sent"
            try:
                future = self._producer.send(topic, batch.partition, batch.keys, batch.values)
            except (KafkaError, ValueError) as error:
                # ValueError: what kafka-python says of a topic that it has just lost from its metadata (3.0.12).
                self._known[topic] = error
                future = failed_future(error)
        self._flights.append(SentBatch(batch, future, since))
        self.in_flight += batch.size

    def _partition_count(self, topic: str) -> int | BaseException:
        """Return the topic's number of partitions, which may have changed, or the error."""
        if topic not in self._known:
            try:
                self._known.update(describe_topics(with_reachable_broker(self._settings), [topic]))
            except (KafkaError, OSError, SimulatorError) as error:
                return error
        return self._known[topic]

    def _grow_topic(self, topic: str, partition: int) -> str:
        """Add partitions if the run plans it, and replace the producer; return why the partition is missing."""
        planned_counts = [count for name, count in self._settings.grown if name == topic and count > partition]
        try:
            if planned_counts:
                grow_topic(self._settings, topic, min(planned_counts))
            self._known.update(describe_topics(with_reachable_broker(self._settings), [topic]))
        except (KafkaError, OSError, SimulatorError) as error:
            return f"its partitions are not known: {error}"
        count = self._known[topic]
        if not isinstance(count, int):
            return f"its partitions are not known: {reason(count)}"
        if count <= partition:
            return f"the topic has {counted(count, 'partition')}"
        self.drain()
        self._drop_producer()
        return "" if self._connect(time.monotonic()) else "no producer knows its new partitions"

    def _check_oldest(self, timeout: float) -> bool:
        """Check the result of the oldest batch; return whether it was delivered."""
        flight = self._flights[0]
        outcome = flight.outcome(timeout)
        if outcome is not None and outcome.error is None:
            self.in_flight -= self._flights.popleft().batch.size
            self._count(flight, outcome)
            return True
        silent = self._silent_since(flight.batch, flight.since)
        hung = max(flight.since, self._last_acknowledged, self._producer_since) + self._settings.stall
        if outcome is not None or time.monotonic() > min(hung, silent + self._settings.silence):
            self._recover()
        elif timeout:
            self._notify(silent)
        return False

    def _silent_since(self, batch: RecordBatch, since: float) -> float:
        """Return since when no record of its partition that was sent from `since` on has been acknowledged."""
        return max(since, self._acknowledged.get(batch.place, 0.0))

    def _notify(self, silent: float) -> None:
        since = time.time() + silent - time.monotonic()
        self._waiting(since, since + self._settings.silence)

    def _count(self, flight: SentBatch, outcome: SendOutcome) -> None:
        batch = flight.batch
        self._last_acknowledged = self._acknowledged[batch.place] = time.monotonic()
        offset = outcome.offset if self._settings.required_acks else None
        records, last = len(batch.values), batch.commit_ts[-1].as_py()
        self._counters[batch.place].delivered(records, batch.size, offset, last)
        if self._settings.required_acks:
            self._measured.add(flight.seconds, records)

    def _recover(self) -> None:
        """Replace the producer and resend what was not acknowledged, in order; end partitions that are silent too long.

        The partition that has waited longest goes last, so that another failure of it does not delay the others.
        """
        left = self._undelivered()
        self._drop_producer()
        if not left:
            return
        oldest, first = min(left, key=itemgetter(1))
        self._pause(oldest)
        if not self._connect(first):
            self._give_up([batch for batch, _ in left])
            return
        now = time.monotonic()  # read once: a later batch would be found silent where the first was still in time
        for batch, since in sorted(left, key=lambda waiting: waiting[0].place == oldest.place):
            if now > self._silent_since(batch, since) + self._settings.silence:
                self._fail(batch, self._silence(batch))
            if self._counters[batch.place].error is None:
                self.resent += len(batch.values)
                self._send(batch, since)

    def _pause(self, oldest: RecordBatch) -> None:
        """Wait, longer each time, if the last producer also ended with the same batch undelivered."""
        self._paused = min(2 * self._paused, LONGEST_PAUSE) if oldest is self._oldest else SHORTEST_PAUSE
        self._oldest = oldest
        time.sleep(self._paused)

    def _undelivered(self) -> list[tuple[RecordBatch, float]]:
        """Empty the queue, count what was delivered, and return the rest.

        After the first undelivered batch of a partition, none of that partition counts as delivered.
        """
        left: list[tuple[RecordBatch, float]] = []
        broken: set[tuple[int, int]] = set()
        flights, self._flights, self.in_flight = self._flights, deque(), 0
        for flight in flights:
            outcome = None if flight.batch.place in broken else flight.outcome(0.0)
            if outcome is not None and outcome.error is None:
                self._count(flight, outcome)
                continue
            if outcome is not None and not isinstance(outcome.error, STOPPED):
                self._cause = outcome.error
            first = flight.batch.place not in broken
            broken.add(flight.batch.place)
            again = self._batches_to_resend(flight.batch, outcome.error) if first and outcome else [flight.batch]
            left += [(batch, flight.since) for batch in again]
        return [(batch, since) for batch, since in left if self._counters[batch.place].error is None]

    def _batches_to_resend(self, batch: RecordBatch, error: BaseException | None) -> list[RecordBatch]:
        """Return the batches to resend for a failed one; none if they would fail again."""
        left = retry_batches(batch, error, self._settings.message_limit)
        if isinstance(left, str):
            self._fail(batch, left)
            return []
        return left

    def _connect(self, since: float) -> bool:
        """Create a new producer, retrying until the run has been silent for too long; return whether there is one."""
        end = max(since, self._last_acknowledged) + self._settings.silence
        while True:
            self._notify(end - self._settings.silence)
            left = max(end - time.monotonic(), LAST_TRY)
            hasty = replace(self._settings, dial_timeout=min(self._settings.dial_timeout, left))
            try:
                reached = with_reachable_broker(hasty)
                self._known = describe_topics(reached, self._topics)
                self._producer = PreparedProducer(reached)
                self._producer_since = time.monotonic()
                return True
            except (KafkaError, OSError, SimulatorError) as error:
                self._cause = error
            if time.monotonic() > end:
                return False
            time.sleep(0.2)

    def _drop_producer(self) -> None:
        if self._producer is not None:
            self._producer.kill()
        self._producer = None

    def _give_up(self, left: Sequence[RecordBatch]) -> None:
        self._given_up = True
        for batch in left:
            self._fail(batch, self._silence(batch))

    def _silence(self, batch: RecordBatch) -> str:
        topic = self._topics[batch.topic]
        count = self._known.get(topic)
        if isinstance(count, UnknownTopicOrPartitionError):
            cause = f" (there is no topic {topic})"
        else:
            error = count if isinstance(count, KafkaError) else self._cause
            cause = f" ({reason(error)})" if error is not None else ""
        return f"Kafka at {self._settings.address} has acknowledged nothing for {self._settings.silence:.0f} s{cause}"

    def _fail(self, batch: RecordBatch, why: str) -> None:
        """Record where the partition ends, once."""
        tally = self._counters[batch.place]
        if tally.error is None:
            where = f"topic {self._topics[batch.topic]} partition {batch.partition}"
            offset = "its first record" if tally.next_offset is None else f"offset {tally.next_offset}"
            tally.error = f"{where}: not delivered from {offset} on, commit_ts {batch.commit_ts[0].as_py()}: {why}"
