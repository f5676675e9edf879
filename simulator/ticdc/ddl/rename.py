"""What TiCDC does with RENAME TABLE: which pairs go on, which are dropped, which stop the changefeed, and their texts.

One law: a table may leave the filter but not enter it. Sources: tiflow cdc/puller/ddl_puller.go (v6.2.0, v6.5.3,
v6.5.4, v7.1.6, v7.5.7, v8.5.3), cdc/entry/schema/snapshot.go, of the texts cdc/model/sink.go FromJobWithArgs; ticdc
v8.5.4, v8.5.6 and v8.5.7 logservice/schemastore/persist_storage_ddl_handlers.go,
buildPersistedDDLEventForRenameTable(s).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from simulator.errors import DdlError
from simulator.releases import Release
from simulator.tidb.restore.names import quote_name
from simulator.tidb.syntax.definitions import Pair, TableName

Discards = Callable[[str, str], bool]
"""Whether the changefeed's filter discards a DDL of that schema and table."""

ENTERS = (
    "table's old name is not in filter rule, and its new name in filter rule table id '{id}', ddl query: [{query}], "
    "it's an unexpected behavior, if you want to replicate this table, please add its old name to filter rule."
)
HANDLE = (
    "handle ddl failed, query: {query}, startTs: {ts}. If you want to skip this DDL and continue with replication, you "
    "can manually execute this DDL downstream. Afterwards, add `ignore-txn-start-ts=[{ts}]` to the changefeed in the "
    "filter configuration."
)
NO_ID = 0
"""Stands where TiCDC prints the id of a table or a schema: a simulated cluster gives none."""


@dataclass(frozen=True)
class SchemaSnapshot:
    """What TiCDC knows of tables and databases; classic TiCDC of those that its filter let in."""

    tables: frozenset[tuple[str, str]]
    """In lower case, as the schemas."""

    schemas: frozenset[str]


@dataclass(frozen=True)
class Rename:
    """A statement, or the job of one."""

    pairs: tuple[Pair, ...]
    query: str = ""
    """For errors: the job's text, or the one that TiCDC writes anew."""

    start_ts: int = 0


def schema_snapshot(tables: Iterable[tuple[str, str]], schemas: Iterable[str]) -> SchemaSnapshot:
    """The snapshot with these names."""
    return SchemaSnapshot(frozenset(map(_folded, tables)), frozenset(schema.lower() for schema in schemas))


def kept_pairs(rename: Rename, discards: Discards, snapshot: SchemaSnapshot, release: Release) -> tuple[Pair, ...]:
    """The pairs that are replicated, in order; none of them means that the statement is discarded.

    Raises DdlError where TiCDC stops the changefeed: CDC:ErrSyncRenameTableFailed for a table that would enter the
    filter, CDC:ErrSnapshotTableNotFound for a table that is renamed twice (swaps and cycles), and
    CDC:ErrSnapshotSchemaNotFound for a new database that TiCDC does not know; in most releases inside of a
    CDC:ErrHandleDDLFailed, which then gives the code. The new architecture asks no snapshot.
    """
    return RULES[release.rename_filter](rename, discards, snapshot, release)


def _by_new_name(rename: Rename, discards: Discards, snapshot: SchemaSnapshot, release: Release) -> tuple[Pair, ...]:
    """Before 6.3 a RENAME is an event like others, of the new name, which the filter sees as the event has it."""
    lower = release.renames_in_lower_case and len(rename.pairs) > 1
    return tuple(
        (old, new) for old, new in rename.pairs if not discards(new.schema.lower() if lower else new.schema, new.name)
    )


def _by_new_schema(rename: Rename, discards: Discards, snapshot: SchemaSnapshot, release: Release) -> tuple[Pair, ...]:
    """6.3 to 6.5.3: a single pair's old table name is looked for in its new schema; several are not mixed up."""
    if len(rename.pairs) > 1:
        if any(new.schema.lower() not in snapshot.schemas for _, new in rename.pairs):
            raise _schema_not_found()
        return _applied(_let_through(rename, discards, snapshot, release), rename, snapshot, release)
    ((old, new),) = rename.pairs
    if new.schema.lower() not in snapshot.schemas:
        if discards(new.schema, old.name):
            return ()
        raise _schema_not_found()
    return _let_through(rename, lambda _, table: discards(new.schema, table), snapshot, release)


def _by_old_name(rename: Rename, discards: Discards, snapshot: SchemaSnapshot, release: Release) -> tuple[Pair, ...]:
    """From 6.5.4. TiDB's job of one pair has the new database in lower case, and that is what the filter sees."""
    if len(rename.pairs) > 1:
        return _applied(_let_through(rename, discards, snapshot, release), rename, snapshot, release)
    ((old, new),) = rename.pairs
    lower = replace(rename, pairs=((old, TableName(new.schema.lower(), new.name)),))
    return rename.pairs if _let_through(lower, discards, snapshot, release) else ()


