"""Statements in words, applied to a small catalog: what the tests of evolution share."""

from __future__ import annotations

from dataclasses import replace

from simulator.errors import DdlError
from simulator.releases import V8_5
from simulator.tidb.ddl.catalog import Catalog, build_catalog
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.ddl.execute import execute
from simulator.tidb.ddl.lookups import lower_names
from simulator.tidb.ddl.session import ExecutionResult, Job, Session
from simulator.tidb.model.table import Table
from simulator.tidb.parser.ddl import parse_ddl
from simulator.tidb.syntax.definitions import Statement

NOW = "2020-02-20 02:20:20.123456"


def after(*texts: str, start: Catalog | None = None, database: str = "test") -> Catalog:
    """The catalog after the statements, the first of them on an empty database `test`."""
    state = build_catalog((), ["test"]) if start is None else start
    for text in texts:
        statement = parse_ddl(text)
        assert statement is not None
        state = behind(statement, text, state, database)
    return state


def behind(statement: Statement, text: str, known: Catalog, database: str = "test", now: str = NOW) -> Catalog:
    """The catalog behind a statement of TiDB 8.5; raises DdlError.

    Whoever asks, the statement's jobs are held to those that it is where nothing is known.
    """
    executed = execute(statement, text, Session(database, known, V8_5, now))
    assert executed.catalog is not None
    assert_same_without_catalog(statement, text, database, executed)
    return executed.catalog


def assert_same_without_catalog(statement: Statement, text: str, database: str, executed: ExecutionResult) -> bool:
    """Whether the jobs can be compared, and if so they are the same.

    They cannot where something that is there, or not, is why a statement does nothing or more; nor where TiDB's own
    columns and keys, which IF EXISTS passes over, are taken to be touched twice.
    """
    try:
        alone = execute(statement, text, Session(database, None, V8_5))
    except DdlError as error:
        assert "IF" in text.upper() and "operate same" in error.text, text
        return False
    if executed.notes != alone.notes:
        return False
    assert [known_by_all(job) for job in executed.jobs] == [known_by_all(job) for job in alone.jobs], text
    return True


def known_by_all(job: Job) -> tuple[object, ...]:
    """What of a job does not depend on how things are spelled that exist."""
    pairs = [tuple(lower_names((*old, *new))) for old, new in job.renames]
    return job.code, job.sub_jobs, job.schema.lower(), job.table.lower(), pairs, job.renames_as_written, job.query


def table_after(*texts: str, name: str = "t") -> Table:
    """A table of `test` after the statements."""
    table = after(*texts).table("test", name)
    assert table is not None
    return table


def refusal(*texts: str) -> str:
    """Code and text of the error that the last statement raises; the ones before must apply."""
    start = after(*texts[:-1])
    try:
        after(texts[-1], start=start)
    except DdlError as error:
        return f"{error.code} {error.text}"
    raise AssertionError(f"{texts[-1]} applies")


def created(definition: str, name: str = "t") -> Table:
    """The table of `CREATE TABLE name definition`, without its text."""
    return replace(create_table(f"CREATE TABLE {name} {definition}", "test"), statement="")


def shape(table: Table) -> Table:
    """The table without its text and with its keys numbered from 1 in the order of their ids."""
    numbers = {index.id: number for number, index in enumerate(sorted(table.indexes, key=lambda index: index.id), 1)}
    return replace(table, statement="", indexes=tuple(replace(index, id=numbers[index.id]) for index in table.indexes))
