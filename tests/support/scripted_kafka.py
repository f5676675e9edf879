"""A Kafka of a few requests whose answers a test writes down beforehand: which batch fails, how, and what was written.

Law: it keeps batches as a real broker does (sequence numbers of idempotent producers included); only what it answers,
and when, is the script's.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from kafka.protocol.admin import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
)
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest, MetadataResponse
from kafka.protocol.producer import InitProducerIdRequest, InitProducerIdResponse, ProduceRequest, ProduceResponse
from kafka.record.memory_records import MemoryRecords

TOPIC = "scripted"

UNKNOWN_TOPIC, OUT_OF_ORDER_SEQUENCE = 3, 45

VERSIONS = {
    ProduceRequest: 9,
    MetadataRequest: 9,
    InitProducerIdRequest: 4,
    ApiVersionsRequest: 3,
    CreateTopicsRequest: 5,
    DescribeConfigsRequest: 1,
}
"""The newest of each request that it takes; a client takes it for a Kafka 2.8."""

FETCH = 1
"""A request that nobody makes of it; librdkafka sends today's batches only to a broker that has it (from version 4)."""


@dataclass(frozen=True)
class Answer:
    """What becomes of one batch."""

    error: int = 0
    """Kafka's error code; 0 is an acknowledgement"""

    writes: bool = True
    """whether the records are in the log nevertheless, or not"""

    hangs_up: bool = False
    """whether the connection ends in place of an answer"""

    after: threading.Event | None = None
    """what is waited for before anything is done"""


@dataclass
class Scripted:
    """What all nodes share: the log, and the script, whose answers are given in the order in which batches come."""

    partitions: int
    script: deque[Answer] = field(default_factory=deque)
    by_partition: dict[int, deque[Answer]] = field(default_factory=dict)
    """answers for batches of one partition; they come before the script's"""

    log: dict[int, list[bytes]] = field(default_factory=dict)
    """partition → the values written, in order"""

    seen: dict[int, list[bytes]] = field(default_factory=dict)
    """partition → the first value of each batch that came"""

    exists: bool = True
    metadata_error: int = UNKNOWN_TOPIC
    """of a topic that there is not"""

    creates: tuple[int, str | None] = (0, None)
    """error code and message for who creates a topic"""

    addresses: list[tuple[str, int]] = field(default_factory=list)
    sequences: dict[tuple[int, int, int], list[tuple[int, int]]] = field(default_factory=dict)
    """(partition, producer id, epoch) → from which number up to which each batch went"""

    producers: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next_answer(self, partition: int) -> Answer:
        own = self.by_partition.get(partition)
        if own:
            return own.popleft()
        return self.script.popleft() if self.script else Answer()

    def write(self, partition: int, data: bytes) -> int:
        """Appends the batch, or refuses or knows it by its sequence number; an error code."""
        (batch,) = MemoryRecords(bytes(data))
        records = list(batch)
        if batch.producer_id >= 0:
            known = self.sequences.setdefault((partition, batch.producer_id, batch.producer_epoch), [(0, 0)])
            span = batch.base_sequence, batch.base_sequence + len(records)
            if span in known[-5:]:
                return 0
            if span[0] != known[-1][1]:
                return OUT_OF_ORDER_SEQUENCE
            known.append(span)
        self.log.setdefault(partition, []).extend(bytes(record.value) for record in records)
        return 0


