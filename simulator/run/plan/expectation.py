"""What a scenario expects of the steps before, and what there is at that point to hold against it.

One law: nothing is compared here; whoever reads messages back does that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from simulator.sources.snapshots import Snapshot
from simulator.tidb.sql_engine.storage.state import Upstream


@dataclass(frozen=True)
class Expectation:
    """What a step `expect` says; None of what it does not say."""

    events: tuple[str, ...] | None = None
    """Of rows and statements, each as `inspect` writes it behind the time."""

    counts: Mapping[str, int | Mapping[str, int]] = field(default_factory=dict)
    """By `schema.table`: how many row events, or how many of each kind; and `ddl`, `messages`."""

    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By `schema.table`: every row of it, as `a=1 b=NULL`."""

    decisions: tuple[str, ...] | None = None
    """What becomes of each job of a statement: `sent`, `not sent`, or that with a colon and some words of why."""

    sql: str = ""
    """A statement that must fail; it has no effect."""

    error: tuple[int | None, str] = (None, "")
    """Its number, and words of its text."""

    @property
    def about_messages(self) -> bool:
        return self.events is not None or bool(self.counts)


@dataclass(frozen=True)
class PlannedExpectation:
    """An expectation in its place in a run."""

    expectation: Expectation
    where: str
    """File, line and step, for people."""

    until_ms: int
    """The first millisecond behind what it is about, which begins behind the expectation before."""

    state: Snapshot | Upstream | None
    """Where the rows lie then."""

    raised: tuple[int, str] | None = None
    """Number and text of the error of the statement that must fail; None where it succeeds."""
