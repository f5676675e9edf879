"""Collects windows, progress and lag of a load run: for the line of progress, the final documents, and Prometheus.

Readers and writers hold a lock, for short times only, so that the sending thread does not wait. Names of metrics keep
their meaning across releases, and unknown values are absent, not 0.
"""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from simulator import tso
from simulator.engines.tasks.progress import Progress
from simulator.errors import UserError
from simulator.load.lag_search import LagSample, SearchResult
from simulator.load.series import LoadSeries
from simulator.load.statistics import LoadStatistics, LoadStatus, RateCheck, RecentRates, SentWindow
from simulator.sinks.records import Latencies

LOOPBACK = "127.0.0.1"

PREFIX = "ticdc_load_"

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""Seconds."""


@dataclass(frozen=True)
class Setup:
    """The parameters of a load run."""

    plan: str
    """The plan's name."""

    tables: tuple[str, ...]
    """`schema.table` of each of `Model.tables`."""

    topics: Mapping[str, int]
    """The number of partitions by topic."""

    protocol: str
    release: str
    architecture: str
    seed: int
    rate: str
    """As it was given."""

    resolved_interval_ms: int
    driver: str
    """The Kafka client with its version, or the other destination."""

    engine: str
    """`in process`, or the Spark master."""

    sink: str
    """The sink URI without its secrets."""

    duration: float | None = None
    """Seconds."""

    group: str | None = None
    """The consumer group whose lag is watched."""

    unit: str = "message"
    """What the rows are in: messages, or files."""

    is_paced: bool = True
    """Whether a numeric rate holds in real time; it is of simulated time alone where fixtures are written."""


@dataclass
class LoadMonitor:
    """The figures of a load run so far."""

    setup: Setup
    account: LoadStatistics = field(default_factory=LoadStatistics)
    series: LoadSeries = field(default_factory=LoadSeries)
    reached: RateCheck = field(default_factory=RateCheck)
    recently: RecentRates = field(default_factory=RecentRates)
    lag: LagSample | None = None
    verdict: SearchResult | None = None
    """Of `--until-lag`."""

    unfinished: str = ""
    """The line of `--until-lag` without a verdict."""

    ended: str = ""
    """Why the run ended early, one line."""

    lost: list[str] = field(default_factory=list)
    """Messages about outputs that were not written."""

    started: float = field(default_factory=time.time)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def sent(self, window: SentWindow) -> None:
        """Record a window that was sent."""
        with self.lock:
            for each in (self.account, self.series, self.reached, self.recently):
                each.add(window)

    def heard(self, progress: Progress) -> None:
        """Record the tasks' progress in the open window."""
        with self.lock:
            self.recently.add_progress(progress, time.time())

    def sampled(self, sample: LagSample) -> None:
        """Record the consumer group's lag."""
        with self.lock:
            self.lag = sample
            self.series.lag(sample.at, sample.lag)

    def now(self, at: float | None = None) -> LoadStatus:
        """Return the current figures."""
        with self.lock:
            return self.recently.now(self.account, time.time() if at is None else at)

    def finish(self, ended: str = "", verdict: SearchResult | None = None, unfinished: str = "") -> None:
        """Record the end of the run."""
        with self.lock:
            self.ended, self.verdict, self.unfinished = ended, verdict, unfinished
            self.reached.finish()


class Metrics(Collector):
    """The metrics of a run, computed for each scrape; none until `monitor` is set."""

    monitor: LoadMonitor | None = None

    @contextmanager
    def served(self, port: int, address: str = LOOPBACK) -> Iterator[int]:
        """Serve the metrics; raises UserError for a port in use, and for an address of another machine."""
        registry = CollectorRegistry()
        registry.register(self)
        try:
            server, thread = start_http_server(port, address, registry)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise UserError(f"--metrics-port {port}: {error.strerror}; give a port that is free") from error
            raise UserError(
                f"--metrics-address {address}: {error.strerror}; give an address of this machine, such as {LOOPBACK}, "
                "or 0.0.0.0 for all of them"
            ) from error
        except UnicodeError as error:
            raise UserError(f"--metrics-address {address!r} is no address: {error}") from error
        try:
            yield server.server_port
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def describe(self) -> list[Metric]:
        """Describe no metrics in advance."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        monitor = self.monitor
        if monitor is not None:
            with monitor.lock:
                metrics = [*_counters(monitor), *_gauges(monitor), _histogram(monitor.account.latencies)]
            yield from metrics


def _counters(monitor: LoadMonitor) -> Iterator[Metric]:
    account, setup = monitor.account, monitor.setup
    rows = CounterMetricFamily(f"{PREFIX}rows", "Row changes that are acknowledged.", labels=["table", "operation"])
    for table, ops in account.rows_by_table().items():
        for name, count in ops.items():
            rows.add_metric([setup.tables[table], name], count)
    yield rows
    for place, name, description in (
        (1, "messages", "Messages with row changes that are acknowledged."),
        (2, "bytes", "Bytes of their keys and values."),
    ):
        family = CounterMetricFamily(f"{PREFIX}{name}", description, labels=["topic"])
        for topic in dict.fromkeys((*setup.topics, *(topic for topic, _ in account.partitions))):
            family.add_metric(
                [topic], sum(counts[place] for at, counts in account.partitions.items() if at[0] == topic)
            )
        yield family
    yield CounterMetricFamily(f"{PREFIX}windows", "Windows whose watermark is acknowledged.", account.windows)
    yield CounterMetricFamily(
        f"{PREFIX}retries", "Windows that were sent again, as a process that sent them was lost.", account.retried
    )
    yield CounterMetricFamily(f"{PREFIX}resent_records", "Records that had to be given to Kafka again.", account.resent)


def _gauges(monitor: LoadMonitor) -> Iterator[Metric]:
    now = monitor.now()
    gauges = [
        ("reached_rows_per_second", "Rows a second, over the last ten seconds.", now.rows_per_second),
        ("in_flight_bytes", "Bytes that are written and not acknowledged.", now.in_flight),
    ]
    if now.target_rate:
        gauges.append(("asked_rows_per_second", "Rows a second that are asked for.", now.target_rate))
        gauges.append(("behind_seconds", "How much later than asked the last window ended.", now.behind))
    if now.watermark:
        gauges.append(
            (
                "watermark_seconds",
                "Time of the last watermark (simulated), in seconds since 1970.",
                tso.physical(now.watermark) / 1000,
            )
        )
    if monitor.lag is not None:
        gauges.append(("lag_records", "Records that the consumer group has not committed.", monitor.lag.lag))
    for name, description, value in gauges:
        yield GaugeMetricFamily(f"{PREFIX}{name}", description, value)


def _histogram(latencies: Latencies) -> Metric:
    """Return a histogram whose sum is estimated from the buckets' upper bounds, at most a twelfth too high."""
    buckets = [(str(limit), latencies.within(limit)) for limit in BUCKETS]
    return HistogramMetricFamily(
        f"{PREFIX}acknowledgement_seconds",
        "From handing a record to Kafka's client to its acknowledgement.",
        [*buckets, ("+Inf", latencies.records)],
        latencies.seconds,
    )
