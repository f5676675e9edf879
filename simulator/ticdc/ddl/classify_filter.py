"""What of a job passes the table filter: all, nothing, or some of its tables.

One law: RENAME has a rule of its own; everything else passes by the name that TiCDC gives the job.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from simulator.releases import Release
from simulator.ticdc.ddl.rename import Discards, Known, Rename, kept_pairs, known
from simulator.ticdc.ddl.rename_text import rename_texts
from simulator.ticdc.filters.replication import Replication, filter_rule
from simulator.tidb.ddl import actions
from simulator.tidb.ddl.catalog import Catalog
from simulator.tidb.ddl.jobs_shape import Job
from simulator.tidb.syntax.definitions import Pair


@dataclass(frozen=True)
class Kept:
    job: Job | None
    """With only those tables that pass; None where none does."""

    why: str
    """The rule that decides."""


def kept(
    job: Job, catalog: Catalog | None, replication: Replication, release: Release, ignored: Discards | None = None,
) -> Kept:
    """What passes; `catalog` is what exists before the job. Raises DdlError where TiCDC stops at a RENAME.

    `ignored` tells of a schema and a table whether event filters discard a RENAME of them before its rule is asked.
    """
    if job.pairs:
        return _rename(job, catalog, replication, release, ignored or (lambda schema, table: False))
    return RULES.get(job.code, _by_table)(job, catalog, replication, release)


def _by_table(job: Job, catalog: Catalog | None, replication: Replication, release: Release) -> Kept:
    passes = replication.table(job.schema, job.table)
    return Kept(job if passes else None, filter_rule(replication, job.schema, job.table))


def _by_schema(job: Job, catalog: Catalog | None, replication: Replication, release: Release) -> Kept:
    if replication.schema(job.schema):
        return Kept(job, f"the rules have tables of database {job.schema}")
    return Kept(None, f"the rules have no tables of database {job.schema}")


def _tables(job: Job, catalog: Catalog | None, replication: Replication, release: Release) -> Kept:
    through = tuple(one for one in job.tables if replication.table(job.schema, one.name))
    named = (through or job.tables)[0].name
    first = replace(job, tables=through, table=named) if through else None
    return Kept(first, filter_rule(replication, job.schema, named))


def _exchange(job: Job, catalog: Catalog | None, replication: Replication, release: Release) -> Kept:
    """By either of the two tables, or by the database of the plain one and the name of the partitioned one."""
    assert job.exchanged is not None
    if release.exchange_passes_by_either:
        names = [(job.schema, job.table), (job.exchanged.schema, job.exchanged.name)]
    else:
        names = [(job.exchanged.schema, job.table)]
    passing = next((name for name in names if replication.table(*name)), None)
    return Kept(job if passing else None, filter_rule(replication, *(passing or names[0])))


def _rename(
    job: Job, catalog: Catalog | None, replication: Replication, release: Release, ignored: Discards
) -> Kept:
    snapshot = _snapshot(job.pairs, catalog, replication)

    def discards(schema: str, table: str) -> bool:
        return not replication.table(schema, table) or ignored(schema, table)

    found = kept_pairs(Rename(job.pairs, renaming_text(job, release)), discards, snapshot, release)
    if not found:
        named = any(replication.table(*name) for pair in job.pairs for name in pair)
        of = "passes rules and event filters" if named else "is in the rules"
        return Kept(None, f"neither the old name nor the new one {of}")
    why = f"the old name is in the rules: {filter_rule(replication, *found[0][0])}"
    written = tuple(said for pair, said in zip(job.pairs, job.written, strict=True) if pair in found)
    return Kept(replace(job, pairs=found, written=written), why)


def renaming_text(job: Job, release: Release) -> str:
    """What TiCDC takes for the text of a RENAME: the job's, or what it writes for all pairs."""
    return "".join(rename_texts(job.pairs, job.written, release)) if release.rebuilds_rename else job.query


def _snapshot(pairs: Sequence[Pair], catalog: Catalog | None, replication: Replication) -> Known:
    """What TiCDC knows of the tables and databases that the pairs name."""
    there = (old for old, _ in pairs if catalog is None or catalog.has(*old))
    tables = [name for name in there if replication.table(*name)]
    schemas = {new.schema for _, new in pairs if catalog is None or catalog.database(new.schema)}
    return known(tables, filter(replication.schema, schemas))


RULES: Mapping[int, Callable[[Job, Catalog | None, Replication, Release], Kept]] = {
    **dict.fromkeys(actions.SCHEMA_ACTIONS, _by_schema),
    actions.CREATE_TABLES: _tables,
    actions.EXCHANGE_TABLE_PARTITION: _exchange,
}
