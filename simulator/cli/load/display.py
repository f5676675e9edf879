"""The output of a load run: metrics from its beginning, a line of progress on standard error, documents at its end.

Unusable ports and files are refused before anything is sent. Errors in writing documents do not hide the run's error.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator import tso
from simulator.cli.load import summary
from simulator.cli.load.monitor import LOOPBACK, LoadMonitor, Metrics, Setup
from simulator.cli.output import warn
from simulator.cli.run_report import silence
from simulator.cli.terminal import PLAIN, StatusLine
from simulator.engines.tasks.progress import Progress
from simulator.errors import DeliveryError, SimulatorError, UserError
from simulator.limits import counted, sized
from simulator.load.lag_search import FIRST_COMMIT_WITHIN, LagMonitor, RateSearch, SearchResult
from simulator.load.rates import MAX
from simulator.load.statistics import LoadStatus
from simulator.signals import Stopped
from simulator.sinks.kafka import KafkaSettings


@dataclass(frozen=True)
class ReportOptions:
    """The documents and metrics that a user wants."""

    summary: Path | None = None
    report: Path | None = None
    metrics_port: int | None = None
    metrics_address: str = LOOPBACK


def read_report_options(options: dict[str, Any]) -> ReportOptions:
    """Return the options of a report."""
    port, address = options["metrics_port"], options["metrics_address"]
    return ReportOptions(options["summary"], options["report"], port, LOOPBACK if address is None else address)


@contextmanager
def open_metrics(report_options: ReportOptions) -> Iterator[Metrics]:
    """Serve the metrics; raises UserError for a port in use."""
    metrics = Metrics()
    with ExitStack() as stack:
        if report_options.metrics_port is not None:
            stack.enter_context(metrics.served(report_options.metrics_port, report_options.metrics_address))
        yield metrics


@contextmanager
def show_progress(
    setup: Setup,
    report_options: ReportOptions,
    metrics: Metrics,
    kafka: KafkaSettings | None = None,
    search: RateSearch | None = None,
    stderr: bool = False,
) -> Iterator[LoadProgressLine]:
    """Show the progress of a run, and its reports at the end.

    The listener of progress calls `LoadProgressLine.update`, the feed `LoadProgressLine.monitor.sent`. With `kafka` the
    lag of the consumer group is watched. `stderr` is for runs that print messages or documents on standard output.
    """
    monitor = LoadMonitor(setup)
    progress_line = LoadProgressLine(monitor)
    metrics.monitor = monitor
    try:
        with ExitStack() as stack:
            if kafka is not None and setup.group is not None:
                stack.enter_context(_lag(monitor, kafka, setup.group, search))
            with progress_line.following():
                yield progress_line
        if search is not None and not search.has_commits:
            seconds = FIRST_COMMIT_WITHIN if search.group_is_silent else monitor.account.seconds
            raise UserError(
                f"--until-lag: consumer group {setup.group} has committed no offset of {', '.join(setup.topics)} in "
                f"{seconds:.0f} s: a group that reads and commits is expected"
            )
    except (SimulatorError, Stopped) as error:
        monitor.finish("; ".join(str(error).splitlines()), *_found(search, setup.group))
        summary.show(monitor, True)
        try:
            _documents(monitor, report_options)
        except DeliveryError as other:
            warn([str(other)])
        raise
    monitor.finish("", *_found(search, setup.group))
    try:
        summary.show(monitor, stderr)
    finally:
        _documents(monitor, report_options)


def _found(search: RateSearch | None, group: str | None) -> tuple[SearchResult | None, str]:
    """Return the verdict of the search, and the message if it has none."""
    if search is None or search.verdict is not None or not search.has_commits:
        return None if search is None else search.verdict, ""
    return None, search.unfinished(group or "")


@contextmanager
def _lag(monitor: LoadMonitor, kafka: KafkaSettings, group: str, search: RateSearch | None) -> Iterator[None]:
    from simulator.sinks.kafka.read import GroupOffsets

    offsets = GroupOffsets(kafka, group, monitor.setup.topics)
    try:
        with LagMonitor(offsets.ask, monitor.sampled, search):
            yield
    finally:
        offsets.close()


def _documents(monitor: LoadMonitor, report_options: ReportOptions) -> None:
    try:
        if report_options.summary is not None:
            summary.write(monitor, report_options.summary)
    finally:
        if report_options.report is not None:
            from simulator.cli.load import report  # plotly takes longer than anything else here

            report.write(monitor, report_options.report)


REFRESHED = 0.5
"""Seconds between two updates on a terminal."""

NOTICED = 1.0
"""Seconds of delay that are shown."""


def line(
    now: LoadStatus, lag: int | None, driver: str, silent: str = "", rate: str = MAX, is_paced: bool = True
) -> str:
    """Return the line of progress. `rate` is the one that was given, to which files are not paced."""
    asked = "as fast as possible,"
    if now.target_rate:
        asked = f"asked {now.target_rate:,.0f} rows/s, reached"
    elif rate != MAX and not is_paced:
        asked = f"rate {rate} in simulated time, written as fast as possible,"
    elif rate != MAX and now.target_rate is None:
        asked = f"asked {rate}, reached"
    parts = [
        f"{asked} {now.rows_per_second:,.0f} rows/s",
        counted(now.rows, "row"),
        f"{sized(now.bytes)}, {sized(now.bytes_per_second)}/s",
        f"in flight {sized(now.in_flight)}",
    ]
    if lag is not None:
        parts.append(f"lag {lag:,}")
    if now.target_rate and now.behind > NOTICED:
        parts.append(f"{now.behind:,.1f} s behind")
    if now.p99:
        parts.append(f"p99 {1000 * now.p99:,.0f} ms")
    if now.watermark:
        parts.append(f"watermark {tso.wall_time(now.watermark):%Y-%m-%d %H:%M:%S}")
    return " · ".join([*parts, silent or driver])


class LoadProgressLine:
    """Shows the progress of a load run; the listener and the feed (through `monitor`) report it from other threads."""

    def __init__(self, monitor: LoadMonitor) -> None:
        self.monitor = monitor
        self._line = StatusLine()
        self._silent = ""
        self._over = threading.Event()

    def update(self, progress: Progress) -> None:
        """Receive the tasks' progress, in the listener's thread."""
        self.monitor.heard(progress)
        self._silent = silence(progress)

    def line(self) -> str:
        lag = self.monitor.lag
        setup, commits = self.monitor.setup, None if lag is None else lag.lag
        return line(self.monitor.now(), commits, setup.driver, self._silent, setup.rate, setup.is_paced)

    @contextmanager
    def following(self) -> Iterator[None]:
        """Show the line, in a thread of its own, until the run ends."""
        thread = threading.Thread(target=self._repeat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _repeat(self) -> None:
        interval = REFRESHED if self._line.console.is_terminal else PLAIN
        with suppress(OSError), self._line.following():  # the terminal may be closed
            while not self._over.wait(interval):
                self._line.show(self.line(), at_once=True)
