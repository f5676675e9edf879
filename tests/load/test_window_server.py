"""The run's side of a job of Spark: when a window is handed out, and when again."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from io import BufferedIOBase
from typing import TYPE_CHECKING, Any, cast

import pytest
from support.loads import Run

from simulator.channel import DriverHost
from simulator.engines.tasks import TaskReport
from simulator.errors import DeliveryError
from simulator.load.epochs import Pace, SchemaEpoch, Window
from simulator.load.feed import Feed

if TYPE_CHECKING:
    from simulator.load.on_spark import SendingJob, WindowServer

pytestmark = pytest.mark.slow  # the module imports pyspark

REPORT = TaskReport([], [], False, None)


class OneWindow:
    """A feed with one window."""

    def __init__(self, epoch: SchemaEpoch) -> None:
        self._window: Window | None = Window(epoch, 0, 100, Pace(0.0, 0.0))
        self.committed: list[tuple[Window, int]] = []
        self.error: Exception | None = None

    def next(self) -> Window | None:
        window, self._window = self._window, None
        return window

    def sent(self, window: Window, reports: list[object], retried: int) -> None:
        if self.error is not None:
            raise self.error
        assert len(reports) == 2
        self.committed.append((window, retried))


@pytest.fixture
def feed() -> OneWindow:
    return OneWindow(next(iter(Run().epochs())))


@pytest.fixture
def windows(feed: OneWindow) -> Iterator[WindowServer]:
    """Return a server for two tasks."""
    from simulator.load.on_spark import WindowServer

    with closing(WindowServer(cast(Feed, feed), DriverHost())) as made:
        yield made


class Task:
    """A task of two."""

    def __init__(self, job: SendingJob) -> None:
        self.job = job
        with job.driver.connect() as connection:
            self.file: BufferedIOBase = connection.makefile("rwb")

    def ask(self, report: TaskReport | None = None, epoch: int | None = None) -> Any:
        """Return the answer, None after the last window; raise EOFError if the process must end."""
        from simulator.load.on_spark import OVER, receive_message, send_message

        send_message(self.file, (self.job.attempt, report, epoch))
        return None if (answer := receive_message(self.file)) == OVER else pickle.loads(answer)


Start = Callable[[], list[Task]]


@pytest.fixture
def start(windows: WindowServer) -> Iterator[Start]:
    """Start a job, and return its two tasks."""
    started: list[Task] = []

    def start() -> list[Task]:
        job = windows.start(2)
        started.extend([Task(job), Task(job)])
        return started[-2:]

    yield start
    for task in started:
        task.file.close()


def ask_both(tasks: list[Task], *more: Any) -> list[Any]:
    """Return the answers, or the errors instead of them."""
    with ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(task.ask, *more) for task in tasks]
    return [answer.exception() or answer.result() for answer in answers]


def test_a_window_is_finished_when_both_tasks_sent_it(windows: WindowServer, feed: OneWindow, start: Start) -> None:
    """The epoch is sent with its first window only."""
    tasks = start()
    for first_ms, end_ms, _, epoch in ask_both(tasks):
        assert (first_ms, end_ms, epoch.number) == (0, 100, 0)
    assert not windows.over and feed.committed == []

    assert ask_both(tasks, REPORT, 0) == [None, None]
    assert [retried for _, retried in feed.committed] == [0]
    assert windows.over


def test_an_error_of_the_feed_ends_the_processes(windows: WindowServer, feed: OneWindow, start: Start) -> None:
    tasks = start()
    ask_both(tasks)
    feed.error = DeliveryError("the broker is gone")

    assert [type(answer) for answer in ask_both(tasks, REPORT, 0)] == [EOFError, EOFError]
    assert windows.error is feed.error


def test_a_window_is_handed_out_again_if_its_senders_end(windows: WindowServer, feed: OneWindow, start: Start) -> None:
    old = start()
    stale = Task(old[0].job)
    ask_both(old)
    for task in old:
        task.file.close()
    windows.end_senders()

    with closing(stale.file), pytest.raises(EOFError):
        stale.ask()
    tasks = start()
    assert [end_ms for _, end_ms, *_ in ask_both(tasks, None, 0)] == [100, 100]
    assert ask_both(tasks, REPORT, 0) == [None, None]
    assert [retried for _, retried in feed.committed] == [1]


def test_a_job_that_is_to_end_hands_no_window_to_its_tasks_but_to_those_of_the_next(
    windows: WindowServer, feed: OneWindow, start: Start
) -> None:
    """It is no restart: nothing is sent again."""
    first = start()
    windows.end_job()
    assert ask_both(first) == [None, None]
    assert not windows.over

    tasks = start()
    assert [end_ms for _, end_ms, *_ in ask_both(tasks)] == [100, 100]
    windows.end_job()
    assert ask_both(tasks, REPORT, 0) == [None, None]
    assert not windows.over
    assert ask_both(start()) == [None, None]
    assert [retried for _, retried in feed.committed] == [0]
    assert windows.over
