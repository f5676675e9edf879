"""`explain ddl` and `explain table`: what becomes of a statement, and of a table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from simulator import releases
from simulator.changefeed import Changefeed
from simulator.cli.look import DEFAULT_URI, as_text, warned
from simulator.cli.show import show_json, show_lines
from simulator.ddl.catalog import Catalog
from simulator.errors import UserError, did_you_mean
from simulator.explain.ddl import Rules, explain_ddl, rules
from simulator.explain.ddl_render import ddl_as_dict, ddl_lines
from simulator.explain.table import explain_table, table_as_dict
from simulator.explain.table_catalog import read_catalog
from simulator.explain.table_render import table_lines
from simulator.filters.rows import verify
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
@click.argument("statement")
@_with_options
def ddl(
    statement: str, schemas: tuple[Path, ...], database: str, sink_uri: str, config: Path | None, release: str,
    architecture: str | None, as_json: bool,
) -> None:
    """Which jobs a STATEMENT is, whether TiCDC replicates it, as which messages, and how tables change.

    Without --schema nothing is known of tables: every name is taken to exist and to have a valid index.
    """
    changefeed, found = _changefeed(sink_uri, config, release, architecture)
    catalog, said = _catalog(schemas, database) if schemas else None, rules(changefeed, found)
    _verify(catalog, said)
    explained = explain_ddl(statement, database, catalog, said)
    if as_json:
        show_json(ddl_as_dict(explained))
    else:
        show_lines(ddl_lines(explained))


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
    _verify(catalog, rules(changefeed, found))
    explained = explain_table(_table(catalog, name, database), changefeed, found)
    if as_json:
        show_json(table_as_dict(explained))
    else:
        show_lines(table_lines(explained))


def _changefeed(
    sink_uri: str, config: Path | None, release: str, architecture: str | None,
) -> tuple[Changefeed, Release]:
    found = releases.find(release, architecture)
    return warned(sink_uri, config, found), found


def _verify(catalog: Catalog | None, said: Rules) -> None:
    """TiCDC's check of expressions against the tables when a changefeed is created."""
    tables = catalog.tables.values() if catalog else ()
    verify(said.event_filters, [one for one in tables if said.replication.table(one.schema, one.name)])


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
