"""What TiDB refuses of a column's new definition.

One law: the order of the checks is TiDB's, since the first that fails is what the user reads (TiDB v8.5:
pkg/ddl/modify_column.go, pkg/ddl/foreign_key.go, pkg/ddl/generated_column.go).
"""

from __future__ import annotations

from dataclasses import replace

from simulator.tidb.ddl.evolve_errors import tidb, unsupported, worded
from simulator.tidb.ddl.evolve_expressions import dependent, generated_from, partition_columns
from simulator.tidb.ddl.evolve_foreign import referring
from simulator.tidb.ddl.evolve_key_parts import check_parts
from simulator.tidb.ddl.evolve_steps import KnownTable, column_named, lower
from simulator.tidb.model.table import Column, Index, Table
from simulator.tidb.model.types import family
from simulator.tidb.syntax.definitions import KeyPart, KeySyntax


def has_part(index: Index, column: Column) -> bool:
    return column.name.lower() in lower(part.name for part in index.columns)


def check_foreign_keys(old: Column, new: Column, known: KnownTable) -> None:
    """A column of a foreign key keeps its type, and its length does not shrink (isAcceptableForeignKeyColumnChange)."""
    one, two = old.type, new.type
    if (one.name, one.length, one.decimal) == (two.name, two.length, two.decimal):
        return
    table, name = known.table, old.name.lower()
    acceptable = one.name == two.name and (family(one) == "integer" or family(one) != "decimal"
                                           and two.length >= one.length)
    for foreign in table.foreign_keys:
        if name in lower(foreign.columns) and not acceptable:
            if one.name != two.name:
                refers = foreign.references[lower(foreign.columns).index(name)]
                raise tidb("ddl:3780", old.name, refers, foreign.name)
            raise tidb("ddl:1832", old.name, foreign.name)
    for child, foreign in referring(known.catalog, table.schema, table.name):
        if name in lower(foreign.references) and not acceptable:
            if one.name != two.name:
                raise tidb("ddl:3780", foreign.columns[lower(foreign.references).index(name)], old.name, foreign.name)
            raise tidb("ddl:1833", old.name, foreign.name, f"{child.schema.lower()}.{child.name.lower()}")


def check_rewritten(old: Column, new: Column, table: Table) -> None:
    """Rows are not written anew for columns that others are computed from, nor in partitioned tables."""
    if old.generated or new.generated or dependent(table, old.name):
        raise unsupported("modify column: column has related generated column")
    if table.partitioning is not None:
        raise unsupported("modify column: table is partition table")
    if any(has_part(index, old) for index in table.columnar_indexes):
        raise unsupported("modify column: vector indexes on the column")


def check_partitioning(old: Column, new: Column, table: Table) -> None:
    """A column of the partitioning keeps name, type and flags; only its length may grow."""
    if old.name.lower() not in partition_columns(table.partitioning):
        return
    assert table.partitioning is not None
    if old.name.lower() != new.name.lower():
        raise tidb("ddl:3855", old.name.lower())
    if not table.partitioning.columns and new.type.length < old.type.length:
        raise worded("ddl:8200", "Unsupported modify column, decreasing length of int may result in truncation and"
                                 " change of partition")
    one, two = old.type, new.type
    if (family(one), one.unsigned, one.charset, one.collation, old.not_null) != (
        family(two), two.unsigned, two.charset, two.collation, new.not_null,
    ):
        raise unsupported("modify column: can't change the partitioning column, since it would require reorganize all"
                          " partitions")


def check_auto_increment(old: Column, new: Column) -> None:
    if new.auto_increment and not old.auto_increment:
        raise unsupported("modify column: can't set auto_increment")
    if new.auto_increment and new.default is not None:
        raise tidb("ddl:1067", new.name)
    if old.auto_increment and not new.auto_increment and not new.auto_random:
        raise unsupported("modify column: can't remove auto_increment without @@tidb_allow_remove_auto_inc enabled")


def check_keys(old: Column, new: Column, table: Table) -> None:
    """Every key that has the column could be made of the new one (checkColumnWithIndexConstraint)."""
    columns = tuple(replace(new, name=old.name) if one.name == old.name else one for one in table.columns)
    changed = replace(table, columns=columns)
    for index in sorted(table.indexes, key=lambda index: not index.primary):
        if has_part(index, old):
            parts = tuple(
                KeyPart("" if part.expression else part.name, kept_prefix(part.name, part.length, old, new),
                        part.expression)
                for part in index.columns
            )
            check_parts(KeySyntax("key", "", parts), changed)


def kept_prefix(name: str, length: int, old: Column, new: Column) -> int:
    """The prefix of the column in a key, none where the new type has no prefixes or is not longer."""
    if name.lower() != old.name.lower():
        return length
    return length if family(new.type) in ("string", "text") and new.type.length > length else -1


def check_generation(old: Column, new: Column, table: Table) -> None:
    """TiDB: checkModifyGeneratedColumn, and no change at all of what others are computed from."""
    if (old.generated == "virtual") != (new.generated == "virtual"):
        raise tidb("ddl:3106", "Changing the STORED status")
    if new.generated:
        for name in sorted(generated_from(new)):
            if column_named(table, name) is None:
                raise tidb("ddl:1054", name, "generated column function")
        if plain(old.generated_expression) != plain(new.generated_expression):
            if new.generated == "stored":
                raise tidb("ddl:3106", "modifying a stored column")
            if any(has_part(index, old) for index in table.indexes):
                raise tidb("ddl:3106", "modifying an indexed column")
    if needed := dependent(table, old.name):
        error = tidb("ddl:3108" if needed == "generated" else "ddl:3837", old.name)
        raise tidb("ddl:3106", str(error).replace("] ", "]", 1))


def plain(expression: str) -> str:
    """An expression without what does not count in it."""
    return "".join(expression.replace("`", "").split()).lower()


def check_auto_random(old: Column, new: Column, clustered: bool) -> None:
    """AUTO_RANDOM may come from AUTO_INCREMENT, gain shard bits, and never go (TiDB: checkAutoRandom)."""
    if old.shard_bits == new.shard_bits == 0:
        return
    if old.shard_bits == 0 and not (old.auto_increment and clustered):
        raise tidb("ddl:8216", "auto_random can only be converted from auto_increment clustered primary key")
    if new.shard_bits == 0:
        raise tidb("ddl:8216", "adding/dropping/modifying auto_random is not supported")
    if new.shard_bits < old.shard_bits:
        raise tidb("ddl:8216", "decreasing auto_random shard bits is not supported")
    if old.type.name != new.type.name:
        raise tidb("ddl:8216", "modifying the auto_random column type is not supported")
