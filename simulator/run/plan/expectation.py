"""The expectations of a scenario; `simulator.run.expectations` compares them with what a run sends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.sources.snapshots import Snapshot
from simulator.tidb.engine.upstream import Upstream


@dataclass(frozen=True)
class Expectation:
    """The content of a step `expect`."""

    events: tuple[str, ...] | None = None
    """Row and DDL events, each as `inspect` prints it after the time."""

    counts: Mapping[str, int | Mapping[str, int]] = field(default_factory=dict)
    """By `schema.table`: the number of row events, in total or by kind; also `ddl` and `messages`."""

    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By `schema.table`: all its rows, as `a=1 b=NULL`."""

    decisions: tuple[str, ...] | None = None
    """For each DDL job `sent` or `not sent`, optionally with a colon and some words of the reason."""

    sql: str = ""
    """A statement that must fail; it has no effect."""

    error: tuple[int | None, str] = (None, "")
    """The number of its error, and words of the error's text."""

    @property
    def about_messages(self) -> bool:
        return self.events is not None or bool(self.counts)


@dataclass(frozen=True)
class PlannedExpectation:
    """An expectation at its position in a run. It is about the events since the expectation before it."""

    expectation: Expectation
    where: str
    """File, line and step, for messages."""

    until_ms: int
    """The first millisecond after these events."""

    state: Snapshot | Upstream | None
    """The rows at this position."""

    raised: tuple[int, str] | None = None
    """Number and text of the error of `expectation.sql`; None if it succeeds."""
