"""A kind of fault, as it is listed by name: what it says, where it is known from, which keys it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simulator.faults.active import ActiveFault, FaultContext
from simulator.settings import Key
from simulator.ticdc.dispatch import Destinations
from simulator.ticdc.rules import ChangefeedRules

INSIDE_TICDC, IN_TRANSIT = range(2)
"""Where a fault is at work: in TiCDC, or behind it, on the way to the consumer. Events pass TiCDC's first."""


def accept_changefeed(values: Mapping[str, Any], rules: ChangefeedRules) -> str:
    """For a fault that every changefeed can show."""
    return ""


def accept_topics(values: Mapping[str, Any], to: Destinations) -> str:
    """For a fault that any topics can show."""
    return ""


@dataclass(frozen=True)
class FaultKind:
    """A kind of fault."""

    says: str
    """What happens, in a sentence."""

    source: str
    """TiCDC's code, or a thread about it."""

    active: Callable[[FaultContext], ActiveFault]
    """The fault at work, made when its time has come; raises UserError."""

    legal: bool = True
    """Whether TiCDC does so, and consumers must cope with it; else it is for trying a consumer's checks."""

    keys: Mapping[str, Key] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    """The keys that must be given."""

    refuse: Callable[[Mapping[str, Any], ChangefeedRules], str] = accept_changefeed
    """Why a changefeed under those rules cannot show it, with release and protocol; empty where it can."""

    lacks: Callable[[Mapping[str, Any], Destinations], str] = accept_topics
    """Why topics and partitions as they are cannot show it; empty where they can."""

    layer: int = INSIDE_TICDC
