"""Verification of a stream: that it keeps the contract, and that it leads to the expected rows."""

from __future__ import annotations

from simulator.reader.verify.workflow import verify

__all__ = ["verify"]
