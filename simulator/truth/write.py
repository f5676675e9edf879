"""Writes the truth of a run into a directory; the directory appears when the truth is complete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from simulator import tso
from simulator.columns.change_sums import ChangeSums
from simulator.consumer.truth_metadata import TruthMetadata
from simulator.run.outputs import codec_options
from simulator.run.plan import Plan
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.rules import ChangefeedRules
from simulator.truth import directory as directories
from simulator.truth.expected_rows import ExpectedRows, emptied_tables, empty_tables
from simulator.truth.sent_statements import StatementMessages

TruthEngine = Callable[[ExpectedRows, Path, str], Counter[int]]
"""Writes all rows into a directory in a format, and returns the counts by table index."""


def write(
    expected: ExpectedRows,
    about: TruthMetadata,
    engine: TruthEngine,
    directory: Path,
    format: str = directories.FORMATS[0],
    lines: Sequence[str] = (),
) -> Mapping[str, int]:
    """Write the rows and their metadata, which includes `lines`; return the number of rows by `schema.table`.

    Raises UserError for a directory with other files, SnapshotError for unreadable files, and DeliveryError for errors
    of the disk.
    """
    with directories.staging_directory(directory, format) as staging:
        directories.write_definitions(staging, expected.tables)
        counts = engine(expected, staging, format)
        rows = {f"{table.schema}.{table.name}": counts[number] for number, table in enumerate(expected.tables)}
        directories.write_about(staging, replace(about, rows=rows), lines)
    return rows


def about_run(
    command: str,
    played: str,
    plan: Plan,
    changefeed: Changefeed,
    rules: ChangefeedRules,
    topics: Mapping[str, int],
    seed: int,
    watermark: int,
    sums: ChangeSums = MappingProxyType({}),
) -> TruthMetadata:
    """Return the metadata of a plan's truth; `topics` has the number of partitions by topic, `sums` are those
    of `RunResult`."""
    start_ts, end_ts = tso.compose(plan.positions[0].now_ms), tso.compose(plan.timeline.end_ms)
    messages = StatementMessages(rules, codec_options(changefeed))
    return directories.about(
        command,
        played,
        rules.release,
        changefeed,
        topics,
        start_ts,
        watermark,
        end_ts,
        empty_tables(plan, rules),
        seed,
        emptied_tables(plan, rules),
        messages.tables(plan.positions[0].catalog),
        tuple(messages.of_jobs(plan.jobs)),
        sums,
    )
