"""The report of a load run: one HTML file that needs nothing else, for screens and for paper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import plotly.io
from plotly.offline import get_plotlyjs

from simulator import __version__, tso
from simulator.cli.load.end import closing, partitions, tables
from simulator.cli.load.summary import series, write_text
from simulator.cli.load.watch import Watch
from simulator.cli.run_report import MANY
from simulator.columns.change_frame import DELETE, INSERT, UPDATE

INK, MUTED, GRID = "#1f2933", "#616e7c", "#e4e7eb"
BLUE, ORANGE, GREEN, RED, PURPLE = "#1f6feb", "#e07b00", "#1a7f4b", "#c2334d", "#7a4fc2"

MIB = 1 << 20
HEIGHT = 250
"""Pixels of a chart."""

CONFIG = {"displayModeBar": False, "responsive": True}
Values = Sequence[float | None]


def write(watch: Watch, path: Path) -> None:
    """Raises UserError where it cannot be written."""
    with watch.lock:
        text = document(watch)
    write_text(path, text, "report")


def document(watch: Watch) -> str:
    """The whole file."""
    setup = watch.setup
    title = f"Load: {setup.plan}"
    style = (files("simulator.cli.load") / "report.css").read_text("utf-8")
    charts = "\n".join(_section(*chart) for chart in _charts(watch))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{style}
</style>
<script>{get_plotlyjs()}</script>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
<p>{escape(_subtitle(watch))}</p>
</header>
<main>
<section class="tiles">{"".join(_tile(*tile) for tile in _tiles(watch))}</section>
{charts}
<section class="tables">
{_table("Rows by table", ("table", "inserted", "updated", "deleted"), _table_rows(watch))}
{_table("Partitions", ("partition", "rows", "messages", "MiB"), _partition_rows(watch))}
{_table("Settings", ("setting", "value"), _settings(watch), "words")}
</section>
<section class="lines">
<h2>In words</h2>
{"".join(f"<p>{escape(line)}</p>" for line in closing(watch))}
</section>
</main>
<footer>ticdc-sim {escape(__version__)}</footer>
</body>
</html>
"""


def _subtitle(watch: Watch) -> str:
    setup, account = watch.setup, watch.account
    began = datetime.fromtimestamp(account.began or watch.started, UTC)
    return (
        f"{setup.protocol} as TiCDC {setup.release} ({setup.architecture}) sends it · {began:%Y-%m-%d %H:%M:%S} UTC · "
        f"{_long(account.seconds)}")


def _tiles(watch: Watch) -> Iterator[tuple[str, str, str]]:
    """Name, figure, what it is beside."""
    account = watch.account
    asked = "as fast as possible"
    if account.share is not None:
        asked = f"{100 * account.share:.1f} % of the {account.asked / account.held[1]:,.0f} asked"
    yield "rows/s", f"{account.rate:,.0f}", asked
    yield "rows", _short(account.rows), f"in {_short(account.messages)} messages"
    per_second = account.bytes / MIB / account.seconds if account.seconds else 0.0
    yield "MiB/s", f"{per_second:,.1f}", f"{account.bytes / MIB:,.0f} MiB in all"
    if account.latencies.records:
        p50, p99 = account.latencies.quantiles([0.5, 0.99])
        yield "p99", _milliseconds(p99), (
            f"until acknowledged; p50 {_milliseconds(p50)}, at most {_milliseconds(account.latencies.longest)}")
    if watch.verdict is not None:
        too_much = "kept up with all" if watch.verdict.too_much is None else f"not {watch.verdict.too_much:,.0f}"
        yield "rows/s sustained", f"{watch.verdict.sustained:,.0f}", f"by group {watch.setup.group}; {too_much}"
    elif account.share is not None:
        below = watch.reached.seconds_below
        yield "s below the rate", f"{below:,}", "by more than 2 %, over a minute"


