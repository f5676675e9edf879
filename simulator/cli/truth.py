"""The options `--truth DIR`, `--truth-format` and `--at WHEN` of run, diff and load.

With --at nothing is sent. Without it, a truth that cannot be computed is refused before anything is sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from simulator import tso
from simulator.cli.output import show_lines
from simulator.cli.run_report import Display
from simulator.columns.hashing import ChangeSums
from simulator.errors import UserError
from simulator.limits import noun
from simulator.run.execute import RunResult
from simulator.run.outputs import Output
from simulator.truth import PlayedRun

if TYPE_CHECKING:
    from simulator.truth.expected_rows import ExpectedRows, TruthEngine

NOW = re.compile("0+(ms|s|m|h|d)")
TSO = re.compile("[0-9]{17,}")

NOT_WRITTEN = "no truth was written"


def check(options: dict[str, Any]) -> None:
    """Check the options; raises UserError."""
    if options["truth"] is not None:
        from simulator.truth.directory import TruthFiles

        TruthFiles(options["truth"], options["truth_format"]).check()


def watermark(at: str, start_ms: int) -> int:
    """Return the TSO that --at gives directly or as the time since the start; raises UserError."""
    if NOW.fullmatch(at):
        return tso.compose(start_ms)
    if not TSO.fullmatch(at):
        try:
            return tso.compose(start_ms + tso.duration_ms(at))
        except UserError:
            raise UserError(
                f"--at {at!r}: expected a watermark, as a TSO such as {tso.compose(start_ms + 60_000)} or as the time "
                "since the start such as 10m"
            ) from None
    ts = int(at)
    if ts > tso.FOREVER or tso.physical(ts) < start_ms:
        raise UserError(f"--at {at}: the stream starts at {tso.describe(tso.compose(start_ms))}")
    return ts


def between_milliseconds(ts: int) -> bool:
    """Return whether a TSO has no logical part, as watermarks have that do not follow a statement."""
    return ts == tso.compose(tso.physical(ts))


def not_between(ts: int) -> UserError:
    """Return the error for a TSO that is not a watermark."""
    return UserError(f"--at {ts}: a watermark lies between two milliseconds, such as {tso.compose(tso.physical(ts))}")


def show(rows: Mapping[str, int], place: Path, ts: int) -> None:
    """Print the number of rows by table."""
    width = max(map(len, rows), default=0)
    show_lines(f"{name:{width}} {count:>15,} {noun(count, 'row')}" for name, count in rows.items())
    show_lines([f"{place}: all rows at {tso.describe(ts)}"])


@dataclass(frozen=True)
class TruthRequest:
    """The truth of a scenario's run."""

    run: PlayedRun
    options: dict[str, Any]

    def check(self) -> None:
        """Check that the truth at the end of the run can be computed, if the run is to write it; raises UserError."""
        if self.options["truth"] is not None:
            _ = self._final

    def write(self, engine: TruthEngine, output: Output, account: RunResult, display: Display) -> None:
        """Write the requested truth after a run, at the watermark where it ended."""
        if self.options["truth"] is None:
            return
        ts = account.ended[1] if account.ended else tso.compose(self.run.plan.timeline.end_ms)
        try:
            expected_rows = self._expected_rows(ts) if ts else None
        except UserError as error:  # at the watermark of a stopped run it may be unknown
            display.error(f"{error}; {NOT_WRITTEN}")
            return
        if expected_rows is None:
            self.missed(display)
            return
        display.stage("writing the truth")
        self._write(engine, output, expected_rows, ts, account.sums)

    def missed(self, display: Display) -> None:
        """Say that the requested truth was not written."""
        if self.options["truth"] is not None:
            display.error(NOT_WRITTEN)

    def show(self, engine: TruthEngine, display: Display) -> None:
        """Write the truth at a watermark, without a run; raises UserError for a watermark outside the run."""
        ts = self._at()
        display.stage("writing the truth")
        output = Output(self.run.rules.changefeed).for_plan(self.run.plan)
        show(self._write(engine, output, self._expected_rows(ts), ts), self.options["truth"], ts)

    @cached_property
    def _final(self) -> ExpectedRows:
        return self._computed(tso.compose(self.run.plan.timeline.end_ms))

    def _expected_rows(self, ts: int) -> ExpectedRows:
        """Return the rows at a watermark; raises UserError if they are unknown."""
        return self._final if ts == tso.compose(self.run.plan.timeline.end_ms) else self._computed(ts)

    def _computed(self, ts: int) -> ExpectedRows:
        from simulator.truth.expected_rows import expected_rows  # it takes long, and few runs write a truth

        return expected_rows(self.run, ts)

    def _write(
        self,
        engine: TruthEngine,
        output: Output,
        expected_rows: ExpectedRows,
        ts: int,
        sums: ChangeSums = MappingProxyType({}),
    ) -> Mapping[str, int]:
        from simulator.truth.directory import TruthFiles
        from simulator.truth.expected_rows import about_run, write

        to = output.destinations
        topics = dict(zip(to.topics, to.counts, strict=True))
        files = TruthFiles(self.options["truth"], self.options["truth_format"])
        begins = dict(zip(to.topics, to.begins, strict=True)) if to.begins else {}
        about = about_run(self.run, topics, ts, sums, begins)
        return write(expected_rows, about, engine, files, (f"Played: {self.run.name}",))

    def _at(self) -> int:
        start_ms, end_ms = self.run.plan.positions[0].now_ms, self.run.plan.timeline.end_ms
        ts = watermark(self.options["at"], start_ms)
        if ts > tso.compose(end_ms):
            raise UserError(f"--at {self.options['at']}: the run ends at {tso.describe(tso.compose(end_ms))}")
        if not between_milliseconds(ts) and ts not in {job.commit_ts for job in self.run.plan.jobs}:
            raise not_between(ts)
        return ts
