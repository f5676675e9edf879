"""The run's side of a streaming query: who sends which part of a window, and when it is handed out again."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, cast

import pytest
from support.loads import Run

from simulator.channel import DriverHost
from simulator.load.epochs.epoch import Pace, SchemaEpoch, Window
from simulator.load.feed import Feed
from simulator.load.streaming.connection import DriverConnection

if TYPE_CHECKING:
    from simulator.load.streaming.window_server import WindowServer

pytestmark = pytest.mark.slow  # the module imports pyspark


class OneWindow:
    """A feed with one window."""

    def __init__(self, epoch: SchemaEpoch) -> None:
        self._window: Window | None = Window(epoch, 0, 100, Pace(0.0, 0.0))
        self.committed: list[tuple[Window, int]] = []

    def next(self) -> Window | None:
        window, self._window = self._window, None
        return window

    def sent(self, window: Window, reports: list[object], retried: int) -> None:
        self.committed.append((window, retried))


@pytest.fixture
def feed() -> OneWindow:
    return OneWindow(next(iter(Run().epochs())))


@pytest.fixture
def windows(feed: OneWindow) -> Iterator[WindowServer]:
    """Return a server for two tasks."""
    from simulator.load.streaming.window_server import WindowServer

    with closing(WindowServer(cast(Feed, feed), 2, DriverHost())) as made:
        yield made


def sender(windows: WindowServer) -> DriverConnection:
    """A process that sends."""
    asking = DriverConnection(windows.start)
    assert asking.ask("hello")
    return asking


def test_each_process_gets_a_part_of_its_own(windows: WindowServer, feed: OneWindow) -> None:
    source = DriverConnection(windows.start)
    assert source.ask("begin") == 0
    assert source.ask("next") == 100
    parts = [sender(windows).ask("take", 100, None)[0] for _ in range(2)]

    assert sorted(parts) == [0, 1]
    assert source.ask("sent", [pickle.dumps([])])
    assert [retried for _, retried in feed.committed] == [0]
    assert source.ask("begin") == 100


def test_a_part_that_spark_asks_for_twice_ends_the_query_as_its_process_is_lost(windows: WindowServer) -> None:
    """Spark does this by itself after the loss of a machine."""
    DriverConnection(windows.start).ask("next")
    for _ in range(2):
        sender(windows).ask("take", 100, None)

    with pytest.raises(EOFError):
        sender(windows).ask("take", 100, None)
    from simulator.engines.spark.failures import ProcessLost

    assert isinstance(windows.error, ProcessLost)
    assert windows.ended.is_set()


def test_a_window_that_is_begun_again_is_given_out_anew_when_its_senders_have_ended(
    windows: WindowServer, feed: OneWindow
) -> None:
    DriverConnection(windows.start).ask("next")
    old, stale = sender(windows), windows.start
    old.ask("take", 100, None)
    assert old._file is not None
    old._file.close()
    windows.reset_open_window()

    with pytest.raises(EOFError):
        DriverConnection(stale).ask("next")
    source = DriverConnection(windows.start)
    assert source.ask("begin") == 0
    assert sorted(sender(windows).ask("take", 100, None)[0] for _ in range(2)) == [0, 1]
    assert source.ask("sent", [pickle.dumps([])])
    assert [retried for _, retried in feed.committed] == [1]
