"""Checks that a truth is complete and belongs to the stream, by its rows, topics, time and tables.

A difference that a fault may have caused is no reason to reject the truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from simulator import tso
from simulator.consumer.truth_metadata import TruthMetadata
from simulator.errors import UserError
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.model.table import Name

FEW = 5
"""Number of names that are listed."""


def check_topics(directory: Path, metadata: TruthMetadata, actual: Mapping[str, int]) -> None:
    """Raise UserError if the source has other topics or more partitions than the run; `actual` has the partitions of
    each topic."""
    missing, other = sorted(metadata.topics.keys() - actual.keys()), sorted(actual.keys() - metadata.topics.keys())
    if missing and other:
        raise _other_run(
            directory, f"that one wrote to {_name_list(missing)}, and these are messages of {_name_list(other)}"
        )
    if missing:
        raise _other_run(directory, f"that one wrote to {_name_list(missing)}, too, which SOURCE does not have")
    if other:
        raise _other_run(directory, f"that one did not write to {_name_list(other)}, which SOURCE has")
    for topic, count in metadata.topics.items():
        if actual[topic] > count:
            raise _other_run(directory, f"that one wrote to {count} partitions of {topic}, which has {actual[topic]}")


def check_times(directory: Path, metadata: TruthMetadata, first: int, last: int) -> None:
    """Raise UserError if all row changes, which lie between `first` and `last`, are outside the time of the run."""
    if last <= metadata.start_ts or first > metadata.final_watermark:
        raise _other_run(
            directory,
            f"that one lasted from {tso.describe(metadata.start_ts)} to {tso.describe(metadata.final_watermark)}, "
            f"and the row changes here lie from {tso.describe(first)} to {tso.describe(last)}",
        )


def check_tables(directory: Path, known: Iterable[Name], rows: Iterable[Name]) -> None:
    """Raise UserError if no table with row changes is known from the truth or a statement."""
    here, present = sorted(set(rows)), sorted(set(known))
    if here and not {object_key(*name) for name in here} & {object_key(*name) for name in present}:
        raise _other_run(
            directory,
            f"that one has {_name_list(map('.'.join, present)) or 'no tables'}, and these are rows of "
            f"{_name_list(map('.'.join, here))}",
        )


def check_files(directory: Path, metadata: TruthMetadata, files: Mapping[Name, int]) -> None:
    """Raise UserError if the truth lost a file; `files` has the number of row files of each table."""
    present = {object_key(*name): count for name, count in files.items()}
    for table, rows in metadata.rows.items():
        name = object_key(*table.split(".", 1))
        if name not in present:
            raise _damaged_truth(directory, f"it has no definition of {table}")
        if rows and not present[name]:
            raise _damaged_truth(directory, f"it has no file with the {rows:,} rows of {table}")


def check_rows(directory: Path, metadata: TruthMetadata, actual: Mapping[str, int]) -> None:
    """Raise UserError if the truth lost or gained rows; `actual` has the rows that were read of each table."""
    for table, rows in actual.items():
        if metadata.rows.get(table, rows) != rows:
            raise _damaged_truth(
                directory, f"{table} has {rows:,} rows, and had {metadata.rows[table]:,} when it was written"
            )


def _damaged_truth(directory: Path, why: str) -> UserError:
    return UserError(f"the truth in {directory} is not as it was written: {why}; let the run write its truth again")


def _other_run(directory: Path, why: str) -> UserError:
    return UserError(f"{directory} is the truth of another run: {why}")


def _name_list(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - FEW} more" if len(every) > FEW else ""
    return f"{', '.join(every[:FEW])}{more}"
