"""Compares the tables that a consumer wrote with the expected rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simulator import tso
from simulator.consumer.replay.image_pairs import SkippedChanges
from simulator.consumer.replay.outcome import ReplayOutcome, summarize_findings
from simulator.consumer.replay.snapshot_comparison import compare_snapshots, expected_rows
from simulator.consumer.truth_metadata import TruthMetadata
from simulator.consumer.verify import truth_checks
from simulator.consumer.verify.comparison import file_counts
from simulator.consumer.verify.engine import engine_of, master_of, with_spark
from simulator.consumer.verify.options import VerifyListener, VerifyOptions
from simulator.errors import UserError, mask_secrets, uri_without_secrets
from simulator.settings import IN_PROCESS, ON_SPARK
from simulator.sources import snapshots
from simulator.sources.snapshots import Snapshot

DATABASE = "jdbc:"


def compare_consumer_tables(
    options: VerifyOptions, truth: TruthMetadata | None, listener: VerifyListener
) -> tuple[ReplayOutcome, tuple[str, ...]]:
    """Return the differences, and notes on columns that were not compared; raises UserError for rows of another
    watermark."""
    location, expected = options.against or "", snapshots.open(str(options.truth or options.after))
    if truth is not None and options.truth is not None:
        truth_checks.check_files(options.truth, truth, file_counts(expected))
    listener.stage(f"comparing {display_location(location)}")
    if location.startswith(DATABASE):
        return _in_database(options, location, expected)
    actual = snapshots.open(location, tables=[entry.table for entry in expected.tables])
    _check_watermark(options.truth, truth, actual)
    comparison = compare_snapshots(expected, actual)
    size = expected.size + actual.size
    batches = engine_of(master_of(options.master, size), size)(
        comparison.sources, comparison.expected, options.show, lambda value: None
    )
    return summarize_findings(
        batches, comparison.timeline, comparison.expected, SkippedChanges(), (), options.show
    ), comparison.notes


def _in_database(options: VerifyOptions, url: str, expected: Snapshot) -> tuple[ReplayOutcome, tuple[str, ...]]:
    """Compare tables behind a JDBC URL, which Spark reads."""
    if options.master == IN_PROCESS:
        raise UserError(
            f"--master none reads no database: --against {display_location(url)} needs Spark, --master {ON_SPARK!r}"
        )
    if options.jdbc_driver is not None and not options.jdbc_driver.is_file():
        raise UserError(f"--jdbc-driver {options.jdbc_driver}: no such file; a driver's JAR is accepted")
    comparison = expected_rows(expected)

    def compare(spark: Any) -> tuple[ReplayOutcome, tuple[str, ...]]:
        from simulator.consumer.engines import jdbc

        batches, notes = jdbc.run(spark, url, comparison, options.show, expected.size)
        return summarize_findings(
            batches, comparison.timeline, comparison.expected, SkippedChanges(), (), options.show
        ), notes

    jars = () if options.jdbc_driver is None else (options.jdbc_driver,)
    return with_spark(options.master or ON_SPARK, expected.size, compare, jars)


def display_location(location: str) -> str:
    """Return the location with secrets masked."""
    return mask_secrets(location) if location.startswith(DATABASE) else uri_without_secrets(location)


def _check_watermark(directory: Path | None, truth: TruthMetadata | None, actual: Snapshot) -> None:
    if truth is not None and actual.start_ts is not None and actual.start_ts != truth.watermark:
        raise UserError(
            f"{actual.path} says that it is of {tso.describe(actual.start_ts)}, and {directory} is the truth of "
            f"{tso.describe(truth.watermark)}: give the truth of the same watermark (--truth with --at "
            f"{actual.start_ts} writes it)"
        )
