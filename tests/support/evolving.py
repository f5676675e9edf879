"""Statements in words, applied to a small catalog: what the tests of evolution share."""

from __future__ import annotations

from dataclasses import replace

from simulator.errors import DdlError
from simulator.tidb.ddl.catalog import Catalog, catalog
from simulator.tidb.ddl.create_table import create_table
from simulator.tidb.ddl.evolve import applied
from simulator.tidb.model.table import Table
from simulator.tidb.parser.read import read_statement

NOW = "2020-02-20 02:20:20.123456"


def after(*texts: str, start: Catalog | None = None, database: str = "test") -> Catalog:
    """The catalog after the statements, the first of them on an empty database `test`."""
    state = catalog((), ["test"]) if start is None else start
    for text in texts:
        statement = read_statement(text)
        assert statement is not None
        state = applied(state, statement, database, text, NOW)
    return state


def table_after(*texts: str, name: str = "t") -> Table:
    """A table of `test` after the statements."""
    table = after(*texts).table("test", name)
    assert table is not None
    return table


def refusal(*texts: str) -> tuple[str, str]:
    """Code and text of the error that the last statement raises; the ones before must apply."""
    start = after(*texts[:-1])
    try:
        after(texts[-1], start=start)
    except DdlError as error:
        return error.code, error.text
    raise AssertionError(f"{texts[-1]} applies")


def created(definition: str, name: str = "t") -> Table:
    """The table of `CREATE TABLE name definition`, without its text."""
    return replace(create_table(f"CREATE TABLE {name} {definition}", "test"), statement="")


def shape(table: Table) -> Table:
    """The table without its text and with its keys numbered from 1 in the order of their ids."""
    numbers = {index.id: number for number, index in enumerate(sorted(table.indexes, key=lambda one: one.id), 1)}
    return replace(
        table, statement="", indexes=tuple(replace(index, id=numbers[index.id]) for index in table.indexes),
    )
