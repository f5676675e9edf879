"""What the statements of a step make of tables that have rows: what each table was, and where its columns come from.

One law: rows go with their table and their columns, whatever these are called.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from simulator.errors import UserError
from simulator.run.plan.statements import Played
from simulator.tidb.ddl.catalog import Catalog, key
from simulator.tidb.ddl.convert import ColumnSource, Kept, conversion
from simulator.tidb.ddl.jobs import Job
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.syntax.alter import PartitionAction
from simulator.tidb.syntax.statements import AlterTable, Statement, TruncateTable
from simulator.tidb.values import convertible

Name = tuple[str, str]
EVERYTHING = frozenset("*")


@dataclass(frozen=True)
class Descent:
    """What a table behind the statements was before them."""

    name: Name | None
    """None for a table that they create."""

    emptied: frozenset[str] = frozenset()
    """Partitions that were dropped or truncated, in lower case; `*` for the whole table."""


def descents(played: Iterable[tuple[Played, Job]]) -> dict[Name, Descent]:
    """Of each table that the statements touch, by its name behind them; raises UserError for what moves rows about."""
    found: dict[Name, Descent] = {}
    for one, job in played:
        before, moves = dict(found), pairs([job])
        for old, new in moves.items():
            there, then = named(one.before, old), named(one.after, new)
            if there and there != then:
                found.pop(there, None)
        for old, new in moves.items():
            there, then = named(one.before, old), named(one.after, new)
            if then:
                known = before.get(there, Descent(there)) if there else Descent(None)
                found[then] = replace(known, emptied=known.emptied | _emptied(one.statement))
    return found


def pairs(jobs: Iterable[Job]) -> dict[Name, Name]:
    """Old and new name of every table that the jobs name."""
    found: dict[Name, Name] = {}
    for job in jobs:
        if job.exchanged:
            raise UserError(f"{job.query}: EXCHANGE PARTITION moves rows between tables, which no snapshot shows")
        names = [(job.schema, made.name) for made in job.tables] or [(job.schema, job.table)]
        found.update(job.pairs or zip(names, names, strict=True))
    return found


def named(catalog: Catalog, name: Name) -> Name | None:
    table = catalog.tables.get(key(*name))
    return (table.schema, table.name) if table else None


def _emptied(statement: Statement) -> frozenset[str]:
    """Partitions whose rows go with the statement."""
    if isinstance(statement, TruncateTable):
        return EVERYTHING
    specs = statement.specs if isinstance(statement, AlterTable) else ()
    gone = [spec for spec in specs if isinstance(spec, PartitionAction) and spec.verb in ("DROP", "TRUNCATE")]
    return frozenset(name.lower() for spec in gone for name in spec.names or EVERYTHING)


def lost_partitions(before: Table, emptied: frozenset[str]) -> frozenset[int]:
    """Ordinals of the partitions whose rows are gone; 0 for a table without partitions."""
    names = [one.name.lower() for one in before.partitioning.partitions] if before.partitioning else [""]
    return frozenset(number for number, name in enumerate(names) if emptied & {name, "*"})


def sources(before: Table, after: Table) -> tuple[ColumnSource, ...]:
    """Where each visible column of the table after comes from; raises UserError for a conversion not known here."""
    came = conversion(before, after)
    for column, source in zip(visible_columns(after), came, strict=True):
        if isinstance(source, Kept) and source.cast and not convertible(source.before, source.after):
            raise UserError(
                f"column {column.name!r} of table {after.schema}.{after.name}: how TiDB turns {source.before.name} "
                f"into {source.after.name} is not simulated; drop the column and add it again, or keep its type"
            )
    return came
