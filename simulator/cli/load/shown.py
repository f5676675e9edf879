"""All that a load run shows, around the run: metrics from before it begins, the live line while it goes on, tables and
documents when it ends, however it ends.

One law: what cannot be shown is refused before anything is sent, and how a run ended is never hidden by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.cli.load import end
from simulator.cli.load.live import Live
from simulator.cli.load.metrics import LOOPBACK, Metrics
from simulator.cli.load.summary import write as write_summary
from simulator.cli.load.watch import Setup, Watch
from simulator.cli.output import check_file, warn
from simulator.errors import DeliveryError, SimulatorError, UserError
from simulator.load.lag.monitor import LagMonitor
from simulator.load.lag.search import FIRST_COMMIT_WITHIN, RateSearch, SearchResult
from simulator.signals import Stopped
from simulator.sinks.kafka.settings import KafkaSettings


@dataclass(frozen=True)
class Wanted:
    """What a user wants to be shown."""

    summary: Path | None = None
    report: Path | None = None
    metrics_port: int | None = None
    metrics_address: str = LOOPBACK


def wanted_of(options: dict[str, Any]) -> Wanted:
    """What is to be shown of the run; raises UserError."""
    port, address = options["metrics_port"], options["metrics_address"]
    if address is not None and port is None:
        raise UserError(f"--metrics-address {address} needs --metrics-port PORT: nothing is served without it")
    return Wanted(options["summary"], options["report"], port, LOOPBACK if address is None else address)


@contextmanager
def opened(wanted: Wanted) -> Iterator[Metrics]:
    """Before anything else is: raises UserError for a port that is taken, and for a file that cannot be written."""
    check_file("--summary", wanted.summary)
    check_file("--report", wanted.report)
    metrics = Metrics()
    with ExitStack() as stack:
        if wanted.metrics_port is not None:
            stack.enter_context(metrics.served(wanted.metrics_port, wanted.metrics_address))
        yield metrics


@contextmanager
def showing(
    setup: Setup,
    wanted: Wanted,
    metrics: Metrics,
    kafka: KafkaSettings | None = None,
    search: RateSearch | None = None,
    stderr: bool = False,
) -> Iterator[Live]:
    """While the run is on: `Live.update` is for the listener of progress, `Live.watch.sent` for the feed. With `kafka`,
    the lag of the group is watched there. `stderr` says that standard output shows messages."""
    watch = Watch(setup)
    live = Live(watch)
    metrics.watch = watch
    try:
        with ExitStack() as stack:
            if kafka is not None and setup.group is not None:
                stack.enter_context(_lag(watch, kafka, setup.group, search))
            with live.following():
                yield live
        if search is not None and not search.has_commits:
            seconds = FIRST_COMMIT_WITHIN if search.group_is_silent else watch.account.seconds
            raise UserError(
                f"--until-lag: consumer group {setup.group} has committed no offset of {', '.join(setup.topics)} in "
                f"{seconds:.0f} s: a group that reads and commits is expected"
            )
    except (SimulatorError, Stopped) as error:
        watch.finish("; ".join(str(error).splitlines()), *_found(search, setup.group))
        end.show(watch, True)
        try:
            _documents(watch, wanted)
        except DeliveryError as other:
            warn([str(other)])
        raise
    watch.finish("", *_found(search, setup.group))
    try:
        end.show(watch, stderr)
    finally:
        _documents(watch, wanted)


def _found(search: RateSearch | None, group: str | None) -> tuple[SearchResult | None, str]:
    """The verdict, and what is said where there is none."""
    if search is None or search.verdict is not None or not search.has_commits:
        return None if search is None else search.verdict, ""
    return None, search.unfinished(group or "")


@contextmanager
def _lag(watch: Watch, kafka: KafkaSettings, group: str, search: RateSearch | None) -> Iterator[None]:
    from simulator.sinks.kafka.lag import GroupOffsets

    offsets = GroupOffsets(kafka, group, watch.setup.topics)
    try:
        with LagMonitor(offsets.ask, watch.sampled, search):
            yield
    finally:
        offsets.close()


def _documents(watch: Watch, wanted: Wanted) -> None:
    try:
        if wanted.summary is not None:
            write_summary(watch, wanted.summary)
    finally:
        if wanted.report is not None:
            from simulator.cli.load import report  # plotly takes longer than anything else here

            report.write(watch, wanted.report)
