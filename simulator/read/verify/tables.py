"""The tables of a stream over time: those that are known before it or behind it, and what its statements make of them.

One law: a table is known where it is defined, and nowhere else; from the definition behind the stream nothing is told
of a time before the last statement about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from simulator.errors import DdlError
from simulator.read.contract.schema_changes import changed, renames, there
from simulator.read.decode import DdlEvent, time_of
from simulator.read.verify.verification import NotChecked
from simulator.tidb.ddl.catalog import Catalog, Database, with_database, with_tables
from simulator.tidb.model.table import Name, Table
from simulator.tidb.parser.read import read_statement

Tables = Mapping[Name, Table]
"""By schema and name, as messages have them."""


@dataclass(frozen=True)
class Timeline:
    """What tables there were, and when."""

    first: Tables
    """Where the stream begins."""

    later: tuple[tuple[int, Tables], ...]
    """Behind each statement, with its commit-ts, in order."""

    not_checked: tuple[NotChecked, ...] = ()

    @property
    def known(self) -> frozenset[Name]:
        """All that ever were."""
        return frozenset(self.first).union(*(tables for _, tables in self.later))


def timeline(statements: Iterable[DdlEvent], before: Iterable[Table] = (), behind: Iterable[Table] = ()) -> Timeline:
    """`before` are the tables where the stream begins, as far as known, `behind` those at its end."""
    ordered = _once(sorted(statements, key=time_of))
    last = _last_touched(ordered)
    started = {(table.schema, table.name): table for table in before}
    ended = {(table.schema, table.name): table for table in behind}
    first = {name: table for name, table in ended.items() if _touched(name, last) is None} | started
    known = _with_databases(there(first.values()), [*(name[0] for name in ended), *(each.schema for each in ordered)])
    later: list[tuple[int, Tables]] = []
    not_checked: list[NotChecked] = []
    for statement in ordered:
        try:
            known = changed(statement, known, {})
        except DdlError as error:
            not_checked.append(NotChecked(
                f"tables of {statement.query[:200]}",
                f"it does not fit the tables that are known before it ({error}): --before DIR has all of them"))
        missing = [
            table for name, table in ended.items()
            if _touched(name, last) == time_of(statement) and known.table(*name) is None]
        known = with_tables(known, missing)
        later.append((time_of(statement), _tables(known)))
    return Timeline(first, tuple(later), tuple(not_checked))


def _once(statements: Sequence[DdlEvent]) -> list[DdlEvent]:
    """Each once, however often it was sent."""
    return list({(time_of(each), each.query): each for each in statements}.values())


def _last_touched(statements: Iterable[DdlEvent]) -> dict[Name, int]:
    """When a statement was last about each table; a whole database under the empty name."""
    return {name: time_of(each) for each in statements for name in _about(each)}


def _about(statement: DdlEvent) -> Iterator[Name]:
    yield statement.schema, statement.table
    try:
        pairs = list(renames(read_statement(statement.query), statement.schema))
    except DdlError:
        return
    for pair in pairs:
        yield from pair


def _touched(name: Name, last: Mapping[Name, int]) -> int | None:
    found = [last[each] for each in (name, (name[0], "")) if each in last]
    return max(found, default=None)


def _with_databases(known: Catalog, names: Iterable[str]) -> Catalog:
    """A database is there where a stream is about its tables, whoever made it."""
    for name in filter(None, names):
        known = known if known.database(name) else with_database(known, Database(name))
    return known


def _tables(known: Catalog) -> dict[Name, Table]:
    return {(table.schema, table.name): table for table in known.tables.values()}
