"""Table options in ALTER TABLE: comment, charset, TTL, AUTO_INCREMENT, SOFTDELETE and options without effect on rows.

OPTIONS has all options that TiDB can alter. Only CONVERT TO changes the charset of existing columns (TiDB:
pkg/ddl/executor.go, AlterTable, AlterTableCharsetAndCollate).

TiDB has SOFTDELETE and ACTIVE_ACTIVE, which databases have, too, and for which it adds columns, on its branches
feature/active-active and release-8.5-20260121-v8.5.5, in no public tag: pkg/ddl/soft_delete.go
(getSoftDeleteAndActiveActive, checkSoftDeleteAndActiveActive), with the results of its tests in
tests/integrationtest/r/ddl/soft_delete.result and active_active.result. Texts are TiDB's, with its spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from simulator.releases import Release
from simulator.tidb import syntax
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.catalog import Catalog, build_catalog, check_placement_policy, existing_column
from simulator.tidb.ddl.foreign_keys import referring_keys
from simulator.tidb.ddl.grammar import ENGINES, has_soft_delete_options, read_syntax
from simulator.tidb.ddl.key_checks import check_index_parts
from simulator.tidb.ddl.modify_columns import check_charset, order_alike
from simulator.tidb.ddl.session import Alteration, SubJob, SubJobs, TargetTable
from simulator.tidb.ddl.table_definitions import STORED_OPTIONS, build_ttl
from simulator.tidb.errors import auto_random_error, converting_errors, error_with_text, tidb_error, unsupported_error
from simulator.tidb.model.table import INTERNAL_COLUMNS, ORIGIN_TS, SOFT_DELETE_TIME, Column, SoftDelete, Table
from simulator.tidb.model.types import (
    ALIASES,
    CHARSETS,
    UNSIGNED_BIGINT,
    ColumnType,
    family,
    is_binary,
    resolve_charset_and_collation,
)
from simulator.tidb.parser.ddl import parse_ddl
from simulator.tidb.parser.keys_and_options import SOFT_DELETE_OPTIONS
from simulator.tidb.restore import feature_comment

Values = Mapping[str, syntax.TableOption]
"""The options of one spec by name; the last one counts."""


def set_options(spec: syntax.SetOptions, alteration: Alteration) -> SubJobs:
    """Yield a sub-job for each option, one for all of charset and one for all of TTL; placement is last.

    Raises DdlError.
    """
    check_charsets([option.value for option in spec.options if option.name == "CHARSET" and not option.default])
    values = {option.name: option for option in spec.options}
    soft_deletes = tuple(option for option in spec.options if option.name in SOFT_DELETE_OPTIONS)
    if soft_deletes:
        yield from alter_soft_delete(soft_deletes, alteration)
    done: set[object] = set()
    for option in spec.options:
        change = OPTIONS.get(option.name)
        if change is None:
            raise error_with_text("ddl:8200", "This type of ALTER TABLE is currently unsupported")
        if change not in done:
            yield from change(option, values, alteration)
        if change in (charset, time_to_live):
            done.add(change)
    if "PLACEMENT POLICY" in values:
        check_placement_policy(alteration.target.catalog if alteration.target else None, spec.options)
        yield SubJob(Action.ALTER_TABLE_PLACEMENT)


def check_charsets(names: Sequence[str]) -> None:
    """Raise DdlError for several charsets (GetCharsetAndCollateInTableOption)."""
    for name in names:
        if name != names[0]:
            raise tidb_error("ddl:1302", names[0], name)


def comment(option: syntax.TableOption, values: Values, alteration: Alteration) -> SubJobs:
    if len(option.value.encode()) > 2048:
        raise tidb_error("ddl:1628", alteration.name.name.lower())
    yield SubJob(Action.MODIFY_TABLE_COMMENT, lambda before: replace(before, comment=option.value))


def charset(option: syntax.TableOption, values: Values, alteration: Alteration) -> SubJobs:
    """Yield the sub-job of another default charset, which applies to new columns."""
    named = "" if "CHARSET" not in values or values["CHARSET"].default else values["CHARSET"].value
    collated = values["COLLATE"].value if "COLLATE" in values else ""
    return charset_step(named, collated, False, alteration)


def time_to_live(option: syntax.TableOption, values: Values, alteration: Alteration) -> SubJobs:
    """Yield the sub-job of TTL options. Raises DdlError (TiDB: AlterTableTTLInfoOrEnable)."""
    target = alteration.target
    if target is None:
        yield SubJob(Action.ALTER_TTL_INFO)
        return
    table = target.table
    texts = {name: setting.value for name, setting in values.items()}
    new = build_ttl(texts)
    if new is not None:
        check_ttl(new.column, table, target)
    elif table.ttl is None:
        raise tidb_error("ddl:8150", "TTL_ENABLE" if "TTL_ENABLE" in values else "TTL_JOB_INTERVAL")
    else:
        new = replace(
            table.ttl,
            enabled=texts.get("TTL_ENABLE", "ON" if table.ttl.enabled else "OFF").upper() != "OFF",
            job_interval=texts.get("TTL_JOB_INTERVAL", table.ttl.job_interval),
        )
    yield SubJob(Action.ALTER_TTL_INFO, lambda before: replace(before, ttl=new))


def check_ttl(name: str, table: Table, target: TargetTable) -> None:
    """Raise DdlError for an invalid TTL column (TiDB: checkTTLInfoValid)."""
    if any(referring_keys(target.catalog, table.schema, table.name)):
        raise tidb_error("ddl:8152")
    column = existing_column(table, name, tidb_error("ddl:1054", name, "TTL config"))
    if family(column.type) not in ("date", "datetime"):
        raise tidb_error("ddl:8148", column.name)
    floats = {column.name for column in table.columns if family(column.type) == "float"}
    if table.clustered and not floats.isdisjoint(table.primary_key):
        raise error_with_text("ddl:8153", "Unsupported clustered primary key type FLOAT/DOUBLE for TTL")


def remove_ttl(spec: syntax.RemoveTtl, alteration: Alteration) -> SubJobs:
    if alteration.target is not None and alteration.target.table.ttl is None:
        yield "the table has no TTL: no job"
    else:
        yield SubJob(Action.ALTER_TTL_REMOVE, lambda before: replace(before, ttl=None))


def stored_option(option: syntax.TableOption, values: Values, alteration: Alteration) -> SubJobs:
    if alteration.target is not None:
        table = alteration.target.table
        if option.name == "SHARD_ROW_ID_BITS" and dict(table.options).get(option.name) == option.value:
            yield f"{option.name} is {option.value} already: no job"
            return
        check_stored_option(option, table)
    yield SubJob(KEPT_OPTION_ACTIONS[option.name], lambda before: with_option(before, option.name, option.value))


def check_stored_option(option: syntax.TableOption, table: Table) -> None:
    if option.name == "SHARD_ROW_ID_BITS" and table.clustered and option.value.strip("0"):
        raise unsupported_error("shard_row_id_bits for table with primary key as row id")
    if option.name == "AUTO_RANDOM_BASE" and not any(column.auto_random for column in table.columns):
        raise auto_random_error("alter auto_random_base of a non auto_random table")
    check_id_cache(option)
    if option.name == "AUTO_ID_CACHE" and (option.value == "1") != (dict(table.options).get(option.name) == "1"):
        raise error_with_text(
            "ddl:1105", "Can't Alter AUTO_ID_CACHE between 1 and non-1, the underlying implementation is different"
        )


def check_id_cache(option: syntax.TableOption) -> None:
    if option.name == "AUTO_ID_CACHE" and int(option.value) >= 1 << 63:
        raise error_with_text("ddl:1105", "table option auto_id_cache overflows int64")


def with_option(table: Table, name: str, value: str) -> Table:
    values = {**dict(table.options), name: value}
    return replace(table, options=tuple((option, values[option]) for option in STORED_OPTIONS if option in values))


def engine_attribute(option: syntax.TableOption, values: Values, alteration: Alteration) -> SubJobs:
    raise tidb_error("ddl:3981")


def engine(option: syntax.TableOption, values: Values, alteration: Alteration) -> SubJobs:
    if option.value.lower() not in ENGINES:
        raise tidb_error("ddl:1286", option.value)
    return ignored_option(option, values, alteration)


def ignored_option(option: syntax.TableOption, values: Values, alteration: Alteration) -> SubJobs:
    """Return the function of an option that TiDB accepts without a job."""
    yield f"{option.name} is accepted, no job"


def cache(spec: syntax.Cache, alteration: Alteration) -> SubJobs:
    """Yield the sub-job of CACHE or NOCACHE (TiDB: AlterTableCache)."""
    table, on = alteration.target.table if alteration.target else None, spec.on
    if table and table.cached == on:
        yield f"the table is {'' if on else 'not '}cached already: no job"
        return
    if table and on and table.partitioning is not None:
        raise tidb_error("ddl:8242", "partition mode")
    action = Action.ALTER_CACHE_TABLE if on else Action.ALTER_NO_CACHE_TABLE
    yield SubJob(action, lambda before: replace(before, cached=on))


KEPT_OPTION_ACTIONS = {
    "AUTO_INCREMENT": Action.REBASE_AUTO_ID,
    "AUTO_ID_CACHE": Action.MODIFY_TABLE_AUTO_ID_CACHE,
    "AUTO_RANDOM_BASE": Action.REBASE_AUTO_RANDOM_BASE,
    "SHARD_ROW_ID_BITS": Action.SHARD_ROW_ID,
}

OPTIONS: Mapping[str, Callable[[syntax.TableOption, Values, Alteration], SubJobs]] = {
    "COMMENT": comment,
    **dict.fromkeys(("CHARSET", "COLLATE"), charset),
    **dict.fromkeys(("TTL", "TTL_ENABLE", "TTL_JOB_INTERVAL"), time_to_live),
    **dict.fromkeys(KEPT_OPTION_ACTIONS, stored_option),
    "ENGINE": engine,
    "ROW_FORMAT": ignored_option,
    "ENGINE_ATTRIBUTE": engine_attribute,
    # set_options yields the sub-jobs of these, first and last
    **dict.fromkeys((*SOFT_DELETE_OPTIONS, "PLACEMENT POLICY"), lambda option, values, alteration: iter(())),
}


def convert_charset(spec: syntax.ConvertCharset, alteration: Alteration) -> SubJobs:
    """Yield the sub-job of CONVERT TO, which changes the table and all its text columns.

    To TiDB, DEFAULT is a charset without a name (GetCharsetAndCollateInTableOption).
    """
    if not spec.charset and alteration.target is not None:
        raise error_with_text("ddl:1105", "Unknown charset ")
    return charset_step(spec.charset, spec.collation, True, alteration)


def charset_step(name: str, collation: str, columns_too: bool, alteration: Alteration) -> SubJobs:
    """Yield the sub-job of another charset (TiDB: AlterTableCharsetAndCollate, checkAlterTableCharset)."""
    if name and ALIASES.get(name.lower(), name.lower()) not in CHARSETS:
        raise tidb_error("ddl:1115", name)
    if collation and collation.lower().partition("_")[0] not in (*CHARSETS, *ALIASES):
        raise tidb_error("ddl:1273", collation)
    target = alteration.target
    if target is None:
        yield SubJob(Action.MODIFY_TABLE_CHARSET_AND_COLLATE)
        return
    table = target.table
    database = target.catalog.database(table.schema)
    default = (database.charset, database.collation) if database else (table.charset, table.collation)
    with converting_errors("ddl:1253"):
        new = resolve_charset_and_collation(name, collation, default, f"table {table.name!r}")
    textual = [column.type for column in table.columns if column.type.charset != "binary"]
    if (table.charset, table.collation) == new and all((type.charset, type.collation) == new for type in textual):
        what = "the table and its columns have" if columns_too else "the table has"
        yield f"{what} this character set and collation: no job"
        return
    check_charset(table.charset, table.collation, *new)
    if columns_too:
        check_columns(table, new)
    yield SubJob(Action.MODIFY_TABLE_CHARSET_AND_COLLATE, lambda before: with_charset(before, new, columns_too))


def check_columns(table: Table, new: tuple[str, str]) -> None:
    """Raise DdlError for a column that cannot have the charset, and for a key that gets too long."""
    for column in table.columns:
        type = column.type
        if type.name == "varchar" and type.length > (most := 65535 // CHARSETS[new[0]][1]):
            raise tidb_error("types:1074", column.name, most)
        if type.charset == "binary":
            continue
        indexed = any(column.name in (part.name for part in index.columns) for index in table.indexes)
        if indexed and not order_alike(type.collation, new[1]):
            raise unsupported_error(
                f"converting collation of column '{column.name.lower()}' from"
                f" '{type.collation}' to '{new[1]}' when index is defined on it."
            )
        check_charset(type.charset, type.collation, *new)
    changed = with_charset(table, new, True)
    for index in table.indexes:
        # TiDB takes the length of a whole column for -1 here (checkIndexLengthWithNewCharset).
        check_index_parts((part for part in index.columns if part.length > 0), changed)


def with_charset(table: Table, new: tuple[str, str], columns_too: bool) -> Table:
    def converted(column: Column) -> Column:
        if not columns_too or family(column.type) not in ("string", "text", "enum", "set") or is_binary(column.type):
            return column
        return replace(column, type=replace(column.type, charset=new[0], collation=new[1]))

    return replace(table, charset=new[0], collation=new[1], columns=tuple(map(converted, table.columns)))


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
