"""Servers in this process, whose answers a test writes down beforehand: a Kafka, a schema registry, an identity provider.

The Kafka knows a few requests. It keeps batches as a real broker does, sequence numbers of idempotent producers included;
only what it answers, and when, is the script's: which batch fails, and how.
"""

from __future__ import annotations

import base64
import json
import re
import socket
import ssl
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote_plus

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


@dataclass(frozen=True)
class Outcome:
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
    script: deque[Outcome] = field(default_factory=deque)
    by_partition: dict[int, deque[Outcome]] = field(default_factory=dict)
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

    configs: dict[str, str] = field(default_factory=dict)
    """what topics and brokers say of themselves; nothing of what is not here"""

    addresses: list[tuple[str, int]] = field(default_factory=list)
    sequences: dict[tuple[int, int, int], list[tuple[int, int]]] = field(default_factory=dict)
    """(partition, producer id, epoch) → from which number up to which each batch went"""

    producers: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next_answer(self, partition: int) -> Outcome:
        own = self.by_partition.get(partition)
        if own:
            return own.popleft()
        return self.script.popleft() if self.script else Outcome()

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

    def __init__(self, partitions: int = 1, nodes: int = 1, script: Iterable[Outcome] = ()) -> None:
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
    return ApiVersionsResponse(error_code=0, api_keys=known, throttle_time_ms=0)


def _metadata(state: Scripted, request: Any) -> Any:
    Topic = MetadataResponse.MetadataResponseTopic
    nodes = [
        MetadataResponse.MetadataResponseBroker(node_id=node, host=host, port=port, rack=None)
        for node, (host, port) in enumerate(state.addresses)
    ]
    replicas: dict[str, Any] = {"leader_epoch": 0, "replica_nodes": [0], "isr_nodes": [0], "offline_replicas": []}
    partitions = [
        Topic.MetadataResponsePartition(error_code=0, partition_index=number, leader_id=number % len(nodes), **replicas)
        for number in range(state.partitions)
    ]
    there = {asked.name: asked.name == TOPIC and state.exists for asked in request.topics or []}
    topics = [
        Topic(
            error_code=0 if found else state.metadata_error,
            name=name,
            is_internal=False,
            partitions=partitions if found else [],
        )
        for name, found in there.items()
    ]
    return MetadataResponse(brokers=nodes, cluster_id="scripted", controller_id=0, topics=topics)


def _producer(state: Scripted, request: Any) -> Any:
    with state.lock:
        if request.producer_id >= 0:
            number, epoch = request.producer_id, request.producer_epoch + 1
        else:
            state.producers += 1
            number, epoch = state.producers, 0
        return InitProducerIdResponse(error_code=0, producer_id=number, producer_epoch=epoch)


def _produce(state: Scripted, request: Any) -> Any:
    Topic = ProduceResponse.TopicProduceResponse
    answered = []
    for partition in (partition for topic in request.topic_data for partition in topic.partition_data):
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
        error, log = refused or answer.error, {"log_append_time_ms": -1, "log_start_offset": 0}
        response = Topic.PartitionProduceResponse(index=partition.index, error_code=error, base_offset=offset, **log)
        answered.append(response)
    return ProduceResponse(responses=[Topic(name=TOPIC, partition_responses=answered)], throttle_time_ms=0)


def _created(state: Scripted, request: Any) -> Any:
    code, message = state.creates
    Topic = CreateTopicsResponse.CreatableTopicResult
    topics = [Topic(name=topic.name, error_code=code, error_message=message) for topic in request.topics]
    state.exists = state.exists or not code
    return CreateTopicsResponse(throttle_time_ms=0, topics=topics)


