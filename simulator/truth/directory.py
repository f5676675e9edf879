"""The directory of a truth: a snapshot that is written beside its place and moved there when it is complete.

Only an empty directory or an earlier truth is replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType

from simulator import tso
from simulator.columns.change_sums import BOOTSTRAPS, CHANGES, DELETES, ChangeSums, sums_by_kind
from simulator.consumer import truth_metadata as truth_about
from simulator.consumer.statements import ExpectedStatement
from simulator.consumer.truth_metadata import TruthMetadata, hide_secrets, tag_and_architecture
from simulator.errors import UserError, mask_secrets
from simulator.files import read_bytes
from simulator.releases import Release
from simulator.signals import defer_signals
from simulator.sinks.files import staging
from simulator.sinks.files.settings import disk_errors
from simulator.sources.snapshots import written
from simulator.ticdc.changefeed import Changefeed
from simulator.tidb.ddl.derive import show_create
from simulator.tidb.model.table import Table

FORMATS = tuple(written.FORMATS)
OURS = "Written by: ticdc-sim"
"""The beginning of the line in `metadata` that marks a truth."""


def check(directory: Path, format: str = FORMATS[0]) -> None:
    """Check format and directory; raises UserError for an unknown format, or other files in the directory."""
    if format not in FORMATS:
        raise UserError(f"unknown format of a snapshot {format!r}: {' or '.join(FORMATS)}")
    if directory.exists() and not directory.is_dir():
        raise UserError(f"--truth {directory} is a file: give a new or empty directory")
    if directory.exists() and any(directory.iterdir()) and not _is_ours(directory):
        raise UserError(
            f"--truth {directory} holds something else: give a new or empty directory, or one with a truth, "
            "which is replaced"
        )


def _is_ours(directory: Path) -> bool:
    try:
        lines = read_bytes(directory / "metadata").decode().splitlines()
    except (OSError, UnicodeDecodeError, UserError):
        return False
    return any(line.startswith(OURS) for line in lines)


@contextmanager
def staging_directory(directory: Path, format: str = FORMATS[0]) -> Iterator[Path]:
    """Yield a staging directory, which replaces `directory` only if the block succeeds.

    Raises UserError as `check` does, and DeliveryError for errors of the disk.
    """
    final = directory.absolute()
    check(directory, format)
    with disk_errors(final), ExitStack() as undo:
        with defer_signals():
            made = staging.make(final)
            undo.callback(defer_signals()(staging.discard), made)
        yield made
        with defer_signals():
            staging.put_in_place(final, made)


def write_definitions(directory: Path, tables: Iterable[Table]) -> None:
    """Write the schema files of the tables and their databases."""
    tables = list(tables)
    for name in sorted({table.schema for table in tables}):
        written.write_database(directory, name)
    for table in tables:
        written.write_schema(directory, table)


def about(
    command: str,
    played: str,
    release: Release,
    changefeed: Changefeed,
    topics: Mapping[str, int],
    start_ts: int,
    watermark: int,
    final_watermark: int,
    empty: tuple[str, ...],
    seed: int,
    emptied: tuple[str, ...] = (),
    tables: Sequence[Table] = (),
    statements: tuple[ExpectedStatement, ...] = (),
    sums: ChangeSums = MappingProxyType({}),
) -> TruthMetadata:
    """Return the metadata of a truth, without the counts of its rows; `topics` has the number of partitions by topic,
    `tables` are those at the start, under their names in messages."""
    named = sums_by_kind(sums)
    sink_uri, config = mask_secrets(changefeed.sink_uri), hide_secrets(changefeed.config)
    tag, architecture = tag_and_architecture(release)
    return TruthMetadata(
        command,
        played,
        tag,
        architecture,
        sink_uri,
        config,
        dict(topics),
        start_ts,
        watermark,
        final_watermark,
        empty,
        seed,
        emptied=emptied,
        definitions={f"{table.schema}.{table.name}": show_create(table) for table in tables},
        added_columns={
            f"{table.schema}.{table.name}": added
            for table in tables
            if (added := {each.name: each.origin_default for each in table.columns if each.origin_default is not None})
        },
        statements=statements,
        changes=named[CHANGES],
        deletes=named[DELETES],
        bootstraps=named[BOOTSTRAPS],
        time_zone=changefeed.codec.time_zone,
    )


def write_about(directory: Path, about: TruthMetadata, lines: Sequence[str] = ()) -> None:
    """Write `metadata`, in Dumpling's format, and `truth.json`."""
    truth_about.write(directory, about)
    written.write_metadata(
        directory,
        about.watermark,
        (f"{OURS} {about.command}", *lines, f"Seed: {about.seed}", f"Watermark: {tso.describe(about.watermark)}"),
    )