def _charts(watch: Watch) -> Iterator[tuple[str, str, go.Figure]]:
    """Heading, what it shows, and the chart."""
    told = series(watch)
    at: list[float] = told["second"]
    unit, scale = ("hours", 3600.0) if at and at[-1] > 7200 else ("minutes", 60.0) if at and at[-1] > 300 else (
        "seconds", 1.0)
    x = [second / scale for second in at]
    axis = f"{unit} since the start"
    rate = _figure(x, axis, "rows/s")
    _line(rate, x, told["rows_per_second"], "reached", BLUE, fill=True)
    if _known(told["asked_rows_per_second"]):
        _line(rate, x, told["asked_rows_per_second"], "asked", ORANGE, dash="dash", shape="hv")
    yield "Rate", "Row changes that were acknowledged in each second, and how many were asked.", rate

    if _known(told["latency_p50_ms"]):
        latency = _figure(x, axis, "ms", log=True)
        for name, label, colour in (("max", "max", RED), ("p99", "p99", PURPLE), ("p50", "p50", GREEN)):
            _line(latency, x, told[f"latency_{name}_ms"], label, colour, gaps=False)
        said = "From handing a record to Kafka's client to its acknowledgement (logarithmic)."
        yield "Acknowledgement", said, latency

    size = _figure(x, axis, "MiB/s")
    _line(size, x, [value / MIB for value in told["bytes_per_second"]], "keys and values", GREEN, fill=True)
    yield "Bytes", "Keys and values of the messages, before compression.", size

    if _known(told["lag"]):
        lag = _figure(x, axis, "records")
        _line(lag, x, told["lag"], "lag", PURPLE, fill=True, gaps=False)
        yield "Lag", f"Records that consumer group {watch.setup.group or ''} had not committed.", lag
    if _known(told["behind_seconds"]):
        behind = _figure(x, axis, "seconds")
        late = [None if value is None else max(0.0, value) for value in told["behind_seconds"]]
        _line(behind, x, late, "behind", RED, fill=True, gaps=False)
        yield "Behind", "How much later than asked rows were sent and acknowledged.", behind
    yield "Partitions", "How evenly rows are spread over partitions.", _skew(watch)


def _skew(watch: Watch) -> go.Figure:
    every = partitions(watch)
    several = len(watch.setup.topics) > 1
    names = [f"{place['topic']}/{place['partition']}" if several else str(place["partition"]) for place in every]
    rows = [place["rows"] for place in every]
    figure = _figure([], "topic/partition" if several else "partition", "rows")
    figure.add_bar(x=names, y=rows, name="rows", marker_color=BLUE, hovertemplate="%{y:,}<extra>%{x}</extra>")
    figure.update_layout(bargap=0.35)
    figure.update_xaxes(type="category")
    if rows:
        even = sum(rows) / len(rows)
        figure.add_scatter(
            x=names, y=[even for _ in names], name=f"an even share: {_short(even)}", mode="lines+markers",
            line={"color": ORANGE, "dash": "dash", "width": 1.6}, marker={"size": 5}, hoverinfo="skip")
    return figure


def _figure(x: Values, across: str, up: str, log: bool = False) -> go.Figure:
    axes = {"gridcolor": GRID, "linecolor": MUTED, "tickcolor": MUTED, "zeroline": False, "ticks": "outside"}
    figure = go.Figure(layout={
        "template": "none", "height": HEIGHT, "margin": {"l": 72, "r": 16, "t": 28, "b": 44},
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": INK},
        "hovermode": "x unified", "paper_bgcolor": "white", "plot_bgcolor": "white",
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 1, "xanchor": "right"},
        "xaxis": axes | {"title": {"text": across, "font": {"color": MUTED}}, "showgrid": False},
        "yaxis": axes | {"title": {"text": up, "font": {"color": MUTED}}, "automargin": True, "linecolor": "white"},
    })
    if log:
        figure.update_yaxes(type="log", dtick=1, tickformat=",~g")
    else:
        figure.update_yaxes(rangemode="tozero", tickformat="~s" if up in ("rows/s", "rows", "records") else "~g")
    if x:
        figure.update_xaxes(range=[0, max(float(x[-1] or 0.0), 1e-9)])
    return figure


