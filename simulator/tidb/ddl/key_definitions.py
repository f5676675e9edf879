"""Primary key, unique keys, indexes, foreign keys and CHECK constraints of a table, completed as TiDB does.

The primary key is clustered unless the statement says NONCLUSTERED. A clustered primary key of one integer column has
no index. A foreign key has an index that begins with its columns (TiDB 6.6+: pkg/ddl/create_table.go).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, count

from msgspec import structs

from simulator.errors import SchemaError, did_you_mean
from simulator.tidb import syntax
from simulator.tidb.model.table import Column, ForeignKey, Index, IndexColumn
from simulator.tidb.model.types import ColumnType, family
from simulator.tidb.parser.cursor import position


@dataclass(frozen=True)
class TableKeys:
    columns: tuple[Column, ...]
    """The table's columns; those of the primary key are NOT NULL."""

    indexes: tuple[Index, ...]
    primary_key: tuple[str, ...]
    clustered: bool
    columnar_indexes: tuple[Index, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    last_index_id: int = 0


ResolvedKey = tuple[syntax.KeyDefinition, tuple[syntax.KeyPart, ...]]
"""A key, and its parts with the names of columns as the table spells them."""

COLUMNAR_KINDS = ("columnar", "vector")
INDEX_KINDS = ("primary", "unique", "key", *COLUMNAR_KINDS)


def build_keys(
    definition: syntax.CreateTable, columns: tuple[Column, ...], names: dict[str, str], text: str, clustered_index: str
) -> TableKeys:
    """Return the keys of the statement; `names` are the columns' names by lower case. Raises SchemaError."""
    keys = all_keys(definition)
    types = {column.name: column.type for column in columns}
    resolved = [(key, tuple(resolve_part(part, names, text) for part in key.parts)) for key in keys]
    primary = find_primary(keys, text)
    primary_key = tuple(part.column for part in next((parts for key, parts in resolved if key is primary), ()))
    integer = len(primary_key) == 1 and family(types[primary_key[0]]) == "integer"
    clustered = primary is not None and is_clustered(primary, integer, clustered_index)
    indexed = [(key, parts) for key, parts in resolved if not (key is primary and clustered and integer)]
    check_parts(indexed, types, text)
    if primary:
        columns = with_primary_key(definition, columns, primary, primary_key, text)
    indexes = build_indexes(indexed, key_names(keys, text))
    columnar = {id for id, (key, _) in enumerate(indexed_keys(indexed), 1) if key.kind in COLUMNAR_KINDS}
    indexes += foreign_indexes(indexed, indexes, columnar, primary_key if clustered and integer else ())
    return TableKeys(
        columns,
        tuple(index for index in indexes if index.id not in columnar),
        primary_key,
        clustered,
        tuple(index for index in indexes if index.id in columnar),
        build_foreign_keys(indexed, definition.schema),
        len(indexes),
    )


def all_keys(definition: syntax.CreateTable) -> tuple[syntax.KeyDefinition, ...]:
    """Return the keys of the table, then those of columns."""
    return tuple(chain(definition.keys, chain.from_iterable(column.keys for column in definition.columns)))


def is_clustered(primary: syntax.KeyDefinition, integer: bool, clustered_index: str) -> bool:
    """Return whether a primary key is clustered. INT_ONLY of tidb_enable_clustered_index means one integer column."""
    if primary.options.clustered is not None:
        return primary.options.clustered
    return clustered_index == "ON" or clustered_index == "INT_ONLY" and integer


def resolve_part(part: syntax.KeyPart, names: dict[str, str], text: str) -> syntax.KeyPart:
    """Return the part with its column spelled as in the table. Raises SchemaError for an unknown column."""
    if part.expression:
        return part
    spelled = names.get(part.column.lower())
    if spelled is None:
        where, hint = position(text, part.at), did_you_mean(part.column, names.values())
        raise SchemaError(f"{where}: a key names the column {part.column!r}, which is not there.{hint}")
    return structs.replace(part, column=spelled)


def check_parts(keys: list[ResolvedKey], types: dict[str, ColumnType], text: str) -> None:
    """Raise SchemaError for a column that cannot be a key (a TEXT without prefix, a JSON) and a prefix of a number."""
    parts = chain.from_iterable(parts for key, parts in keys if key.kind in ("primary", "unique", "key"))
    for part in parts:
        kind = family(types[part.column]) if part.column else "string"
        where = f"{position(text, part.at)}: key on column {part.column!r}"
        if kind in ("json", "vector"):
            raise SchemaError(f"{where}: a {kind.upper()} cannot be a key; accepted: a generated column of it")
        if kind == "text" and part.length < 0:
            raise SchemaError(f"{where}: a TEXT or BLOB needs a prefix length, as in {part.column}(255)")
        if part.length >= 0 and kind not in ("string", "text"):
            raise SchemaError(f"{where}: only text and binary columns take a prefix length")


def find_primary(keys: tuple[syntax.KeyDefinition, ...], text: str) -> syntax.KeyDefinition | None:
    """Return the primary key. Raises SchemaError for two, and for one with an expression."""
    primary = [key for key in keys if key.kind == "primary"]
    if len(primary) > 1:
        raise SchemaError(f"{position(text, primary[1].at)}: a second primary key; a table has one")
    if primary and any(part.expression for part in primary[0].parts):
        raise SchemaError(f"{position(text, primary[0].at)}: a primary key holds columns, not expressions")
    return primary[0] if primary else None


def with_primary_key(
    definition: syntax.CreateTable,
    columns: tuple[Column, ...],
    primary: syntax.KeyDefinition,
    names: tuple[str, ...],
    text: str,
) -> tuple[Column, ...]:
    """Return the columns, with those of the primary key NOT NULL. Raises SchemaError if one is NULL or virtual."""
    where = position(text, primary.at)
    if len(set(names)) < len(names):
        raise SchemaError(f"{where}: the primary key names a column twice")
    for read in definition.columns:
        if read.name in names and (read.null or read.generated == "virtual"):
            what = "NULL" if read.null else "virtual"
            raise SchemaError(f"{where}: column {read.name!r} of the primary key is {what}; accepted: NOT NULL, stored")
    return with_not_null(columns, names)


def with_not_null(columns: Iterable[Column], names: Collection[str]) -> tuple[Column, ...]:
    return tuple(replace(column, not_null=True) if column.name in names else column for column in columns)


def indexed_keys(keys: list[ResolvedKey]) -> list[ResolvedKey]:
    return [(key, parts) for key, parts in keys if key.kind in INDEX_KINDS]


def build_indexes(keys: list[ResolvedKey], names: Mapping[int, str]) -> list[Index]:
    """Return the indexes with their ids; `names` are those of `key_names`."""
    return [
        build_index(key, parts, number, "PRIMARY" if key.kind == "primary" else names[id(key)])
        for number, (key, parts) in enumerate(indexed_keys(keys), 1)
    ]


def key_names(keys: Iterable[syntax.KeyDefinition], text: str = "") -> dict[int, str]:
    """Return the names of keys by identity, with TiDB's names for unnamed ones. Raises SchemaError for duplicates.

    A primary key takes its first column's name like any other (TiDB: checkConstraintNames, setEmptyConstraintName).
    """
    keys = [key for key in keys if key.kind != "foreign"]
    used_names = check_names(keys, text)
    return {id(key): key.name or free_name(key.parts, used_names) if key.parts else key.name for key in keys}


def build_index(key: syntax.KeyDefinition, parts: tuple[syntax.KeyPart, ...], id: int, name: str) -> Index:
    """Return the index of a key, whose parts are resolved."""
    primary = key.kind == "primary"
    return Index(
        id,
        name,
        tuple(index_column(part, name, place) for place, part in enumerate(parts)),
        unique=primary or key.kind == "unique",
        primary=primary,
        visible=key.options.visible is not False,
        comment=key.options.comment or "",
        unpartitioned=key.options.scope == "GLOBAL",
    )


def check_names(keys: list[syntax.KeyDefinition], text: str) -> set[str]:
    """Return the names of keys in lower case. Raises SchemaError for duplicates."""
    used_names: set[str] = set()
    for key in keys:
        name = key.name.lower()
        if name and name in used_names:
            raise SchemaError(f"{position(text, key.at)}: key name {key.name!r} twice")
        used_names.add(name)
    return used_names


def free_name(parts: tuple[syntax.KeyPart, ...], used_names: set[str]) -> str:
    """Return TiDB's name for an unnamed key: its first column or `expression_index`, numbered from 2 if it is used_names.

    `used_names` are the explicit names in lower case, and TiDB's own, which it compares case-sensitively.
    """
    stem = "expression_index" if any(part.expression for part in parts) else parts[0].column
    name = next(name for name in numbered_names(stem) if name not in used_names)
    used_names.add(name)
    return name


def numbered_names(stem: str) -> Iterator[str]:
    """Yield `stem`, `stem_2`, `stem_3`, …, but not `primary`."""
    yield from [stem] if stem.lower() != "primary" else []
    yield from (f"{stem}_{number}" for number in count(2))


def index_column(part: syntax.KeyPart, index: str, position_in_key: int) -> IndexColumn:
    """Return a column of an index; an expression is TiDB's hidden column `_V$_index_0`."""
    if part.expression:
        return IndexColumn(f"_V$_{index}_{position_in_key}", expression=part.expression)
    return IndexColumn(part.column, part.length)


def build_foreign_keys(keys: list[ResolvedKey], schema: str) -> tuple[ForeignKey, ...]:
    """Return the foreign keys, with TiDB's names for unnamed ones; `schema` is that of the table."""
    foreign = [(key, parts) for key, parts in keys if key.kind == "foreign"]
    return tuple(build_foreign_key(key, parts, number, schema) for number, (key, parts) in enumerate(foreign, 1))


def build_foreign_key(key: syntax.KeyDefinition, parts: tuple[syntax.KeyPart, ...], id: int, schema: str) -> ForeignKey:
    refers = key.references or syntax.References(syntax.TableName("", ""), ())
    return ForeignKey(
        id,
        key.name or f"fk_{id}",
        tuple(part.column for part in parts),
        refers.table.schema or schema,
        refers.table.name,
        tuple(part.column for part in refers.parts),
        refers.on_delete,
        refers.on_update,
    )


def foreign_indexes(
    keys: list[ResolvedKey], indexes: list[Index], columnar: Collection[int], handle: tuple[str, ...]
) -> list[Index]:
    """Return the indexes that TiDB adds for foreign keys without a covering index (addIndexForForeignKey).

    `columnar` are the ids of columnar indexes, which do not count; `handle` is the clustered integer primary key.
    """
    serving = [index for index in indexes if index.id not in columnar]
    added: list[Index] = []
    foreign = [(key, tuple(part.column for part in parts)) for key, parts in keys if key.kind == "foreign"]
    for number, (key, columns) in enumerate(foreign, 1):
        if columns == handle or any(begins_with(index, columns) for index in serving + added):
            continue
        name = key.name or f"fk_{number}"
        parts = tuple(IndexColumn(column) for column in columns)
        added.append(Index(len(indexes) + len(added) + 1, name, parts, unmarked=True))
    return added


def begins_with(index: Index, columns: Collection[str]) -> bool:
    """Return whether an index begins with the columns, without prefix lengths (FindIndexByColumns)."""
    parts = index.columns[: len(columns)]
    same = [part.name.lower() for part in parts] == [name.lower() for name in columns]
    return same and all(part.length < 0 for part in parts)


def name_checks(definition: syntax.CreateTable) -> list[tuple[str, syntax.CheckDefinition, str]]:
    """Return the CHECKs of the table, then those of columns: name, definition, and the column that it belongs to.

    Unnamed ones are called `t_chk_1`, `t_chk_2`, … (TiDB: setEmptyCheckConstraintName).
    """
    beside = [(key.check, "") for key in definition.keys if key.check]
    checks = beside + [
        (option.check, column.name) for column in definition.columns for option in column.options if option.check
    ]
    free = free_names(definition.name, {check.name.lower() for check, _ in checks})
    return [(check.name or next(free), check, column) for check, column in checks]


def free_names(table: str, taken_names: set[str]) -> Iterator[str]:
    return (name for number in count(1) if (name := f"{table.lower()}_chk_{number}") not in taken_names)
