"""ALTER statements that lead from one definition of a table to another, and SQL text of parts of definitions.

Each statement makes one change, so that every release supports it. Parsing the text of a column, a key or a
partitioning gives the same object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from simulator.errors import SchemaError
from simulator.tidb.ddl.create_table_text import auto_random_text
from simulator.tidb.ddl.defaults import row_default
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.model.table import (
    Column,
    ForeignKey,
    Index,
    IndexColumn,
    Partition,
    Partitioning,
    Table,
    TimeToLive,
)
from simulator.tidb.model.types import TYPES, ColumnType, family, is_binary, mysql_type
from simulator.tidb.restore import quote_literal, quote_name, quote_table
from simulator.tidb.syntax.definitions import NOW

K = TypeVar("K", Index, ForeignKey)


def alterations(before: Table, after: Table, renamed: Mapping[str, str]) -> tuple[str, ...]:
    """Return the statements; `renamed` has new names of columns by old ones.

    Keys that lose a column are dropped first and new ones are added last, as TiDB requires.
    """
    if before is after and not renamed:
        return ()
    target = f"ALTER TABLE {quote_table(after.schema, after.name)}"
    moved = _renamed(before, renamed)
    specs = [f"RENAME COLUMN {quote_name(old)} TO {quote_name(new)}" for old, new in renamed.items()]
    specs += _charset(before, after)
    dropped = _missing_keys(moved.foreign_keys, after.foreign_keys)
    specs += [f"DROP FOREIGN KEY {quote_name(key.name)}" for key in dropped]
    specs += [_dropped(index) for index in _missing_keys(moved.indexes, after.indexes)]
    specs += _columns(moved, after)
    specs += [f"ADD {index_text(index)}" for index in _missing_keys(after.indexes, moved.indexes)]
    specs += [f"ADD {foreign_key_text(key)}" for key in _missing_keys(after.foreign_keys, moved.foreign_keys)]
    specs += _visibility(moved, after)
    specs += _options(before, after)
    specs += _partitions(before.partitioning, after.partitioning)
    return tuple(f"{target} {spec}" for spec in specs)


def _renamed(table: Table, names: Mapping[str, str]) -> Table:
    def new(name: str) -> str:
        return names.get(name, name)

    indexes = tuple(
        replace(index, columns=tuple(replace(part, name=new(part.name)) for part in index.columns))
        for index in table.indexes
    )
    columns = tuple(replace(column, name=new(column.name)) for column in table.columns)
    return replace(table, columns=columns, indexes=indexes, primary_key=tuple(map(new, table.primary_key)))


def _charset(before: Table, after: Table) -> list[str]:
    if (before.charset, before.collation) == (after.charset, after.collation):
        return []
    return [f"DEFAULT CHARACTER SET = {after.charset} COLLATE = {after.collation}"]


def _missing_keys(keys: Sequence[K], others: Sequence[K]) -> list[K]:
    target = [_comparable_key(key) for key in others]
    return [key for key in keys if _comparable_key(key) not in target]


def _comparable_key(key: Index | ForeignKey) -> Index | ForeignKey:
    """Return a key without properties that can be altered."""
    if isinstance(key, ForeignKey):
        return replace(key, id=0, name=key.name.lower())
    return replace(key, id=0, name=key.name.lower(), visible=True)


def _dropped(index: Index) -> str:
    return "DROP PRIMARY KEY" if index.primary else f"DROP INDEX {quote_name(index.name)}"


def _visibility(before: Table, after: Table) -> Iterator[str]:
    target = {index.name.lower(): index.visible for index in before.indexes}
    for index in after.indexes:
        if target.get(index.name.lower(), index.visible) != index.visible:
            yield f"ALTER INDEX {quote_name(index.name)} {'VISIBLE' if index.visible else 'INVISIBLE'}"


def _columns(before: Table, after: Table) -> Iterator[str]:
    """Yield specs of dropped columns, then of added, changed or moved ones from left to right."""
    names_after = {column.name.lower() for column in after.columns}
    for column in before.columns:
        if column.name.lower() not in names_after:
            yield f"DROP COLUMN {quote_name(column.name)}"
    target = {column.name.lower(): column for column in before.columns if column.name.lower() in names_after}
    staying = _kept_in_place(
        list(target), [column.name.lower() for column in after.columns if column.name.lower() in target]
    )
    previous: Column | None = None
    for number, column in enumerate(after.columns):
        place = f" AFTER {quote_name(previous.name)}" if previous else " FIRST"
        place = "" if number == len(after.columns) - 1 and column.name.lower() not in target else place
        yield from _column(target.get(column.name.lower()), column, after, place, column.name.lower() in staying)
        previous = column


def _column(before: Column | None, column: Column, table: Table, place: str, stays: bool) -> Iterator[str]:
    if before is None:
        yield f"ADD COLUMN {column_text(column, table)}{place}"
    elif before != column or not stays:
        yield f"MODIFY COLUMN {column_text(column, table)}{'' if stays else place}"


def _kept_in_place(before: Sequence[str], after: Sequence[str]) -> set[str]:
    """Return the columns that need not move: a longest common subsequence of two orders of the same names."""
    place = {name: number for number, name in enumerate(before)}
    chains: list[tuple[str, ...]] = []
    for name in after:
        shorter = [chain for chain in chains if place[chain[-1]] < place[name]]
        chains.append((*_longest(shorter), name))
    return set(_longest(chains))


def _longest(chains: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return max(chains, key=lambda chain: len(chain), default=())


def _options(before: Table, after: Table) -> Iterator[str]:
    if before.comment != after.comment:
        yield f"COMMENT = {quote_literal(after.comment)}"
    if after.ttl != before.ttl:
        yield ttl_text(after.ttl) if after.ttl else "REMOVE TTL"


def _partitions(before: Partitioning | None, after: Partitioning | None) -> list[str]:
    """Return the specs between two partitionings: DROP and ADD PARTITION if they suffice, else PARTITION BY."""
    if before == after:
        return []
    if after is None:
        return ["REMOVE PARTITIONING"]
    by_name = None
    if before and after.kind in ("range", "list") and replace(before, partitions=after.partitions) == after:
        by_name = _partition_specs(after.kind, before.partitions, after.partitions)
    return by_name or [f"PARTITION BY {partitioning_text(after)}"]


def _partition_specs(kind: str, before: Sequence[Partition], after: Sequence[Partition]) -> list[str] | None:
    """Return DROP and ADD PARTITION; None if they do not suffice."""
    dropped = [partition for partition in before if partition not in after]
    staying = [partition for partition in before if partition in after]
    new = list(after[len(staying) :])
    if not staying or list(after[: len(staying)]) != staying:
        return None
    specs = [f"DROP PARTITION {', '.join(quote_name(partition.name) for partition in dropped)}"] if dropped else []
    return specs + ([f"ADD PARTITION {partitions_text(kind, new)}"] if new else [])


def column_text(column: Column, table: Table) -> str:
    """Return `name type attributes` without keys, with the charset if it differs from the table's."""
    words = [quote_name(column.name), type_text(column.type, table.charset, table.collation)]
    if column.generated:
        words.append(f"GENERATED ALWAYS AS ({column.generated_expression}) {column.generated.upper()}")
    words.append("NOT NULL" if column.not_null else "NULL" if column.type.name == "timestamp" else "")
    words.append(default_text(column))
    words.append(f"ON UPDATE {column.on_update}" if column.on_update else "")
    words.append("AUTO_INCREMENT" if column.auto_increment else "")
    words.append(auto_random_text(column) if column.auto_random else "")
    words.append(f"COMMENT {quote_literal(column.comment)}" if column.comment else "")
    return " ".join(word for word in words if word)


