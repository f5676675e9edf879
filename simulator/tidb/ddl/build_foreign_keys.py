"""Foreign keys of a table, and the indexes that TiDB adds for them.

One law: a foreign key has an index that begins with its columns (TiDB 6.6+: pkg/ddl/create_table.go).
"""

from __future__ import annotations

from collections.abc import Collection

from simulator.tidb.model.table import ForeignKey, Index, IndexColumn
from simulator.tidb.syntax.definitions import KeyPart, KeySyntax, References, TableName


def build_foreign_keys(keys: list[tuple[KeySyntax, tuple[KeyPart, ...]]], schema: str) -> tuple[ForeignKey, ...]:
    """The foreign keys with TiDB's names for those that have none; `schema` is the table's own."""
    foreign = [(key, parts) for key, parts in keys if key.kind == "foreign"]
    return tuple(build_foreign_key(key, parts, number, schema) for number, (key, parts) in enumerate(foreign, 1))


def build_foreign_key(key: KeySyntax, parts: tuple[KeyPart, ...], id: int, schema: str) -> ForeignKey:
    refers = key.references or References(TableName("", ""), ())
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
    keys: list[tuple[KeySyntax, tuple[KeyPart, ...]]], indexes: list[Index], columnar: Collection[int],
    handle: tuple[str, ...],
) -> list[Index]:
    """The indexes TiDB adds for foreign keys whose columns begin none (addIndexForForeignKey).

    `columnar` are ids of those of the indexes that do not serve; `handle` is the clustered integer primary key.
    """
    serving = [index for index in indexes if index.id not in columnar]
    added: list[Index] = []
    foreign = [(key, tuple(part.column for part in parts)) for key, parts in keys if key.kind == "foreign"]
    for number, (key, columns) in enumerate(foreign, 1):
        covering = (tuple(column.name for column in index.columns[:len(columns)]) for index in serving + added)
        if columns == handle or columns in covering:
            continue
        name = key.name or f"fk_{number}"
        added.append(Index(len(indexes) + len(added) + 1, name, tuple(IndexColumn(column) for column in columns)))
    return added
