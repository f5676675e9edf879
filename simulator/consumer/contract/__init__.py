"""What a consumer may rely on (design: the contract), checked on a recorded stream with a decoder of its own.

One law: the stream is seen once, each partition in offset order and by itself (`checks`); what its partitions are to
each other is told from what each leaves behind (`together`).
"""

from __future__ import annotations

from simulator.consumer.contract.checks import Checks
from simulator.consumer.contract.recorded import check, checked
from simulator.consumer.contract.stream_spec import StreamSpec, stream_spec_of
from simulator.consumer.contract.summary import PartitionSummary, Samples, Statement
from simulator.consumer.contract.tally import CHECKS, Found, Tally, Violation, joined
from simulator.consumer.contract.together import broken_off, spans_of, together

__all__ = [
    "CHECKS",
    "Checks",
    "Found",
    "PartitionSummary",
    "Samples",
    "Statement",
    "StreamSpec",
    "Tally",
    "Violation",
    "broken_off",
    "check",
    "checked",
    "joined",
    "spans_of",
    "stream_spec_of",
    "together",
]
