"""Reports as self-contained HTML pages of tiles, charts and tables. All texts are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

import plotly.graph_objects as go
import plotly.io
from plotly.offline import get_plotlyjs

from simulator import __version__
from simulator.cli.user_files import HTML_MARK

INK, MUTED, GRID = "#1f2933", "#616e7c", "#e4e7eb"
BLUE, ORANGE, GREEN, RED, PURPLE = "#1f6feb", "#e07b00", "#1a7f4b", "#c2334d", "#7a4fc2"

HEIGHT = 250
"""Pixels of a chart."""

CONFIG = {"displayModeBar": False, "responsive": True}
Values = Sequence[float | None]


def document(title: str, beneath: str, sections: Iterable[str], charts: bool = True) -> str:
    """Return the whole file; `charts` adds the 4 MB of plotly."""
    style = (files("simulator.cli.page") / "page.css").read_text("utf-8")
    script = f"<script>{get_plotlyjs()}</script>\n" if charts else ""
    body = "\n".join(sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
{HTML_MARK}
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{style}
</style>
{script}</head>
<body>
<header>
<h1>{escape(title)}</h1>
<p>{escape(beneath)}</p>
</header>
<main>
{body}
</main>
<footer>ticdc-sim {escape(__version__)}</footer>
</body>
</html>
"""


def tiles(every: Iterable[tuple[str, str, str]], kind: str = "") -> str:
    """Return tiles of name, figure and caption; `kind` is a CSS class."""
    inner = "".join(
        f"<div><b>{escape(figure)}</b><span>{escape(name)}</span><small>{escape(beside)}</small></div>"
        for name, figure, beside in every
    )
    return f'<section class="{f"tiles {kind}".strip()}">{inner}</section>'


def chart(heading: str, caption: str, figure: go.Figure) -> str:
    """Return a chart with its heading and a sentence that explains it."""
    drawn = plotly.io.to_html(
        figure,
        full_html=False,
        include_plotlyjs=False,
        config=CONFIG,
        div_id=f"chart-{heading.lower().replace(' ', '-')}",
    )
    return f'<section class="chart"><h2>{escape(heading)}</h2><p>{escape(caption)}</p>{drawn}</section>'


def tables(every: Iterable[str]) -> str:
    """Return tables side by side."""
    return f'<section class="tables">\n{chr(10).join(every)}\n</section>'


def table(heading: str, names: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "figures") -> str:
    """Return a table; `kind` is figures or words."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div><h2>{escape(heading)}</h2><table class="{kind}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def lines(heading: str, every: Iterable[str]) -> str:
    """Return a section of sentences."""
    inner = "".join(f"<p>{escape(line)}</p>" for line in every)
    return f'<section class="lines">\n<h2>{escape(heading)}</h2>\n{inner}\n</section>'


def figure(x: Values, across: str, up: str, log: bool = False) -> go.Figure:
    """Return an empty chart with axes."""
    axes = {"gridcolor": GRID, "linecolor": MUTED, "tickcolor": MUTED, "zeroline": False, "ticks": "outside"}
    made = go.Figure(
        layout={
            "template": "none",
            "height": HEIGHT,
            "margin": {"l": 72, "r": 16, "t": 28, "b": 44},
            "font": {"family": "system-ui, sans-serif", "size": 12, "color": INK},
            "hovermode": "x unified",
            "paper_bgcolor": "white",
            "plot_bgcolor": "white",
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 1, "xanchor": "right"},
            "xaxis": axes | {"title": {"text": across, "font": {"color": MUTED}}, "showgrid": False},
            "yaxis": axes | {"title": {"text": up, "font": {"color": MUTED}}, "automargin": True, "linecolor": "white"},
        }
    )
    if log:
        made.update_yaxes(type="log", dtick=1, tickformat=",~g")
    else:
        made.update_yaxes(rangemode="tozero", tickformat="~s" if up in ("rows/s", "rows", "records") else "~g")
    if x:
        made.update_xaxes(range=[0, max(float(x[-1] or 0.0), 1e-9)])
    return made


def line(
    on: go.Figure,
    x: Values,
    y: Values,
    name: str,
    colour: str,
    fill: bool = False,
    dash: str = "solid",
    shape: str = "linear",
    gaps: bool = True,
) -> None:
    """Add a line to a chart; `gaps` interrupts it at unknown values."""
    on.add_scatter(
        x=list(x),
        y=list(y),
        name=name,
        mode="lines",
        connectgaps=not gaps,
        line={"color": colour, "width": 1.6, "dash": dash, "shape": shape},
        fill="tozeroy" if fill else "none",
        fillcolor=f"rgba({int(colour[1:3], 16)},{int(colour[3:5], 16)},{int(colour[5:7], 16)},0.12)",
        hovertemplate="%{y:,.4~g}",
    )


def known(values: Values) -> bool:
    """Return whether any value is known."""
    return any(value is not None for value in values)


def short(number: float) -> str:
    """Return a number with few digits."""
    for unit, name in ((1e9, " bn"), (1e6, " M"), (1e3, " k")):
        if number >= 10 * unit or unit > 1e3 and number >= unit:
            return f"{number / unit:,.1f}{name}"
    return f"{number:,.0f}"


def long(seconds: float) -> str:
    """Return a duration as text."""
    hours, rest = divmod(round(seconds), 3600)
    minutes, rest = divmod(rest, 60)
    parts = ((hours, "h"), (minutes, "min"), (rest, "s"))
    return " ".join(f"{amount} {unit}" for amount, unit in parts if amount) or "0 s"
