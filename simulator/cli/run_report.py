"""The output of a run: progress and warnings on standard error, tables and a summary on standard output."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from time import monotonic, time
from typing import Any

from rich import box
from rich.table import Column, Table

from simulator import tso
from simulator.cli.output import write_summary
from simulator.cli.terminal import StatusLine, Terminal
from simulator.cli.user_files import JSON_MARK
from simulator.columns.change_frame import DELETE, INSERT, UPDATE
from simulator.engines.tasks.progress import Progress
from simulator.limits import counted, sized
from simulator.run.execute import RunResult
from simulator.run.outputs import Output
from simulator.run.plan import Plan

MANY = 40
"""Tables or partitions that are shown one by one; the summary file has all."""

READING = "reading and comparing the snapshots"

ENDED_EARLY = {
    "console": "what was shown is not all",
    "storage": "the storage has all rows up to the checkpoint-ts of its `metadata`, and perhaps files of later ones",
}
"""What a run that ended early has left, by sink; no fixtures are left."""

QUIET = 3.0
"""Seconds without an acknowledgement before a message about it."""


@dataclass(frozen=True)
class Summary:
    """The summary of a completed run."""

    plan: Plan
    output: Output
    account: RunResult
    seconds: float
    """The duration of the whole run, with planning, reading and comparing."""

    def by_table(self) -> dict[str, Counter[int]]:
        """Return the rows of each table by operation, summed over its partitions."""
        rows_by_table: dict[str, Counter[int]] = {}
        for (table, op, _), rows in sorted(self.account.changes.items()):
            physical = self.plan.tables[table].table
            rows_by_table.setdefault(f"{physical.schema}.{physical.name}", Counter())[op] += rows
        return rows_by_table

    def by_partition(self) -> list[dict[str, Any]]:
        """Return the counts of each partition."""
        rows: Counter[int] = Counter()
        for (_, _, destination), count in self.account.changes.items():
            rows[destination] += count
        first = self.output.destinations.first
        return [
            {
                "topic": self.plan.topics[account.topic],
                "rows": rows[first[account.topic] + account.partition],
                "partition": account.partition,
                "messages": account.records,
                "bytes": account.bytes,
                "first_offset": account.first_offset,
                "commit_ts": account.commit_ts,
            }
            for account in self.account.delivered
        ]

    @property
    def messages(self) -> int:
        return sum(account.records for account in self.account.delivered)

    @property
    def bytes(self) -> int:
        """The size of all keys and values."""
        return sum(account.bytes for account in self.account.delivered)

    @property
    def rows(self) -> int:
        return sum(self.account.changes.values())

    @property
    def rate(self) -> float:
        """Rows per second while sending."""
        return self.rows / self.account.sending if self.account.sending else 0.0

    @property
    def nothing_differs(self) -> str:
        """A line for people if only snapshots were compared to their end and nothing in them differs; else empty."""
        if not self.plan.snapshot_pairs or self.rows or self.plan.jobs or self.account.stopped:
            return ""
        filtered = self.plan.left_out or self.plan.event_filters.rules or self.plan.ignored_start_ts
        return f"nothing differs: the snapshots have the same tables and rows{', as far as the changefeed takes them' if filtered else ''}"

    def write(self, path: Path) -> None:
        """Write the summary as JSON; raises DeliveryError."""
        tables = {
            name: {"inserted": ops[INSERT], "updated": ops[UPDATE], "deleted": ops[DELETE]}
            for name, ops in self.by_table().items()
        }
        document = {
            **JSON_MARK,
            "protocol": self.output.options.protocol,
            "rows": self.rows,
            "messages": self.messages,
            "bytes": self.bytes,
            "seconds": round(self.seconds, 3),
            "sending_seconds": round(self.account.sending, 3),
            "rows_per_second": round(self.rate),
            "shuffles": self.account.shuffles,
            "start_ts": tso.compose(self.plan.timeline.start_ms),
            "end_ts": tso.compose(self.plan.timeline.end_ms),
            "tables": tables,
            "partitions": self.by_partition(),
            "statements": [asdict(event) for event in self.plan.statements],
        }
        write_summary(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


class Display:
    """The progress of a run on standard error."""

    def __init__(self) -> None:
        self._line = StatusLine()
        self._console = self._line.console
        self._began = 0.0
        self._sends = False
        self._silent = ""

    def warn(self, lines: Iterable[str]) -> None:
        self._console.warn(lines)

    def note(self, lines: Sequence[str]) -> None:
        """Print notes on what the run will do."""
        shown = [*lines[:MANY], f"… and {len(lines) - MANY} more"] if len(lines) > MANY else lines
        for line in shown:
            self._console.print(line, style="dim", soft_wrap=True)

    def stage(self, text: str) -> None:
        """Show the stage that begins."""
        if self._line.is_shown:
            self._line.show(text)
        else:
            self._console.print(f"{text} …", style="dim")

    def update(self, progress: Progress) -> None:
        """Show what the tasks have read and sent; called in the listener's thread."""
        sends = bool(progress.events)
        if self._began == 0.0 or sends != self._sends:
            self._began, self._sends = monotonic(), sends
        seconds = max(monotonic() - self._began, 0.5)
        silent = silence(progress)
        if silent and not self._silent and not self._console.is_terminal:
            self.note([silent])
        self._silent = silent
        if self._line.is_shown:
            self.stage(sending(progress, seconds) if sends else reading_line(progress, seconds))

    @contextmanager
    def following(self, reads: bool) -> Iterator[None]:
        """Show progress until the block ends; `reads` is whether the run compares snapshots before it sends."""
        stage = READING if reads else "sending"
        self._console.print(f"{stage} …", style="dim")
        with self._line.following(stage):
            yield

    def ended(self, watermark: int) -> None:
        """Show the watermark at which a signal stopped the run."""
        self.error(f"stopped at watermark {tso.describe(watermark)}" if watermark else "stopped before the first event")

    def error(self, line: str) -> None:
        """Print a line about a run that ended early."""
        self._console.print(line, style="red", soft_wrap=True)

    def stopped(self, progress: Progress, plan: Plan, output: Output) -> None:
        """Print what was delivered by a run that ended early."""
        if output.name != "kafka":
            self._console.print(ENDED_EARLY.get(output.name, "no fixtures were written"), style="red")
            return
        self._console.print("each partition has at least every event below this commit-ts:", style="red")
        for destination in range(output.destinations.total):
            topic, partition = output.destinations.where(destination)
            ts = progress.complete.get((topic, partition))
            until = tso.describe(ts) if ts else "nothing was acknowledged"
            self._console.print(f"  {plan.topics[topic]}/{partition}: {until}", soft_wrap=True)

    def finish(self, summary: Summary, stderr: bool) -> None:
        """Print tables and a closing line on standard output, or on standard error."""
        out = Terminal(stderr=stderr)
        tables = summary.by_table()
        if tables:
            out.print(by_table(tables), "")
        if summary.nothing_differs:
            out.print(summary.nothing_differs, "", sep="\n", soft_wrap=True)
        writes_files = summary.output.name == "storage"
        if not writes_files:
            out.print(by_partition(summary.by_partition()), "")
        out.print(
            f"{counted(summary.rows, 'row change')} in "
            f"{counted(summary.messages, 'file' if writes_files else 'message')}, {sized(summary.bytes)}, "
            f"{summary.seconds:.1f} s, of which {summary.account.sending:.1f} s sending ({summary.rate:,.0f} rows/s)",
            f"simulated time {tso.describe(tso.compose(summary.plan.timeline.start_ms))} "
            f"to {tso.describe(tso.compose(summary.plan.timeline.end_ms))}",
            sep="\n",
            soft_wrap=True,
        )
        if summary.plan.left_out:
            names = ", ".join(".".join(name) for name in summary.plan.left_out[:5])
            more = f" and {len(summary.plan.left_out) - 5} more" if len(summary.plan.left_out) > 5 else ""
            out.print(f"left out by the changefeed's filter: {names}{more}", soft_wrap=True)


