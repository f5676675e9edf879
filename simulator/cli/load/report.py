"""The report of a load run as an HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from simulator import tso
from simulator.cli import page
from simulator.cli.load.monitor import LoadMonitor
from simulator.cli.load.summary import closing, partitions, series, tables
from simulator.cli.page import BLUE, GREEN, ORANGE, PURPLE, RED, known, line, long, short
from simulator.cli.run_report import MANY
from simulator.columns.change_frame import DELETE, INSERT, UPDATE
from simulator.limits import counted, noun, sized, unit_of


def write(monitor: LoadMonitor, path: Path) -> None:
    """Write the page; raises DeliveryError."""
    with monitor.lock:
        text = document(monitor)
    page.write(path, text, "report")


def document(monitor: LoadMonitor) -> str:
    """Return the whole page."""
    return page.document(
        f"Load: {monitor.setup.plan}",
        _subtitle(monitor),
        (
            page.tiles(_tiles(monitor)),
            *(page.chart(*chart) for chart in _charts(monitor)),
            page.tables(
                (
                    page.table("Rows by table", ("table", "inserted", "updated", "deleted"), _table_rows(monitor)),
                    page.table("Partitions", ("partition", "rows", "messages", "bytes"), _partition_rows(monitor)),
                    page.table("Settings", ("setting", "value"), _settings(monitor), "words"),
                )
            ),
            page.lines("In words", closing(monitor)),
        ),
    )


def _subtitle(monitor: LoadMonitor) -> str:
    setup, account = monitor.setup, monitor.account
    began = datetime.fromtimestamp(account.began or monitor.started, UTC)
    return (
        f"{setup.protocol} as TiCDC {setup.release} ({setup.architecture}) sends it · {began:%Y-%m-%d %H:%M:%S} UTC · "
        f"{long(account.seconds)}"
    )


def _tiles(monitor: LoadMonitor) -> Iterator[tuple[str, str, str]]:
    """Yield name, figure and caption of each tile."""
    account = monitor.account
    rate_text = "as fast as possible"
    if account.reached_share is not None:
        rate_text = f"{100 * account.reached_share:.1f} % of the {account.target_rows / account.paced[1]:,.0f} asked"
    yield "rows/s", f"{account.rate:,.0f}", rate_text
    messages = f"{short(account.messages)} {noun(account.messages, monitor.setup.unit)}"
    yield noun(account.rows, "row"), short(account.rows), f"in {messages}"
    amount, unit = sized(account.bytes_rate).rsplit(" ", 1)
    yield f"{unit}/s", amount, f"{sized(account.bytes)} in all"
    if account.latencies.records:
        p50, p99 = account.latencies.quantiles([0.5, 0.99])
        yield (
            "p99",
            _milliseconds(p99),
            (f"until acknowledged; p50 {_milliseconds(p50)}, at most {_milliseconds(account.latencies.longest)}"),
        )
    if monitor.verdict is not None:
        too_much = "kept up with all" if monitor.verdict.too_much is None else f"not {monitor.verdict.too_much:,.0f}"
        yield "rows/s sustained", f"{monitor.verdict.sustained:,.0f}", f"by group {monitor.setup.group}; {too_much}"
    elif account.reached_share is not None:
        below = monitor.reached.seconds_below
        yield "s below the rate", f"{below:,}", "by more than 2 %, over a minute"


def _charts(monitor: LoadMonitor) -> Iterator[tuple[str, str, go.Figure]]:
    """Yield heading, description and chart."""
    points = series(monitor)
    at: list[float] = points["second"]
    unit, scale = (
        ("hours", 3600.0) if at and at[-1] > 7200 else ("minutes", 60.0) if at and at[-1] > 300 else ("seconds", 1.0)
    )
    x = [second / scale for second in at]
    axis = f"{unit} since the start"
    rate = page.figure(x, axis, "rows/s")
    line(rate, x, points["rows_per_second"], "reached", BLUE, fill=True)
    if known(points["asked_rows_per_second"]):
        line(rate, x, points["asked_rows_per_second"], "asked", ORANGE, dash="dash", shape="hv")
    yield "Rate", "Row changes that were acknowledged in each second, and how many were asked.", rate

    if known(points["latency_p50_ms"]):
        latency = page.figure(x, axis, "ms", log=True)
        for name, label, colour in (("max", "max", RED), ("p99", "p99", PURPLE), ("p50", "p50", GREEN)):
            line(latency, x, points[f"latency_{name}_ms"], label, colour, gaps=False)
        caption = "From handing a record to Kafka's client to its acknowledgement (logarithmic)."
        yield "Acknowledgement", caption, latency

    width, unit = unit_of(max(points["bytes_per_second"], default=0.0))
    size = page.figure(x, axis, f"{unit}/s")
    line(size, x, [value / width for value in points["bytes_per_second"]], "keys and values", GREEN, fill=True)
    yield "Bytes", "Keys and values of the messages, before compression.", size

    if known(points["lag"]):
        lag = page.figure(x, axis, "records")
        line(lag, x, points["lag"], "lag", PURPLE, fill=True, gaps=False)
        yield "Lag", f"Records that consumer group {monitor.setup.group or ''} had not committed.", lag
    if known(points["behind_seconds"]):
        behind = page.figure(x, axis, "seconds")
        late = [None if value is None else max(0.0, value) for value in points["behind_seconds"]]
        line(behind, x, late, "behind", RED, fill=True, gaps=False)
        yield "Behind", "How much later than asked rows were sent and acknowledged.", behind
    yield "Partitions", "How evenly rows are spread over partitions.", _skew(monitor)


def _skew(monitor: LoadMonitor) -> go.Figure:
    every = partitions(monitor)
    several = len(monitor.setup.topics) > 1
    names = [f"{place['topic']}/{place['partition']}" if several else str(place["partition"]) for place in every]
    rows = [place["rows"] for place in every]
    figure = page.figure([], "topic/partition" if several else "partition", "rows")
    page.bars(figure, names, rows, "rows", BLUE)
    figure.update_xaxes(type="category")
    if rows:
        even = sum(rows) / len(rows)
        figure.add_scatter(
            x=names,
            y=[even for _ in names],
            name=f"an even share: {short(even)}",
            mode="lines+markers",
            line={"color": ORANGE, "dash": "dash", "width": 1.6},
            marker={"size": 5},
            hoverinfo="skip",
        )
    return figure


def _table_rows(monitor: LoadMonitor) -> Iterator[tuple[str, ...]]:
    counts = tables(monitor)
    for name in list(counts)[:MANY]:
        yield name, *(f"{counts[name][op]:,}" for op in (INSERT, UPDATE, DELETE))
    if len(counts) > MANY:
        rest = [counts[name] for name in list(counts)[MANY:]]
        yield f"… {len(rest)} more", *(f"{sum(ops[op] for ops in rest):,}" for op in (INSERT, UPDATE, DELETE))


def _partition_rows(monitor: LoadMonitor) -> Iterator[tuple[str, ...]]:
    every = partitions(monitor)
    for place in every[:MANY]:
        yield f"{place['topic']}/{place['partition']}", *_amounts([place])
    if len(every) > MANY:
        yield f"… {len(every) - MANY} more", *_amounts(every[MANY:])


def _amounts(places: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    rows, messages, size = (sum(place[name] for place in places) for name in ("rows", "messages", "bytes"))
    return f"{rows:,}", f"{messages:,}", sized(size)


def _settings(monitor: LoadMonitor) -> Iterator[tuple[str, str]]:
    setup, account = monitor.setup, monitor.account
    yield "plan", setup.plan
    yield "rate", setup.rate
    yield "duration", "no end" if setup.duration is None else long(setup.duration)
    yield "seed", str(setup.seed)
    yield "sink", setup.sink
    yield "protocol", setup.protocol
    yield "release", f"{setup.release} ({setup.architecture})"
    yield "resolved interval", f"{setup.resolved_interval_ms:,} ms, {counted(account.windows, 'watermark')} sent"
    yield "engine", setup.engine
    yield "driver", setup.driver
    if setup.group:
        yield "consumer group", setup.group
    if account.watermark:
        yield "complete up to", tso.describe(account.watermark)


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:,.0f} ms" if seconds >= 0.01 else f"{1000 * seconds:.1f} ms"
