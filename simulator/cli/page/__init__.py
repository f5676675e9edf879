"""Reports as HTML pages of tiles, charts and tables. All texts are escaped.

plotly.js, of which a copy in each report would be most of it, lies in a file beside them that they share.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

import plotly.graph_objects as go
import plotly.io
from plotly.offline import get_plotlyjs, get_plotlyjs_version

from simulator import __version__
from simulator.cli.output import warn, write_file
from simulator.cli.user_files import HTML_MARK
from simulator.files import is_stream

INK, MUTED, GRID = "#1f2933", "#616e7c", "#e4e7eb"
BLUE, ORANGE, GREEN, RED, PURPLE = "#1f6feb", "#e07b00", "#1a7f4b", "#c2334d", "#7a4fc2"

PLOTLY = f"plotly-{get_plotlyjs_version()}.min.js"
"""The file with plotly.js."""

HEIGHT = 250
"""Pixels of a chart."""

CONFIG = {"displayModeBar": False, "responsive": True}
Values = Sequence[float | None]


def document(title: str, beneath: str, sections: Iterable[str], charts: bool = True) -> str:
    """Return the whole file; with `charts` it needs PLOTLY beside it."""
    package = files("simulator.cli.page")
    style = (package / "page.css").read_text("utf-8")
    script = f'<script src="{PLOTLY}"></script>\n' if charts else ""
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


def write(path: Path, text: str, what: str) -> None:
    """Write a page, after PLOTLY beside it if it needs it and it is not there; raises DeliveryError.

    A page that goes to a pipe or a device has nothing beside it.
    """
    if f'src="{PLOTLY}"' in text and not is_stream(path):
        _write_script(Path(os.path.realpath(path)).with_name(PLOTLY), what)
    write_file(path, text, what)


def _write_script(script: Path, what: str) -> None:
    """Write PLOTLY, or warn if there is another file of its name."""
    if not os.path.lexists(script):
        write_file(script, get_plotlyjs(), f"{what}'s script")
    elif not script.is_file() or script.read_text("utf-8", "replace") != get_plotlyjs():
        warn([f"{script} is left as it is, and is not the plotly.js {get_plotlyjs_version()} that the {what} needs"])


def tiles(every: Iterable[tuple[str, str, str]], kind: str = "") -> str:
    """Return tiles of name, figure and caption; `kind` is a CSS class."""
    inner = "".join(
        f"<div><b>{escape(figure)}</b><span>{escape(name)}</span><small>{escape(beside)}</small></div>"
        for name, figure, beside in every
    )
    return f'<section class="{f"tiles {kind}".strip()}">{inner}</section>'


def chart(heading: str, caption: str, figure: go.Figure) -> str:
    """Return a chart with its heading and a sentence that explains it."""
    _set_ticks(figure)
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
        made.update_yaxes(rangemode="tozero", tickformat=",~g")
    if x:
        last = float(x[-1] or 0.0)
        made.update_xaxes(range=[0, last] if last else [-0.5, 0.5], tickformat=",~g", dtick=None if last else 1)
    return made


def _set_ticks(figure: go.Figure) -> None:
    """Set the ticks of the vertical axis for its values: whole numbers for counts, `12k` for large ones."""
    if figure.layout.yaxis.type == "log":
        return
    tops = [max((value for value in trace.y if value is not None), default=0.0) for trace in figure.data]
    bars = [top for trace, top in zip(figure.data, tops, strict=True) if trace.type == "bar"]
    top = max((*tops, sum(bars)), default=0.0)
    if top >= 10_000:
        figure.update_yaxes(tickformat="~s")
    elif figure.layout.yaxis.title.text in COUNTS:
        figure.update_yaxes(tickformat=",d", dtick=1 if top < 5 else None, range=None if top else [0, 1])


COUNTS = ("rows", "records", "times")
"""What the vertical axis of a chart counts."""


def bars(on: go.Figure, names: Sequence[str], counts: Sequence[float], name: str, colour: str) -> None:
    """Add bars to a chart of named things, of a width that leaves a few of them slim."""
    on.add_bar(
        x=list(names),
        y=list(counts),
        name=name,
        marker_color=colour,
        width=min(0.65, 0.08 * len(names)),
        hovertemplate="%{y:,}<extra>%{x}</extra>",
    )
    if any(len(name) > LABEL for name in names):
        on.update_xaxes(tickvals=list(names), ticktext=[_label(name) for name in names])


def _label(name: str) -> str:
    """Return a name that is short enough to stand below a bar."""
    return name if len(name) <= LABEL else f"{name[: LABEL // 2]}…{name[-LABEL // 2 + 1 :]}"


LABEL = 28


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
    """Add a line to a chart; `gaps` interrupts it at unknown values. A value without neighbours is a point."""
    on.add_scatter(
        x=list(x),
        y=list(y),
        name=name,
        mode="lines+markers" if _has_lone_values(y, gaps) else "lines",
        marker={"size": 6},
        cliponaxis=False,
        connectgaps=not gaps,
        line={"color": colour, "width": 1.6, "dash": dash, "shape": shape},
        fill="tozeroy" if fill else "none",
        fillcolor=f"rgba({int(colour[1:3], 16)},{int(colour[3:5], 16)},{int(colour[5:7], 16)},0.12)",
        hovertemplate="%{y:,.4~g}",
    )


def _has_lone_values(values: Values, gaps: bool) -> bool:
    """Return whether a line would not show some value."""
    present = [value is not None for value in values]
    if not gaps:
        return sum(present) == 1
    return any(
        here and not before and not after
        for before, here, after in zip([False, *present], present, [*present[1:], False])
    )


def known(values: Values) -> bool:
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