def type_text(type: ColumnType, charset: str, collation: str) -> str:
    """Return the type, with charset and collation if they differ from the table's."""
    kind = family(type)
    if kind in ("enum", "set"):
        text = f"{type.name}({','.join(quote_literal(member) for member in type.elements)})"
    else:
        text = mysql_type(type, full=not _is_usual_width(type))
    if kind not in ("string", "text", "enum", "set") or is_binary(type):
        return text
    if (type.charset, type.collation) == (charset, collation):
        return text
    return f"{text} CHARACTER SET {type.charset} COLLATE {type.collation}"


def _is_usual_width(type: ColumnType) -> bool:
    row = TYPES[type.name]
    usual = row.unsigned_length if type.unsigned else row.length
    return row.family in ("integer", "year") and type.length == usual


def default_text(column: Column) -> str:
    if column.default is None:
        return ""
    if column.default_expression:
        call = column.default.rpartition("(")[0] or column.default
        plain = call.strip().upper() in NOW
        nextval = column.default.upper().startswith(("NEXTVAL", "NEXT VALUE"))
        return f"DEFAULT {column.default}" if plain or nextval else f"DEFAULT ({column.default})"
    if column.type.name == "bit":
        return f"DEFAULT b'{int(row_default(column) or 0):b}'"
    if is_binary(column.type):
        return f"DEFAULT x'{column.default.encode('latin-1').hex()}'"
    is_number = family(column.type) in ("integer", "decimal", "float", "year")
    return f"DEFAULT {column.default if is_number else quote_literal(column.default)}"