def _by_names_alone(rename: Rename, discards: Discards, snapshot: SchemaSnapshot, release: Release) -> tuple[Pair, ...]:
    """The new architecture: the names that are written decide, wherever the tables are."""
    through = []
    for old, new in rename.pairs:
        if not discards(*old):
            through.append((old, new))
        elif not discards(*new):
            raise _enters(rename)
    return tuple(through)


def _let_through(rename: Rename, discards: Discards, snapshot: SchemaSnapshot, release: Release) -> tuple[Pair, ...]:
    """The pairs whose old name is replicated; raises DdlError where only the new one is.

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
    """What the table of each pair is called before the statement."""
    moved: dict[tuple[str, str], TableName] = {}
    found = []
    for old, new in pairs:
        found.append(moved.pop(_folded(old), old))
        moved[_folded(new)] = found[-1]
    return found


def _applied(pairs: Sequence[Pair], rename: Rename, snapshot: SchemaSnapshot, release: Release) -> tuple[Pair, ...]:
    """The pairs, if the snapshot takes them: it drops the table of every pair, then creates every new one."""
    tables = [_folded(table) for pair, table in zip(rename.pairs, _tables(rename.pairs), strict=True) if pair in pairs]
    if len(set(tables)) < len(tables):
        error = DdlError(f"table {NO_ID} not found in schema snapshot", "CDC:ErrSnapshotTableNotFound")
        raise _wrapped(error, rename, "snapshot", release)
    if not set(_schemas(pairs)) <= snapshot.schemas:
        raise _wrapped(_schema_not_found(), rename, "snapshot", release)
    return tuple(pairs)


def _enters(rename: Rename) -> DdlError:
    return DdlError(ENTERS.format(id=NO_ID, query=rename.query), "CDC:ErrSyncRenameTableFailed")


def _schemas(pairs: Sequence[Pair]) -> list[str]:
    return [new.schema.lower() for _, new in pairs]


def _schema_not_found() -> DdlError:
    return DdlError(f"schema {NO_ID} not found in schema snapshot", "CDC:ErrSnapshotSchemaNotFound")


def _wrapped(error: DdlError, rename: Rename, place: str, release: Release) -> DdlError:
    if place not in release.rename_errors_wrapped:
        return error
    text = HANDLE.format(query=rename.query, ts=rename.start_ts)
    return DdlError(f"{text}: [{error.code}]{error.text}", "CDC:ErrHandleDDLFailed")


def _folded(name: tuple[str, str]) -> tuple[str, str]:
    return name[0].lower(), name[1].lower()


RULES: dict[str, Callable[[Rename, Discards, SchemaSnapshot, Release], tuple[Pair, ...]]] = {
    "new-name": _by_new_name,
    "new-schema": _by_new_schema,
    "old-name": _by_old_name,
    "names-alone": _by_names_alone,
}


def rename_texts(pairs: Sequence[Pair], written: Sequence[Pair], release: Release) -> tuple[str, ...]:
    """`RENAME TABLE … TO …` for each pair of a job: `pairs` as the objects are called, `written` as its statement has
    the same names, perhaps without schemas.

    A statement of one pair is sent as it is where the release does not rebuild it.
    """
    if not release.rename_as_written:
        return tuple(f"RENAME TABLE {_plain(old)} TO {_plain(new)}" for old, new in pairs)
    spell, end = (_several, ";") if len(pairs) > 1 else (_single, "")
    full = _quoted if release.rename_quotes_names else _plain
    names = [spell(pair, spelled, release) for pair, spelled in zip(pairs, written, strict=True)]
    return tuple(f"RENAME TABLE {full(old)} TO {full(new)}{end}" for old, new in names)


def _single(pair: Pair, written: Pair, release: Release) -> Pair:
    """The old name is the statement's; a schema that is not in it is the job's, in lower case before ticdc 8.5.7."""
    (old, new), (old_written, _) = pair, written
    schema = old.schema if release.rename_finds_old_schema else old.schema.lower()
    return _with_schema(old_written, schema), new


def _several(pair: Pair, written: Pair, release: Release) -> Pair:
    """The tables as the statement has them; from ticdc 8.5.6 their schemas too, where it names them."""
    (old, new), (old_written, new_written) = pair, written
    if not release.rename_keeps_schemas:
        return TableName(old.schema, old_written.name), TableName(new.schema, new_written.name)
    return _with_schema(old_written, old.schema), _with_schema(new_written, new.schema)


def _with_schema(name: TableName, schema: str) -> TableName:
    return TableName(name.schema or schema, name.name)


def _plain(name: TableName) -> str:
    """Back-quotes inside of a name are not doubled: TiDB would not read the text of such a name."""
    return f"`{name.schema}`.`{name.name}`"


def _quoted(name: TableName) -> str:
    return f"{quote_name(name.schema)}.{quote_name(name.name)}"
