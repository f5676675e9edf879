"""SOFTDELETE and ACTIVE_ACTIVE: the options of tables and databases, and the columns that TiDB adds for them.

TiDB has them on its branches feature/active-active and release-8.5-20260121-v8.5.5, in no public tag: pkg/ddl/
soft_delete.go (getSoftDeleteAndActiveActive, checkSoftDeleteAndActiveActive), with the results of its tests in
tests/integrationtest/r/ddl/soft_delete.result and active_active.result. Texts are TiDB's, with its spelling.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from simulator.releases import Release
from simulator.tidb import syntax
from simulator.tidb.ddl.actions import Action
from simulator.tidb.ddl.alteration import Alteration, SubJob, SubJobs
from simulator.tidb.ddl.catalog import Catalog, build_catalog
from simulator.tidb.ddl.foreign_keys import referring_keys
from simulator.tidb.ddl.grammar import has_soft_delete_options, read_syntax
from simulator.tidb.errors import error_with_text, tidb_error, unsupported_error
from simulator.tidb.model.table import INTERNAL_COLUMNS, ORIGIN_TS, SOFT_DELETE_TIME, Column, SoftDelete, Table
from simulator.tidb.model.types import UNSIGNED_BIGINT, ColumnType
from simulator.tidb.parser.ddl.options import SOFT_DELETE_OPTIONS
from simulator.tidb.parser.ddl.statements import parse_ddl
from simulator.tidb.restore.expressions import feature_comment

UNIQUE = "UNIQUE is not supported. Reason: Cannot add unique index on ACTIVE_ACTIVE or softdelete table. Try removing UNIQUE."
ADDED = {ORIGIN_TS: UNSIGNED_BIGINT, SOFT_DELETE_TIME: ColumnType("timestamp", decimal=6)}
"""The types of TiDB's columns (design 2025-11-05-active-active.md; pull requests 65057, and 65827 for UNSIGNED)."""

OWN_COLUMNS = f"own columns {' and '.join(INTERNAL_COLUMNS)} are not simulated"
NOT_TEMPORARY = "SOFTDELETE and ACTIVE_ACTIVE is unspported on temp table"


def settings(options: Iterable[syntax.TableOption], old: SoftDelete | None) -> SoftDelete | None:
    """Return the settings of options, else those that a database or a table has. Raises DdlError."""
    values = {option.name: option.value for option in options if option.name in SOFT_DELETE_OPTIONS}
    active = values.pop("ACTIVE_ACTIVE", "ON" if old and old.active_active else "OFF") == "ON"
    if values.get("SOFTDELETE") == "OFF":
        if len(values) > 1:
            raise unsupported_error("having SOFTDELETE options but SOFTDELETE = 'OFF'")
        if active:
            raise unsupported_error("ACTIVE_ACTIVE = 'ON' but SOFTDELETE = 'OFF'")
        return None
    if old is None and "SOFTDELETE" not in values:
        if values:
            raise unsupported_error("must sepecify SOFTDELETE = RETENTION xxx")
        if active:
            raise unsupported_error("ActiveActive enabled but SoftDelete disabled")
        return None
    before = old or SoftDelete("")
    return SoftDelete(
        values.get("SOFTDELETE", before.retention).removeprefix("RETENTION "),
        values.get("SOFTDELETE_JOB_ENABLE", "ON" if before.job_enabled else "OFF") == "ON",
        values.get("SOFTDELETE_JOB_INTERVAL", before.job_interval),
        active,
    )


def with_soft_deletes(table: Table, setting: SoftDelete | None, catalog: Catalog) -> Table:
    """Return a new table with the columns that TiDB adds, after those of the statement. Raises DdlError."""
    if setting is None:
        return table
    if table.temporary:
        raise unsupported_error(NOT_TEMPORARY)
    if table.foreign_keys:
        raise unsupported_error("SOFTDELETE is unspported on table with foreign key")
    if any(referring_keys(catalog, table.schema, table.name)):
        raise unsupported_error("SOFTDELETE is unspported on referenced foreign key table")
    if not table.primary_key:
        raise error_with_text("ddl:8200", "a table with SOFTDELETE needs a primary key (TiDB's text is not public)")
    if any(index.unique and not index.primary for index in table.indexes):
        raise error_with_text("ddl:1846", UNIQUE)
    names = INTERNAL_COLUMNS if setting.active_active else (SOFT_DELETE_TIME,)
    used = {column.name.lower() for column in table.columns}
    if not used.isdisjoint(INTERNAL_COLUMNS):
        raise error_with_text("ddl:1235", OWN_COLUMNS)
    last = table.last_ids.column
    added = tuple(Column(name, ADDED[name], id=last + place) for place, name in enumerate(names, 1))
    return replace(
        table,
        columns=(*table.columns, *added),
        soft_delete=setting,
        last_ids=replace(table.last_ids, column=last + len(added)),
    )


