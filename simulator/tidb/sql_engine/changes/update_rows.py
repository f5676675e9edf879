"""Writes the updated rows of a table, and finds those that get the key of another row.

An updated row conflicts with a row that does not change, with the old key of a row updated after it, and with the new
key of a row updated before it. It does not conflict with a key that a row before it has given up (tidb
pkg/executor/write.go, updateRecord: keys are checked row by row).
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
    """Replace the rows at some positions, each once, in the order of the statement. Unchanged rows are not written.

    Raises PartialWriteError with 3819 for a row that violates a CHECK and 1062 for a key of another row. With `ignore`
    such a row others unchanged, with a warning.
    """
    stored = written.stored
    differs = rows_differ(stored.table, take_stored(stored, places), new)
    if not differs.all():
        places, new = places[differs], take_rows(new, mask_places(differs))
    while len(places):
        collisions = _key_conflicts(stored, places, new)
        row, breaks = first_place(np.any(collisions, axis=0)), first_place(violates_check(new))
        if breaks < len(places) and breaks <= row:
            row, problem = breaks, check_error(new, breaks)
        elif row < len(places):
            problem = duplicate_error(
                stored.table, unique_keys(stored.table)[int(np.argmax(collisions[:, row]))], new.texts, row
            )
        else:
            break
        if not ignore:
            raise written.failed(problem)
        written = replace(written, warned=written.warned.also(problem))
        others = np.arange(len(places)) != row
        places, new = places[others], take_rows(new, mask_places(others))
    new, counters = written.in_partitions(take_stored(stored, places), replace(new, violated_checks=None))
    return replace(written, counters=counters).with_change(places, new, len(places), len(places))


def _key_conflicts(stored: StoredRows, places: Places, new: KeyedRows) -> Mask:
    """Return for each unique key which rows conflict with another one."""
    table = stored.table
    old, rows = take_stored(stored, places), np.arange(len(places))
    changes = [
        np.asarray(pc.not_equal(old.handles, new.handles), bool) if key.clustered else unique_key_changed(old, new, key)
        for key in unique_keys(table)
    ]
    mask = np.zeros((len(changes), len(places)), np.bool_)
    if not any(change.any() for change in changes):
        return mask
    order = np.argsort(places)
    conflicts = find_conflicts(stored, new)
    for number, (key, change) in enumerate(zip(key_bytes(table, new), changes, strict=True)):
        at = order[np.minimum(np.searchsorted(places, conflicts[number], sorter=order), len(places) - 1)]
        inside = (conflicts[number] >= 0) & (places[at] == conflicts[number])
        given_up = inside & (at < rows) & change[at]
        itself = inside & (at == rows)
        mask[number] = change & ((conflicts[number] >= 0) & ~given_up & ~itself | (earlier_duplicates([key]) >= 0))
    return mask
