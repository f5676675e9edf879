"""What a user asks of a verification, and which of it goes together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simulator.errors import UserError

DEFAULT_EXAMPLES = 10
"""Examples of each check that are shown, where nobody says otherwise."""


@dataclass(frozen=True)
class VerifyOptions:
    """The options of `verify`."""

    source: str | None = None
    """A fixtures directory, or kafka://host:port/topic[,topic]."""

    truth: Path | None = None
    before: str | None = None
    after: str | None = None
    """Snapshots: directories or URIs."""

    against: str | None = None
    """What a consumer wrote down: a snapshot, or a JDBC URL."""

    jdbc_driver: Path | None = None
    sink_uri: str | None = None
    config: Path | None = None
    release: str | None = None
    architecture: str | None = None
    follow: bool = False
    until: int | None = None
    """The TSO of the watermark that `follow` waits for; None is the truth's final one."""

    show: int = DEFAULT_EXAMPLES
    master: str | None = None
    restarts: bool = True
    """Whether rows may come again, as after a restart of the changefeed."""

    @property
    def to_kafka(self) -> bool:
        return self.source is not None and "://" in self.source


def check_options(asked: VerifyOptions) -> None:
    """Raises UserError for what does not go together, before anything is read."""
    if asked.source is None:
        _tables_alone(asked)
    if asked.truth is not None and asked.after is not None:
        raise UserError("--truth and --after both say which rows are expected: choose one")
    if asked.against is not None and asked.truth is None and asked.after is None:
        raise UserError("--against DIR is held against what should be there: give --truth DIR or --after DIR, too")
    if asked.jdbc_driver is not None and not (asked.against or "").startswith("jdbc:"):
        raise UserError("--jdbc-driver is for --against jdbc:…")
    if asked.until is not None and not asked.follow:
        raise UserError("--until says what --follow waits for: give --follow, too")
    if asked.follow:
        _following(asked)


def _tables_alone(asked: VerifyOptions) -> None:
    if asked.against is None:
        raise UserError(
            "nothing to verify: give SOURCE, a fixtures directory or kafka://host:port/topic, or --truth DIR and "
            "--against DIR to compare tables alone"
        )
    if asked.follow or asked.before is not None:
        option = "--follow" if asked.follow else "--before"
        raise UserError(f"{option} is about a stream: give SOURCE, a fixtures directory or kafka://host:port/topic")


def _following(asked: VerifyOptions) -> None:
    if not asked.to_kafka:
        raise UserError(f"{asked.source} is a directory: only kafka://host:port/topic can be followed")
    if asked.until is None and asked.truth is None:
        raise UserError(
            "--follow waits for the final watermark, and nothing says which: give --truth DIR of the run, or --until "
            "TSO"
        )
