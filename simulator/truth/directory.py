"""The directory of a truth: a snapshot that is written beside its place and moved there when it is complete.

Only an empty directory or an earlier truth is replaced. Rows go to one file per table, with one batch in memory and
one open file at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from simulator import tso
from simulator.columns import row_image
from simulator.columns.change_frame import by_table, ints
from simulator.columns.hashing import BOOTSTRAPS, CHANGES, DELETES, ChangeSums, sums_by_kind
from simulator.errors import UserError, mask_secrets
from simulator.files import disk_errors, read_bytes
from simulator.reader import truth_metadata as truth_about
from simulator.reader.truth_metadata import TruthMetadata, hide_secrets, tag_and_architecture
from simulator.releases import Release
from simulator.signals import defer_signals
from simulator.sinks.files import staging
from simulator.sources.snapshots import written
from simulator.sources.snapshots.written import TableFile, table_file
from simulator.ticdc.changefeed import Changefeed
from simulator.tidb.ddl.derive import show_create
from simulator.tidb.model.table import Table, visible_columns

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
    changefeed: Changefeed, release: Release, tables: Iterable[Table], sums: ChangeSums, **told: Any
) -> TruthMetadata:
    """Return the metadata of a truth, without the counts of its rows; `tables` are those at the start, under their names
    in messages, and `told` are the other fields."""
    named, at_start = sums_by_kind(sums), {f"{table.schema}.{table.name}": table for table in tables}
    added = {
        name: {each.name: each.origin_default for each in table.columns if each.origin_default is not None}
        for name, table in at_start.items()
    }
    tag, architecture = tag_and_architecture(release)
    return TruthMetadata(
        release=tag,
        architecture=architecture,
        sink_uri=mask_secrets(changefeed.sink_uri),
        config=hide_secrets(changefeed.config),
        definitions={name: show_create(table) for name, table in at_start.items()},
        added_columns={name: columns for name, columns in added.items() if columns},
        changes=named[CHANGES],
        deletes=named[DELETES],
        bootstraps=named[BOOTSTRAPS],
        time_zone=changefeed.codec.time_zone,
        **told,
    )


def write_about(directory: Path, about: TruthMetadata, lines: Sequence[str] = ()) -> None:
    """Write `metadata`, in Dumpling's format, and `truth.json`."""
    truth_about.write(directory, about)
    written.write_metadata(
        directory,
        about.watermark,
        (f"{OURS} {about.command}", *lines, f"Seed: {about.seed}", f"Watermark: {tso.describe(about.watermark)}"),
    )


LEFT_OUT = -1
"""The number of a table whose rows are not written."""

ROWS = pa.schema([("table", pa.int32()), ("image", pa.binary())])
"""Rows of a truth: the table's index, and the row image."""


def write_rows(
    batches: Iterable[pa.RecordBatch],
    tables: Sequence[Table],
    directory: Path,
    format: str,
    part: Callable[[int], int | None],
) -> Counter[int]:
    """Write rows (ROWS, grouped by table) and return their counts by table.

    `part` returns the number of a table's file; None if it has only one.
    """
    counts: Counter[int] = Counter()
    with ExitStack() as opened:
        current = LEFT_OUT
        file: TableFile | None = None
        for number, images in _by_table(batches):
            if number == LEFT_OUT:
                continue
            if file is None or number != current:
                opened.close()
                file = table_file(directory, tables[number], format, part(number))
                opened.push(file)
                current = number
            file.write(row_image.named(images, [column.name for column in visible_columns(tables[number])]))
            counts[number] += len(images)
    return counts


def _by_table(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.Array]]:
    for batch in batches:
        for number, places in by_table(ints(batch, "table")):
            images = batch["image"]
            yield number, images if len(places) == batch.num_rows else images.take(pa.array(places))
