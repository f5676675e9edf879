"""A verification as a page of HTML: summary, watermarks and lag by partition, differences by table and kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import plotly.graph_objects as go

from simulator import tso
from simulator.cli import page
from simulator.cli.page import BLUE, GREEN, ORANGE, PURPLE, RED, short
from simulator.cli.run_report import MANY
from simulator.cli.verify_text import OPS, figures, named, offsets, verdict
from simulator.limits import counted, noun
from simulator.reader.verify.verification import Failure, PartitionRead, Verification, failure_details, failure_heading

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, RED, "#0e7c86", "#8a6d00", "#616e7c")
A_DAY = 86_400.0
"""Seconds of lag that only simulated time has."""


def write(verification: Verification, path: Path) -> None:
    """Write the page; raises DeliveryError."""
    page.write(path, document(verification), "report")


def document(verification: Verification) -> str:
    """Return the whole page."""
    charts = [page.chart(*chart) for chart in _charts(verification)]
    return page.document(
        f"Verification: {verification.source or verification.against}",
        _beneath(verification),
        (
            page.tiles(_tiles(verification), verification.verdict),
            *charts,
            *(page.lines(failure_heading(failure), failure_details(failure)) for failure in verification.failures),
            page.tables(_tables(verification)),
            page.lines("Not checked", (f"{each.what}: {each.why}" for each in verification.not_checked))
            if verification.not_checked
            else "",
            page.lines("Notes", verification.notes) if verification.notes else "",
        ),
        bool(charts),
    )


def _beneath(verification: Verification) -> str:
    began = datetime.fromtimestamp(verification.began, UTC)
    return f"{verdict(verification)} · {began:%Y-%m-%d %H:%M:%S} UTC · {page.long(verification.seconds)}"


def _tiles(verification: Verification) -> Iterator[tuple[str, str, str]]:
    """Yield name, figure and caption of each tile."""
    failed = len(verification.failures)
    yield "", verification.verdict, f"{counted(failed, 'check')} failed" if failed else "no check failed"
    yield "wrong", short(verification.wrong), "counted, not only those shown"
    if verification.source:
        yield (
            noun(verification.rows, "row change"),
            short(verification.rows),
            f"in {short(verification.records)} {noun(verification.records, 'record')}",
        )
        until = (
            f"{tso.wall_time(verification.watermark):%Y-%m-%d %H:%M:%S}" if verification.watermark else "no watermark"
        )
        yield (
            noun(len(verification.partitions), "partition"),
            f"{len(verification.partitions):,}",
            f"complete up to {until}",
        )
    if verification.compared:
        expected = {table.table: table.expected for table in verification.compared}
        yield (
            f"{noun(sum(expected.values()), 'row')} expected",
            short(sum(expected.values())),
            f"in {counted(len(expected), 'table')}",
        )


def _charts(verification: Verification) -> Iterator[tuple[str, str, go.Figure]]:
    """Yield heading, description and chart."""
    timed = [place for place in verification.partitions if len(place.moments) > 1]
    if timed:
        yield from _timeline(timed)
    differing = [table for table in verification.compared if table.differences]
    if differing:
        differing.sort(key=lambda table: -table.differences)
        names = [named(table) for table in differing[:MANY]]
        chart = _bars("rows")
        for name, colour in (("missing", RED), ("left", ORANGE), ("different", PURPLE)):
            page.bars(chart, names, [getattr(table, name) for table in differing[:MANY]], name, colour)
        yield "Differences by table", "Rows that are not as expected.", chart
    if verification.failures:
        yield "Wrong by check and table", "How often each check failed.", _by_check(verification.failures)


def _timeline(places: Sequence[PartitionRead]) -> Iterator[tuple[str, str, go.Figure]]:
    """Plot over the records' timestamps, or over offsets for fixtures, whose timestamps are commit times."""
    sent = any(moment.timestamp != tso.physical(moment.watermark) for place in places for moment in place.moments)
    first = min(place.moments[0].timestamp for place in places)
    start = min(tso.physical(place.moments[0].watermark) for place in places)
    across = "seconds since the first record" if sent else "records of the partition"
    marks = page.figure([], across, "seconds")
    lags = page.figure([], across, "seconds")
    least = min(_lag(place, number, sent) for place in places for number in range(len(place.moments)))
    begin = least if sent and least > A_DAY else 0.0
    for colour, place in enumerate(_most_behind(places, sent)):
        name, tint = f"{place.topic}/{place.partition}", COLOURS[colour % len(COLOURS)]
        x = [
            (moment.timestamp - first) / 1000 if sent else float(moment.offset - (place.first_offset or 0))
            for moment in place.moments
        ]
        page.line(
            marks,
            x,
            [(tso.physical(moment.watermark) - start) / 1000 for moment in place.moments],
            name,
            tint,
            shape="hv",
        )
        page.line(lags, x, [_lag(place, number, sent) - begin for number in range(len(place.moments))], name, tint)
    some = f" The {len(COLOURS)} partitions furthest behind." if len(places) > len(COLOURS) else ""
    yield "Watermarks", f"The watermark of each partition, in seconds since the first one.{some}", marks
    if not sent:
        caption = "How far the newest row lies above the watermark before it."
    else:
        caption = "How long after its own time each watermark was written"
        caption += ", above the least of these: the stream's time is simulated." if begin else "."
    yield "Lag", caption + some, lags


