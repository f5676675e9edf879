"""Records are split by partition in order, and encoded in bulk as they would be one by one."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from io import BytesIO

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatchBuilder

from simulator.channel import SECRET_BYTES, UNAUTHENTICATED, DriverAddress
from simulator.errors import DeliveryError
from simulator.sinks import SINKS
from simulator.sinks.console import ConsoleServer
from simulator.sinks.files import SCHEMA, table
from simulator.sinks.kafka.producers import body
from simulator.sinks.records import DeliveryReport, Records, by_partition, require_delivered


def records(places: list[tuple[int, int]], first: int = 0) -> Records:
    """A record for each (topic, partition), numbered from `first` in key, value and TSO."""
    numbers = range(first, first + len(places))
    return Records(
        pa.array([topic for topic, _ in places], pa.int32()),
        pa.array([partition for _, partition in places], pa.int32()),
        pa.array([f"k{n}".encode() for n in numbers], pa.binary()),
        pa.array([f"value {n}".encode() for n in numbers], pa.binary()),
        pa.array([(n + 1) << 18 for n in numbers], pa.int64()),
        pa.array([f'[{{"n": {n}}}]' for n in numbers], pa.string()),
    )


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=60))
def test_every_partition_gets_its_records_in_the_order_given(places: list[tuple[int, int]]) -> None:
    runs = list(by_partition(records(places)))

    expected = {p: [f"k{n}".encode() for n, q in enumerate(places) if q == p] for p in sorted(set(places))}
    assert expected == {(run.topic, run.partition): run.records.key.to_pylist() for run in runs}


def built(keys: Sequence[bytes | None], values: Sequence[bytes | None]) -> bytes:
    """The body of the batch that kafka-python builds record by record."""
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 30)
    for offset, (key, value) in enumerate(zip(keys, values, strict=True)):
        builder.append(offset, 1700000000000, key, value, [])
    return bytes(builder._buffer[builder.header_size_in_bytes() :])


@given(st.lists(st.tuples(st.none() | st.binary(max_size=90), st.none() | st.binary(max_size=300)), min_size=1))
def test_a_record_batch_in_bulk_is_the_one_kafka_python_builds_record_by_record(
    pairs: list[tuple[bytes | None, bytes | None]],
) -> None:
    keys, values = zip(*pairs)
    assert body(pa.array(keys, pa.binary()), pa.array(values, pa.binary())).to_pybytes() == built(keys, values)


def test_long_records_get_long_length_fields() -> None:
    """Each width of the variable-length integers up to four bytes."""
    values = [b"x" * size for size in (0, 63, 64, 8191, 8192, 1048575, 1048576, 3000000)]
    keys = [None] * len(values)
    assert body(pa.array(keys, pa.binary()), pa.array(values, pa.binary())).to_pybytes() == built(keys, values)


def test_the_counting_sink_counts() -> None:
    sink = SINKS["counting"](None, ["a", "b"])
    sink.write(records([(0, 0), (1, 2), (0, 0)]))
    sink.write(records([(1, 2)], first=3))

    assert [DeliveryReport(0, 0, 2, 18, 0, 3 << 18), DeliveryReport(1, 2, 2, 18, 0, 4 << 18)] == sink.close()


def test_the_console_has_shown_all_that_a_task_wrote_once_its_sink_is_closed() -> None:
    """The driver gets the records as Spark's Kafka source shows them, in the order of their TSOs."""
    shown: list[tuple[str, int, int]] = []

    def show(batch: pa.RecordBatch) -> None:
        shown.extend((row["topic"], row["partition"], row["offset"]) for row in batch.to_pylist())

    with ConsoleServer(show) as console:
        sink = SINKS["console"](console.driver, ["a", "b"])
        sink.write(records([(0, 0), (1, 2), (0, 0)]))
        sink.write(records([(0, 0)]))
        accounts = sink.close()
        assert [("a", 0, 0), ("b", 2, 0), ("a", 0, 1), ("a", 0, 2)] == shown

    assert [(3, None), (1, None)] == [(account.records, account.error) for account in accounts]


def test_a_console_that_can_show_no_more_is_told() -> None:

    def show(batch: pa.RecordBatch) -> None:
        raise BrokenPipeError

    with ConsoleServer(show) as console:
        sink = SINKS["console"](console.driver, ["a"])
        sink.write(records([(0, 0)]))
        accounts = sink.close()

    assert ["standard output takes no more"] == [account.error for account in accounts]
    assert isinstance(console.refused, BrokenPipeError)


def test_a_console_that_is_closed_reads_no_more() -> None:
    """A thread inside Arrow when Python ends aborts the process (PyGILState_Release, exit code 134)."""
    read = threading.Event()
    with ConsoleServer(lambda batch: read.set()) as console:
        sink = SINKS["console"](console.driver, ["a"])
        sink.write(records([(0, 0)]))
        assert read.wait(10)
        threads = [thread for thread in threading.enumerate() if "process_request" in thread.name]
    assert threads
    for thread in threads:
        thread.join(1)
    assert not any(thread.is_alive() for thread in threads)
    assert [account.error for account in sink.close()] == ["standard output takes no more"]


@pytest.mark.slow
def test_connections_without_the_run_s_secret_are_not_shown_and_hold_nothing_up() -> None:
    shown: list[str] = []
    server = ConsoleServer(lambda batch: shown.extend(batch.column("topic").to_pylist()))
    with ExitStack() as strangers, server as console:

        def stranger(start: bytes = b"") -> socket.socket:
            connected = strangers.enter_context(socket.create_connection(console.driver.address, timeout=30))
            connected.sendall(start)
            return connected

        lie = BytesIO()
        with pa.ipc.new_stream(lie, SCHEMA) as stream:
            stream.write_table(table(records([(0, 0)]), "lie", 0, 0))
        for junk in (b"", b"half", b"\0\xff" * 9, b"{}\n", bytes(SECRET_BYTES) + lie.getvalue(), lie.getvalue()):
            stranger(junk)
        endless = stranger(bytes(SECRET_BYTES))
        with pytest.raises(ConnectionError):
            while True:
                endless.sendall(bytes(1 << 20))
        first = stranger()
        for _ in range(UNAUTHENTICATED):
            stranger()
        assert first.recv(1) == b""

        sink = SINKS["console"](console.driver, ["a"])
        sink.write(records([(0, 0)]))
        silent = [stranger() for _ in range(UNAUTHENTICATED + 9)]
        sink.write(records([(0, 0)]))
        assert [(2, None)] == [(account.records, account.error) for account in sink.close()]
        assert ["a", "a"] == shown
        assert len(silent) > UNAUTHENTICATED


def test_a_console_that_cannot_be_reached_is_told() -> None:
    with pytest.raises(DeliveryError, match=r"^the console at 127\.0\.0\.1:1 cannot be reached by Spark's workers: "):
        SINKS["console"](DriverAddress("127.0.0.1", 1), ["a"])


def test_what_was_not_delivered_is_told_of_every_partition() -> None:
    """On one line each, by topic and partition; nothing is said where everything was delivered."""
    whole = DeliveryReport(1, 1, 5, 0, 0, 9)
    lost = [
        DeliveryReport(1, 0, 0, 0, None, None, "gone too"),
        DeliveryReport(0, 1, 5, 0, 0, 9, "topic a partition 1: gone"),
    ]

    with pytest.raises(DeliveryError, match="^topic a partition 1: gone\ngone too$"):
        require_delivered([*lost, whole])
    require_delivered([whole])
