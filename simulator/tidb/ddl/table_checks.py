"""Checks of the definition of a new table: columns, keys, options and names, in TiDB's order (TiDB: pkg/ddl/ddl_api.go,
BuildTableInfoWithStmt, checkTableInfoValidWithStmt, checkTableInfoValidExtra).
"""

from __future__ import annotations

from collections.abc import Sequence

from simulator.tidb import syntax
from simulator.tidb.ddl.alter_columns import MAX_COLUMNS
from simulator.tidb.ddl.catalog import check_length, column_names, existing_column, first_repeated, qualified_names
from simulator.tidb.ddl.column_definitions import (
    MAX_COMMENT_BYTES,
    check_charset_name,
    check_collation,
    check_definition,
)
from simulator.tidb.ddl.expressions import check_generated_functions
from simulator.tidb.ddl.foreign_keys import check_new_foreign_key
from simulator.tidb.ddl.index_parts import check_expressions, check_parts
from simulator.tidb.ddl.indexes import MAX_KEYS
from simulator.tidb.ddl.key_definitions import INDEX_KINDS, all_keys, key_names, with_not_null
from simulator.tidb.ddl.session import Session
from simulator.tidb.ddl.table_definitions import build_column
from simulator.tidb.errors import auto_random_error, converting_errors, error_with_text, tidb_error, unsupported_error
from simulator.tidb.model.table import Table
from simulator.tidb.model.types import CHARSETS, family

SHARD_BITS, RANGE_BITS = 5, 64
MOST_SHARD_BITS = 15
LEAST_RANGE_BITS = 32
LEAST_BITS = 27
"""Bits of the incremental part."""


def check_charset(definition: syntax.CreateTable, default: tuple[str, str], session: Session) -> tuple[str, str]:
    """Return the charset and collation of the table, by default those of its database. Raises DdlError (TiDB:
    GetCharsetAndCollateInTableOption)."""
    charset, collated = "", ""
    for option in definition.options:
        if option.default:
            continue
        if option.name == "CHARSET":
            check_charset_name(option.value, session)
            if charset and charset != option.value:
                raise tidb_error("ddl:1302", charset, option.value)
            charset, collated = option.value, collated or CHARSETS[option.value][0]
        elif option.name == "COLLATE":
            charset_of_collation = option.value.partition("_")[0]
            check_collation(option.value)
            check_charset_name(charset_of_collation, session)
            if charset and charset != charset_of_collation:
                raise tidb_error("ddl:1253", option.value, charset)
            charset, collated = charset_of_collation, option.value
    return (charset, collated) if charset else default


def check_columns(definition: syntax.CreateTable, charset: tuple[str, str], session: Session) -> None:
    primary = {part.column.lower() for key in definition.keys if key.kind == "primary" for part in key.parts}
    for column in definition.columns:
        check_definition(column, charset, session, column.name.lower() in primary)


def check_keys(definition: syntax.CreateTable, charset: tuple[str, str], schema: str, session: Session) -> None:
    """Check the names of keys, then keys of the table, then keys of columns (TiDB: checkConstraintNames,
    BuildTableInfo)."""
    keys = all_keys(definition)
    check_constraint_names(keys)
    names = key_names(keys)
    with converting_errors("ddl:1105"):
        columns = tuple(build_column(column, charset, "") for column in definition.columns)
    primary = {part.column.lower() for key in keys if key.kind == "primary" for part in key.parts}
    columns = with_not_null(columns, [column.name for column in columns if column.name.lower() in primary])
    table = Table(schema, definition.name, columns, temporary=definition.temporary)
    foreign: list[str] = []
    for key in keys:
        if key.kind == "foreign":
            foreign.append(key.name.lower() or f"fk_{len(foreign) + 1}")
            if foreign[-1] in foreign[:-1]:
                raise tidb_error("schema:1215")
            check_new_foreign_key(key, len(foreign), table)
        else:
            check_key(key, names[id(key)], table, session)
    used_names = {names[id(key)].lower() for key in keys if key.kind != "foreign"}
    check_foreign_indexes(keys, used_names, table)


