"""Reads what a changefeed has written to a storage: rows, DDL statements and the checkpoint."""

from __future__ import annotations
