"""The statements that lead from the tables of one snapshot to those of the next: those that create tables, those that
change them, by a file of the user's or derived, and those that drop them.

One law: applied in order to what was there before, they give what is there after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from simulator.errors import UserError
from simulator.releases import Release
from simulator.run.plan.statements import (
    AFTER_ROWS,
    AMONG_ROWS,
    BEFORE_ROWS,
    AppliedStatement,
    PendingStatement,
    apply,
    tables_of,
)
from simulator.run.plan.versions import same
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.derive import alterations
from simulator.tidb.model.table import Name, Table
from simulator.tidb.parser.splitting import split_sql_file
from simulator.tidb.restore.names import quote_name

Tables = Mapping[Name, Table]


@dataclass(frozen=True)
class SchemaChangeOptions:
    """How the tables' definitions become those of the next snapshot, where they differ."""

    file: Path | None = None
    """Statements to run; without it they are derived."""

    at: str = "middle"
    """Where in the step's time they run: one of `settings.PLACES`."""

    renamed: tuple[str, ...] = ()
    """`old=new`, a column or a table, as short as it is clear; only for statements that are derived."""


def statements_between(
    known: Catalog, wanted: Tables, change: SchemaChangeOptions, now: str, release: Release
) -> list[AppliedStatement]:
    """Every statement of the way, applied; raises UserError where they do not lead to the tables that are wanted.

    `now` is what CURRENT_TIMESTAMP(6) gives at the schema change.
    """
    had = tables_of(known)
    if change.file and change.renamed:
        raise UserError("--rename says how to derive statements, and --ddl gives them: choose one")
    if change.file:
        changing, changed = _given(change.file, known, now, release)
    else:
        renames = _renames(change.renamed, had, wanted)
        changing, changed = list(_derived(had, wanted, renames)), {renames.tables.get(name, name) for name in had}
    created = [table for name, table in sorted(wanted.items()) if name not in changed]
    dropped = sorted(changed - wanted.keys())
    applied = apply([*_creating(created, known), *changing, *map(_dropping, dropped)], known, now, release)
    _arrived(tables_of(applied[-1].after if applied else known), wanted, change.file)
    return applied


def _given(file: Path, known: Catalog, now: str, release: Release) -> tuple[list[PendingStatement], set[Name]]:
    """The statements of a file, and the tables that there are behind them."""
    schemas = {schema for schema, _ in tables_of(known)}
    current = schemas.pop() if len(schemas) == 1 else ""
    given = [
        PendingStatement(text, database, AMONG_ROWS, f"{file}, statement {number}")
        for number, (database, text) in enumerate(split_sql_file(file, current), 1)
    ]
    if not given:
        raise UserError(f"{file} has no statement")
    return given, set(tables_of(apply(given, known, now, release)[-1].after))


def _derived(had: Tables, wanted: Tables, renames: _Renames) -> Iterator[PendingStatement]:
    for old, new in renames.tables.items():
        text = f"RENAME TABLE {_dotted(old)} TO {_dotted(new)}"
        yield PendingStatement(text, new[0], AMONG_ROWS, "--rename")
    for name, table in sorted(had.items()):
        new = renames.tables.get(name, name)
        if new in wanted:
            for text in alterations(table, wanted[new], renames.columns.get(new, {})):
                yield PendingStatement(text, new[0], AMONG_ROWS, f"derived for table {'.'.join(new)}")


def _creating(tables: Iterable[Table], known: Catalog) -> Iterator[PendingStatement]:
    tables = list(tables)
    for schema in sorted({table.schema for table in tables}):
        if known.database(schema) is None:
            yield PendingStatement(f"CREATE DATABASE {quote_name(schema)}", schema, BEFORE_ROWS)
    for table in tables:
        yield PendingStatement(table.statement, table.schema, BEFORE_ROWS)


def _dropping(name: Name) -> PendingStatement:
    return PendingStatement(f"DROP TABLE {_dotted(name)}", name[0], AFTER_ROWS)


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
    return ".".join(map(quote_name, name))


@dataclass(frozen=True)
class _Renames:
    """What the user says was renamed."""

    tables: dict[Name, Name] = field(default_factory=dict)
    columns: dict[Name, dict[str, str]] = field(default_factory=dict)
    """Of each table, under its new name: new names by old ones."""


def _renames(texts: Iterable[str], before: Tables, after: Tables) -> _Renames:
    """What texts (SchemaChange.renamed) say of these two states; raises UserError for one that says nothing, or several
    things. A name means a table where one of it goes and one comes; else a column where one table loses and gains it.
    """
    found, columns = _Renames(), []
    for old, new, text in map(_pair, texts):
        tables = _table(old, new, before, after)
        if tables is None:
            columns.append((old, new, text))
        else:
            found.tables[tables[0]] = tables[1]
    for old, new, text in columns:
        table, column, name = _column(old, new, text, before, after, found)
        found.columns.setdefault(table, {})[column] = name
    return found


def _pair(text: str) -> tuple[list[str], list[str], str]:
    old, equals, new = text.partition("=")
    if not equals or not old.strip() or not new.strip():
        raise UserError(f"--rename {text!r}: expected OLD=NEW, as in name=full_name, shop.t.name=full_name or a.t=b.t")
    return old.strip().split("."), new.strip().split("."), text


def _table(old: list[str], new: list[str], before: Tables, after: Tables) -> tuple[Name, Name] | None:
    """The table that is meant: there before and not after, and the other way round."""
    if len(old) > 2 or len(new) > 2:
        return None
    gone = [name for name in before if name not in after and _is(old, name)]
    come = [name for name in after if name not in before and _is(new, name)]
    if len(new) == 1 and len(gone) == 1:
        come = [name for name in come if name[0] == gone[0][0]] or come
    return (gone[0], come[0]) if len(gone) == len(come) == 1 else None


def _column(
    old: list[str], new: list[str], text: str, before: Tables, after: Tables, known: _Renames
) -> tuple[Name, str, str]:
    """The table (by its new name) whose column is meant, and the two names as the table spells them."""
    found = []
    for name, table in before.items():
        then = known.tables.get(name, name)
        if then in after and (len(old) == 1 or _is(old[:-1], name) or _is(old[:-1], then)):
            lost, gained = _lost(table, after[then]), _lost(after[then], table)
            if old[-1].lower() in lost and new[-1].lower() in gained:
                found.append((then, lost[old[-1].lower()], gained[new[-1].lower()]))
    if len(found) == 1:
        return found[0]
    if found:
        tables = ", ".join(".".join(name) for name, _, _ in found)
        raise UserError(f"--rename {text!r} could mean a column of {tables}: write db.table.{old[-1]}={new[-1]}")
    raise UserError(
        f"--rename {text!r}: no table has a column {old[-1]!r} only before and {new[-1]!r} only after, and no table of "
        "these names comes and goes"
    )


def _lost(table: Table, other: Table) -> dict[str, str]:
    """Columns of the first that the second has not, by lower case."""
    known = {column.name.lower() for column in other.columns}
    return {column.name.lower(): column.name for column in table.columns if column.name.lower() not in known}


def _is(parts: list[str], name: Name) -> bool:
    """Whether `table` or `schema.table` is that name."""
    return list(name[-len(parts) :]) == parts
