"""A consumer of the simplest kind, which takes one event after another: what the replay of whole columns is held to."""

from support.oracle.replay import Replayed, in_commit_order, replay
from support.oracle.schema_changes import definitions
from support.oracle.state import State, compare, state_of, unknown
from support.oracle.stream import Placed, events

__all__ = [
    "Placed",
    "Replayed",
    "State",
    "compare",
    "definitions",
    "events",
    "in_commit_order",
    "replay",
    "state_of",
    "unknown",
]
