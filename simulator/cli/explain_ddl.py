"""`explain ddl` and `explain table`: what becomes of a statement, and of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from simulator import releases
from simulator.changefeed import Changefeed
from simulator.cli.look import DEFAULT_URI, as_text, verified, warned
from simulator.cli.show import show_json, show_lines
from simulator.ddl.catalog import Catalog
from simulator.ddl.read import reading
from simulator.errors import UserError, did_you_mean
from simulator.explain.ddl import DdlExplained, explain_each, rules
from simulator.explain.ddl_render import ddl_as_dict, ddl_lines, several_lines
from simulator.explain.table import explain_table, table_as_dict
from simulator.explain.table_catalog import read_catalog
from simulator.explain.table_render import table_lines
from simulator.plan.sql_file import split
from simulator.releases import Release
from simulator.schema.table import Table
from simulator.text_files import read_text

Command = Callable[..., None]

OPTIONS = (
    click.option(
        "--schema", "schemas", type=click.Path(path_type=Path), multiple=True, metavar="FILE.sql",
        help="CREATE DATABASE, CREATE TABLE, … of what exists; may be given several times.",
    ),
    click.option(
        "--use", "database", callback=as_text, default="test", show_default=True, metavar="DB",
        help="The current database.",
    ),
    click.option("--sink-uri", default=DEFAULT_URI, show_default=True, metavar="URI", help="TiCDC's sink URI."),
    click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="TiCDC's changefeed.toml."),
    click.option("--release", default=releases.DEFAULT, show_default=True, metavar="TAG", help="TiCDC release."),
    click.option("--architecture", type=click.Choice(["classic", "new"]), help="By default the release's."),
    click.option("--json", "as_json", is_flag=True, help="One JSON document, for programs."),
)


def _with_options(command: Command) -> Command:
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@click.command()
@click.argument("statement", metavar="STATEMENTS")
@_with_options
def ddl(
    statement: str, schemas: tuple[Path, ...], database: str, sink_uri: str, config: Path | None, release: str,
    architecture: str | None, as_json: bool,
) -> None:
    """Which jobs a statement is, whether TiCDC replicates it, as which messages, and how tables change.

    Several statements are explained one after the other, each with the tables that the one before leaves; USE counts,
    and --json gives a list. Without --schema nothing is known of tables: every name is taken to exist and to have a
    valid index.
    """
    changefeed, found = _changefeed(sink_uri, config, release, architecture)
    catalog, said = _catalog(schemas, database) if schemas else None, rules(changefeed, found)
    verified(said, catalog.tables.values() if catalog else ())
    statements = _statements(statement, database)
    explained = []
    try:
        for one in explain_each(statements, catalog, said):
            explained.append(one)
    finally:
        if explained:
            _show_all(as_json, explained, len(statements))


@click.command()
@click.argument("name", metavar="DB.T")
@_with_options
def table(
    name: str, schemas: tuple[Path, ...], database: str, sink_uri: str, config: Path | None, release: str,
    architecture: str | None, as_json: bool,
) -> None:
    """Whether a table is replicated and by which rule, its handle key, dispatcher and topic."""
    if not schemas:
        raise UserError("explain table needs --schema FILE.sql with the table's CREATE TABLE")
    changefeed, found = _changefeed(sink_uri, config, release, architecture)
    catalog = _catalog(schemas, database)
    verified(rules(changefeed, found), catalog.tables.values())
    explained = explain_table(_table(catalog, name, database), changefeed, found)
    if as_json:
        show_json(table_as_dict(explained))
    else:
        show_lines(table_lines(explained))


def _statements(text: str, database: str) -> list[tuple[str, str]]:
    """Current database and text of each; one that stands alone is taken as it was typed."""
    with reading():
        found = list(split(text, database))
    alone = len(found) < 2 and all(current == database for current, _ in found)
    return [(database, text)] if alone else found


def _show_all(as_json: bool, explained: Sequence[DdlExplained], total: int) -> None:
    """For programs and for people: of one statement a document, of several a list."""
    if as_json:
        documents = [ddl_as_dict(one) for one in explained]
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
        known = [f"{one.schema}.{one.name}" for one in catalog.tables.values()]
        hint = did_you_mean(f"{schema or database}.{bare}", known)
        raise UserError(f"no table {name!r}.{hint} Known: {', '.join(known[:20]) or 'none'}")
    return found
