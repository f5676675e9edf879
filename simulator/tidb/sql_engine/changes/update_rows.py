"""UPDATE where rows get other keys: which row meets which, in the order in which they are changed.

One law: a row meets one that is not changed, one that is changed after it, and what became of one before it; a row
that another has left is out of its way (tidb pkg/executor/write.go, updateRecord: keys are checked row by row).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from simulator.columns.cells import Places
from simulator.tidb.sql_engine.changes.on_duplicate import unique_key_changed
from simulator.tidb.sql_engine.storage.names import Mask, first_place, mask_places
from simulator.tidb.sql_engine.storage.row_keys import duplicate_error, earlier_duplicates, unique_keys
from simulator.tidb.sql_engine.storage.rows import KeyedRows, take_rows, take_stored
from simulator.tidb.sql_engine.storage.state import StoredRows
from simulator.tidb.sql_engine.storage.table_writes import (
    TableWrites,
    check_error,
    find_conflicts,
    key_bytes,
    rows_differ,
    violates_check,
)


def update_stored_rows(written: TableWrites, places: Places, new: KeyedRows, ignore: bool) -> TableWrites:
    """With new rows in place of those at some places, each once, in the order of the statement.

    A row that is as it was is not written. Raises PartialWriteError with 3819 for a row that breaks a CHECK and 1062 for one that
    meets another; with `ignore` such a row stays as it was, with a warning.
    """
    stored = written.stored
    differs = rows_differ(stored.table, take_stored(stored, places), new)
    if not differs.all():
        places, new = places[differs], take_rows(new, mask_places(differs))
    while len(places):
        wrong = _key_conflicts(stored, places, new)
        row, breaks = first_place(np.any(wrong, axis=0)), first_place(violates_check(new))
        if breaks < len(places) and breaks <= row:
            row, problem = breaks, check_error(new, breaks)
        elif row < len(places):
            problem = duplicate_error(
                stored.table, unique_keys(stored.table)[int(np.argmax(wrong[:, row]))], new.texts, row
            )
        else:
            break
        if not ignore:
            raise written.failed(problem)
        written = replace(written, warned=written.warned.also(problem))
        stays = np.arange(len(places)) != row
        places, new = places[stays], take_rows(new, mask_places(stays))
    new, counters = written.in_partitions(take_stored(stored, places), replace(new, violated_checks=None))
    return replace(written, counters=counters).with_change(places, new, len(places), len(places))


def _key_conflicts(stored: StoredRows, places: Places, new: KeyedRows) -> Mask:
    """For each unique key, which rows meet another one."""
    table = stored.table
    old, rows = take_stored(stored, places), np.arange(len(places))
    changes = [
        np.asarray(pc.not_equal(old.handles, new.handles), bool) if key.clustered else unique_key_changed(old, new, key)
        for key in unique_keys(table)
    ]
    found = np.zeros((len(changes), len(places)), np.bool_)
    if not any(change.any() for change in changes):
        return found
    order = np.argsort(places)
    met = find_conflicts(stored, new)
    for number, (key, change) in enumerate(zip(key_bytes(table, new), changes, strict=True)):
        at = order[np.minimum(np.searchsorted(places, met[number], sorter=order), len(places) - 1)]
        inside = (met[number] >= 0) & (places[at] == met[number])
        left = inside & (at < rows) & change[at]
        itself = inside & (at == rows)
        found[number] = change & ((met[number] >= 0) & ~left & ~itself | (earlier_duplicates([key]) >= 0))
    return found
