"""Statements hold a run back: events are cut around them, and tasks wait for each other there."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.engines.tasks.barriers import BarrierClient, BarrierServer, phases
from simulator.errors import DeliveryError

Event = tuple[int, int]
"""commit_ts, kind: 0 a row, 1 a statement, 2 a watermark"""

BARRIERS = np.array([3, 6])

events = st.lists(st.tuples(st.integers(1, 9), st.sampled_from([0, 2])), max_size=30).map(
    lambda found: sorted([*found, (3, 1), (6, 1)])
)


@contextmanager
def clients(server: BarrierServer, count: int) -> Iterator[list[BarrierClient]]:
    """The sides of so many tasks."""
    with ExitStack() as stack:
        yield [stack.enter_context(closing(BarrierClient(server.driver))) for _ in range(count)]


def in_threads(*tasks: Callable[[], object]) -> None:
    """Run them at the same time, to their ends."""
    with ThreadPoolExecutor(len(tasks)) as pool:
        for done in [pool.submit(task) for task in tasks]:
            done.result()


def batches(stream: list[Event], size: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(stream), size):
        commit_ts, kind = zip(*stream[start : start + size])
        yield pa.RecordBatch.from_pydict({"commit_ts": commit_ts, "kind": kind})


@given(events, st.integers(1, 40))
def test_a_statement_stands_alone_between_what_is_older_and_what_is_younger(stream: list[Event], size: int) -> None:
    found = [
        [tuple(row.values()) for part in leg for row in part.to_pylist()]
        for leg in map(list, phases(batches(stream, size), BARRIERS))
    ]
    first, second = stream.index((3, 1)), stream.index((6, 1))
    assert found == [stream[:first], [(3, 1)], stream[first + 1 : second], [(6, 1)], stream[second + 1 :]]


def test_a_task_without_statements_of_its_own_has_the_same_legs() -> None:
    """It must come to every barrier."""
    assert [list(leg) for leg in phases([], BARRIERS)] == [[]] * 5
    found = [sum(part.num_rows for part in leg) for leg in phases(batches([(4, 0), (9, 0)], 1), BARRIERS)]
    assert found == [0, 0, 1, 0, 1]


def test_no_task_goes_on_before_the_last_one_comes() -> None:
    """As often as they meet."""
    log: list[str] = []

    def task() -> None:
        with closing(BarrierClient(server.driver)) as client:
            for number in range(3):
                log.append(f"comes {number}")
                assert client.wait()
                log.append(f"goes {number}")

    with BarrierServer(3, 3) as server:
        in_threads(task, task, task)
    for number in range(3):
        came = [place for place, said in enumerate(log) if said == f"comes {number}"]
        went = [place for place, said in enumerate(log) if said == f"goes {number}"]
        assert (len(came), len(went)) == (3, 3)
        assert max(came) < min(went)


def test_where_one_task_ends_before_the_others_are_told_at_once() -> None:
    """Those that wait, and those that come later."""
    with BarrierServer(3, 1) as server, clients(server, 3) as (waiting, leaving, later):
        heard: list[bool] = []
        in_threads(lambda: heard.append(waiting.wait()), leaving.close)
        assert (heard, waiting.left_alone, later.wait(), leaving.left_alone) == ([False], True, False, False)


def test_after_the_last_meeting_whoever_leaves_first_disturbs_nobody() -> None:
    with BarrierServer(2, 1) as server, clients(server, 2) as (first, second):

        def wait_and_leave() -> None:
            first.wait()
            first.close()

        heard: list[bool] = []
        in_threads(wait_and_leave, lambda: heard.append(second.wait()))
        assert heard == [True]
        assert not first.left_alone


def test_what_is_noted_of_a_meeting_is_noted_before_any_task_goes_on() -> None:
    """Where it cannot be, none goes on, and the driver knows why."""
    noted: list[int] = []

    def note(number: int) -> None:
        if number == 2:
            raise DeliveryError("the disk is full")
        noted.append(number)

    def task(client: BarrierClient, heard: list[tuple[bool, int]]) -> None:
        while client.wait():
            heard.append((True, len(noted)))
        heard.append((False, len(noted)))

    with BarrierServer(2, 4, all_arrived=note) as server, clients(server, 2) as tasks:
        heard: list[list[tuple[bool, int]]] = [[], []]
        in_threads(*(partial(task, client, own) for client, own in zip(tasks, heard)))
        assert heard[0] == heard[1] == [(True, 1), (True, 2), (False, 2)]
        assert str(server.failed) == "the disk is full"


@pytest.mark.parametrize("words", [b"", b"GET / HTTP/1.1\r\n", b"." * 100])
def test_a_connection_without_the_run_s_secret_does_not_count_as_a_task(words: bytes) -> None:
    with BarrierServer(1, 1) as server, socket.create_connection(server.driver.address) as stranger:
        stranger.sendall(words)
        with clients(server, 1) as (task,):
            assert task.wait()


def test_without_a_driver_there_is_nobody_to_wait_for() -> None:
    client = BarrierClient(None)
    assert client.wait()
    client.close()
    assert not client.left_alone
