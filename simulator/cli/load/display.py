"""The output of a load run: metrics from its beginning, a line of progress, tables and documents at its end.

Unusable ports and files are refused before anything is sent. Errors in writing documents do not hide the run's error.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.cli.load import end
from simulator.cli.load.metrics import LOOPBACK, Metrics
from simulator.cli.load.monitor import LoadMonitor, Setup
from simulator.cli.load.progress_line import LoadProgressLine
from simulator.cli.load.summary import write as write_summary
from simulator.cli.output import warn
from simulator.errors import DeliveryError, SimulatorError, UserError
from simulator.load.lag.monitor import LagMonitor
from simulator.load.lag.search import FIRST_COMMIT_WITHIN, RateSearch, SearchResult
from simulator.signals import Stopped
from simulator.sinks.kafka.settings import KafkaSettings


@dataclass(frozen=True)
class ReportOptions:
    """The documents and metrics that a user wants."""

    summary: Path | None = None
    report: Path | None = None
    metrics_port: int | None = None
    metrics_address: str = LOOPBACK


def read_report_options(options: dict[str, Any]) -> ReportOptions:
    """Return the options of a report; raises UserError."""
    port, address = options["metrics_port"], options["metrics_address"]
    if address is not None and port is None:
        raise UserError(f"--metrics-address {address} needs --metrics-port PORT: nothing is served without it")
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
        end.show(monitor, True)
        try:
            _documents(monitor, report_options)
        except DeliveryError as other:
            warn([str(other)])
        raise
    monitor.finish("", *_found(search, setup.group))
    try:
        end.show(monitor, stderr)
    finally:
        _documents(monitor, report_options)


def _found(search: RateSearch | None, group: str | None) -> tuple[SearchResult | None, str]:
    """Return the verdict of the search, and the message if it has none."""
    if search is None or search.verdict is not None or not search.has_commits:
        return None if search is None else search.verdict, ""
    return None, search.unfinished(group or "")


@contextmanager
def _lag(monitor: LoadMonitor, kafka: KafkaSettings, group: str, search: RateSearch | None) -> Iterator[None]:
    from simulator.sinks.kafka.lag import GroupOffsets

    offsets = GroupOffsets(kafka, group, monitor.setup.topics)
    try:
        with LagMonitor(offsets.ask, monitor.sampled, search):
            yield
    finally:
        offsets.close()


def _documents(monitor: LoadMonitor, report_options: ReportOptions) -> None:
    try:
        if report_options.summary is not None:
            write_summary(monitor, report_options.summary)
    finally:
        if report_options.report is not None:
            from simulator.cli.load import report  # plotly takes longer than anything else here

            report.write(monitor, report_options.report)
