"""TiCDC's handling of RENAME TABLE: which pairs are replicated, which stop the changefeed, and their texts.

A table may leave the filter but not enter it. Sources: tiflow cdc/puller/ddl_puller.go (v6.2.0, v6.5.3, v6.5.4, v7.1.6,
v7.5.7, v8.5.3), cdc/entry/schema/snapshot.go; for the texts cdc/model/sink.go FromJobWithArgs; ticdc v8.5.4, v8.5.6 and
v8.5.7 logservice/schemastore/persist_storage_ddl_handlers.go, buildPersistedDDLEventForRenameTable(s).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from simulator import tso
from simulator.errors import DdlError
from simulator.releases import Release
from simulator.tidb.restore import quote_table
from simulator.tidb.syntax.definitions import Pair
from simulator.tidb.syntax.expressions import TableName

Discards = Callable[[str, str], bool]
"""Whether the changefeed's filter discards a DDL of that schema and table."""

ENTERS = (
    "table's old name is not in filter rule, and its new name in filter rule table id '{id}', ddl query: [{query}], "
    "it's an unexpected behavior, if you want to replicate this table, please add its old name to filter rule."
)
HANDLE = (
    "handle ddl failed, {values}. If you want to skip this DDL and continue with replication, you can manually execute "
    "this DDL downstream. Afterwards, add `ignore-txn-start-ts=[{last}]` to the changefeed in the filter configuration."
)
VALUES = {
    "query": "query: {query}, startTs: {ts}",
    "job": "job: {job}, query: {query}, startTs: {ts}",
    "shifted": "job: {query}, query: %!s(uint64={ts}), startTs: {ts}",
}
JOB = (
    "ID:{id}, Type:{type}, State:done, SchemaState:public, SchemaID:{id}, TableID:{id}, RowCount:0, ArgLen:{args}, "
    "start time: {time}, Err:<nil>, ErrCount:0, SnapshotVersion:0"
)
SEVERAL_ARGS = 5
"""Arguments that TiCDC has decoded of a job of several pairs when it refuses it; it decodes none of one pair's."""

NO_ID = 0
"""The id of a table or schema in TiCDC's texts; a simulated cluster has no ids."""


@dataclass(frozen=True)
class SchemaSnapshot:
    """The tables and databases that TiCDC knows; in classic TiCDC only those that pass its filter."""

    tables: frozenset[tuple[str, str]]
    """Schema and name of tables, in lower case; `schemas` are in lower case, too."""

    schemas: frozenset[str]


@dataclass(frozen=True)
class Rename:
    """A RENAME statement or job."""

    pairs: tuple[Pair, ...]
    query: str = ""
    """Text for errors: the job's, or the one that TiCDC rewrites."""

    start_ts: int = 0


def schema_snapshot(tables: Iterable[tuple[str, str]], schemas: Iterable[str]) -> SchemaSnapshot:
    """Return the snapshot with these names."""
    return SchemaSnapshot(frozenset(map(_folded, tables)), frozenset(schema.lower() for schema in schemas))


def replicated_pairs(
    rename: Rename, discards: Discards, snapshot: SchemaSnapshot, release: Release
) -> tuple[Pair, ...]:
    """Return the pairs that are replicated, in order; without any the statement is discarded.

    Raise DdlError if TiCDC stops the changefeed: CDC:ErrSyncRenameTableFailed for a table that would enter the filter,
    CDC:ErrSnapshotTableNotFound for a table that is renamed twice (swaps and cycles), and CDC:ErrSnapshotSchemaNotFound
    for a new database that TiCDC does not know. In most releases they are wrapped in a CDC:ErrHandleDDLFailed, whose
    code counts. The new architecture uses no snapshot.
    """
    return RULES[release.rename_filter](rename, discards, snapshot, release)