def _lag(place: PartitionRead, number: int, sent: bool) -> float:
    """Return the lag in seconds at a moment of a partition."""
    moment = place.moments[number]
    if sent:
        return (moment.timestamp - tso.physical(moment.watermark)) / 1000
    before = place.moments[max(0, number - 1)]
    return max(0, tso.physical(moment.newest) - tso.physical(before.watermark)) / 1000


def _most_behind(places: Sequence[PartitionRead], sent: bool) -> list[PartitionRead]:
    """Return the partitions with the greatest lag, as many as there are colours, ordered by name."""

    def worst(place: PartitionRead) -> float:
        return max(_lag(place, number, sent) for number in range(len(place.moments)))

    some = sorted(places, key=worst, reverse=True)[: len(COLOURS)]
    return sorted(some, key=lambda place: (place.topic, place.partition))


def _by_check(failures: Sequence[Failure]) -> go.Figure:
    """Return a bar for each check, stacked by table."""
    tables: dict[str, int] = {}
    for failure in failures:
        for table, count in failure.tables.items():
            tables[table] = tables.get(table, 0) + count
    chart = _bars("times")
    for colour, table in enumerate(sorted(tables, key=lambda name: -tables[name])[: len(COLOURS)]):
        counts = [failure.tables.get(table, 0) for failure in failures]
        page.bars(chart, [failure.check for failure in failures], counts, table or "no table", COLOURS[colour])
    return chart


def _bars(up: str) -> go.Figure:
    chart = page.figure([], "", up)
    chart.update_layout(barmode="stack")
    chart.update_xaxes(type="category", automargin=True)
    return chart


def _tables(verification: Verification) -> Iterator[str]:
    if verification.compared:
        ordered = sorted(verification.compared, key=lambda table: (-table.differences, table.table))
        names = ("table", "expected", "found", "missing", "left", "different")
        rows = [(named(table), *figures(table)) for table in ordered[:MANY]]
        yield page.table("Rows compared", names, [*rows, *_more(ordered, len(names))])
    if verification.tables:
        of_tables = list(verification.tables.items())
        changes = [(name, *(f"{kinds.get(op, 0):,}" for op in OPS)) for name, kinds in of_tables[:MANY]]
        yield page.table("Row changes by table", ("table", *map(str.lower, OPS)), [*changes, *_more(of_tables, 4)])
    if verification.partitions:
        columns = ("partition", "offsets", "rows", "again", "watermarks")
        places = [_partition(place) for place in verification.partitions[:MANY]]
        yield page.table("Partitions", columns, [*places, *_more(verification.partitions, len(columns))])
    settings = ((setting.name, f"{setting.value} (by {setting.told_by})") for setting in verification.settings)
    yield page.table("Settings", ("setting", "value"), [*settings, ("engine", verification.engine)], "words")


def _partition(place: PartitionRead) -> tuple[str, ...]:
    amounts = (place.rows, place.repeated, place.watermarks)
    return f"{place.topic}/{place.partition}", offsets(place), *(f"{amount:,}" for amount in amounts)


def _more(every: Sequence[object], width: int) -> list[tuple[str, ...]]:
    return [(f"… {len(every) - MANY} more", *("" for _ in range(width - 1)))] if len(every) > MANY else []
