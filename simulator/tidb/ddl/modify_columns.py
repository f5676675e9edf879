"""ALTER TABLE … MODIFY and CHANGE COLUMN.

The new definition replaces the old one except for its keys. Checks are in TiDB's order, since the first that fails
gives the error (TiDB v8.5: pkg/ddl/modify_column.go, GetModifiableColumnJob; pkg/ddl/foreign_key.go,
pkg/ddl/generated_column.go).
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb import syntax
from simulator.tidb.ddl import Action
from simulator.tidb.ddl.alter_columns import (
    check_auto_random_type,
    check_generation_order,
    check_not_counting,
    check_rename,
    new_position,
    with_renamed_column,
)
from simulator.tidb.ddl.catalog import (
    dependency_error,
    existing_column,
    find_column,
    last_index_id,
    lower_names,
    normalize,
    part_names,
    partitioning_columns,
    place_after,
)
from simulator.tidb.ddl.column_definitions import (
    NARROWEST_CHARSET,
    build_checked_column,
    check_definition,
    column_default,
)
from simulator.tidb.ddl.expressions import check_generated_functions
from simulator.tidb.ddl.foreign_keys import referring_keys
from simulator.tidb.ddl.key_checks import check_index_parts
from simulator.tidb.ddl.session import AffectedNames, Alteration, Session, SubJob, SubJobs, TargetTable
from simulator.tidb.errors import auto_random_error, error_with_text, tidb_error, unsupported_error
from simulator.tidb.model.table import Column, Index, IndexColumn, Table
from simulator.tidb.model.types import (
    bare_name,
    can_reorganize,
    family,
    is_convertible,
    is_text,
    needs_reorganization,
    type_arguments,
)

REFUSED_OPTIONS = {
    "primary": "can't change column constraint (PRIMARY KEY)",
    "unique": "can't change column constraint (UNIQUE KEY)",
    "references": "Unsupported modify column: can't modify with references",
    "check": "Unsupported modify column: can't modify with check",
}

KEPT_CHARSETS = {("utf8", "utf8mb4"), ("utf8", "utf8"), ("utf8mb4", "utf8mb4"), ("latin1", "utf8mb4")}
"""Changes of charsets that do not rewrite the rows."""

ALIKE = (
    ("utf8mb4_general_ci", "utf8_general_ci"),
    ("utf8mb4_unicode_ci", "utf8_unicode_ci"),
    ("utf8mb4_bin", "utf8_bin", "latin1_bin"),
)
"""Collations of the same order."""


def modify_column(spec: syntax.ModifyColumn, alteration: Alteration) -> SubJobs:
    check_qualifier(spec.column.qualifier, alteration.name)
    return redefine_column(spec.column.name, spec.column, spec.place, spec.if_exists, alteration)


def change_column(spec: syntax.ChangeColumn, alteration: Alteration) -> SubJobs:
    check_qualifier(spec.column.qualifier, alteration.name)
    check_qualifier(spec.qualifier, alteration.name)
    return redefine_column(spec.old, spec.column, spec.place, spec.if_exists, alteration)


def check_qualifier(qualifier: str, table: syntax.TableName) -> None:
    schema, _, name = qualifier.rpartition(".")
    if schema and schema.lower() != table.schema.lower():
        raise tidb_error("ddl:1102", schema)
    if name and name.lower() != table.name.lower():
        raise tidb_error("ddl:1103", name)


def redefine_column(
    name: str,
    definition: syntax.ColumnDefinition,
    place: syntax.ColumnPosition | None,
    if_exists: bool,
    alteration: Alteration,
) -> SubJobs:
    target, affected = alteration.target, affected_names(name, definition.name, place)
    if target is None:
        check_options(definition)
        check_definition(definition, NARROWEST_CHARSET, alteration.session)
        yield SubJob(Action.MODIFY_COLUMN, affected=affected)
        return
    table = target.table
    old = find_column(table, name)
    if old is None:
        if if_exists:
            yield f"Unknown column '{name}' in '{table.name}': no job"
            return
        raise tidb_error("schema:1054", name, table.name)
    if definition.name.lower() != name.lower():
        check_rename(name, definition.name, table)
    new = build_redefined(old, definition, target, alteration.session)
    check_redefined(old, new, place, target, alteration.session)
    check_position(old, place, table)
    names = {old.name: new.name} if old.name != new.name else {}
    rewritten = needs_reorganization(old.type, new.type)

    def apply(before: Table) -> Table:
        return with_redefined_column(before, old.name, new, place, rewritten)

    yield SubJob(Action.MODIFY_COLUMN, apply, affected, names)


def affected_names(old: str, new: str, place: syntax.ColumnPosition | None) -> AffectedNames:
    placed = (place.after.lower(),) if place and place.after else ()
    if old.lower() == new.lower():
        return AffectedNames(modified=(old.lower(),), placed=placed)
    return AffectedNames(added=(new.lower(),), dropped=(old.lower(),), placed=placed)


def check_options(definition: syntax.ColumnDefinition) -> None:
    """Raise DdlError for keys in the new definition (TiDB: ProcessModifyColumnOptions)."""
    for option in definition.options:
        if option.kind in REFUSED_OPTIONS:
            raise error_with_text("ddl:8200", REFUSED_OPTIONS[option.kind])


def build_redefined(old: Column, definition: syntax.ColumnDefinition, target: TargetTable, session: Session) -> Column:
    """Return the column of the new definition, which is NOT NULL in a primary key."""
    table = target.table
    check_options(definition)
    primary = old.name in table.primary_key
    new = build_checked_column(definition, target, (table.charset, table.collation), session)
    if (
        definition.default
        and (primary or definition.null is False)
        and column_default(definition.default, new, session)[0] is None
    ):
        raise tidb_error("types:1067", new.name)
    if primary and definition.null:
        raise tidb_error("ddl:1171")
    rewritten = needs_reorganization(old.type, new.type)
    return replace(
        new,
        id=old.id,
        not_null=primary or definition.null is False,
        origin_default=new.default if rewritten and not new.default_expression else old.origin_default,
    )


def check_redefined(
    old: Column, new: Column, place: syntax.ColumnPosition | None, target: TargetTable, session: Session
) -> None:
    table = target.table
    primary = old.name in table.primary_key
    check_foreign_keys(old, new, target)
    check_change(old, new, primary, any(has_column(index, old) for index in table.indexes))
    if needs_reorganization(old.type, new.type):
        check_reorganized(old, new, table)
    check_partitioning(old, new, table)
    check_auto_increment(old, new, session)
    check_keys(old, new, table)
    check_generation(old, new, place, table)
    if table.ttl and table.ttl.column.lower() == old.name.lower() and family(new.type) not in ("date", "datetime"):
        raise tidb_error("ddl:8148", new.name)
    check_auto_random(old, new, primary and table.clustered)


def check_change(before: Column, after: Column, primary: bool, indexed: bool) -> None:
    """Raise DdlError for a change that TiDB does not support.

    `primary` is whether the column is part of the primary key, `indexed` whether it is in any index.
    """
    old, new = before.type, after.type
    if not is_convertible(old, new):
        texts = [bare_name(type) + type_arguments(type) for type in (old, new)]
        change = f"change from original type {texts[0]} to {texts[1]} is currently unsupported yet"
        raise unsupported_error(f"modify column: [ddl:8200]Unsupported modify column: {change}")
    reorganized = can_reorganize(old, new)
    if primary and (reorganized or needs_reorganization(old, new)):
        raise unsupported_error("modify column: this column has primary key flag")
    if reorganized and "gbk" not in (old.charset, new.charset):
        return
    if indexed and not order_alike(old.collation, new.collation):
        raise unsupported_error(
            f"modifying collation of column '{before.name.lower()}' from"
            f" '{old.collation}' to '{new.collation}' when index is defined on it."
        )
    check_charset(old.charset, old.collation, new.charset, new.collation)


def check_charset(charset: str, collation: str, to_charset: str, to_collation: str) -> None:
    """Raise DdlError for an unsupported change of charset or collation (checkModifyCharsetAndCollation)."""
    if (charset, to_charset) in KEPT_CHARSETS:
        return
    if charset != to_charset:
        raise unsupported_error(f"modify charset from {charset} to {to_charset}")
    if collation != to_collation:
        raise unsupported_error(f"modify change collate from {collation} to {to_collation}")


def order_alike(collation: str, other: str) -> bool:
    return collation == other or any(collation in group and other in group for group in ALIKE)


def check_position(old: Column, place: syntax.ColumnPosition | None, table: Table) -> None:
    if place and place.after.lower() == old.name.lower():
        raise tidb_error("schema:1054", old.name, table.name)
    if place and place.after:
        existing_column(table, place.after, tidb_error("schema:1054", place.after, table.name))


def with_redefined_column(
    table: Table, old: str, new: Column, place: syntax.ColumnPosition | None, rewritten: bool
) -> Table:
    """Return the table with the column redefined, renamed and moved; `rewritten` rows mean new keys, too."""
    changed = with_renamed_column(table, old, new.name) if old != new.name else table
    if rewritten:
        changed = with_new_keys(changed, new)
    if place is None:
        columns = tuple(new if column.name == new.name else column for column in changed.columns)
        return replace(changed, columns=columns)
    others = replace(changed, columns=tuple(column for column in changed.columns if column.name != new.name))
    at = place_after(others, place.after)
    return replace(others, columns=(*others.columns[:at], new, *others.columns[at:]))


def with_new_keys(table: Table, column: Column) -> Table:
    """Return the table with new ids for the keys of the column, of which they keep the prefixes that its type has (TiDB:
    onModifyColumn, SetIdxColNameOffset)."""
    last = last_index_id(table)
    rebuilt = [index.id for index in table.indexes if column.name in (part.name for part in index.columns)]
    ids = {id: last + number for number, id in enumerate(rebuilt, 1)}
    indexes = tuple(
        replace(
            index,
            id=ids[index.id],
            columns=tuple(replace(part, length=prefix_length(part, column, column)) for part in index.columns),
        )
        if index.id in ids
        else index
        for index in table.indexes
    )
    return replace(table, indexes=indexes, last_ids=replace(table.last_ids, index=last + len(ids)))


def has_column(index: Index, column: Column) -> bool:
    return column.name.lower() in part_names(index)


def check_foreign_keys(old: Column, new: Column, target: TargetTable) -> None:
    """Raise DdlError for another type or a smaller length in a foreign key (isAcceptableForeignKeyColumnChange)."""
    before, after = old.type, new.type
    table, name = target.table, old.name.lower()
    longer = family(before) == "integer" or family(before) != "decimal" and after.length >= before.length
    same = (before.name, before.length, before.decimal) == (after.name, after.length, after.decimal)
    if same or before.name == after.name and longer:
        return
    for foreign in table.foreign_keys:
        for column, refers in zip(lower_names(foreign.columns), foreign.references):
            if column == name and before.name != after.name:
                raise tidb_error("ddl:3780", new.name, refers, foreign.name)
            if column == name:
                raise tidb_error("ddl:1832", old.name, foreign.name)
    for child, foreign in referring_keys(target.catalog, table.schema, table.name):
        for column, refers in zip(foreign.columns, lower_names(foreign.references)):
            if refers == name and before.name != after.name:
                raise tidb_error("ddl:3780", column, old.name, foreign.name)
            if refers == name:
                raise tidb_error("ddl:1833", old.name, foreign.name, f"{child.schema.lower()}.{child.name.lower()}")


def check_reorganized(old: Column, new: Column, table: Table) -> None:
    if old.generated or new.generated or dependency_error(table, old.name):
        raise unsupported_error("modify column: column has related generated column")
    if table.partitioning is not None:
        raise unsupported_error("modify column: table is partition table")
    if any(has_column(index, old) for index in table.columnar_indexes):
        raise unsupported_error("modify column: vector indexes on the column")


def check_partitioning(old: Column, new: Column, table: Table) -> None:
    """Raise DdlError for a change of a partitioning column, except for a larger length."""
    if old.name.lower() not in partitioning_columns(table.partitioning):
        return
    assert table.partitioning is not None
    if old.name.lower() != new.name.lower():
        raise tidb_error("ddl:3855", old.name.lower())
    if not table.partitioning.columns and new.type.length < old.type.length:
        raise unsupported_error(
            "modify column, decreasing length of int may result in truncation and change of partition"
        )
    if partition_properties(old) != partition_properties(new):
        raise unsupported_error(
            "modify column: can't change the partitioning column, since it would require reorganize all partitions"
        )


def partition_properties(column: Column) -> tuple[object, ...]:
    """Return the properties of a partitioning column that cannot change."""
    type = column.type
    return family(type), type.unsigned, type.charset, type.collation, column.not_null


def check_auto_increment(old: Column, new: Column, session: Session) -> None:
    if new.auto_increment and not old.auto_increment:
        raise unsupported_error("modify column: can't set auto_increment")
    if new.auto_increment and new.default is not None:
        raise tidb_error("ddl:1067", new.name)
    removed = old.auto_increment and not new.auto_increment and not new.auto_random
    if removed and not session.remove_auto_increment:
        what = "can't remove auto_increment without @@tidb_allow_remove_auto_inc enabled"
        raise unsupported_error(f"modify column: {what}")


def check_keys(old: Column, new: Column, table: Table) -> None:
    """Raise DdlError if a key cannot have the new column (checkColumnWithIndexConstraint)."""
    columns = tuple(replace(new, name=old.name) if column.name == old.name else column for column in table.columns)
    changed = replace(table, columns=columns)
    for index in sorted(table.indexes, key=lambda index: not index.primary):
        if has_column(index, old):
            parts = (replace(part, length=prefix_length(part, old, new)) for part in index.columns)
            check_index_parts(parts, changed)


def prefix_length(part: IndexColumn, old: Column, new: Column) -> int:
    """Return the prefix length of the column in a key; -1 if the new type has no prefixes or is not longer."""
    longer = new.type.length < 0 or new.type.length > part.length
    stays = part.name.lower() != old.name.lower() or is_text(new.type) and longer
    return part.length if stays else -1


def check_generation(old: Column, new: Column, place: syntax.ColumnPosition | None, table: Table) -> None:
    """Raise DdlError for an invalid change of a generated column, or of one that others depend on (TiDB:
    checkModifyGeneratedColumn)."""
    if (old.generated == "virtual") != (new.generated == "virtual"):
        raise tidb_error("ddl:3106", "Changing the STORED status")
    moved = {} if place is None else {new.name.lower(): new_position(table, place)}
    check_generation_order([new if column is old else column for column in table.columns], moved)
    if new.generated:
        check_generated_functions(new.name, new.generated_expression)
        check_not_counting(new, table)
        if normalize(old.generated_expression) != normalize(new.generated_expression):
            if new.generated == "stored":
                raise tidb_error("ddl:3106", "modifying a stored column")
            if any(has_column(index, old) for index in table.indexes):
                raise tidb_error("ddl:3106", "modifying an indexed column")
    if error := dependency_error(table, old.name):
        raise tidb_error("ddl:3106", str(error).replace("] ", "]", 1))


def check_auto_random(old: Column, new: Column, clustered: bool) -> None:
    """Raise DdlError unless AUTO_RANDOM replaces AUTO_INCREMENT or gains shard bits (TiDB: checkAutoRandom)."""
    if old.shard_bits == new.shard_bits == 0:
        return
    if old.shard_bits == 0 and not (old.auto_increment and clustered):
        raise auto_random_error("auto_random can only be converted from auto_increment clustered primary key")
    if new.shard_bits == 0:
        raise auto_random_error("adding/dropping/modifying auto_random is not supported")
    if new.shard_bits < old.shard_bits:
        raise auto_random_error("decreasing auto_random shard bits is not supported")
    check_auto_random_type(new.type.name)
    if old.type.name != new.type.name:
        raise auto_random_error("modifying the auto_random column type is not supported")
