"""The truth of a load: the rows that every table has at a watermark, written as a snapshot.

One law: memory is bounded by a chunk of rows, however many there are; nothing half-written is seen under the directory.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from simulator import tso
from simulator.errors import UserError
from simulator.run.load.plan import LoadPlan
from simulator.run.load.stretch import LoadedTable, Stretch
from simulator.sinks.files.directory import put_in_place
from simulator.sinks.files.settings import disk_errors
from simulator.sources.snapshots import written
from simulator.tidb.model.table import visible_columns

FORMATS = tuple(written.FORMATS)
CHUNK = 65_536
"""Rows in memory at a time."""

PLAN = "plan.toml"
OURS = "Written by: ticdc-sim load"
"""The line of `metadata` that says whose snapshot it is."""


def check(directory: Path, format: str = FORMATS[0]) -> None:
    """Raises UserError for a format that is none, and where the directory holds anything but a truth, which is
    replaced."""
    if format not in FORMATS:
        raise UserError(f"unknown format of a snapshot {format!r}: {' or '.join(FORMATS)}")
    if directory.exists() and not directory.is_dir():
        raise UserError(f"--truth {directory} is a file: give a new or empty directory")
    if directory.exists() and any(directory.iterdir()) and not _is_ours(directory):
        raise UserError(
            f"--truth {directory} holds something else: give a new or empty directory, or one with the truth of "
            "a load, which is replaced")


def _is_ours(directory: Path) -> bool:
    try:
        return OURS in (directory / "metadata").read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return False


def write(stretch: Stretch, ms: int, directory: Path, plan: LoadPlan, format: str = FORMATS[0]) -> Mapping[str, int]:
    """Writes the rows at the watermark of a simulated millisecond of the stretch, its statements included; gives how
    many each table has. Tables that the changefeed's filter leaves out are not there.

    Raises UserError as `check` does, DeliveryError where the disk refuses.
    """
    final = directory.absolute()
    check(final, format)
    with disk_errors(final):
        final.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{final.name}-", dir=final.parent))
        try:
            os.chmod(staging, 0o755)
            rows = _write(stretch, ms, staging, plan, format)
            put_in_place(final, staging)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return rows


def _write(stretch: Stretch, ms: int, directory: Path, plan: LoadPlan, format: str) -> dict[str, int]:
    tables = [(number, loaded) for number, loaded in enumerate(stretch.tables) if loaded is not None]
    rows: dict[str, int] = {}
    for name in sorted({loaded.place.table.schema for _, loaded in tables}):
        written.write_database(directory, name)
    for number, loaded in tables:
        table = loaded.place.table
        written.write_schema(directory, table)
        rows[f"{table.schema}.{table.name}"] = _write_rows(stretch, number, loaded, ms, directory, format)
    watermark = tso.compose(stretch.job.start_ms + ms)
    (directory / PLAN).write_text(plan.text, "utf-8")
    written.write_metadata(directory, watermark, (
        OURS, f"Plan: {plan.name}, as in {PLAN}", f"Seed: {plan.model.seed}",
        f"Simulated milliseconds since the start: {ms}", f"Watermark: {tso.describe(watermark)}"))
    return rows


def _write_rows(
    stretch: Stretch, number: int, loaded: LoadedTable, ms: int, directory: Path, format: str
) -> int:
    stream, table, count = stretch.stream, loaded.place.table, 0
    behind = stream.timetable.transactions_before(ms)
    names = [column.name for column in visible_columns(table)]
    with written.FORMATS[format](directory / written.file_name(table, f".{format}"), table) as file:
        for rows in stream.alive(number, behind, loaded.since, CHUNK):
            file.write(loaded.values.texts(names, rows))
            count += len(rows.keys)
    return count
