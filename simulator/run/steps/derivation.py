"""The statements between two snapshots: they create tables, change them and drop them.

Statements that change tables come from a file of the user, or are derived from the two definitions. Applied in order to
the tables before, all statements give the tables after.
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
from simulator.tidb.parser.script import split_sql_file
from simulator.tidb.restore import quote_name

Tables = Mapping[Name, Table]


@dataclass(frozen=True)
class SchemaChangeOptions:
    """The user's options for schema changes between two snapshots."""

    file: Path | None = None
    """A file of statements; without it they are derived."""

    at: str = "middle"
    """When in the step's time they run: one of `settings.PLACES`."""

    renamed: tuple[str, ...] = ()
    """`old=new` of renamed columns or tables, unqualified if that is unambiguous; only for derived statements."""


def statements_between(
    known: Catalog, wanted: Tables, change: SchemaChangeOptions, now: str, release: Release
) -> list[AppliedStatement]:
    """Return all statements, applied; raises UserError if they do not lead to the wanted tables.

    `now` is the value of CURRENT_TIMESTAMP(6) at the schema change.
    """
    had = tables_of(known)
    if change.file and change.renamed:
        raise UserError("--rename says how to derive statements, and --ddl gives them: choose one")
    if change.file:
        changing, changed = _read_statements(change.file, known, now, release)
    else:
        renames = _renames(change.renamed, had, wanted)
        changing, changed = list(_derive(had, wanted, renames)), {renames.tables.get(name, name) for name in had}
    created = [table for name, table in sorted(wanted.items()) if name not in changed]
    dropped = sorted(changed - wanted.keys())
    applied = apply([*_create(created, known), *changing, *map(_drop, dropped)], known, now, release)
    _check_tables(tables_of(applied[-1].after if applied else known), wanted, change.file)
    return applied


def _read_statements(
    file: Path, known: Catalog, now: str, release: Release
) -> tuple[list[PendingStatement], set[Name]]:
    """Return the statements of a file, and the names of the tables after them."""
    schemas = {schema for schema, _ in tables_of(known)}
    current = schemas.pop() if len(schemas) == 1 else ""
    statements = [
        PendingStatement(text, database, AMONG_ROWS, f"{file}, statement {number}")
        for number, (database, text) in enumerate(split_sql_file(file, current), 1)
    ]
    if not statements:
        raise UserError(f"{file} has no statement")
    return statements, set(tables_of(apply(statements, known, now, release)[-1].after))


def _derive(had: Tables, target: Tables, renames: _Renames) -> Iterator[PendingStatement]:
    for old, new in renames.tables.items():
        text = f"RENAME TABLE {_dotted(old)} TO {_dotted(new)}"
        yield PendingStatement(text, new[0], AMONG_ROWS, "--rename")
    for name, table in sorted(had.items()):
        new = renames.tables.get(name, name)
        if new in target:
            for text in alterations(table, target[new], renames.columns.get(new, {})):
                yield PendingStatement(text, new[0], AMONG_ROWS, f"derived for table {'.'.join(new)}")


def _create(tables: Iterable[Table], known: Catalog) -> Iterator[PendingStatement]:
    tables = list(tables)
    for schema in sorted({table.schema for table in tables}):
        if known.database(schema) is None:
            yield PendingStatement(f"CREATE DATABASE {quote_name(schema)}", schema, BEFORE_ROWS)
    for table in tables:
        yield PendingStatement(table.statement, table.schema, BEFORE_ROWS)


def _drop(name: Name) -> PendingStatement:
    return PendingStatement(f"DROP TABLE {_dotted(name)}", name[0], AFTER_ROWS)


def _check_tables(actual: Tables, target: Tables, file: Path | None) -> None:
    """Raise UserError for a table that differs from its definition in the next snapshot."""
    for name, table in target.items():
        definition = actual.get(name)
        if definition is None or definition is not table and not same(definition, table):
            left = "; ".join(alterations(definition, table, {})) if definition else "the table is not there"
            way = f"after the statements of {file}" if file else "no statement leads there"
            raise UserError(
                f"table {'.'.join(name)} is not as the next snapshot has it: {way}; "
                f"still needed: {left or 'another clustering of its primary key'}"
            )


def _dotted(name: Name) -> str:
    return ".".join(map(quote_name, name))


@dataclass(frozen=True)
class _Renames:
    """Tables and columns that the user declares as renamed."""

    tables: dict[Name, Name] = field(default_factory=dict)
    columns: dict[Name, dict[str, str]] = field(default_factory=dict)
    """By a table's new name: new names of its columns by old ones."""


def _renames(texts: Iterable[str], before: Tables, after: Tables) -> _Renames:
    """Resolve the texts of `SchemaChangeOptions.renamed`; raises UserError for one without a match, or with several.

    A name is a table's if one such table disappears and one appears, else a column's of a table that loses the old
    name and gains the new one.
    """
    renames, columns = _Renames(), []
    for old, new, text in map(_pair, texts):
        tables = _table(old, new, before, after)
        if tables is None:
            columns.append((old, new, text))
        else:
            renames.tables[tables[0]] = tables[1]
    for old, new, text in columns:
        table, column, name = _column(old, new, text, before, after, renames)
        renames.columns.setdefault(table, {})[column] = name
    return renames


def _pair(text: str) -> tuple[list[str], list[str], str]:
    old, equals, new = text.partition("=")
    if not equals or not old.strip() or not new.strip():
        raise UserError(f"--rename {text!r}: expected OLD=NEW, as in name=full_name, shop.t.name=full_name or a.t=b.t")
    return old.strip().split("."), new.strip().split("."), text


def _table(old: list[str], new: list[str], before: Tables, after: Tables) -> tuple[Name, Name] | None:
    """Return the old and the new name of the one table that matches; None for none or several."""
    if len(old) > 2 or len(new) > 2:
        return None
    removed = [name for name in before if name not in after and _is(old, name)]
    added = [name for name in after if name not in before and _is(new, name)]
    if len(new) == 1 and len(removed) == 1:
        added = [name for name in added if name[0] == removed[0][0]] or added
    return (removed[0], added[0]) if len(removed) == len(added) == 1 else None


def _column(
    old: list[str], new: list[str], text: str, before: Tables, after: Tables, known: _Renames
) -> tuple[Name, str, str]:
    """Return the new name of the one table that matches, and the two names of its column as the table spells them."""
    matches = []
    for name, table in before.items():
        then = known.tables.get(name, name)
        if then in after and (len(old) == 1 or _is(old[:-1], name) or _is(old[:-1], then)):
            lost, gained = _lost(table, after[then]), _lost(after[then], table)
            if old[-1].lower() in lost and new[-1].lower() in gained:
                matches.append((then, lost[old[-1].lower()], gained[new[-1].lower()]))
    if len(matches) == 1:
        return matches[0]
    if matches:
        tables = ", ".join(".".join(name) for name, _, _ in matches)
        raise UserError(f"--rename {text!r} could mean a column of {tables}: write db.table.{old[-1]}={new[-1]}")
    raise UserError(
        f"--rename {text!r}: no table has a column {old[-1]!r} only before and {new[-1]!r} only after, and no table of "
        "these names comes and goes"
    )


def _lost(table: Table, other: Table) -> dict[str, str]:
    """Return the columns that only the first table has, by name in lower case."""
    known = {column.name.lower() for column in other.columns}
    return {column.name.lower(): column.name for column in table.columns if column.name.lower() not in known}


def _is(parts: list[str], name: Name) -> bool:
    """Return whether `table` or `schema.table` is that name."""
    return list(name[-len(parts) :]) == parts
