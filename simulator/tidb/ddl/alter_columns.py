"""ALTER TABLE … ADD, DROP and RENAME COLUMN, and SET DEFAULT.

A new column gets the id after the highest that the table ever had; existing rows have its origin default. SET DEFAULT
affects new rows only (TiDB: pkg/ddl/add_column.go, pkg/ddl/column.go, pkg/ddl/executor.go).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from simulator.tidb import syntax
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.catalog import (
    check_length,
    dependency_error,
    existing_column,
    find_column,
    generation_columns,
    hidden_names,
    lower_names,
    part_names,
    partitioning_columns,
    place_after,
)
from simulator.tidb.ddl.column_definitions import (
    NARROWEST_CHARSET,
    build_checked_column,
    check_definition,
    column_default,
    origin_default,
)
from simulator.tidb.ddl.defaults import evaluate_default
from simulator.tidb.ddl.expressions import check_generated_functions
from simulator.tidb.ddl.foreign_keys import check_not_needed
from simulator.tidb.ddl.indexes import add_key
from simulator.tidb.ddl.key_checks import check_not_constrained
from simulator.tidb.ddl.session import AffectedNames, Alteration, SubJob, SubJobs, TargetTable
from simulator.tidb.errors import auto_random_error, error_with_text, tidb_error, unsupported_error
from simulator.tidb.model.table import Column, Index, Table

MAX_COLUMNS = 1017
UNSUPPORTED_OPTIONS = {"auto_increment": "AUTO_INCREMENT", "primary": "PRIMARY KEY", "unique": "UNIQUE KEY"}


def add_columns(spec: syntax.AddColumns, alteration: Alteration) -> SubJobs:
    """Yield a sub-job for each column, then for each key inside the parentheses."""
    for column in spec.columns:
        yield from add_column(column, spec, alteration)
    for key in spec.keys:
        yield from add_key(syntax.AddKey(key), alteration)


def add_column(definition: syntax.ColumnDefinition, spec: syntax.AddColumns, alteration: Alteration) -> SubJobs:
    target, place = alteration.target, spec.place
    placed = (place.after.lower(),) if place and place.after else ()
    if target is None:
        check_added_options(definition, alteration.name)
        check_definition(definition, NARROWEST_CHARSET, alteration.session)
        added = () if spec.if_not_exists else (definition.name.lower(),)
        yield SubJob(Action.ADD_COLUMN, affected=AffectedNames(added=added, placed=placed))
        return
    table = target.table
    if len(table.columns) >= MAX_COLUMNS:
        raise tidb_error("ddl:1117")
    check_added_options(definition, alteration.name)
    if find_column(table, definition.name) or definition.name.lower() in hidden_names(table):
        if spec.if_not_exists:
            yield f"Duplicate column name '{definition.name}': no job"
            return
        raise tidb_error("schema:1060", definition.name)
    check_name(definition.name)
    column = build_checked_column(definition, target, (table.charset, table.collation), alteration.session)
    check_added_generated(column, table, spec.place)
    column = replace(column, origin_default=origin_default(column, target.now, alteration.session))
    check_position(place, table)
    affected = AffectedNames(added=(definition.name.lower(),), placed=placed, related=tuple(generation_columns(column)))
    yield SubJob(Action.ADD_COLUMN, lambda before: with_column(before, column, place), affected)


def check_added_options(definition: syntax.ColumnDefinition, table: syntax.TableName) -> None:
    """Raise DdlError for keys, AUTO_INCREMENT and AUTO_RANDOM of a new column
    (TiDB: checkUnsupportedColumnConstraint)."""
    where = f"when altering '{table.schema}.{table.name}'"
    for option in definition.options:
        if option.kind in UNSUPPORTED_OPTIONS:
            text = f"unsupported add column '{definition.name}' constraint {UNSUPPORTED_OPTIONS[option.kind]} {where}"
            raise error_with_text("ddl:8200", text)
        if option.kind == "auto_random":
            raise auto_random_error(f"unsupported add column '{definition.name}' constraint AUTO_RANDOM {where}")


def check_added_generated(column: Column, table: Table, place: syntax.ColumnPosition | None) -> None:
    """Raise DdlError for a new generated column with an invalid expression, or that is stored."""
    if not column.generated:
        return
    check_generated_functions(column.name, column.generated_expression)
    if column.generated == "stored":
        raise tidb_error("ddl:3106", "Adding generated stored column through ALTER TABLE")
    check_not_counting(column, table)
    check_generation_order((*table.columns, column), {column.name.lower(): new_position(table, place)})


def check_not_counting(column: Column, table: Table) -> None:
    """Raise DdlError for a generated column that depends on AUTO_INCREMENT (TiDB: checkAutoIncrementRef)."""
    if any(base.auto_increment and base.name.lower() in generation_columns(column) for base in table.columns):
        raise tidb_error("ddl:3109", column.name)


def new_position(table: Table, place: syntax.ColumnPosition | None) -> int:
    """Return the position of a new column, the last one if that of AFTER does not exist."""
    if place is None or place.after and find_column(table, place.after) is None:
        return len(table.columns)
    return place_after(table, place.after)


def check_generation_order(columns: Sequence[Column], moved: Mapping[str, int] = MappingProxyType({})) -> None:
    """Raise DdlError for a generated column that depends on an unknown column, or on a generated one that is not before
    it; `moved` are the positions of columns that are not at theirs (TiDB: verifyColumnGeneration)."""
    places = {column.name.lower(): place for place, column in enumerate(columns)} | dict(moved)
    depends = {column.name.lower(): generation_columns(column) for column in columns if column.generated}
    for name, needed in depends.items():
        for other in sorted(needed):
            if other not in places:
                raise tidb_error("ddl:1054", other, "generated column function")
            if other in depends and places[other] >= places[name]:
                raise tidb_error("ddl:3107")


def check_position(place: syntax.ColumnPosition | None, table: Table) -> None:
    if place and place.after and find_column(table, place.after) is None:
        raise tidb_error("schema:1054", place.after, table.name)


def with_column(table: Table, column: Column, place: syntax.ColumnPosition | None) -> Table:
    """Return the table with the column at its position, by default the last, and with the next id."""
    at = len(table.columns) if place is None else place_after(table, place.after)
    ids = replace(table.last_ids, column=last_column_id(table) + 1)
    columns = (*table.columns[:at], replace(column, id=ids.column), *table.columns[at:])
    return replace(table, columns=columns, last_ids=ids)


def last_column_id(table: Table) -> int:
    return max(table.last_ids.column, *(existing.id for existing in table.columns), 0)


def drop_column(spec: syntax.DropColumn, alteration: Alteration) -> SubJobs:
    """Yield the sub-job of DROP COLUMN, which drops keys of the column alone, too. Raises DdlError."""
    target, name = alteration.target, spec.name.lower()
    if target is not None:
        column = find_column(target.table, name)
        if column is None:
            if spec.if_exists:
                yield f"Can't DROP '{spec.name}'; check that column/key exists: no job"
                return
            raise tidb_error("ddl:1091", spec.name)
        check_droppable(column, target)
        if column.auto_increment and not alteration.session.remove_auto_increment:
            raise unsupported_error(
                "can't remove column with auto_increment when @@tidb_allow_remove_auto_inc disabled"
            )
    yield SubJob(Action.DROP_COLUMN, lambda before: without_column(before, name), AffectedNames(dropped=(name,)))


def check_droppable(column: Column, target: TargetTable) -> None:
    """Raise DdlError for a column that cannot be dropped (TiDB: checkIsDroppableColumn)."""
    table, name = target.table, column.name.lower()
    if error := dependency_error(table, name):
        raise error
    if len(table.columns) == 1:
        raise error_with_text("ddl:1090", f"can't drop only column {column.name} in table {table.name}")
    for index in (*table.indexes, *table.columnar_indexes):
        parts, columnar = part_names(index), index in table.columnar_indexes
        if name in parts and (columnar or index.primary or len(parts) > 1):
            what = "Vector Key covered now" if columnar else "composite index covered or Primary Key covered now"
            raise error_with_text("ddl:8200", f"can't drop column {name} with {what}")
    if name in partitioning_columns(table.partitioning):
        raise tidb_error("ddl:3855", name)
    check_not_constrained(name, table, alone=False)
    check_not_needed(column, target)
    if table.ttl and table.ttl.column.lower() == name:
        raise tidb_error("ddl:8149", name)
    if name in lower_names(table.primary_key):
        raise unsupported_error("drop integer primary key")


def without_column(table: Table, name: str) -> Table:
    """Return the table without the column and the keys of it alone."""
    indexes = tuple(index for index in table.indexes if part_names(index) != (name,))
    columns = tuple(column for column in table.columns if column.name.lower() != name)
    ids = replace(table.last_ids, column=last_column_id(table))
    return replace(table, columns=columns, indexes=indexes, last_ids=ids)


def rename_column(spec: syntax.RenameColumn, alteration: Alteration) -> SubJobs:
    target, old, new = alteration.target, spec.old, spec.new
    if target is not None and find_column(target.table, old) is None:
        raise tidb_error("schema:1054", old, target.table.name)
    if old.lower() == new.lower():
        yield "the column has that name: no job"
        return
    if target is not None:
        check_not_constrained(old, target.table, alone=True)
        check_rename(old, new, target.table)
        if old.lower() in partitioning_columns(target.table.partitioning):
            raise tidb_error("ddl:3855", old.lower())
    affected = AffectedNames(added=(new.lower(),), dropped=(old.lower(),))
    yield SubJob(Action.MODIFY_COLUMN, lambda before: with_renamed_column(before, old, new), affected, {old: new})


def check_rename(old: str, new: str, table: Table) -> None:
    """Raise DdlError for a taken new name, and for an old name in an expression."""
    if new.lower() == "_tidb_rowid":
        raise tidb_error("ddl:1166", new.lower())
    if find_column(table, new):
        raise tidb_error("schema:1060", new)
    if error := dependency_error(table, old):
        raise error
    check_name(new)


def with_renamed_column(table: Table, old: str, new: str) -> Table:
    """Return the table with the column renamed, also in keys, foreign keys and TTL."""

    def name(name_before: str) -> str:
        return new if name_before.lower() == old.lower() else name_before

    def index(before: Index) -> Index:
        return replace(before, columns=tuple(replace(part, name=name(part.name)) for part in before.columns))

    return replace(
        table,
        columns=tuple(replace(column, name=name(column.name)) for column in table.columns),
        indexes=tuple(map(index, table.indexes)),
        columnar_indexes=tuple(map(index, table.columnar_indexes)),
        primary_key=tuple(map(name, table.primary_key)),
        foreign_keys=tuple(replace(key, columns=tuple(map(name, key.columns))) for key in table.foreign_keys),
        ttl=table.ttl and replace(table.ttl, column=name(table.ttl.column)),
    )


def alter_default(spec: syntax.AlterDefault, alteration: Alteration) -> SubJobs:
    affected = AffectedNames(modified=(spec.column.lower(),))
    if alteration.target is None:
        yield SubJob(Action.SET_DEFAULT_VALUE, affected=affected)
        return
    table = alteration.target.table
    column = existing_column(table, spec.column, tidb_error("ddl:1054", spec.column, table.name))
    if spec.default and column.auto_random:
        raise auto_random_error("auto_random is incompatible with default")
    value, is_expression = None, False
    if spec.default:
        value, is_expression = column_default(evaluate_default(spec.default, column.name), column, alteration.session)
        if value is None and column.not_null:
            raise tidb_error("types:1067", column.name)
    name, dropped = column.name, spec.default is None

    def changed(column: Column) -> Column:
        if column.name != name:
            return column
        return replace(column, default=value, default_expression=is_expression, default_dropped=dropped)

    def apply(before: Table) -> Table:
        return replace(before, columns=tuple(map(changed, before.columns)))

    yield SubJob(Action.SET_DEFAULT_VALUE, apply, affected)


def check_name(name: str) -> None:
    check_length(name)
    if not name or name != name.rstrip() or name.lower() == "_tidb_rowid":
        raise tidb_error("ddl:1166", name)


def check_auto_random_type(name: str) -> None:
    if name != "bigint":
        raise auto_random_error(f"auto_random option must be defined on `bigint` column, but not on `{name}` column")