def _configs(state: Scripted, request: Any) -> Any:
    """Of each what was asked for, as far as the script has it."""
    Result = DescribeConfigsResponse.DescribeConfigsResult
    Entry = Result.DescribeConfigsResourceResult
    rest: dict[str, Any] = {"read_only": False, "config_source": 1, "is_sensitive": False, "synonyms": []}
    entries = [Entry(name=name, value=value, **rest) for name, value in state.configs.items()]
    fine: dict[str, Any] = {"error_code": 0, "error_message": None, "configs": entries}
    asked = ((each.resource_type, each.resource_name) for each in request.resources)
    results = [Result(resource_type=kind, resource_name=name, **fine) for kind, name in asked]
    return DescribeConfigsResponse(throttle_time_ms=0, results=results)


HANDLERS: dict[Any, Callable[[Scripted, Any], Any]] = {
    ApiVersionsRequest: _versions,
    MetadataRequest: _metadata,
    InitProducerIdRequest: _producer,
    ProduceRequest: _produce,
    CreateTopicsRequest: _created,
    DescribeConfigsRequest: _configs,
}


Answer = tuple[int, bytes]
"""Status and body of an HTTP response."""


@contextmanager
def http_server(
    answer: Callable[[str, str | None, bytes], Answer | None], tls: ssl.SSLContext | None = None
) -> Iterator[str]:
    """The URL of a server on 127.0.0.1 that answers path, Authorization header and body of each request; None is silence."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            answered = answer(self.path or "/", self.headers["Authorization"], body)
            if answered is None:
                over.wait(60)
                return
            self.send_response(answered[0])
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(answered[1])

        do_POST = do_GET

        def log_message(self, format: str, *arguments: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}"
        finally:
            over.set()
            server.shutdown()


@dataclass
class Registry:
    """What is registered in a Confluent registry; `refused` are subjects for which no schema is taken."""

    root: str = "{}"
    refused: tuple[str, ...] = ()
    schemas: list[tuple[str, str]] = field(default_factory=list)
    """Subject and JSON; the first has the id 1."""

    authorized: list[str | None] = field(default_factory=list)
    """The header Authorization of each request."""

    url: str = ""

    def answer(self, path: str, authorization: str | None, body: bytes) -> Answer:
        self.authorized.append(authorization)
        if path == "/":
            return 200, self.root.encode()
        if found := re.fullmatch("/schemas/ids/([0-9]+)", path):
            place = int(found[1]) - 1
            if place < len(self.schemas):
                return 200, json.dumps({"schema": self.schemas[place][1]}).encode()
            return 404, b'{"error_code": 40403, "message": "Schema not found"}'
        found = re.fullmatch("/subjects/([^/]+)/versions", path)
        assert found is not None, path
        subject = unquote_plus(found[1])
        if subject in self.refused:
            return 409, b'{"error_code": 409, "message": "Schema being registered is incompatible"}'
        schema = subject, json.loads(body)["schema"]
        if schema not in self.schemas:
            self.schemas.append(schema)
        return 200, json.dumps({"id": self.schemas.index(schema) + 1}).encode()


@contextmanager
def serve_registry(registry: Registry, tls: ssl.SSLContext | None = None) -> Iterator[Registry]:
    """Serve a registry at its `url`, with TLS if there is a context for it."""
    with http_server(registry.answer, tls) as registry.url:
        yield registry


@dataclass
class Provider:
    url: str = ""
    asked: list[tuple[str, dict[str, list[str]]]] = field(default_factory=list)
    """The Authorization header and the form of each request."""


@contextmanager
def identity_provider(answer: Answer | None) -> Iterator[Provider]:
    """One that answers requests for OAuth tokens."""
    provider = Provider()

    def answered(path: str, authorization: str | None, body: bytes) -> Answer | None:
        provider.asked.append((authorization or "", parse_qs(body.decode())))
        return answer

    with http_server(answered) as provider.url:
        yield provider


def granted(token: str, **more: object) -> Answer:
    return 200, json.dumps({"access_token": token, **more}).encode()


def unsigned(subject: str) -> str:
    """A token that a Kafka takes which checks no signatures."""
    claims = {"sub": subject, "iat": int(time.time()) - 5, "exp": int(time.time()) + 3600}
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()) for part in ({"alg": "none"}, claims))
    return ".".join((*(part.decode().rstrip("=") for part in parts), ""))
