"""What a consumer wrote down, held against the rows that it should have."""

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
from simulator.consumer.verify.options import VerifyOptions
from simulator.consumer.verify.progress import VerifyListener
from simulator.errors import UserError, mask_secrets, uri_without_secrets
from simulator.settings import IN_PROCESS, ON_SPARK
from simulator.sources import snapshots
from simulator.sources.snapshots import Snapshot

DATABASE = "jdbc:"


def compare_consumer_tables(
    asked: VerifyOptions, truth: TruthMetadata | None, told: VerifyListener
) -> tuple[ReplayOutcome, tuple[str, ...]]:
    """What differs, and what of the two was not compared; raises UserError for rows of another watermark."""
    place, right = asked.against or "", snapshots.open(str(asked.truth or asked.after))
    if truth is not None and asked.truth is not None:
        truth_checks.check_files(asked.truth, truth, file_counts(right))
    told.stage(f"comparing {display_location(place)}")
    if place.startswith(DATABASE):
        return _in_database(asked, place, right)
    found = snapshots.open(place, tables=[entry.table for entry in right.tables])
    _check_watermark(asked.truth, truth, found)
    both = compare_snapshots(right, found)
    size = right.size + found.size
    batches = engine_of(master_of(asked.master, size), size)(
        both.sources, both.expected, asked.show, lambda value: None
    )
    return summarize_findings(batches, both.timeline, both.expected, SkippedChanges(), (), asked.show), both.notes


def _in_database(asked: VerifyOptions, url: str, right: Snapshot) -> tuple[ReplayOutcome, tuple[str, ...]]:
    """The same of tables behind a JDBC URL, which Spark reads."""
    if asked.master == IN_PROCESS:
        raise UserError(
            f"--master none reads no database: --against {display_location(url)} needs Spark, --master {ON_SPARK!r}"
        )
    if asked.jdbc_driver is not None and not asked.jdbc_driver.is_file():
        raise UserError(f"--jdbc-driver {asked.jdbc_driver}: no such file; a driver's JAR is accepted")
    wanted = expected_rows(right)

    def compared(spark: Any) -> tuple[ReplayOutcome, tuple[str, ...]]:
        from simulator.consumer.engines import jdbc

        batches, notes = jdbc.run(spark, url, wanted, asked.show, right.size)
        return summarize_findings(batches, wanted.timeline, wanted.expected, SkippedChanges(), (), asked.show), notes

    jars = () if asked.jdbc_driver is None else (asked.jdbc_driver,)
    return with_spark(asked.master or ON_SPARK, right.size, compared, jars)


def display_location(place: str) -> str:
    """For people."""
    return mask_secrets(place) if place.startswith(DATABASE) else uri_without_secrets(place)


def _check_watermark(directory: Path | None, truth: TruthMetadata | None, found: Snapshot) -> None:
    if truth is not None and found.start_ts is not None and found.start_ts != truth.watermark:
        raise UserError(
            f"{found.path} says that it is of {tso.describe(found.start_ts)}, and {directory} is the truth of "
            f"{tso.describe(truth.watermark)}: give the truth of the same watermark (--truth with --at "
            f"{found.start_ts} writes it)"
        )
