"""The options of `verify`, which of them may be combined, and what hears of the progress."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from simulator.errors import UserError
from simulator.reader.storage.sources import is_storage
from simulator.settings import AUTO
from simulator.sources.snapshots import TextFormat, text_format

DEFAULT_EXAMPLES = 10
"""Examples shown of each check by default."""


@dataclass(frozen=True)
class VerifyOptions:
    source: str | None = None
    """A fixtures directory, or kafka://host:port/topic[,topic]."""

    truth: Path | None = None
    before: str | None = None
    after: str | None = None
    """Snapshots: directories or URIs."""

    against: str | None = None
    """The tables that a consumer wrote: a snapshot, or the URL of a database."""

    jdbc_driver: Path | None = None
    charset: str | None = None
    csv_separator: str | None = None
    csv_delimiter: str | None = None
    csv_null_value: str | None = None
    """How the text files of `before`, `after` and `against` are written; None is Dumpling's default."""

    sink_uri: str | None = None
    config: Path | None = None
    tz: str | None = None
    schema_registry: str | None = None
    """The URL of the registry with the schemas that messages name."""

    release: str | None = None
    architecture: str | None = None
    follow: bool = False
    until: int | None = None
    """The TSO of the watermark that `follow` waits for; None means the truth's final watermark."""

    show: int = DEFAULT_EXAMPLES
    master: str = AUTO
    restarts: bool = True
    """Whether rows may be repeated, as after a restart of the changefeed."""

    @property
    def to_kafka(self) -> bool:
        return self.source is not None and "://" in self.source and not is_storage(self.source)

    @property
    def format(self) -> TextFormat:
        """The format of text files; raises UserError."""
        return text_format(self.charset, self.csv_separator, self.csv_delimiter, self.csv_null_value)


def check_options(options: VerifyOptions) -> None:
    """Raise UserError for options that cannot be combined, before anything is read."""
    if options.format != TextFormat() and not (options.before or options.after or options.against):
        raise UserError("--charset and --csv-… are about the files of --before, --after and --against: give one")
    if options.source is None:
        _check_tables_only(options)
    if options.truth is not None and options.after is not None:
        raise UserError("--truth and --after both say which rows are expected: choose one")
    if options.against is not None and options.truth is None and options.after is None:
        raise UserError("--against DIR is held against what should be there: give --truth DIR or --after DIR, too")
    if options.jdbc_driver is not None and not (options.against or "").startswith("jdbc:"):
        raise UserError("--jdbc-driver is for --against jdbc:…")
    if options.until is not None and not options.follow:
        raise UserError("--until says what --follow waits for: give --follow, too")
    if options.follow:
        _check_follow(options)


def _check_tables_only(options: VerifyOptions) -> None:
    if options.against is None:
        raise UserError(
            "nothing to verify: give SOURCE, a fixtures directory, kafka://host:port/topic or a storage such as file:///directory, or --truth DIR and "
            "--against DIR to compare tables alone"
        )
    if options.follow or options.before is not None:
        option = "--follow" if options.follow else "--before"
        raise UserError(
            f"{option} is about a stream: give SOURCE, a fixtures directory, kafka://host:port/topic or a storage such as file:///directory"
        )


def _check_follow(options: VerifyOptions) -> None:
    if not options.to_kafka:
        raise UserError(f"{options.source} is a directory: only kafka://host:port/topic can be followed")
    if options.until is None and options.truth is None:
        raise UserError(
            "--follow waits for the final watermark, and nothing says which: give --truth DIR of the run, or --until "
            "TSO"
        )


class VerifyListener:
    """Receives the progress of a verification. This one ignores it."""

    def stage(self, name: str) -> None:
        """A stage begins."""

    def records(self, done: int, total: int | None) -> None:
        """`done` of `total` records were read; `total` is None if the total is unknown."""

    def waits(self, text: str) -> None:
        """The verification waits for something."""

    def last(self, text: str) -> None:
        """The verification ended early; `text` tells how far it came."""

    def warn(self, lines: Iterable[str]) -> None:
        """Some options have no effect."""
