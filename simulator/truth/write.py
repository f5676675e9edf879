"""The truth of a run, written: what stands at a watermark, by an engine, into a directory.

One law: a truth is whole or not there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from simulator import tso
from simulator.consumer.truth_metadata import TruthMetadata, hide_secrets, tag_and_architecture
from simulator.errors import mask_secrets
from simulator.run.plan import Plan
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.rules import ChangefeedRules
from simulator.truth import directory as directories
from simulator.truth.expected_rows import ExpectedRows, empty

TruthEngine = Callable[[ExpectedRows, Path, str], Counter[int]]
"""Writes all rows into a directory, in a format, and says how many each table has, by its number."""


def write(
    found: ExpectedRows,
    about: TruthMetadata,
    engine: TruthEngine,
    directory: Path,
    format: str = directories.FORMATS[0],
    lines: Sequence[str] = (),
) -> Mapping[str, int]:
    """Writes the rows, and `lines` into what they say of themselves; gives how many each table has.

    Raises UserError for a directory that is not to be replaced, SnapshotError for files that cannot be read, and
    DeliveryError where the disk refuses.
    """
    with directories.growing(directory, format) as staging:
        directories.write_definitions(staging, found.tables)
        counts = engine(found, staging, format)
        rows = {f"{table.schema}.{table.name}": counts[number] for number, table in enumerate(found.tables)}
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
) -> TruthMetadata:
    """What the truth of a plan says of it; `topics` has how many partitions each is written to."""
    release = rules.release
    return TruthMetadata(
        command,
        played,
        *tag_and_architecture(release),
        mask_secrets(changefeed.sink_uri),
        hide_secrets(changefeed.config),
        dict(topics),
        tso.compose(plan.positions[0].now_ms),
        watermark,
        tso.compose(plan.timeline.end_ms),
        empty(plan, rules),
        seed,
    )