def check_constraint_names(keys: Sequence[syntax.KeyDefinition]) -> None:
    """Raise DdlError for duplicate names (TiDB: checkDuplicateConstraint)."""
    used_names: dict[bool, set[str]] = {True: set(), False: set()}
    for key in keys:
        is_foreign = key.kind == "foreign"
        if key.name and key.name.lower() in used_names[is_foreign]:
            raise tidb_error({"foreign": "ddl:1826", "check": "ddl:3822"}.get(key.kind, "ddl:1061"), key.name)
        used_names[is_foreign].add(key.name.lower())


def check_key(key: syntax.KeyDefinition, name: str, table: Table, session: Session) -> None:
    if key.kind in ("check", "fulltext", "spatial"):
        return
    check_expressions(key, table, name)
    if key.options.clustered is not None and key.kind != "primary":
        raise error_with_text("ddl:8200", "CLUSTERED/NONCLUSTERED keyword is only supported for primary key")
    if key.kind == "primary" and check_primary_key(key, table):
        return
    if key.kind != "primary":
        check_length(name)
    if key.kind in INDEX_KINDS:
        check_parts(key, table, name, session.is_strict)
    if session.is_strict and len((key.options.comment or "").encode()) > MAX_COMMENT_BYTES:
        raise tidb_error("ddl:1688", "PRIMARY" if key.kind == "primary" else name)


def check_primary_key(key: syntax.KeyDefinition, table: Table) -> bool:
    """Check a primary key; return whether it is one clustered integer column, and so no index."""
    for part in key.parts:
        if part.expression:
            raise tidb_error("ddl:3756")
        column = existing_column(table, part.column, tidb_error("ddl:1072", part.column))
        if column.generated == "virtual":
            raise tidb_error("ddl:3106", "Defining a virtual generated column as primary key")
    clustered = key.options.clustered is not False
    if clustered and key.options.visible is False:
        raise tidb_error("ddl:3522")
    return clustered and len(key.parts) == 1 and column is not None and family(column.type) == "integer"


def check_foreign_indexes(keys: Sequence[syntax.KeyDefinition], used_names: set[str], table: Table) -> None:
    """Check the name and columns of the index that a foreign key gets (TiDB: addIndexForForeignKey)."""
    indexed = (key.parts for key in keys if key.kind in INDEX_KINDS)
    beginnings = [tuple(part.column.lower() if part.length < 0 else "" for part in parts) for parts in indexed]
    for number, key in enumerate((key for key in keys if key.kind == "foreign"), 1):
        columns = tuple(part.column.lower() for part in key.parts)
        if any(columns == beginning[: len(columns)] for beginning in beginnings):
            continue
        name = key.name or f"fk_{number}"
        if name.lower() in used_names:
            raise error_with_text("ddl:1061", f"duplicate key name {name}")
        check_parts(syntax.KeyDefinition("key", name, key.parts), table)
        used_names.add(name.lower())
        beginnings.append(columns)


def check_on_commit(definition: syntax.CreateTable) -> None:
    if definition.temporary == "global" and not definition.on_commit_delete:
        raise error_with_text("ddl:8200", "TiDB doesn't support ON COMMIT PRESERVE ROWS for now")


def check_options(definition: syntax.CreateTable, session: Session) -> None:
    """Check table options (TiDB: setTemporaryType, setTableAutoRandomBits, handleTableOptions)."""
    check_on_commit(definition)
    handle = handle_key(definition)
    check_auto_random(definition, handle)
    options = {option.name: option.value for option in definition.options}
    for option in definition.options:
        if option.name == "SHARD_ROW_ID_BITS" and option.value.strip("0") and handle is not None:
            raise unsupported_error("shard_row_id_bits for table with primary key as row id")
        if option.name == "PRE_SPLIT_REGIONS" and definition.temporary:
            raise tidb_error("planner:8006", "pre split regions")
        if option.name == "AUTO_ID_CACHE" and int(option.value) >= 1 << 63:
            raise error_with_text("ddl:1105", "table option auto_id_cache overflows int64")
        if option.name in ("TTL_ENABLE", "TTL_JOB_INTERVAL") and "TTL" not in options:
            raise tidb_error("ddl:8150", "TTL_ENABLE" if "TTL_ENABLE" in options else "TTL_JOB_INTERVAL")
    if session.is_strict and len(options.get("COMMENT", "").encode()) > 2 * MAX_COMMENT_BYTES:
        raise tidb_error("ddl:1628", definition.name.lower())


