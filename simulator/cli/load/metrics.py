"""Metrics of a load run for Prometheus, computed for each scrape.

Names keep their meaning across releases. Unknown values are absent, not 0.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from simulator import tso
from simulator.cli.load.monitor import LoadMonitor
from simulator.errors import UserError
from simulator.sinks.latencies import Latencies

LOOPBACK = "127.0.0.1"

PREFIX = "ticdc_load_"

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""Seconds."""


class Metrics(Collector):
    """The metrics of a run; none until `monitor` is set."""

    def __init__(self, monitor: LoadMonitor | None = None) -> None:
        self.monitor = monitor

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
