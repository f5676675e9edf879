"""The Kafka sink: pieces of record batches in order, a bound on what is in flight, and a producer that may die.

One law: what is not acknowledged is sent again, in order, by a new producer; at least once, as TiCDC does. What is not
acknowledged for `silence` ends its partition.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

from simulator.errors import SimulatorError
from simulator.sinks.kafka.admin import described, grow_topic
from simulator.sinks.kafka.connect import reason, require_packages
from simulator.sinks.kafka.flight import HOPELESS, Flight, Interrupted, Outcome, Piece, failed, pieces, remedy
from simulator.sinks.kafka.handshake import reachable
from simulator.sinks.kafka.library import IllegalStateError, KafkaError, UnknownTopicOrPartitionError
from simulator.sinks.kafka.producers import AS_BATCH, BY_RECORD, Handover, batches_available
from simulator.sinks.kafka.settings import KafkaSettings
from simulator.sinks.latencies import Latencies, LatencyRecorder
from simulator.sinks.records import (
    DeliveryReport,
    PartitionCounters,
    Records,
    WaitListener,
    by_partition,
    ignore_waiting,
)

POLL = 1.0

LAST_TRY = 1.0
"""Seconds that a connection is given at least, however little is left."""

STOPPED = (Interrupted, IllegalStateError)
"""What batches fail with that wait in a producer when another one fails."""

SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 1.0
"""Seconds between two producers, so that a batch that fails again and again does not have others sent without end."""


class KafkaSink:
    """Writes to the topics by their index; one per task, which owns its partitions."""

    def __init__(self, settings: KafkaSettings, topics: Sequence[str], waiting: WaitListener = ignore_waiting) -> None:
        require_packages(settings.driver, settings.compression, settings.sasl.mechanism)
        self._settings = settings
        self._topics = topics
        self._waiting = waiting
        self._handover = _handover(settings)
        self._producer: Any = None
        self._known: dict[str, int | BaseException] = {}
        self._flights: deque[Flight] = deque()
        self._in_flight = self._resent = 0
        self._counters = PartitionCounters()
        self._measured = LatencyRecorder()
        self._heard = 0.0
        self._acknowledged: dict[tuple[int, int], float] = {}
        self._changed = 0.0
        self._oldest: Piece | None = None
        self._paused = 0.0
        self._given_up = False
        self._cause: BaseException | None = None

    @property
    def failed(self) -> bool:
        """Whether some partition can take no more."""
        return self._counters.failed

    @property
    def in_flight(self) -> int:
        """Bytes that were written and not acknowledged."""
        return self._in_flight

    @property
    def resent(self) -> int:
        """Records that were given to another producer again."""
        return self._resent

    def latencies(self) -> Latencies:
        """Since this was last asked: from when a producer was first handed a record to its acknowledgement."""
        return self._measured.take()

    def write(self, records: Records) -> None:
        """Hands the records to the producer; waits for acknowledgements while too many bytes are in flight."""
        for run in by_partition(records):
            for piece in pieces(run, self._settings.batch_bytes):
                self._make_room(piece.size)
                self._give(piece)
        while self._flights and self._settle(0.0):
            pass

    def drain(self) -> None:
        """Waits until everything is acknowledged, or some partition can take no more."""
        while self._flights and not self.failed:
            self._settle(POLL)

    def accounts(self) -> list[DeliveryReport]:
        """What has been delivered so far."""
        return self._counters.accounts()

    def close(self) -> list[DeliveryReport]:
        """Waits for every acknowledgement, or for the silence that ends the run."""
        while self._flights:
            self._settle(POLL)
        if self._producer is not None:
            self._handover.finish(self._producer, self._settings.write_timeout)
            self._producer = None
        return self._counters.accounts()

    def _make_room(self, size: int) -> None:
        while self._flights and self._in_flight + size > self._settings.in_flight_bytes:
            self._settle(POLL)

    def _give(self, piece: Piece) -> None:
        """Sends a piece unless its partition has failed."""
        if self._counters[piece.place].error is None:
            if self._given_up:
                self._fail(piece, self._silence(piece))
            elif self._producer is not None or self._connect(time.monotonic()):
                self._send(piece, time.monotonic())
            else:
                self._give_up([piece])

    def _send(self, piece: Piece, since: float) -> None:
        """Hands it to the producer; without a future where Kafka shows no such topic, until the next producer asks."""
        topic, futures = self._topics[piece.topic], []
        known = self._of(topic)
        if isinstance(known, HOPELESS):
            futures = [failed(known)]
        elif isinstance(known, int):
            if piece.partition >= known:
                why = self._grown(topic, piece.partition)
                if why:
                    self._fail(piece, why)
                    return
            try:
                futures = self._handover.send(self._producer, topic, piece.partition, piece.keys, piece.values)
            except (KafkaError, ValueError) as error:
                # ValueError: what kafka-python says of a topic that it has just lost from its metadata (3.0.12).
                self._known[topic] = error
                futures = [failed(error)]
        flight = Flight(piece, futures, since)
        if futures:
            futures[-1].add_callback(flight.answer.come)
        self._flights.append(flight)
        self._in_flight += piece.size

    def _of(self, topic: str) -> int | BaseException:
        """How many partitions a topic has, which may have come since the producer did, or why that is not known."""
        if topic not in self._known:
            try:
                self._known.update(described(reachable(self._settings), [topic]))
            except (KafkaError, OSError, SimulatorError) as error:
                return error
        return self._known[topic]

    def _grown(self, topic: str, partition: int) -> str:
        """Gives a topic the partition where the run says so, and a producer that knows it; else why it has none."""
        wanted = [count for name, count in self._settings.grown if name == topic and count > partition]
        try:
            if wanted:
                grow_topic(self._settings, topic, min(wanted))
            self._known.update(described(reachable(self._settings), [topic]))
        except (KafkaError, OSError, SimulatorError) as error:
            return f"its partitions are not known: {error}"
        known = self._known[topic]
        if not isinstance(known, int) or known <= partition:
            return f"the topic has {known} partitions"
        self.drain()
        self._drop_producer()
        return "" if self._connect(time.monotonic()) else "no producer knows its new partitions"

    def _settle(self, timeout: float) -> bool:
        """Looks what became of the oldest piece; whether it was delivered."""
        flight = self._flights[0]
        outcome = self._outcome(flight, timeout)
        if outcome is not None and outcome.error is None:
            self._in_flight -= self._flights.popleft().piece.size
            self._count(flight, outcome)
            return True
        silent = self._silent(flight.piece, flight.since)
        hung = max(flight.since, self._heard, self._changed) + self._settings.stall
        if outcome is not None or time.monotonic() > min(hung, silent + self._settings.silence):
            self._recover()
        elif timeout:
            self._tell(silent)
        return False

    def _silent(self, piece: Piece, since: float) -> float:
        """Since when nothing of its partition has been acknowledged that was sent from `since` on."""
        return max(since, self._acknowledged.get(piece.place, 0.0))

    def _tell(self, silent: float) -> None:
        since = time.time() + silent - time.monotonic()
        self._waiting(since, since + self._settings.silence)

    def _outcome(self, flight: Flight, timeout: float) -> Outcome | None:
        if not flight.futures:
            time.sleep(timeout)
            return None
        return self._handover.outcome(flight.futures, len(flight.piece.values), timeout)

    def _count(self, flight: Flight, outcome: Outcome) -> None:
        piece = flight.piece
        self._heard = self._acknowledged[piece.place] = time.monotonic()
        offset = outcome.offset if self._settings.required_acks else None
        last = piece.commit_ts[outcome.records - 1].as_py()
        self._counters[piece.place].delivered(outcome.records, piece.size, offset, last)
        if self._settings.required_acks:
            self._measured.add(flight.seconds, outcome.records)

    def _recover(self) -> None:
        """Replaces the producer and sends again what was not acknowledged, in order; ends what is silent too long.

        The partition that is waited for longest goes last: one that fails again holds up no other.
        """
        left = self._left()
        self._drop_producer()
        if not left:
            return
        oldest, first = min(left, key=itemgetter(1))
        self._pause(oldest)
        if not self._connect(first):
            self._give_up([piece for piece, _ in left])
            return
        for piece, since in sorted(left, key=lambda waiting: waiting[0].place == oldest.place):
            if time.monotonic() > self._silent(piece, since) + self._settings.silence:
                self._fail(piece, self._silence(piece))
            if self._counters[piece.place].error is None:
                self._resent += len(piece.values)
                self._send(piece, since)

    def _pause(self, oldest: Piece) -> None:
        """Waits, longer each time, where the last producer, too, ended with the same piece still to be delivered."""
        self._paused = min(2 * self._paused, LONGEST_PAUSE) if oldest is self._oldest else SHORTEST_PAUSE
        self._oldest = oldest
        time.sleep(self._paused)

    def _left(self) -> list[tuple[Piece, float]]:
        """Empties the list of flights, counts what has arrived, gives back the rest.

        After the first piece of a partition that has not arrived, none of that partition counts as arrived.
        """
        left: list[tuple[Piece, float]] = []
        broken: set[tuple[int, int]] = set()
        flights, self._flights, self._in_flight = self._flights, deque(), 0
        for flight in flights:
            outcome = None if flight.piece.place in broken else self._outcome(flight, 0.0)
            if outcome is not None and outcome.error is None:
                self._count(flight, outcome)
                continue
            if outcome is not None and not isinstance(outcome.error, STOPPED):
                self._cause = outcome.error
            first = flight.piece.place not in broken
            broken.add(flight.piece.place)
            again = self._again(flight, outcome) if first and outcome is not None else [flight.piece]
            left += [(piece, flight.since) for piece in again]
        return [(piece, since) for piece, since in left if self._counters[piece.place].error is None]

    def _again(self, flight: Flight, outcome: Outcome) -> list[Piece]:
        """What to send again of a piece that failed: nothing where that would fail again."""
        piece = flight.piece
        if outcome.records:
            self._count(replace(flight, piece=piece.part(0, outcome.records)), outcome)
            piece = piece.part(outcome.records, len(piece.values))
        left = remedy(piece, outcome.error, self._settings.message_limit, self._handover.whole)
        if isinstance(left, str):
            self._fail(piece, left)
            return []
        return left

    def _connect(self, since: float) -> bool:
        """A new producer, asked for until the run has been silent for too long; whether there is one."""
        end = max(since, self._heard) + self._settings.silence
        while True:
            self._tell(end - self._settings.silence)
            left = max(end - time.monotonic(), LAST_TRY)
            hasty = replace(self._settings, dial_timeout=min(self._settings.dial_timeout, left))
            try:
                reached = reachable(hasty)
                self._known = described(reached, self._topics)
                self._producer = self._handover.producer(reached)
                self._changed = time.monotonic()
                return True
            except (KafkaError, OSError, SimulatorError) as error:
                self._cause = error
            if time.monotonic() > end:
                return False
            time.sleep(0.2)

    def _drop_producer(self) -> None:
        if self._producer is not None:
            self._handover.kill(self._producer)
        self._producer = None

    def _give_up(self, left: Sequence[Piece]) -> None:
        self._given_up = True
        for piece in left:
            self._fail(piece, self._silence(piece))

    def _silence(self, piece: Piece) -> str:
        topic = self._topics[piece.topic]
        known = self._known.get(topic)
        if isinstance(known, UnknownTopicOrPartitionError):
            cause = f" (there is no topic {topic})"
        else:
            error = known if isinstance(known, KafkaError) else self._cause
            cause = f" ({reason(error)})" if error is not None else ""
        return f"Kafka at {self._settings.address} has acknowledged nothing for {self._settings.silence:.0f} s{cause}"

    def _fail(self, piece: Piece, why: str) -> None:
        """Writes down where the partition ends, once."""
        tally = self._counters[piece.place]
        if tally.error is None:
            where = f"topic {self._topics[piece.topic]} partition {piece.partition}"
            offset = "its first record" if tally.next_offset is None else f"offset {tally.next_offset}"
            tally.error = f"{where}: not delivered from {offset} on, commit_ts {piece.commit_ts[0].as_py()}: {why}"


def _handover(settings: KafkaSettings) -> Handover:
    if settings.driver == "confluent":
        from simulator.sinks.kafka.confluent import BY_CONFLUENT

        return BY_CONFLUENT
    return AS_BATCH if settings.prepared_batches and batches_available() else BY_RECORD