class ScriptedKafka:
    """Nodes that listen while it is open; partition p is led by node p modulo their number."""

    def __init__(self, partitions: int = 1, nodes: int = 1, script: Iterable[Answer] = ()) -> None:
        self.state = Scripted(partitions, deque(script))
        self._servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(nodes)]
        self.state.addresses = [server.getsockname() for server in self._servers]
        self._open: set[socket.socket] = set()
        self._threads = [threading.Thread(target=self._accept, args=(server,)) for server in self._servers]

    @property
    def address(self) -> str:
        """Of the first node."""
        host, port = self.state.addresses[0]
        return f"{host}:{port}"

    def wait_for(self, partition: int, records: int, seconds: float = 0.5) -> None:
        """Until so many records are in the partition's log, or for so long."""
        end = time.monotonic() + seconds
        while len(self.state.log.get(partition, [])) < records and time.monotonic() < end:
            time.sleep(0.01)

    def __enter__(self) -> ScriptedKafka:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.shutdown(socket.SHUT_RDWR)
            server.close()
        with self.state.lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in list(self._threads):
            thread.join()

    def _accept(self, server: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                with self.state.lock:
                    self._open.add(connection)
                thread = threading.Thread(target=self._serve, args=(connection,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream, suppress(OSError):
            while size := stream.read(4):
                frame = stream.read(struct.unpack(">i", size)[0])
                response = self._answer(frame)
                if response is None:
                    break
                connection.sendall(response)
        with self.state.lock:
            self._open.discard(connection)

    def _answer(self, frame: bytes) -> bytes | None:
        """The response's bytes, none where none is wanted; None ends the connection."""
        key, version = struct.unpack(">hh", frame[:4])
        kind = next(kind for kind in VERSIONS if key == kind.API_KEY)
        request = kind.decode(frame, version=min(version, VERSIONS[kind]), header=True)
        response = HANDLERS[kind](self.state, request)
        if response is None:
            return None
        if kind is ProduceRequest and request.acks == 0:
            return b""
        response.API_VERSION = min(version, VERSIONS[kind])
        response.with_header(correlation_id=request.header.correlation_id)
        encoded: bytes = response.encode(header=True, framed=True)
        return encoded


def _versions(state: Scripted, request: Any) -> Any:
    known = [ApiVersionsResponse.ApiVersion(kind.API_KEY, 0, newest) for kind, newest in VERSIONS.items()]
    known.append(ApiVersionsResponse.ApiVersion(FETCH, 0, 11))
    return ApiVersionsResponse(error_code=0, api_keys=known, throttle_time_ms=0)


def _metadata(state: Scripted, request: Any) -> Any:
    Topic = MetadataResponse.MetadataResponseTopic
    nodes = [
        MetadataResponse.MetadataResponseBroker(node_id=node, host=host, port=port, rack=None)
        for node, (host, port) in enumerate(state.addresses)
    ]
    partitions = [
        Topic.MetadataResponsePartition(
            error_code=0,
            partition_index=partition,
            leader_id=partition % len(nodes),
            leader_epoch=0,
            replica_nodes=[0],
            isr_nodes=[0],
            offline_replicas=[],
        )
        for partition in range(state.partitions)
    ]
    topics = [
        Topic(error_code=0, name=asked.name, is_internal=False, partitions=partitions)
        if asked.name == TOPIC and state.exists
        else Topic(error_code=state.metadata_error, name=asked.name, is_internal=False, partitions=[])
        for asked in request.topics or []
    ]
    return MetadataResponse(brokers=nodes, cluster_id="scripted", controller_id=0, topics=topics)


def _producer(state: Scripted, request: Any) -> Any:
    with state.lock:
        if request.producer_id >= 0:
            return InitProducerIdResponse(
                error_code=0, producer_id=request.producer_id, producer_epoch=request.producer_epoch + 1
            )
        state.producers += 1
        return InitProducerIdResponse(error_code=0, producer_id=state.producers, producer_epoch=0)


def _produce(state: Scripted, request: Any) -> Any:
    Topic = ProduceResponse.TopicProduceResponse
    answered = []
    for topic in request.topic_data:
        for partition in topic.partition_data:
            (batch,) = MemoryRecords(bytes(partition.records))
            with state.lock:
                state.seen.setdefault(partition.index, []).append(bytes(next(iter(batch)).value))
                answer = state.next_answer(partition.index)
            if answer.after is not None:
                answer.after.wait(20)
            with state.lock:
                refused = state.write(partition.index, partition.records) if answer.writes else 0
                offset = len(state.log.get(partition.index, []))
            if answer.hangs_up:
                return None
            answered.append(
                Topic.PartitionProduceResponse(
                    index=partition.index,
                    error_code=refused or answer.error,
                    base_offset=offset,
                    log_append_time_ms=-1,
                    log_start_offset=0,
                )
            )
    return ProduceResponse(responses=[Topic(name=TOPIC, partition_responses=answered)], throttle_time_ms=0)


def _created(state: Scripted, request: Any) -> Any:
    code, message = state.creates
    Topic = CreateTopicsResponse.CreatableTopicResult
    topics = [Topic(name=topic.name, error_code=code, error_message=message) for topic in request.topics]
    return CreateTopicsResponse(throttle_time_ms=0, topics=topics)


def _configs(state: Scripted, request: Any) -> Any:
    """Of each what was asked for, and nothing of it."""
    Result = DescribeConfigsResponse.DescribeConfigsResult
    results = [
        Result(
            error_code=0,
            error_message=None,
            resource_type=each.resource_type,
            resource_name=each.resource_name,
            configs=[],
        )
        for each in request.resources
    ]
    return DescribeConfigsResponse(throttle_time_ms=0, results=results)


HANDLERS: dict[Any, Callable[[Scripted, Any], Any]] = {
    ApiVersionsRequest: _versions,
    MetadataRequest: _metadata,
    InitProducerIdRequest: _producer,
    ProduceRequest: _produce,
    CreateTopicsRequest: _created,
    DescribeConfigsRequest: _configs,
}