def handle_key(definition: syntax.CreateTable) -> syntax.KeyDefinition | None:
    return next(
        (key for key in all_keys(definition) if key.kind == "primary" and key.options.clustered is not False), None
    )


def check_generated_columns(definition: syntax.CreateTable, schema: str) -> None:
    """Check the expressions of generated columns, which may depend on earlier generated columns only (TiDB:
    checkGeneratedColumn, verifyColumnGeneration)."""
    places = {column.name.lower(): place for place, column in enumerate(definition.columns)}
    counting = next((column.name.lower() for column in reversed(definition.columns) if column.auto_increment), "")
    depends = {}
    for column in definition.columns:
        if column.generated:
            expression = column.text("generated")
            check_generated_functions(column.name, expression)
            check_names(expression, schema, definition.name)
            depends[column.name.lower()] = column_names(expression)
    for name, needed in depends.items():
        if counting in needed:
            raise tidb_error("ddl:3109", name)
    for name, needed in depends.items():
        for other in sorted(needed):
            if other not in places:
                raise tidb_error("ddl:1054", other, "generated column function")
            if other in depends and places[other] >= places[name]:
                raise tidb_error("ddl:3107")


def check_names(expression: str, schema: str, table: str) -> None:
    """Raise DdlError for a column name qualified with another table (TiDB: findDependedColumnNames)."""
    for parts in qualified_names(expression):
        if len(parts) > 2 and parts[-3].lower() != schema.lower():
            raise tidb_error("ddl:1102", parts[-3])
        if len(parts) > 1 and parts[-2].lower() != table.lower():
            raise tidb_error("ddl:1103", parts[-2])


def check_limits(definition: syntax.CreateTable, table: Table) -> None:
    """Raise DdlError for long names and too many columns or keys (TiDB: checkTableInfoValidExtra)."""
    check_length(definition.name)
    for column in definition.columns:
        check_length(column.name)
    hidden = sum(bool(part.expression) for index in table.indexes for part in index.columns)
    if len(table.columns) + hidden > MAX_COLUMNS:
        raise tidb_error("ddl:1117")
    if len(table.indexes) > MAX_KEYS:
        raise tidb_error("ddl:1069", MAX_KEYS)
    if any(index.primary and not index.visible for index in table.indexes):
        raise tidb_error("ddl:3522")


def check_same_names(definition: syntax.CreateTable) -> None:
    if name := first_repeated(column.name for column in definition.columns):
        raise tidb_error("schema:1060", name)


def check_auto_random(definition: syntax.CreateTable, handle: syntax.KeyDefinition | None) -> None:
    """Raise DdlError 8216; `handle` is the clustered primary key (TiDB: setTableAutoRandomBits; pkg/meta/autoid)."""
    for column in definition.columns:
        option = column.option("auto_random")
        if option is None:
            continue
        if column.type.name != "bigint":
            raise auto_random_error(
                f"auto_random option must be defined on `bigint` column, but not on `{column.type.name}` column"
            )
        if handle is None:
            raise auto_random_error("auto_random is only supported on the tables with clustered primary key")
        if handle.parts[0].column.lower() != column.name.lower():
            raise auto_random_error(f"column '{column.name}' must be the first column in primary key")
        if column.auto_increment:
            raise auto_random_error("auto_random is incompatible with auto_increment")
        if column.default is not None:
            raise auto_random_error("auto_random is incompatible with default")
        check_bits(column, option.numbers)


def check_bits(column: syntax.ColumnDefinition, numbers: tuple[int, ...]) -> None:
    shard = numbers[0] if numbers else SHARD_BITS
    bits = numbers[1] if len(numbers) > 1 else RANGE_BITS
    if shard == 0:
        raise auto_random_error("the value of auto_random should be positive")
    if shard > MOST_SHARD_BITS:
        raise auto_random_error(
            f"max allowed auto_random shard bits is {MOST_SHARD_BITS}, but got {shard} on column `{column.name}`"
        )
    if not LEAST_RANGE_BITS <= bits <= RANGE_BITS:
        raise auto_random_error(
            f"auto_random range bits must be between {LEAST_RANGE_BITS} and {RANGE_BITS}, but got {bits}"
        )
    if bits - shard - (not column.type.unsigned) < LEAST_BITS:
        raise auto_random_error(
            "auto_random ID space is too small, please decrease the shard bits or increase the range bits"
        )
