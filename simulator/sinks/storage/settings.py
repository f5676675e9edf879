"""What the tasks of a run know about its storage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.releases import Release
from simulator.ticdc.changefeed import Storage
from simulator.ticdc.cloud_storage import StoredTable


@dataclass(frozen=True)
class StorageSettings:
    """The storage, its layout, and the tables of the run."""

    storage: Storage
    release: Release
    extension: str
    """`.csv` or `.json`."""

    tables: Sequence[StoredTable]
    """Parallel to the run's physical tables; a changefeed that stays open appends to it."""

    since: int = 0
    """The checkpoint from which the changefeed goes on after a restart; 0 if it is new."""
