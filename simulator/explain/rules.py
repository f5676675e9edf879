"""What a changefeed's rules are, ready to be asked."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.releases import Release
from simulator.ticdc.changefeed.model import Changefeed
from simulator.ticdc.dispatch.routing import Router, router
from simulator.ticdc.filters.event_filters import EventFilters, event_filters
from simulator.ticdc.filters.replication import Replication, replication


@dataclass(frozen=True)
class Rules:
    """A changefeed's rules, compiled."""

    replication: Replication
    event_filters: EventFilters
    router: Router
    changefeed: Changefeed
    release: Release


def rules(changefeed: Changefeed, release: Release) -> Rules:
    """Raises ChangefeedError for a rule that TiCDC rejects."""
    sensitive = changefeed.case_sensitive
    return Rules(
        replication(changefeed.rules, sensitive, changefeed.ignore_txn_start_ts, release),
        event_filters(changefeed.event_filters, release, sensitive), router(changefeed, release), changefeed,
        release,
    )
