"""`explain ddl` and `explain table`: what becomes of a statement, and of a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from simulator import releases
from simulator.cli.explain_row import warned
from simulator.cli.output import show_json, show_lines
from simulator.errors import UserError, did_you_mean
from simulator.explain.ddl import DdlExplained, explain_each
from simulator.explain.ddl_render import ddl_as_dict, ddl_lines, several_lines
from simulator.explain.schema_files import read_catalog
from simulator.explain.table import explain_table, table_as_dict, table_lines
from simulator.files import read_text
from simulator.releases import Release
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.rules import rules, verify
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.model.table import Table
from simulator.tidb.parser.read import parse_errors
from simulator.tidb.parser.use import split


def ddl(
    statement: str, schemas: tuple[Path, ...], database: str, sink_uri: str, config: Path | None, release: str,
    architecture: str | None, as_json: bool,
) -> None:
    changefeed, found = _changefeed(sink_uri, config, release, architecture)
    catalog, said = _catalog(schemas, database) if schemas else None, rules(changefeed, found)
    verify(said, catalog.tables.values() if catalog else ())
    statements = _statements(statement, database)
    explained = []
    try:
        for explanation in explain_each(statements, catalog, said):
            explained.append(explanation)
    finally:
        if explained:
            _show_all(as_json, explained, len(statements))


def table(
    name: str, schemas: tuple[Path, ...], database: str, sink_uri: str, config: Path | None, release: str,
    architecture: str | None, as_json: bool,
) -> None:
    if not schemas:
        raise UserError("explain table needs --schema FILE.sql with the table's CREATE TABLE")
    changefeed, found = _changefeed(sink_uri, config, release, architecture)
    catalog = _catalog(schemas, database)
    verify(rules(changefeed, found), catalog.tables.values())
    explained = explain_table(_table(catalog, name, database), changefeed, found)
    if as_json:
        show_json(table_as_dict(explained))
    else:
        show_lines(table_lines(explained))


def _statements(text: str, database: str) -> list[tuple[str, str]]:
    """Current database and text of each; one that stands alone is taken as it was typed."""
    with parse_errors():
        found = list(split(text, database))
    alone = len(found) < 2 and all(current == database for current, _ in found)
    return [(database, text)] if alone else found


def _show_all(as_json: bool, explained: Sequence[DdlExplained], total: int) -> None:
    """For programs and for people: of one statement a document, of several a list."""
    if as_json:
        documents = [ddl_as_dict(explanation) for explanation in explained]
        show_json(documents[0] if total == 1 else documents)
    else:
        show_lines(ddl_lines(explained[0]) if total == 1 else several_lines(explained, total))


def _changefeed(
    sink_uri: str, config: Path | None, release: str, architecture: str | None,
) -> tuple[Changefeed, Release]:
    found = releases.find(release, architecture)
    return warned(sink_uri, config, found), found


def _catalog(schemas: tuple[Path, ...], database: str) -> Catalog:
    return read_catalog(((str(path), read_text(path)) for path in schemas), database)


def _table(catalog: Catalog, name: str, database: str) -> Table:
    """The table of `db.t`, or of `t` in the current database."""
    schema, _, bare = name.rpartition(".")
    found = catalog.table(schema or database, bare)
    if found is None:
        known = [f"{table.schema}.{table.name}" for table in catalog.tables.values()]
        hint = did_you_mean(f"{schema or database}.{bare}", known)
        raise UserError(f"no table {name!r}.{hint} Known: {', '.join(known[:20]) or 'none'}")
    return found
