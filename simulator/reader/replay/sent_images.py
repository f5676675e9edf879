"""The row images that messages tell, and their sums, which are those of the row changes that were sent.

The replay of rows that are in the order of their places alone knows only the last definition of a table. Which one a row
with a commit-ts had, all statements of a truth tell (`put_by_time`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import DELETE, Ints, by_table, ints, picked
from simulator.columns.hashing import KINDS, ChangeSums, fingerprints, sums_by_group
from simulator.errors import NotSimulatedError, UserError
from simulator.reader.events import Layout
from simulator.reader.replay import has_lost_bytes
from simulator.reader.replay.table_timeline import NO_TABLE, TableTimeline
from simulator.tidb.model.table import Name, Table
from simulator.tidb.model.types import family

ImagesOf = Callable[[pa.RecordBatch, Table], "tuple[pa.Array, pa.Array] | None"]
"""Returns the normalized images before and after of rows in a definition of their table; None if messages do not tell
them."""


def placed_by_bound(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows whose times do not fall, so that they are in the order of offsets, for a protocol whose rows may have
    no commit-ts. Those of their messages are in further columns."""
    rows = rows.append_column("told_ts", rows.column("commit_ts")).append_column("timed", rows.column("exact"))
    columns = {"commit_ts": rows.column("bound"), "exact": pa.repeat(pa.scalar(False), len(rows))}
    for name, values in columns.items():
        rows = rows.set_column(rows.schema.get_field_index(name), name, values)
    return rows


def redefined(timeline: TableTimeline) -> frozenset[Name]:
    """Return the names that had several definitions."""
    tables = {id(table): table for table in timeline.definitions}.values()
    counts = Counter((table.schema, table.name) for table in tables)
    return frozenset(name for name, count in counts.items() if count > 1)


class SentImages:
    """Rows of one layout, of which the images become known little by little."""

    def __init__(self, rows: pa.RecordBatch, layout: Layout) -> None:
        self._rows, self._name = rows, f"{layout.schema}.{layout.table}"
        self._hashes, self._told = np.zeros(len(rows), np.uint64), np.zeros(len(rows), np.bool_)

    def put(self, places: Ints, table: Table, touched: Ints, before: pa.Array, after: pa.Array) -> None:
        """Note the normalized images of rows at these places, whose table has that definition.

        They are not told where TiDB may have another spelling, or in a millisecond with a statement on the table.
        """
        if any(family(column.type) == "float" for column in table.columns):
            return
        images = pc.coalesce(after, before)
        ts, exact = ints(self._rows, "commit_ts")[places], np.asarray(self._rows.column("exact"))[places]
        doubtful = ~exact & np.isin(ts, touched)
        self._hashes[places], self._told[places] = fingerprints(images), ~(has_lost_bytes(images) | doubtful)

    def put_by_time(self, timeline: TableTimeline, name: Name, images: ImagesOf) -> None:
        """Note the images of the rows of a table with a commit-ts, each in the definition that it had then."""
        places = np.flatnonzero(np.asarray(self._rows.column("timed")))
        ts = ints(self._rows, "told_ts")[places]
        for number, at in by_table(timeline.numbers(name, ts, np.ones(len(ts), np.bool_))):
            if number == NO_TABLE:
                continue
            history = timeline.tables[number]
            for definition, of in by_table(history.definition_at(ts[at])):
                those, table = places[at[of]], history.definitions[definition].table
                try:
                    sides = images(picked(self._rows, those), table)
                except (UserError, NotSimulatedError, ValueError):
                    continue  # the message is of another definition, or wrong, which another check reports
                if sides is not None:
                    self.put(those, table, np.zeros(0, np.int64), *sides)

    def sums(self, milliseconds: bool) -> ChangeSums:
        """Return the sums of the rows; `milliseconds` is whether these are all that messages tell of commit-ts."""
        ts, exact = ("told_ts", "timed") if "timed" in self._rows.schema.names else ("commit_ts", "exact")
        deleted = (ints(self._rows, "op") == DELETE).astype(np.int64)
        timed = np.asarray(self._rows.column(exact)) | milliseconds
        sums = sums_by_group(deleted, ints(self._rows, ts), self._hashes, timed, self._told)
        return {(self._name, KINDS[group]): each for group, each in sums.items()}
