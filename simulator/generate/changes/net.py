"""Merge of several changes of one row in one transaction into the change that a database writes at commit.

The change leads from the version before the first to the version after the last. A row that is inserted and deleted in
one transaction does not appear.
"""

from __future__ import annotations

import numpy as np

from simulator.columns.change_frame import Ints


def net_changes(transactions: Ints, keys: Ints, before: Ints, after: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the net changes of one table, given in the order in which they happen, each with its transaction."""
    order = _by_key(keys)
    sorted_keys, numbers = keys[order], transactions[order]
    again = np.flatnonzero((sorted_keys[1:] == sorted_keys[:-1]) & (numbers[1:] == numbers[:-1])) + 1
    if not len(again):
        return transactions, keys, before, after
    begins = np.ones(len(order), bool)
    begins[again] = False
    firsts = np.flatnonzero(begins)
    lasts = np.append(firsts[1:], len(order)) - 1
    after = after.copy()
    after[order[firsts]] = after[order[lasts]]
    stays = np.zeros(len(order), bool)
    stays[order[firsts]] = True
    stays &= (before >= 0) | (after >= 0)
    return transactions[stays], keys[stays], before[stays], after[stays]


def _by_key(keys: Ints) -> Ints:
    """Return the positions of changes by key, those of one key in their order."""
    bits = max(1, len(keys) - 1).bit_length()
    least = int(keys.min()) if len(keys) else 0
    if len(keys) and (int(keys.max()) - least) >> (63 - bits):
        return np.argsort(keys, kind="stable")
    return np.sort((keys - least) << bits | np.arange(len(keys))) & ((1 << bits) - 1)
