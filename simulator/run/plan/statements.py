"""The statements of a step: those that create tables, those that change them, those that drop them.

One law: played in order on what was there before, they give what is there after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from simulator.errors import DdlError, UserError
from simulator.run.plan.renames import Renames, renames
from simulator.run.plan.versions import same
from simulator.run.script import SchemaChange
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.derive import alterations
from simulator.tidb.ddl.evolve import applied
from simulator.tidb.model.table import Table
from simulator.tidb.parser.read import read_statement
from simulator.tidb.parser.use import sql_statements
from simulator.tidb.restore.names import quoted
from simulator.tidb.syntax.statements import Statement

Name = tuple[str, str]
Tables = Mapping[Name, Table]

FIRST, TURN, LAST = range(3)
"""Where a statement stands: before all rows of its step, at the turn from one schema to the next, behind all rows."""


@dataclass(frozen=True)
class Spoken:
    """A statement, not yet played."""

    text: str
    database: str
    place: int
    origin: str = ""
    """Where it is from, for errors."""


@dataclass(frozen=True)
class Played:
    """A statement and what it makes of the catalog."""

    spoken: Spoken
    statement: Statement
    before: Catalog
    after: Catalog


def step_statements(known: Catalog, wanted: Tables, change: SchemaChange, now: str) -> list[Played]:
    """Every statement of a step, played; raises UserError where they do not lead to the tables that are wanted.

    `now` is what CURRENT_TIMESTAMP(6) gives at the turn.
    """
    had = tables_of(known)
    if change.file and change.renamed:
        raise UserError("--rename says how to derive statements, and --ddl gives them: choose one")
    if change.file:
        turn, turned = _given(change.file, known, now)
    else:
        said = renames(change.renamed, had, wanted)
        turn, turned = list(_derived(had, wanted, said)), {said.tables.get(name, name) for name in had}
    created = [table for name, table in sorted(wanted.items()) if name not in turned]
    dropped = sorted(turned - wanted.keys())
    played = _play([*_creating(created, known), *turn, *map(_dropping, dropped)], known, now)
    _arrived(tables_of(played[-1].after if played else known), wanted, change.file)
    return played


def tables_of(catalog: Catalog) -> dict[Name, Table]:
    """Its tables by the names they were given."""
    return {(table.schema, table.name): table for table in catalog.tables.values()}


def _given(file: Path, known: Catalog, now: str) -> tuple[list[Spoken], set[Name]]:
    """The statements of a file, and the tables that there are behind them."""
    schemas = {schema for schema, _ in tables_of(known)}
    current = schemas.pop() if len(schemas) == 1 else ""
    spoken = [
        Spoken(text, database, TURN, f"{file}, statement {number}")
        for number, (database, text) in enumerate(sql_statements(file, current), 1)
    ]
    if not spoken:
        raise UserError(f"{file} has no statement")
    return spoken, set(tables_of(_play(spoken, known, now)[-1].after))


def _derived(had: Tables, wanted: Tables, said: Renames) -> Iterator[Spoken]:
    for old, new in said.tables.items():
        text = f"RENAME TABLE {_dotted(old)} TO {_dotted(new)}"
        yield Spoken(text, new[0], TURN, "--rename")
    for name, table in sorted(had.items()):
        new = said.tables.get(name, name)
        if new in wanted:
            for text in alterations(table, wanted[new], said.columns.get(new, {})):
                yield Spoken(text, new[0], TURN, f"derived for table {'.'.join(new)}")


def _creating(tables: Iterable[Table], known: Catalog) -> Iterator[Spoken]:
    tables = list(tables)
    for schema in sorted({table.schema for table in tables}):
        if known.database(schema) is None:
            yield Spoken(f"CREATE DATABASE {quoted(schema)}", schema, FIRST)
    for table in tables:
        yield Spoken(table.statement, table.schema, FIRST)


def _dropping(name: Name) -> Spoken:
    return Spoken(f"DROP TABLE {_dotted(name)}", name[0], LAST)


def _play(spoken: Iterable[Spoken], known: Catalog, now: str) -> list[Played]:
    """The statements applied one after the other; raises DdlError as TiDB words it, with where it stands."""
    played: list[Played] = []
    for one in spoken:
        before = played[-1].after if played else known
        try:
            statement = read_statement(one.text)
            assert statement is not None
            after = applied(before, statement, one.database, one.text, now)
            played.append(Played(one, statement, before, after))
        except DdlError as error:
            raise DdlError(f"{error.text} ({one.origin or 'statement'}: {one.text})", error.code) from error
    return played


def _arrived(reached: Tables, wanted: Tables, file: Path | None) -> None:
    """Raises UserError where the statements lead somewhere else."""
    for name, table in wanted.items():
        there = reached.get(name)
        if there is None or there is not table and not same(there, table):
            left = "; ".join(alterations(there, table, {})) if there else "the table is not there"
            way = f"after the statements of {file}" if file else "no statement leads there"
            raise UserError(
                f"table {'.'.join(name)} is not as the next snapshot has it: {way}; "
                f"still needed: {left or 'another clustering of its primary key'}"
            )


def _dotted(name: Name) -> str:
    return ".".join(map(quoted, name))
