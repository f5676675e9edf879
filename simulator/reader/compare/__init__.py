"""Compares two recorded streams by event, without what differs between any two runs."""

from __future__ import annotations

from simulator.reader.compare.streams import StreamComparison, compare_storages, compare_streams

__all__ = ["StreamComparison", "compare_storages", "compare_streams"]