def index_text(index: Index) -> str:
    """Return `UNIQUE KEY name (columns)` and the like, as it follows ADD."""
    kind = "PRIMARY KEY" if index.primary else f"{'UNIQUE INDEX' if index.unique else 'INDEX'} {quote_name(index.name)}"
    words = [f"{kind} ({', '.join(_part(part) for part in index.columns)})"]
    words += ["NONCLUSTERED"] if index.primary else []
    words += ["GLOBAL"] if index.unpartitioned else []
    words += [f"COMMENT {quote_literal(index.comment)}"] if index.comment else []
    return " ".join(words if index.visible else [*words, "INVISIBLE"])


def _part(part: IndexColumn) -> str:
    if part.expression:
        return f"({part.expression})"
    return quote_name(part.name) + (f"({part.length})" if part.length >= 0 else "")


def foreign_key_text(key: ForeignKey) -> str:
    """Return `CONSTRAINT name FOREIGN KEY …`, as it follows ADD."""
    columns, references = (", ".join(map(quote_name, names)) for names in (key.columns, key.references))
    words = [f"CONSTRAINT {quote_name(key.name)} FOREIGN KEY ({columns})"]
    words += [f"REFERENCES {quote_table(key.schema, key.table)} ({references})"]
    words += [f"ON DELETE {key.on_delete}"] if key.on_delete else []
    words += [f"ON UPDATE {key.on_update}"] if key.on_update else []
    return " ".join(words)


def ttl_text(ttl: TimeToLive) -> str:
    job_interval = f" TTL_JOB_INTERVAL = '{ttl.job_interval}'" if ttl.job_interval else ""
    enable = f"TTL_ENABLE = '{'ON' if ttl.enabled else 'OFF'}'"
    return f"TTL = {quote_name(ttl.column)} + INTERVAL {ttl.interval} {enable}{job_interval}"


def partitioning_text(rule: Partitioning) -> str:
    columns = f"({', '.join(map(quote_name, rule.columns))})"
    if rule.kind == "hash":
        return f"HASH ({rule.expression}) PARTITIONS {len(rule.partitions)}"
    if rule.kind == "key":
        return f"KEY {columns} PARTITIONS {len(rule.partitions)}"
    method = f"{rule.kind.upper()} ({rule.expression})" if rule.expression else f"{rule.kind.upper()} COLUMNS {columns}"
    return f"{method} {partitions_text(rule.kind, rule.partitions)}"


def partitions_text(kind: str, partitions: Sequence[Partition]) -> str:
    """Return `(PARTITION p VALUES …, …)`."""
    texts = (f"PARTITION {quote_name(partition.name)} {_values(kind, partition)}" for partition in partitions)
    return f"({', '.join(texts)})"


def _values(kind: str, partition: Partition) -> str:
    if kind == "range":
        return f"VALUES LESS THAN ({', '.join(partition.values[0])})"
    if partition.values == (("DEFAULT",),):
        return "DEFAULT"
    return f"VALUES IN ({', '.join(_member(member) for member in partition.values)})"


def _member(values: tuple[str, ...]) -> str:
    return values[0] if len(values) == 1 else f"({', '.join(values)})"


# -- CREATE TABLE ---------------------------------------------------------------------------------------------------------


def show_create(table: Table) -> str:
    """Return the original statement if it still defines the table, else a new one."""
    try:
        if table.statement and create_table(table.statement, table.schema) == table:
            return table.statement
    except SchemaError:  # a text that leans on another table, as CREATE TABLE … LIKE does
        pass
    return create_statement(table)


def create_statement(table: Table) -> str:
    """Return a statement with columns, keys in the order of their creation, options and partitions."""
    parts = [column_text(column, table) for column in table.columns]
    parts += _keys(table)
    lines = ",\n".join(f"  {part}" for part in parts)
    rule = f"\nPARTITION BY {partitioning_text(table.partitioning)}" if table.partitioning else ""
    return f"CREATE TABLE {quote_name(table.name)} (\n{lines}\n) {' '.join(_table_options(table))}{rule}"


def _keys(table: Table) -> Iterator[str]:
    if table.primary_key and not any(index.primary for index in table.indexes):
        yield f"PRIMARY KEY ({', '.join(map(quote_name, table.primary_key))}) CLUSTERED"
    yield from (_key(index, table.clustered) for index in table.indexes)
    yield from map(foreign_key_text, table.foreign_keys)
    yield from (
        f"CONSTRAINT {quote_name(check.name)} CHECK ({check.expression}){'' if check.enforced else ' NOT ENFORCED'}"
        for check in table.checks
    )


def _key(index: Index, clustered: bool) -> str:
    text = index_text(index)
    return text.replace(" NONCLUSTERED", " CLUSTERED", 1) if index.primary and clustered else text


def _table_options(table: Table) -> Iterator[str]:
    yield f"DEFAULT CHARSET={table.charset} COLLATE={table.collation}"
    yield from (f"{name}={value}" for name, value in table.options)
    if table.comment:
        yield f"COMMENT={quote_literal(table.comment)}"
    if table.ttl:
        yield ttl_text(table.ttl)
