"""A stream verified: it keeps the contract, and leads to the rows that are expected."""

from simulator.consumer.verify.workflow import verify

__all__ = ["verify"]