def _line(
    figure: go.Figure, x: Values, y: Values, name: str, colour: str, fill: bool = False, dash: str = "solid",
    shape: str = "linear", gaps: bool = True,
) -> None:
    """`gaps` has nothing be drawn where nothing is known; else the line goes on to where something is."""
    figure.add_scatter(
        x=list(x), y=list(y), name=name, mode="lines", connectgaps=not gaps,
        line={"color": colour, "width": 1.6, "dash": dash, "shape": shape}, fill="tozeroy" if fill else "none",
        fillcolor=f"rgba({int(colour[1:3], 16)},{int(colour[3:5], 16)},{int(colour[5:7], 16)},0.12)",
        hovertemplate="%{y:,.4~g}")


def _section(heading: str, said: str, figure: go.Figure) -> str:
    chart = plotly.io.to_html(
        figure, full_html=False, include_plotlyjs=False, config=CONFIG, div_id=f"chart-{heading.lower()}")
    return f'<section class="chart"><h2>{escape(heading)}</h2><p>{escape(said)}</p>{chart}</section>'


def _tile(name: str, figure: str, beside: str) -> str:
    return f"<div><b>{escape(figure)}</b><span>{escape(name)}</span><small>{escape(beside)}</small></div>"


def _table(heading: str, names: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "figures") -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div><h2>{escape(heading)}</h2><table class="{kind}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>")


def _table_rows(watch: Watch) -> Iterator[tuple[str, ...]]:
    found = tables(watch)
    for name in list(found)[:MANY]:
        yield name, *(f"{found[name][op]:,}" for op in (INSERT, UPDATE, DELETE))
    if len(found) > MANY:
        rest = [found[name] for name in list(found)[MANY:]]
        yield f"… {len(rest)} more", *(f"{sum(ops[op] for ops in rest):,}" for op in (INSERT, UPDATE, DELETE))


def _partition_rows(watch: Watch) -> Iterator[tuple[str, ...]]:
    every = partitions(watch)
    for place in every[:MANY]:
        yield f"{place['topic']}/{place['partition']}", *_amounts([place])
    if len(every) > MANY:
        yield f"… {len(every) - MANY} more", *_amounts(every[MANY:])


def _amounts(places: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    rows, messages, size = (sum(place[name] for place in places) for name in ("rows", "messages", "bytes"))
    return f"{rows:,}", f"{messages:,}", f"{size / MIB:,.1f}"


def _settings(watch: Watch) -> Iterator[tuple[str, str]]:
    setup, account = watch.setup, watch.account
    yield "plan", setup.plan
    yield "rate", setup.rate
    yield "duration", "no end" if setup.duration is None else _long(setup.duration)
    yield "seed", str(setup.seed)
    yield "sink", setup.sink
    yield "protocol", setup.protocol
    yield "release", f"{setup.release} ({setup.architecture})"
    yield "resolved interval", f"{setup.resolved_interval_ms:,} ms, {account.windows:,} watermarks sent"
    yield "engine", setup.engine
    yield "driver", setup.driver
    if setup.group:
        yield "consumer group", setup.group
    if account.watermark:
        yield "complete up to", tso.describe(account.watermark)
    for note in setup.notes:
        yield "", note


def _known(values: Values) -> bool:
    return any(value is not None for value in values)


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:,.0f} ms" if seconds >= 0.01 else f"{1000 * seconds:.1f} ms"


def _short(number: float) -> str:
    """Few digits."""
    for unit, name in ((1e9, " bn"), (1e6, " M"), (1e3, " k")):
        if number >= 10 * unit or unit > 1e3 and number >= unit:
            return f"{number / unit:,.1f}{name}"
    return f"{number:,.0f}"


def _long(seconds: float) -> str:
    hours, rest = divmod(round(seconds), 3600)
    minutes, rest = divmod(rest, 60)
    parts = ((hours, "h"), (minutes, "min"), (rest, "s"))
    return " ".join(f"{amount} {unit}" for amount, unit in parts if amount) or "0 s"
