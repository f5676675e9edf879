"""The Kafka sink: pieces of record batches in order, a bound on what is in flight, and a producer that may die.

Law: what is not acknowledged is sent again, in order, by a new producer; at least once, as TiCDC does.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType

from kafka import KafkaProducer
from kafka.errors import KafkaConnectionError, KafkaError

from simulator.sinks import kafka_batches, kafka_plain
from simulator.sinks.kafka_connect import reason, require_crc32c, unreachable
from simulator.sinks.kafka_failures import remedy
from simulator.sinks.kafka_flight import Flight, Outcome, Piece, failed, pieces
from simulator.sinks.kafka_settings import KafkaSettings
from simulator.sinks.records import Delivered, Records, by_partition
from simulator.sinks.tally import Tallies

POLL = 1.0


class KafkaSink:
    """Writes to the topics by their index; one per task, which owns its partitions."""

    def __init__(self, settings: KafkaSettings, topics: Sequence[str]) -> None:
        require_crc32c()
        self._settings = settings
        self._topics = list(topics)
        prepared = settings.prepared_batches and kafka_batches.available()
        self._path: ModuleType = kafka_batches if prepared else kafka_plain
        self._producer: KafkaProducer | None = None
        self._known: dict[str, set[int]] = {}
        self._flights: deque[Flight] = deque()
        self._in_flight = 0
        self._tallies = Tallies()
        self._heard = 0.0
        self._changed = 0.0
        self._given_up: str | None = None
        self._cause: BaseException | None = None

    @property
    def failed(self) -> bool:
        """Whether some partition can take no more."""
        return self._tallies.failed

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

    def accounts(self) -> list[Delivered]:
        """What has been delivered so far."""
        return self._tallies.accounts()

    def close(self) -> list[Delivered]:
        """Waits for every acknowledgement, or for the silence that ends the run."""
        while self._flights:
            self._settle(POLL)
        if self._producer is not None:
            kafka_plain.finish(self._producer, self._settings.write_timeout)
            self._producer = None
        return self._tallies.accounts()

    def _make_room(self, size: int) -> None:
        while self._flights and self._in_flight + size > self._settings.in_flight_bytes:
            self._settle(POLL)

    def _give(self, piece: Piece) -> None:
        """Sends a piece unless its partition has failed."""
        if self._tallies[piece.place].error is None:
            if self._given_up is not None:
                self._fail(piece, self._given_up)
            elif self._producer is not None or self._connect(time.monotonic()):
                self._send(piece, time.monotonic())
            else:
                self._give_up([piece])

    def _send(self, piece: Piece, since: float) -> None:
        topic, producer = self._topics[piece.topic], self._producer
        if producer is None:
            return
        try:
            if topic not in self._known:
                self._known[topic] = producer.partitions_for(topic)
            if piece.partition not in self._known[topic]:
                self._fail(piece, f"the topic has {len(self._known[topic])} partitions")
                return
            futures = self._path.send(producer, topic, piece.partition, piece.keys, piece.values)
        except KafkaError as error:
            futures = [failed(error)]
        self._flights.append(Flight(piece, futures, since))
        self._in_flight += piece.size

    def _settle(self, timeout: float) -> bool:
        """Looks what became of the oldest piece; whether it was delivered."""
        flight = self._flights[0]
        outcome = self._outcome(flight, timeout)
        if outcome is not None and outcome.error is None:
            self._in_flight -= self._flights.popleft().piece.size
            self._count(flight.piece, outcome)
            return True
        now = time.monotonic()
        if outcome is not None:
            self._cause = outcome.error
            self._recover(flight.since)
        elif now - max(flight.since, self._heard, self._changed) > min(self._settings.stall, self._settings.silence):
            self._recover(flight.since)
        return False

    def _outcome(self, flight: Flight, timeout: float) -> Outcome | None:
        outcome: Outcome | None = self._path.outcome(flight.futures, len(flight.piece.values), timeout)
        return outcome

    def _count(self, piece: Piece, outcome: Outcome) -> None:
        self._heard = time.monotonic()
        offset = outcome.offset if self._settings.required_acks else None
        last = piece.commit_ts[outcome.records - 1].as_py()
        self._tallies[piece.place].delivered(outcome.records, piece.size, offset, last)

    def _recover(self, since: float) -> None:
        """Replaces the producer and sends again what was not acknowledged, in order."""
        left = self._left()
        self._drop_producer()
        if not left:
            return
        if self._connect(since):
            for piece, first in left:
                if self._tallies[piece.place].error is None:
                    self._send(piece, first)
        else:
            self._give_up([piece for piece, _ in left])

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
                self._count(flight.piece, outcome)
                continue
            first = flight.piece.place not in broken
            broken.add(flight.piece.place)
            again = self._again(flight.piece, outcome) if first and outcome is not None else [flight.piece]
            left += [(piece, flight.since) for piece in again]
        return [(piece, since) for piece, since in left if self._tallies[piece.place].error is None]

    def _again(self, piece: Piece, outcome: Outcome) -> list[Piece]:
        """What to send again of a piece that failed: nothing where that would fail again."""
        if outcome.records:
            self._count(piece.part(0, outcome.records), outcome)
            piece = piece.part(outcome.records, len(piece.values))
        left = remedy(piece, outcome.error, self._settings.message_limit, self._path is kafka_batches)
        if isinstance(left, str):
            self._fail(piece, left)
            return []
        return left

    def _connect(self, since: float) -> bool:
        """A new producer, asked for until the run has been silent for too long; whether there is one."""
        end = max(since, self._heard) + self._settings.silence
        while (left := end - time.monotonic()) > 0:
            hasty = replace(self._settings, dial_timeout=min(self._settings.dial_timeout, max(left, 0.1)))
            try:
                if (why := unreachable(hasty)) is not None:
                    raise KafkaConnectionError(why)
                self._producer = kafka_plain.producer(hasty)
                self._changed = time.monotonic()
                return True
            except (KafkaError, OSError) as error:
                self._cause = error
                time.sleep(0.2)
        return False

    def _drop_producer(self) -> None:
        if self._producer is not None:
            kafka_plain.kill(self._producer)
        self._producer = None
        self._known = {}

    def _give_up(self, left: Sequence[Piece]) -> None:
        cause = f" ({reason(self._cause)})" if self._cause is not None else ""
        silence = f"Kafka at {self._settings.address} has acknowledged nothing for {self._settings.silence:.0f} s"
        self._given_up = silence + cause
        for piece in left:
            self._fail(piece, self._given_up)

    def _fail(self, piece: Piece, why: str) -> None:
        """Writes down where the partition ends, once."""
        tally = self._tallies[piece.place]
        if tally.error is None:
            where = f"topic {self._topics[piece.topic]} partition {piece.partition}"
            offset = "its first record" if tally.next_offset is None else f"offset {tally.next_offset}"
            tally.error = f"{where}: not delivered from {offset} on, commit_ts {piece.commit_ts[0].as_py()}: {why}"
