"""The command `explain` for row changes, statements and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from simulator import releases
from simulator.cli.output import show_json, show_lines, warn
from simulator.errors import UserError, did_you_mean
from simulator.explain.ddl import DdlExplained, ddl_as_dict, ddl_lines, explain_statements, statements_lines
from simulator.explain.table import catalog_from_files, explain_table, table_lines
from simulator.files import parse_json, read_text
from simulator.releases import Release
from simulator.ticdc.changefeed import Changefeed, load_file
from simulator.ticdc.filters.event_filters import event_filters
from simulator.ticdc.rules import changefeed_rules, check_tables
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.model.table import Table
from simulator.tidb.parser.ddl import parse_errors
from simulator.tidb.parser.script import split_sql


def row(change: str, schema: Path, options: dict[str, Any]) -> None:
    # slow imports that statements and tables do not need
    from simulator.explain.change import parse_row_change
    from simulator.explain.row import explain_row, filter_decision, row_as_dict, row_lines
    from simulator.tidb.ddl.table_definitions import create_table
    from simulator.tidb.ddl.table_options import with_written_soft_deletes

    changefeed, release = _changefeed(options)
    table = with_written_soft_deletes(create_table(read_text(schema), options["database"]), release)
    rules, parsed = changefeed_rules(changefeed, release), parse_row_change(table, _document(change))
    check_tables(rules, [table])

    explained = explain_row(table, changefeed, parsed, release, filter_decision(table, parsed, rules))
    if options["as_json"]:
        show_json(row_as_dict(explained))
    else:
        show_lines(row_lines(explained))


def ddl(statement: str, options: dict[str, Any]) -> None:
    changefeed, release = _changefeed(options)
    catalog = _catalog(options) if options["schemas"] else None
    rules = changefeed_rules(changefeed, release)
    check_tables(rules, catalog.tables.values() if catalog else ())
    statements = _statements(statement, options["database"])
    explained = []
    try:
        for explanation in explain_statements(statements, catalog, rules):
            explained.append(explanation)
    finally:
        if explained:
            _show_all(options["as_json"], explained, len(statements))


def table(name: str, options: dict[str, Any]) -> None:
    if not options["schemas"]:
        raise UserError("explain table needs --schema FILE.sql with the table's CREATE TABLE")
    changefeed, release = _changefeed(options)
    catalog = _catalog(options)
    check_tables(changefeed_rules(changefeed, release), catalog.tables.values())
    explained = explain_table(_table(catalog, name, options["database"]), changefeed, release)
    if options["as_json"]:
        show_json(asdict(explained))
    else:
        show_lines(table_lines(explained))


def _statements(text: str, database: str) -> list[tuple[str, str]]:
    """Return current database and text of each statement; a single statement keeps its text as typed."""
    with parse_errors():
        statements = list(split_sql(text, database))
    if not statements:
        raise UserError(
            "there is no statement to explain: DDL is expected, such as 'CREATE TABLE t (id INT PRIMARY KEY)'"
        )
    alone = len(statements) < 2 and all(current == database for current, _ in statements)
    return [(database, text)] if alone else statements


def _show_all(as_json: bool, explained: Sequence[DdlExplained], total: int) -> None:
    """Print one explanation, or a list of several."""
    if as_json:
        documents = [ddl_as_dict(explanation) for explanation in explained]
        show_json(documents[0] if total == 1 else documents)
    else:
        show_lines(ddl_lines(explained[0]) if total == 1 else statements_lines(explained, total))


def _changefeed(options: dict[str, Any]) -> tuple[Changefeed, Release]:
    """Return changefeed and release, after warnings; raises ChangefeedError for settings that TiCDC rejects."""
    release = releases.find(options["release"], options["architecture"])
    changefeed = load_file(options["sink_uri"], options["config"], release, time_zone=options["tz"] or "")
    filters = event_filters(changefeed.event_filters, release, changefeed.case_sensitive)
    if warnings := (*changefeed.warnings, *filters.warnings):
        warn(warnings)
    return changefeed, release


def _document(text: str) -> dict[str, Any]:
    try:
        document = parse_json(text)
    except ValueError as error:
        raise UserError(f'the row is not JSON: {error}; expected {{"before": …, "after": {{"id": 1, …}}}}') from None
    if not isinstance(document, dict):
        raise UserError(f'the row must be an object such as {{"after": {{"id": 1}}}}, got {text[:60]!r}')
    return document


def _catalog(options: dict[str, Any]) -> Catalog:
    return catalog_from_files(((str(path), read_text(path)) for path in options["schemas"]), options["database"])


def _table(catalog: Catalog, name: str, database: str) -> Table:
    """Return the table `db.t`, or `t` in the current database; raises UserError."""
    schema, _, bare = name.rpartition(".")
    table = catalog.table(schema or database, bare)
    if table is None:
        names = [f"{table.schema}.{table.name}" for table in catalog.tables.values()]
        hint = did_you_mean(f"{schema or database}.{bare}", names)
        raise UserError(f"no table {name!r}.{hint} Known: {', '.join(names[:20]) or 'none'}")
    return table