def _by_new_name(rename: Rename, discards: Discards, snapshot: SchemaSnapshot, release: Release) -> tuple[Pair, ...]:
    """Before 6.3 a RENAME is an event of the new name, which the filter sees as the event has it. The snapshot has all
    tables, and drops each of several before that (v5.4.0 cdc/entry/schema_storage.go renameTables)."""
    if len(rename.pairs) > 1:
        _require_once(rename.pairs, rename, release)
    lower = release.renames_in_lower_case and len(rename.pairs) > 1
    return tuple(
        (old, new) for old, new in rename.pairs if not discards(new.schema.lower() if lower else new.schema, new.name)
    )


def _by_new_schema(rename: Rename, discards: Discards, snapshot: SchemaSnapshot, release: Release) -> tuple[Pair, ...]:
    """6.3 to 6.5.3: the old name of a single pair is looked up in the new schema; several pairs are correct."""
    if len(rename.pairs) > 1:
        if any(new.schema.lower() not in snapshot.schemas for _, new in rename.pairs):
            raise _schema_not_found()
        return _apply_to_snapshot(_pairs_with_old_name(rename, discards, snapshot, release), rename, snapshot, release)
    ((old, new),) = rename.pairs
    if new.schema.lower() not in snapshot.schemas:
        if discards(new.schema, old.name):
            return ()
        raise _schema_not_found()
    return _pairs_with_old_name(rename, lambda _, table: discards(new.schema, table), snapshot, release)


def _by_old_name(rename: Rename, discards: Discards, snapshot: SchemaSnapshot, release: Release) -> tuple[Pair, ...]:
    """From 6.5.4. TiDB's job of one pair has the new database in lower case, and the filter sees that."""
    if len(rename.pairs) > 1:
        return _apply_to_snapshot(_pairs_with_old_name(rename, discards, snapshot, release), rename, snapshot, release)
    ((old, new),) = rename.pairs
    lower = replace(rename, pairs=((old, TableName(new.schema.lower(), new.name)),))
    return rename.pairs if _pairs_with_old_name(lower, discards, snapshot, release) else ()


def _by_names_alone(rename: Rename, discards: Discards, snapshot: SchemaSnapshot, release: Release) -> tuple[Pair, ...]:
    """The new architecture: the written names decide, not the tables' current names."""
    through = []
    for old, new in rename.pairs:
        if not discards(*old):
            through.append((old, new))
        elif not discards(*new):
            raise _enters(rename)
    return tuple(through)


def _pairs_with_old_name(
    rename: Rename, discards: Discards, snapshot: SchemaSnapshot, release: Release
) -> tuple[Pair, ...]:
    """Return the pairs whose old name is replicated; raise DdlError if only the new one is.

    A table is found by its id: the old name is the pair's schema and the name that the table has before the statement.
    """
    through, alone = [], len(rename.pairs) == 1
    for (old, new), table in zip(rename.pairs, _tables(rename.pairs), strict=True):
        if _folded(table) in snapshot.tables and not discards(old.schema, table.name):
            through.append((old, new))
        elif (alone or new.schema.lower() in snapshot.schemas) and not discards(*new):
            raise _wrapped(_enters(rename), rename, "one" if alone else "several", release)
    return tuple(through)


def _tables(pairs: Sequence[Pair]) -> list[TableName]:
    current: dict[tuple[str, str], TableName] = {}
    names = []
    for old, new in pairs:
        names.append(current.pop(_folded(old), old))
        current[_folded(new)] = names[-1]
    return names


def _apply_to_snapshot(
    pairs: Sequence[Pair], rename: Rename, snapshot: SchemaSnapshot, release: Release
) -> tuple[Pair, ...]:
    """Return the pairs if the snapshot accepts them: it drops the table of every pair, then creates every new one."""
    _require_once(pairs, rename, release)
    if not {new.schema.lower() for _, new in pairs} <= snapshot.schemas:
        raise _wrapped(_schema_not_found(), rename, "snapshot", release)
    return tuple(pairs)


def _require_once(pairs: Sequence[Pair], rename: Rename, release: Release) -> None:
    """Raise DdlError if pairs rename a table twice."""
    tables = [_folded(table) for pair, table in zip(rename.pairs, _tables(rename.pairs), strict=True) if pair in pairs]
    if len(set(tables)) < len(tables):
        error = DdlError(f"table {NO_ID} not found in schema snapshot", "CDC:ErrSnapshotTableNotFound")
        raise _wrapped(error, rename, "snapshot", release)


