"""The options of `verify`, which of them may be combined, what hears of the progress, and where it works: in this process or
on Spark. The findings are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from simulator.engines.spark import import_spark, spark_calls
from simulator.engines.spark.master import chosen_master
from simulator.errors import UserError
from simulator.reader.replay import ImagePairSource, Report, neighbours
from simulator.reader.replay.row_rules import TableKnowledge
from simulator.reader.storage import is_storage
from simulator.settings import AUTO, IN_PROCESS
from simulator.signals import defer_signals
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


IN_PROCESS_BYTES = 256 << 20
"""Limit of records and snapshots that this process reads with `--master auto`."""

Result = TypeVar("Result")

Replayer = Callable[[Sequence[ImagePairSource], TableKnowledge, int, Report], list[pa.RecordBatch]]
"""Takes sources, table knowledge, the number of examples and a report callback; returns the findings."""

Reader = Callable[[Sequence[ImagePairSource], Report], None]
"""Takes sources that yield nothing, and a callback for what they report."""


@dataclass(frozen=True)
class Engine:
    """Where a verification works."""

    master: str
    """Spark's master, or `none` for this process."""

    replay: Replayer
    read: Reader

    @property
    def title(self) -> str:
        return "in process" if self.master == IN_PROCESS else f"Spark, {self.master}"


def engine_of(master: str, size: int) -> Engine:
    """Return the engine of a master for an input of `size` bytes, which chooses what `auto` is."""
    chosen = chosen_master(master, size <= IN_PROCESS_BYTES)
    if chosen == IN_PROCESS:
        return Engine(chosen, neighbours.replay_in_process, neighbours.read_in_process)

    def replay(
        sources: Sequence[ImagePairSource], expected: TableKnowledge, show: int, report: Report
    ) -> list[pa.RecordBatch]:
        def work(session: Any) -> list[pa.RecordBatch]:
            from simulator.reader import on_spark

            return on_spark.SparkReplay(session, expected, show).findings(sources, report, size)

        return with_spark(chosen, size, work)

    def read(sources: Sequence[ImagePairSource], report: Report) -> None:
        def work(session: Any) -> None:
            from simulator.reader import on_spark

            on_spark.read_on_spark(session, sources, report)

        with_spark(chosen, size, work)

    return Engine(chosen, replay, read)


def with_spark(master: str, size: int, work_on: Callable[[Any], Result], jars: Sequence[Path] = ()) -> Result:
    """Return the result of `work_on`, called with a Spark session; a signal stops it."""
    spark = import_spark()
    with defer_signals():  # an import that a signal ends midway leaves half a module behind
        pass

    def work() -> Result:
        return work_on(spark.session(master, size, jars, sends=False))

    with spark_calls() as start:
        result: Result = start(work).result()
        return result
