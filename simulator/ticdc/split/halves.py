"""UPDATEs of a diff that are split, in batches of row changes.

One law: a batch of changes becomes one with `op` and `rank` more, by which the changes of one commit-ts are in order.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.change_frame import DELETE, INSERT, UPDATE, op_of
from simulator.ticdc.split.rule import Mask, SPLIT_DELETE, SPLIT_INSERT, SplitRule

OPS = np.array([DELETE, UPDATE, INSERT, DELETE, INSERT], np.int8)
"""By kind: the operations, and the halves."""

Kinds = npt.NDArray[np.int8]


def halves(changes: pa.RecordBatch, is_split: Mask, rule: SplitRule) -> pa.RecordBatch:
    """The row changes (columns before, after and any others), each UPDATE that is split as two."""
    kinds = op_of(changes["before"], changes["after"])
    split = is_split & (kinds == UPDATE)
    if not split.any():
        return _ranked(changes, kinds, rule)
    rows = np.repeat(np.arange(len(kinds)), 1 + split)
    second = np.concatenate(([False], rows[1:] == rows[:-1]))
    kinds = np.where(split[rows], np.where(second, SPLIT_INSERT, SPLIT_DELETE), kinds[rows]).astype(np.int8)
    found = changes.take(pa.array(rows))
    for side, without in (("before", SPLIT_INSERT), ("after", SPLIT_DELETE)):
        images = pc.if_else(pa.array(kinds == without), None, found[side])
        found = found.set_column(found.schema.get_field_index(side), side, images)
    return _ranked(found, kinds, rule)


def ranked(changes: pa.RecordBatch, rule: SplitRule) -> pa.RecordBatch:
    """The row changes of a run that splits none."""
    return _ranked(changes, op_of(changes["before"], changes["after"]), rule)


def _ranked(changes: pa.RecordBatch, kinds: Kinds, rule: SplitRule) -> pa.RecordBatch:
    ranks = np.array(rule.ranks, np.int8)
    return changes.append_column("op", pa.array(OPS[kinds])).append_column("rank", pa.array(ranks[kinds]))


def beside(changes: pa.RecordBatch) -> Mask:
    """Whether a change has others of its table at its commit-ts, as a rule of several rows asks; the batch has all
    changes of a table and commit-ts, or none."""
    pairs = np.stack([changes[name].to_numpy().astype(np.int64) for name in ("commit_ts", "table")], axis=1)
    _, places, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    found: Mask = counts[places] > 1
    return found
