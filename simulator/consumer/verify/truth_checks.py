"""Whether a truth is whole, and belongs to a stream: its rows, its topics, its time and its tables.

One law: what only a fault could have done to the stream is no reason to take it for another one.
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
"""Names that are said."""


def check_topics(directory: Path, about: TruthMetadata, found: Mapping[str, int]) -> None:
    """Raises UserError where the source has other topics than the run, or other partitions; `found` has how many each
    topic has."""
    missing, other = sorted(about.topics.keys() - found.keys()), sorted(found.keys() - about.topics.keys())
    if missing and other:
        raise _another(directory, f"that one wrote to {_listed(missing)}, and these are messages of {_listed(other)}")
    if missing:
        raise _another(directory, f"that one wrote to {_listed(missing)}, too, which SOURCE does not have")
    if other:
        raise _another(directory, f"that one did not write to {_listed(other)}, which SOURCE has")
    for topic, count in about.topics.items():
        if found[topic] > count:
            raise _another(directory, f"that one wrote to {count} partitions of {topic}, which has {found[topic]}")


def check_times(directory: Path, about: TruthMetadata, first: int, last: int) -> None:
    """Raises UserError where all row changes lie outside the run's time; they lie from `first` to `last`."""
    if last <= about.start_ts or first > about.final_watermark:
        raise _another(
            directory,
            f"that one lasted from {tso.describe(about.start_ts)} to {tso.describe(about.final_watermark)}, "
            f"and the row changes here lie from {tso.describe(first)} to {tso.describe(last)}",
        )


def check_tables(directory: Path, known: Iterable[Name], rows: Iterable[Name]) -> None:
    """Raises UserError where not one table with row changes is known, be it by the truth or by a statement."""
    here, there = sorted(set(rows)), sorted(set(known))
    if here and not {object_key(*name) for name in here} & {object_key(*name) for name in there}:
        raise _another(
            directory,
            f"that one has {_listed(map('.'.join, there)) or 'no tables'}, and these are rows of "
            f"{_listed(map('.'.join, here))}",
        )


def check_files(directory: Path, about: TruthMetadata, files: Mapping[Name, int]) -> None:
    """Raises UserError for a truth that lost a file; `files` has how many with rows each of its tables has."""
    there = {object_key(*name): count for name, count in files.items()}
    for table, rows in about.rows.items():
        name = object_key(*table.split(".", 1))
        if name not in there:
            raise _damaged(directory, f"it has no definition of {table}")
        if rows and not there[name]:
            raise _damaged(directory, f"it has no file with the {rows:,} rows of {table}")


def check_rows(directory: Path, about: TruthMetadata, found: Mapping[str, int]) -> None:
    """Raises UserError for a truth that lost rows, or got some; `found` has how many were read of each table."""
    for table, rows in found.items():
        if about.rows.get(table, rows) != rows:
            raise _damaged(directory, f"{table} has {rows:,} rows, and had {about.rows[table]:,} when it was written")


def _damaged(directory: Path, why: str) -> UserError:
    return UserError(f"the truth in {directory} is not as it was written: {why}; let the run write its truth again")


def _another(directory: Path, why: str) -> UserError:
    return UserError(f"{directory} is the truth of another run: {why}")


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - FEW} more" if len(every) > FEW else ""
    return f"{', '.join(every[:FEW])}{more}"
