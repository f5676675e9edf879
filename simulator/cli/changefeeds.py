"""The changefeed of a command that explains, and what TiCDC says when it is created."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from simulator.explain.rules import Rules
from simulator.releases import Release
from simulator.ticdc.changefeed import Changefeed, load_file
from simulator.ticdc.filters.event_filters import event_filters
from simulator.tidb.model.table import Table


def verified(rules: Rules, tables: Iterable[Table]) -> None:
    """Raises ChangefeedError for what TiCDC refuses in expressions when a changefeed of those tables is created."""
    if any(rule.setting.expressions for rule in rules.event_filters.rules):
        from simulator.ticdc.filters.row_expressions import verify  # MySQL's functions take long to import

        verify(rules.event_filters, [one for one in tables if rules.replication.table(one.schema, one.name)])


def warned(sink_uri: str, config: Path | None, release: Release) -> Changefeed:
    """The changefeed, with what of it has no effect said; raises ChangefeedError for what TiCDC rejects."""
    changefeed = load_file(sink_uri, config, release)
    filters = event_filters(changefeed.event_filters, release, changefeed.case_sensitive)
    warnings = (*changefeed.warnings, *filters.warnings)
    if warnings:
        from simulator.cli.terminal import Terminal  # rich takes longer than the changefeed

        Terminal(stderr=True).warn(warnings)
    return changefeed
