"""UPDATE where rows get other keys: which row meets which, in the order in which they are changed.

One law: a row meets one that is not changed, one that is changed after it, and what became of one before it; a row
that another has left is out of its way (tidb pkg/executor/write.go, updateRecord: keys are checked row by row).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from simulator.columns.cells import Places
from simulator.tidb.sql_engine.changes.on_duplicate import changed_key
from simulator.tidb.sql_engine.storage.names import Mask, first, where
from simulator.tidb.sql_engine.storage.row_keys import duplicate, earlier, unique_keys
from simulator.tidb.sql_engine.storage.rows import KeyedRows, taken, taken_rows
from simulator.tidb.sql_engine.storage.state import StoredRows
from simulator.tidb.sql_engine.storage.table_writes import Written, broken, differ, hits, key_bytes, violation


def updated(written: Written, places: Places, new: KeyedRows, ignore: bool) -> Written:
    """With new rows in place of those at some places, each once, in the order of the statement.

    A row that is as it was is not written. Raises Failed with 3819 for a row that breaks a CHECK and 1062 for one that
    meets another; with `ignore` such a row stays as it was, with a warning.
    """
    stored = written.stored
    differs = differ(stored.table, taken(stored, places), new)
    if not differs.all():
        places, new = places[differs], taken_rows(new, where(differs))
    while len(places):
        wrong = _collisions(stored, places, new)
        row, breaks = first(np.any(wrong, axis=0)), first(broken(new))
        if breaks < len(places) and breaks <= row:
            row, problem = breaks, violation(new, breaks)
        elif row < len(places):
            problem = duplicate(stored.table, unique_keys(stored.table)[int(np.argmax(wrong[:, row]))], new.texts, row)
        else:
            break
        if not ignore:
            raise written.failed(problem)
        written = replace(written, warned=written.warned.also(problem))
        stays = np.arange(len(places)) != row
        places, new = places[stays], taken_rows(new, where(stays))
    new, counters = written.in_partitions(taken(stored, places), replace(new, broken=None))
    return replace(written, counters=counters).with_change(places, new, len(places), len(places))


def _collisions(stored: StoredRows, places: Places, new: KeyedRows) -> Mask:
    """For each unique key, which rows meet another one."""
    table = stored.table
    old, rows = taken(stored, places), np.arange(len(places))
    changes = [
        np.asarray(pc.not_equal(old.handles, new.handles), bool) if key.clustered else changed_key(old, new, key)
        for key in unique_keys(table)
    ]
    found = np.zeros((len(changes), len(places)), np.bool_)
    if not any(change.any() for change in changes):
        return found
    order = np.argsort(places)
    met = hits(stored, new)
    for number, (key, change) in enumerate(zip(key_bytes(table, new), changes, strict=True)):
        at = order[np.minimum(np.searchsorted(places, met[number], sorter=order), len(places) - 1)]
        inside = (met[number] >= 0) & (places[at] == met[number])
        left = inside & (at < rows) & change[at]
        itself = inside & (at == rows)
        found[number] = change & ((met[number] >= 0) & ~left & ~itself | (earlier([key]) >= 0))
    return found
