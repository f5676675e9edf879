"""`explain row`: what becomes of one row change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simulator import releases
from simulator.cli.output import show_json, show_lines, warn
from simulator.errors import UserError
from simulator.explain.change import read_row
from simulator.explain.row import explain_row, filter_decision, row_as_dict, row_lines
from simulator.files import json_document, read_text
from simulator.releases import Release
from simulator.ticdc.changefeed import Changefeed, load_file
from simulator.ticdc.filters.event_filters import event_filters
from simulator.ticdc.rules import rules, verify
from simulator.tidb.ddl.create_table import create_table


def row(
    change: str, schema: Path, database: str, sink_uri: str, config: Path | None, release: str,
    architecture: str | None, as_json: bool,
) -> None:
    found = releases.find(release, architecture)
    changefeed = warned(sink_uri, config, found)
    table = create_table(read_text(schema), database)
    filters, asked = rules(changefeed, found), read_row(table, _document(change))
    verify(filters, [table])

    decision = filter_decision(table, asked, filters)
    explained = explain_row(table, changefeed, asked, found, decision)
    if as_json:
        show_json(row_as_dict(explained))
    else:
        show_lines(row_lines(explained))


def warned(sink_uri: str, config: Path | None, release: Release) -> Changefeed:
    """The changefeed, with what of it has no effect said; raises ChangefeedError for what TiCDC rejects."""
    changefeed = load_file(sink_uri, config, release)
    filters = event_filters(changefeed.event_filters, release, changefeed.case_sensitive)
    warnings = (*changefeed.warnings, *filters.warnings)
    if warnings:
        warn(warnings)
    return changefeed


def _document(text: str) -> dict[str, Any]:
    try:
        document = json_document(text)
    except ValueError as error:
        raise UserError(f'the row is not JSON: {error}; expected {{"before": …, "after": {{"id": 1, …}}}}') from None
    if not isinstance(document, dict):
        raise UserError(f'the row must be an object such as {{"after": {{"id": 1}}}}, got {text[:60]!r}')
    return document