def _enters(rename: Rename) -> DdlError:
    return DdlError(ENTERS.format(id=NO_ID, query=rename.query), "CDC:ErrSyncRenameTableFailed")


def _schema_not_found() -> DdlError:
    return DdlError(f"schema {NO_ID} not found in schema snapshot", "CDC:ErrSnapshotSchemaNotFound")


def _wrapped(error: DdlError, rename: Rename, place: str, release: Release) -> DdlError:
    if place not in release.rename_errors_wrapped:
        return error
    kind = release.rename_error_values
    values = VALUES[kind].format(query=rename.query, ts=rename.start_ts, job=_job_text(rename))
    last = "%!d(MISSING)" if kind == "shifted" else rename.start_ts
    text = HANDLE.format(values=values, last=last)
    return DdlError(f"{text}: [{error.code}]{error.text}", "CDC:ErrHandleDDLFailed")


def _job_text(rename: Rename) -> str:
    """Return a finished job as TiDB prints it, on a server in UTC (tidb v6.5 parser/model/ddl.go Job.String; Go prints no
    zeros at the end of a fraction)."""
    several = len(rename.pairs) > 1
    seconds, fraction = tso.sql_time(rename.start_ts).split(".")
    shown = ".".join(filter(None, (seconds, fraction.rstrip("0"))))
    type, args = ("rename tables", SEVERAL_ARGS) if several else ("rename table", 0)
    return JOB.format(id=NO_ID, type=type, args=args, time=f"{shown} +0000 UTC")


def _folded(name: tuple[str, str]) -> tuple[str, str]:
    return name[0].lower(), name[1].lower()


RULES: dict[str, Callable[[Rename, Discards, SchemaSnapshot, Release], tuple[Pair, ...]]] = {
    "new-name": _by_new_name,
    "new-schema": _by_new_schema,
    "old-name": _by_old_name,
    "names-alone": _by_names_alone,
}


def rename_texts(pairs: Sequence[Pair], written: Sequence[Pair], release: Release) -> tuple[str, ...]:
    """Return `RENAME TABLE … TO …` for each pair of a job.

    `pairs` are the names of the objects, `written` the same names as in the statement, which may lack schemas. If the
    release does not rewrite a statement of one pair, the statement is sent as it is.
    """
    if not release.rename_as_written:
        return tuple(f"RENAME TABLE {_plain(*old)} TO {_plain(*new)}" for old, new in pairs)
    spell, end = (_several, ";") if len(pairs) > 1 else (_single, "")
    full = quote_table if release.rename_quotes_names else _plain
    names = [spell(pair, spelled, release) for pair, spelled in zip(pairs, written, strict=True)]
    return tuple(f"RENAME TABLE {full(*old)} TO {full(*new)}{end}" for old, new in names)


def _single(pair: Pair, written: Pair, release: Release) -> Pair:
    """The old name is the statement's; a missing schema is the job's, in lower case before ticdc 8.5.7."""
    (old, new), (old_written, _) = pair, written
    schema = old.schema if release.rename_finds_old_schema else old.schema.lower()
    return _with_schema(old_written, schema), new


def _several(pair: Pair, written: Pair, release: Release) -> Pair:
    """Table names are the statement's; from ticdc 8.5.6 its schemas are kept, too."""
    (old, new), (old_written, new_written) = pair, written
    if not release.rename_keeps_schemas:
        return TableName(old.schema, old_written.name), TableName(new.schema, new_written.name)
    return _with_schema(old_written, old.schema), _with_schema(new_written, new.schema)


def _with_schema(name: TableName, schema: str) -> TableName:
    return TableName(name.schema or schema, name.name)


def _plain(schema: str, name: str) -> str:
    """Back-quotes inside a name are not doubled; TiDB would not parse the text."""
    return f"`{schema}`.`{name}`"
