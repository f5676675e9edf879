"""Reads what a changefeed has written to a storage: rows, DDL statements and the checkpoint."""

from __future__ import annotations

from simulator.consumer.storage.directory import is_storage, open_directory
from simulator.consumer.storage.lines import lines