def reading_line(progress: Progress, seconds: float) -> str:
    """Return the progress line while reading."""
    rows = sum(progress.read.values())
    return f"{READING}: {counted(rows, 'row')} read, {rows / seconds:,.0f} rows/s"


def sending(progress: Progress, seconds: float) -> str:
    """Return the progress line while sending."""
    events, sent = sum(progress.events.values()), sum(progress.bytes.values())
    rate = f"{events / seconds:,.0f} events/s"
    return f"sending: {counted(events, 'event')}, {sized(sent)}, {silence(progress) or rate}"


def silence(progress: Progress) -> str:
    """Return a message if Kafka has acknowledged nothing to a task for some seconds; else an empty text."""
    since, until = min(progress.waiting.values(), default=(time(), 0.0))
    if time() - since < QUIET:
        return ""
    return f"Kafka has acknowledged nothing since {_clock(since)}, waiting until {_clock(until)}"


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%H:%M:%S")


def by_table(tables: dict[str, Counter[int]]) -> Table:
    """Rows of each table by operation."""
    shown = plain_table("table", "inserted", "updated", "deleted")
    for name in list(tables)[:MANY]:
        shown.add_row(name, *(f"{tables[name][op]:,}" for op in (INSERT, UPDATE, DELETE)))
    rest: Counter[int] = sum((tables[name] for name in list(tables)[MANY:]), Counter())
    if rest:
        shown.add_row(
            f"… {counted(len(tables) - MANY, 'more table')}", *(f"{rest[op]:,}" for op in (INSERT, UPDATE, DELETE))
        )
    return shown


def by_partition(every: Sequence[dict[str, Any]]) -> Table:
    """Return a table of rows, messages and bytes by partition."""
    shown = plain_table("topic", "partition", "rows", "messages", "bytes", "last commit-ts")
    for place in every[:MANY]:
        figures = (f"{place[name]:,}" for name in ("rows", "messages", "bytes"))
        shown.add_row(place["topic"], str(place["partition"]), *figures, str(place["commit_ts"] or "-"))
    rest = every[MANY:]
    if rest:
        sums = (f"{sum(place[name] for place in rest):,}" for name in ("rows", "messages", "bytes"))
        shown.add_row(f"… {counted(len(rest), 'more partition')}", "", *sums, "")
    return shown


def plain_table(named: str, *figures: str) -> Table:
    """Return an empty table, whose first column wraps on a narrow screen and whose figures do not."""
    columns = (Column(figure, justify="right", no_wrap=True, min_width=len(figure)) for figure in figures)
    return Table(Column(named, overflow="fold"), *columns, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
