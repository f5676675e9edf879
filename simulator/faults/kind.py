"""A kind of fault: its description, its source and its keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simulator.faults.active import ActiveFault, FaultContext
from simulator.settings import Key
from simulator.ticdc.dispatch import Destinations
from simulator.ticdc.rules import ChangefeedRules

INSIDE_TICDC, IN_TRANSIT = range(2)
"""Where a fault is at work: in TiCDC, or between TiCDC and the consumer. Events pass those in TiCDC first."""


def accept_changefeed(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    """The default of `FaultKind.refuse`."""
    return ""


def accept_topics(values: Mapping[str, Any], to: Destinations) -> str:
    """The default of `FaultKind.lacks`."""
    return ""


@dataclass(frozen=True)
class FaultKind:
    """A kind of fault."""

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

    refuse: Callable[[Mapping[str, Any], ChangefeedRules], str] = accept_changefeed
    """Returns why a changefeed with these rules cannot have the fault, with release and protocol; empty if it can."""

    lacks: Callable[[Mapping[str, Any], Destinations], str] = accept_topics
    """Returns why these topics and partitions cannot have the fault; empty if they can."""

    layer: int = INSIDE_TICDC
