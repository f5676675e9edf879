"""A kind of fault: its description, its source, its keys, and why a changefeed cannot have it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from simulator.faults.active import ActiveFault, FaultContext
from simulator.faults.fault import TABLE_KEY
from simulator.settings import Key
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.dispatch import Destinations
from simulator.ticdc.rules import ChangefeedRules

KAFKA, STORAGE = "kafka", "storage"
"""The sinks that a fault may be about."""

INSIDE_TICDC, IN_TRANSIT = range(2)
"""Where a fault is at work: in TiCDC, or between TiCDC and the consumer. Events pass those in TiCDC first."""


@dataclass(frozen=True)
class FaultKind:
    says: str
    """What happens, in a sentence."""

    source: str
    """TiCDC's code, or a thread about it."""

    active: Callable[[FaultContext], ActiveFault]
    """Creates the fault at work when it begins; raises UserError."""

    legal: bool = True
    """Whether TiCDC causes it, so that consumers must handle it. Illegal faults test a consumer's checks."""

    keys: Mapping[str, Key] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    """The required keys."""

    refuse: Callable[[Mapping[str, Any], ChangefeedRules], str] = lambda values, rules: ""
    """Returns why a changefeed with these rules cannot have the fault, with release and protocol; empty if it can."""

    lacks: Callable[[Mapping[str, Any], Destinations], str] = lambda values, to: ""
    """Returns why these topics and partitions cannot have the fault; empty if they can."""

    layer: int = INSIDE_TICDC
    sinks: tuple[str, ...] = (KAFKA,)

    def refusal(self, values: Mapping[str, Any], rules: ChangefeedRules) -> str:
        """Return why a changefeed with these rules and its sink cannot have the fault; empty if it can."""
        sink = KAFKA if rules.changefeed.storage is None else STORAGE
        if sink in self.sinks:
            return self.refuse(values, rules)
        if sink == KAFKA:
            return "it is about files, and the sink is Kafka"
        return "it is about Kafka's messages, and the sink is a storage"


OF_TABLE = {"table": TABLE_KEY}
illegal_fault = partial(FaultKind, legal=False, keys=OF_TABLE, layer=IN_TRANSIT)
"""Creates a kind of fault that TiCDC does not cause."""


def release_and_protocol(rules: ChangefeedRules) -> str:
    return f"TiCDC {rules.release.name} with {CODECS[rules.changefeed.codec.protocol].protocol.title}"


def refuse_without_watermarks(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    """Return why there is no fault of watermarks; empty if the changefeed sends them."""
    options = rules.changefeed.codec
    if rules.changefeed.storage is not None or CODECS[options.protocol].has_watermarks(options, rules.release):
        return ""
    return f"{release_and_protocol(rules)} sends no watermarks here: enable-tidb-extension=true is needed"
