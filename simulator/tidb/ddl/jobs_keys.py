"""Whether adding or dropping a key is a job, and which.

One law: the answer is codes, or a note where TiDB does nothing; a table of None is not known.
Source: tidb pkg/ddl/executor.go AlterTable, createIndex, dropIndex, CreateForeignKey.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from simulator.errors import DdlError
from simulator.tidb.ddl import actions
from simulator.tidb.model.table import Index, Table
from simulator.tidb.syntax.definitions import ColumnSyntax, KeySyntax, TableName

KINDS = {
    "key": actions.ADD_INDEX,
    "unique": actions.ADD_INDEX,
    "primary": actions.ADD_PRIMARY_KEY,
    "foreign": actions.ADD_FOREIGN_KEY,
    "check": actions.ADD_CHECK_CONSTRAINT,
    "vector": actions.ADD_COLUMNAR_INDEX,
    "columnar": actions.ADD_COLUMNAR_INDEX,
}
"""Check constraints: with tidb_enable_check_constraint."""

DROPPED = {
    "primary": actions.DROP_PRIMARY_KEY,
    "index": actions.DROP_INDEX,
    "foreign": actions.DROP_FOREIGN_KEY,
    "check": actions.DROP_CHECK_CONSTRAINT,
}

IGNORED = {
    "fulltext": "The used table type doesn't support FULLTEXT indexes: no job",
    "spatial": "TiDB has no SPATIAL indexes: no job",
}


def added_key(key: KeySyntax, table: Table | None) -> Iterator[int | str]:
    if key.options.using.upper() == "HYPO":
        yield "a hypothetical index lives in its session alone: no job"
    elif key.if_not_exists and key.kind in ("key", "vector", "columnar") and table and has_index(table, key.name):
        yield f"Duplicate key name '{key.name}': no job"
    else:
        yield KINDS.get(key.kind) or IGNORED[key.kind]


def dropped_key(kind: str, name: str, if_exists: bool, table: Table | None) -> Iterator[int | str]:
    if kind == "index" and name.lower() == "primary":
        kind, name = "primary", "PRIMARY"
    if if_exists and kind in ("primary", "index") and table and not has_index(table, name or "PRIMARY"):
        yield f"Can't DROP '{name or 'PRIMARY'}'; check that column/key exists: no job"
    else:
        yield DROPPED[kind]


def own_index(key: KeySyntax, table: Table) -> KeySyntax | None:
    """The index that TiDB adds with a foreign key where none of the table's begins with its columns."""
    if covered(table, [part.column for part in key.parts]):
        return None
    return KeySyntax("key", key.name or f"fk_{table.last_ids.foreign_key + 1}", key.parts)


def covered(table: Table, columns: Collection[str], without: int = 0) -> bool:
    """Whether an index begins with the columns; the one of id `without` does not count."""
    return any(begins(index, columns) for index in table.indexes if index.id != without)


def begins(index: Index, columns: Collection[str]) -> bool:
    """Whether the first columns of the index are these, whole and in this order (FindIndexByColumns)."""
    parts = index.columns[:len(columns)]
    same = [part.name.lower() for part in parts] == [name.lower() for name in columns]
    return same and all(part.length < 0 for part in parts)


def has_index(table: Table, name: str) -> bool:
    """Whether the table has an index of that name, its clustered primary key included."""
    if name.lower() == "primary":
        return bool(table.primary_key)
    return any(index.name.lower() == name.lower() for index in table.indexes)


def index_name(key: KeySyntax, table: Table | None) -> str:
    """The name that TiDB gives a key (getAnonymousIndex)."""
    if key.kind == "primary":
        return "PRIMARY"
    if key.name:
        return key.name
    column = key.parts[0].column or "expression_index"
    taken = {index.name.lower() for index in table.indexes} if table else set()
    name, number = column, 2
    while name.lower() == "primary" or name.lower() in taken:
        name, number = f"{column}_{number}", number + 1
    return name


def check_added_column(column: ColumnSyntax, table: TableName) -> None:
    """Raises DdlError for an option that ADD COLUMN cannot have (checkUnsupportedColumnConstraint)."""
    kinds = {option.kind for option in column.options}
    for kind, words in ADDED.items():
        if kind not in kinds:
            continue
        text = f"unsupported add column '{column.name}' constraint {words} when altering '{table.schema}.{table.name}'"
        if kind == "auto_random":
            raise DdlError(f"Invalid auto random: {text}", "ddl:8216")
        raise DdlError(text, "ddl:8200")


def check_changed_column(column: ColumnSyntax) -> None:
    """Raises DdlError for an option that MODIFY and CHANGE cannot have (ProcessModifyColumnOptions)."""
    for option in column.options:
        if option.kind in CHANGED:
            raise DdlError(CHANGED[option.kind], "ddl:8200")


ADDED = {
    "auto_increment": "AUTO_INCREMENT",
    "primary": "PRIMARY KEY",
    "unique": "UNIQUE KEY",
    "auto_random": "AUTO_RANDOM",
}

CHANGED = {
    "primary": "can't change column constraint (PRIMARY KEY)",
    "unique": "can't change column constraint (UNIQUE KEY)",
    "references": "Unsupported modify column: can't modify with references",
    "check": "Unsupported modify column: can't modify with check",
}
