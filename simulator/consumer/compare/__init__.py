"""Compares two recorded streams by event, without what differs between any two runs."""

from simulator.consumer.compare.stored import compare_storages
from simulator.consumer.compare.streams import StreamComparison, compare_streams

__all__ = ["StreamComparison", "compare_storages", "compare_streams"]
