"""`inspect` and `explain`: what is in a stream, and what becomes of one row."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import click

from simulator import inspect as reading
from simulator import releases
from simulator.changefeed import Changefeed, load_file
from simulator.cli.show import Display, show_json, show_lines
from simulator.errors import UserError
from simulator.explain import as_dict, explain_row, lines, read_row
from simulator.explain.ddl import Rules, rules
from simulator.filters.events import event_filters
from simulator.filters.expression_checks import verify
from simulator.records import read
from simulator.releases import Release
from simulator.schema.parse import create_table
from simulator.schema.table import Table
from simulator.text_files import json_document, read_text

DEFAULT_URI = "kafka://127.0.0.1:9092/topic?protocol=open-protocol"


def as_text(_: click.Context, parameter: click.Parameter, name: str) -> str:
    """A name given as an argument, whose bytes may be no text."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise UserError(f"{parameter.opts[0]} {name!r} is not UTF-8") from None
    return name


@click.command()
@click.argument("source")
@click.option("--json", "as_json", is_flag=True, help="One JSON document a line, for programs.")
@click.option("--raw", is_flag=True, help="The bytes of each message as text, to compare two streams with diff.")
@click.option("--follow", is_flag=True, help="Wait for more (Kafka only).")
@click.option(
    "--protocol", type=click.Choice(["open-protocol", "canal-json"]), help="By default seen from each message."
)
@click.option(
    "--limit", type=click.IntRange(1, sys.maxsize), metavar="N", help="Stop after N events (--raw: messages)."
)
def inspect(
    source: str, as_json: bool, raw: bool, follow: bool, protocol: str | None, limit: int | None
) -> None:
    """Messages decoded for people, one line an event.

    SOURCE is a fixtures directory or kafka://host:port/topic.
    """
    if raw and (as_json or protocol):
        raise UserError("--raw shows bytes as they are: --json and --protocol say how to decode them")
    records = read(source, follow, Display().warn)
    show_lines(islice(reading.raw_lines(records) if raw else reading.lines(records, as_json, protocol), limit))


@click.group()
def explain() -> None:
    """Why a row goes where it goes, and as which bytes."""


@explain.command()
@click.argument("change", metavar="JSON")
@click.option(
    "--schema",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE.sql",
    help="CREATE TABLE of the row's table.",
)
@click.option(
    "--use",
    "database",
    callback=as_text,
    default="test",
    show_default=True,
    metavar="DB",
    help="Database, where the statement names none.",
)
@click.option("--sink-uri", default=DEFAULT_URI, show_default=True, metavar="URI", help="TiCDC's sink URI.")
@click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="TiCDC's changefeed.toml.")
@click.option("--release", default=releases.DEFAULT, show_default=True, metavar="TAG", help="TiCDC release.")
@click.option("--architecture", type=click.Choice(list(releases.RELEASES)), help="By default the release's.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document, for programs.")
def row(
    change: str, schema: Path, database: str, sink_uri: str, config: Path | None, release: str,
    architecture: str | None, as_json: bool,
) -> None:
    """Whether a row change, given as {"before": {…}, "after": {…}}, is sent, its flags, handle, partition and bytes.

    Values are null, TiDB's text, numbers, or {"hex": "…"} for bytes; "commit_ts" and "partitions" may be given, too.
    """
    from simulator.explain.sending import sending

    found = releases.find(release, architecture)
    changefeed = warned(sink_uri, config, found)
    table = create_table(read_text(schema), database)
    filters, asked = rules(changefeed, found), read_row(table, _document(change))
    verified(filters, [table])

    decision = sending(table, asked, filters)
    explained = explain_row(table, changefeed, asked, found, decision)
    if as_json:
        show_json(as_dict(explained))
    else:
        show_lines(lines(explained))


def verified(rules: Rules, tables: Iterable[Table]) -> None:
    """Raises ChangefeedError for what TiCDC refuses in expressions when a changefeed of those tables is created."""
    verify(rules.event_filters, [one for one in tables if rules.replication.table(one.schema, one.name)])


def warned(sink_uri: str, config: Path | None, release: Release) -> Changefeed:
    """The changefeed, with what of it has no effect said; raises ChangefeedError for what TiCDC rejects."""
    changefeed = load_file(sink_uri, config, release)
    filters = event_filters(changefeed.event_filters, release, changefeed.case_sensitive)
    Display().warn((*changefeed.warnings, *filters.warnings))
    return changefeed


def _document(text: str) -> dict[str, Any]:
    try:
        document = json_document(text)
    except ValueError as error:
        raise UserError(f'the row is not JSON: {error}; expected {{"before": …, "after": {{"id": 1, …}}}}') from None
    if not isinstance(document, dict):
        raise UserError(f'the row must be an object such as {{"after": {{"id": 1}}}}, got {text[:60]!r}')
    return document