def with_written_soft_deletes(table: Table, release: Release) -> Table:
    """Return a table of a file with the columns that the release adds for its SOFTDELETE. Raises DdlError."""
    return with_soft_deletes(table, written_settings(table, release), build_catalog(()))


def written_settings(table: Table, release: Release) -> SoftDelete | None:
    """Return the settings that a table of a file says and does not have yet. Raises DdlError."""
    if table.soft_delete or not release.soft_deletes or not has_soft_delete_options(table.statement):
        return None
    statement = parse_ddl(table.statement)
    assert isinstance(statement, syntax.CreateTable), "it defines a table"
    return settings(read_syntax(statement, table.statement, release).options, None)


def alter_soft_delete(options: Iterable[syntax.TableOption], alteration: Alteration) -> SubJobs:
    """Yield the sub-job of SOFTDELETE options, whose type TiCDC does not know. Raises DdlError."""
    if any(option.name == "ACTIVE_ACTIVE" for option in options):
        raise error_with_text("ddl:8200", "This type of ALTER TABLE is currently unsupported")
    table = alteration.target.table if alteration.target else None
    new = settings(options, table.soft_delete if table else SoftDelete(""))
    if new is None or table is not None and table.soft_delete is None:
        raise error_with_text(
            "ddl:1235",
            "ALTER TABLE that turns SOFTDELETE on or off is not simulated: TiCDC ignores its job, and reads rows by the "
            "table before. Accepted: other settings of a table with SOFTDELETE",
        )
    yield SubJob(Action.ALTER_TABLE_SOFT_DELETE_INFO, lambda before: replace(before, soft_delete=new))


def shown_options(setting: SoftDelete | None) -> Iterator[str]:
    """Yield the options as SHOW CREATE has them."""
    if setting is None:
        return
    if setting.active_active:
        yield feature_comment("ACTIVE_ACTIVE='ON'", "active_active")
    yield feature_comment(f"SOFTDELETE=RETENTION {setting.retention}", "softdelete")
    yield feature_comment(f"SOFTDELETE_JOB_ENABLE='{'ON' if setting.job_enabled else 'OFF'}'", "softdelete")
    yield feature_comment(f"SOFTDELETE_JOB_INTERVAL='{setting.job_interval}'", "softdelete")


def check_specs(specs: Iterable[syntax.Spec], table: Table) -> None:
    """Raise DdlError for clauses of ALTER TABLE that TiDB refuses for a table with SOFTDELETE."""
    for spec in specs if table.soft_delete else ():
        match spec:
            case syntax.DropColumn(name) if _is_internal(name):
                raise unsupported_error("can not drop internal columns")
            case syntax.AddColumns(columns) if any(_is_internal(column.name) for column in columns) and not (
                {column.name.lower() for column in columns} & {column.name.lower() for column in table.columns}
            ):
                raise error_with_text("ddl:1235", OWN_COLUMNS)
            case syntax.ModifyColumn() | syntax.ChangeColumn() | syntax.RenameColumn() | syntax.AlterDefault():
                if name := next(filter(_is_internal, _column_names(spec)), ""):
                    raise tidb_error("ddl:1166", name)
            case syntax.AddKey(key) if key.kind == "unique":
                raise error_with_text("ddl:1846", UNIQUE)
            case syntax.AddKey(key) if any(_is_internal(part.column) for part in key.parts):
                raise error_with_text("ddl:1235", f"indexes on {' and '.join(INTERNAL_COLUMNS)} are not simulated")
            case syntax.AddKey(syntax.KeyDefinition(check=syntax.CheckDefinition(condition))):
                if any(name in condition.text.lower() for name in INTERNAL_COLUMNS):
                    raise unsupported_error("invalid check constraint on internal columnss")


def _is_internal(name: str) -> bool:
    return name.lower() in INTERNAL_COLUMNS


def _column_names(
    spec: syntax.ModifyColumn | syntax.ChangeColumn | syntax.RenameColumn | syntax.AlterDefault,
) -> tuple[str, ...]:
    match spec:
        case syntax.ModifyColumn(column):
            return (column.name,)
        case syntax.ChangeColumn(old, column):
            return old, column.name
        case syntax.RenameColumn(old, new):
            return old, new
    return (spec.column,)
