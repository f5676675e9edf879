"""What a consumer may rely on (design: the contract), checked on a recorded stream with a decoder of its own.

One law: the stream is seen once, each partition in offset order and by itself (`checks`); what its partitions are to
each other is told from what each leaves behind (`together`).
"""

from __future__ import annotations

from simulator.read.contract.checks import Checks
from simulator.read.contract.recorded import check, checked
from simulator.read.contract.replay import Replayed, in_commit_order, replay
from simulator.read.contract.schema_changes import definitions
from simulator.read.contract.state import State, compare, state_of, unknown
from simulator.read.contract.stream import Message, Placed, Violation, events, messages
from simulator.read.contract.stream_spec import StreamSpec, stream_spec_of
from simulator.read.contract.summary import PartitionSummary, Samples, Statement
from simulator.read.contract.tally import CHECKS, Found, Tally, joined
from simulator.read.contract.together import broken_off, spans_of, together

__all__ = [
    "CHECKS", "Checks", "Found", "Message", "PartitionSummary", "Placed", "Replayed", "Samples", "State", "Statement",
    "StreamSpec", "Tally", "Violation", "broken_off", "check", "checked", "compare", "definitions", "events",
    "in_commit_order", "joined", "messages", "replay", "spans_of", "state_of", "stream_spec_of", "together", "unknown",
]
