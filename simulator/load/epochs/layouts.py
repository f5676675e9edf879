"""The layouts of a table's rows in TiKV: a row that was last written before a column was added lacks it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import Ints
from simulator.generate.model import TableRows
from simulator.generate.values.table_values import TableValues
from simulator.tidb.ddl.column_sources import columns_lacked


@dataclass(frozen=True)
class RowLayouts:
    """What is known of a table since the oldest column that rows may lack was added. Transactions are numbered as in
    `KeyChanges`."""

    added: tuple[tuple[int, int], ...] = ()
    """The id of each column that rows may lack, and the first transaction after it was added."""

    definitions: tuple[tuple[int, TableValues], ...] = ()
    """The values of rows by the table's definitions, each with its first transaction, ascending."""

    def after(self, before: TableValues, values: TableValues, first: int) -> RowLayouts:
        """Return the layouts after a statement that precedes the transaction `first`."""
        if values is before:
            return self
        kept, new = columns_lacked(before.table, values.table)
        added = *(each for each in self.added if each[0] in kept), *((id, first) for id in sorted(new))
        oldest = min((transaction for _, transaction in added), default=first)
        known = [*self.definitions, (first, values)]
        behind = [place for place, (transaction, _) in enumerate(known) if transaction <= oldest]
        return RowLayouts(added, tuple(known[behind[-1] if behind else 0 :]) if added else ())

    def lacking(self, rows: TableRows) -> pa.Array:
        """Return the columns that rows lack, as `TableChanges.lacking` has them."""
        written = self._last_written(rows)
        firsts = sorted({first for _, first in self.added}, reverse=True)
        texts = [None] + [
            ",".join(str(id) for id, first in self.added if first >= oldest).encode() for oldest in firsts
        ]
        later = len(firsts) - np.searchsorted(np.array(firsts[::-1]), written, "right")
        return pa.array(texts, pa.binary()).take(pa.array(later))

    def _last_written(self, rows: TableRows) -> Ints:
        """Return the transaction that wrote each row last: an UPDATE that changes nothing does not. Of those before all
        columns that rows may lack it is any."""
        starts = np.array([first for first, _ in self.definitions])
        written, versions = rows.changed.copy(), rows.versions.copy()
        open_ = np.arange(len(written))
        while True:
            open_ = open_[(written[open_] >= starts[0]) & (written[open_] > rows.born[open_])]
            if not len(open_):
                return written
            before = rows.lives.versions(rows.table, rows.keys[open_], written[open_], rows.since)
            same = np.zeros(len(open_), np.bool_)
            of = np.searchsorted(starts, written[open_], "right") - 1
            for number in np.unique(of).tolist():
                at = np.flatnonzero(of == number)
                images = [
                    self.definitions[number][1].images(rows.at(open_[at], each))
                    for each in (before[at], versions[open_[at]])
                ]
                same[at] = np.asarray(pc.equal(*images))
            open_, before = open_[same], before[same]
            versions[open_] = before
            written[open_] = rows.at(open_, before).changed
