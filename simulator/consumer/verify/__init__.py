"""Verification of a stream: that it keeps the contract, and that it leads to the expected rows."""

from simulator.consumer.verify.workflow import verify

__all__ = ["verify"]
