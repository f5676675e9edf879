"""Columns, keys and partitions of a Table as SQL text: what `derive` writes into statements.

One law: reading the text again gives the same column, key or partitioning.
"""

from __future__ import annotations

from collections.abc import Sequence

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
from simulator.tidb.model.types import ColumnType, TYPES, family, is_binary, mysql_type
from simulator.tidb.restore.names import literal, quoted


def column_text(column: Column, table: Table) -> str:
    """`name type attributes`, without keys; the charset only where it is not the table's."""
    words = [quoted(column.name), type_text(column.type, table.charset, table.collation)]
    if column.generated:
        words.append(f"GENERATED ALWAYS AS ({column.generated_expression}) {column.generated.upper()}")
    words.append("NOT NULL" if column.not_null else "NULL" if column.type.name == "timestamp" else "")
    words.append(default_text(column))
    words.append(f"ON UPDATE {column.on_update}" if column.on_update else "")
    words.append("AUTO_INCREMENT" if column.auto_increment else "")
    words.append(f"AUTO_RANDOM({column.shard_bits})" if column.auto_random else "")
    words.append(f"COMMENT {literal(column.comment)}" if column.comment else "")
    return " ".join(word for word in words if word)


def type_text(type: ColumnType, charset: str, collation: str) -> str:
    """The type with its charset and collation where they differ from the table's."""
    kind = family(type)
    if kind in ("enum", "set"):
        text = f"{type.name}({','.join(literal(member) for member in type.elements)})"
    else:
        text = mysql_type(type, full=not _is_usual_width(type))
    if kind not in ("string", "text", "enum", "set") or is_binary(type):
        return text
    if (type.charset, type.collation) == (charset, collation):
        return text
    return f"{text} CHARACTER SET {type.charset} COLLATE {type.collation}"


def _is_usual_width(type: ColumnType) -> bool:
    """Whether a number has the display width it gets when nobody says one."""
    row = TYPES[type.name]
    usual = row.unsigned_length if type.unsigned else row.length
    return row.family in ("integer", "year") and type.length == usual


def default_text(column: Column) -> str:
    """`DEFAULT …`, or nothing."""
    if column.default is None:
        return ""
    if column.default_expression:
        call = column.default.rpartition("(")[0] or column.default
        plain = call.strip().upper() in ("CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP")
        nextval = column.default.upper().startswith(("NEXTVAL", "NEXT VALUE"))
        return f"DEFAULT {column.default}" if plain or nextval else f"DEFAULT ({column.default})"
    if column.type.name == "bit":
        return f"DEFAULT b'{int(column.default):b}'"
    if is_binary(column.type):
        return f"DEFAULT x'{column.default.encode('latin-1').hex()}'"
    is_number = family(column.type) in ("integer", "decimal", "float", "year")
    return f"DEFAULT {column.default if is_number else literal(column.default)}"


def index_text(index: Index) -> str:
    """`UNIQUE KEY name (columns)` and the like, as it stands behind ADD."""
    kind = "PRIMARY KEY" if index.primary else f"{'UNIQUE INDEX' if index.unique else 'INDEX'} {quoted(index.name)}"
    words = [f"{kind} ({', '.join(_part(part) for part in index.columns)})"]
    words += ["NONCLUSTERED"] if index.primary else []
    words += ["GLOBAL"] if index.unpartitioned else []
    words += [f"COMMENT {literal(index.comment)}"] if index.comment else []
    return " ".join(words if index.visible else [*words, "INVISIBLE"])


def _part(part: IndexColumn) -> str:
    if part.expression:
        return f"({part.expression})"
    return quoted(part.name) + (f"({part.length})" if part.length >= 0 else "")


def foreign_key_text(key: ForeignKey) -> str:
    """`CONSTRAINT name FOREIGN KEY …`, as it stands behind ADD."""
    columns, references = (", ".join(map(quoted, names)) for names in (key.columns, key.references))
    words = [f"CONSTRAINT {quoted(key.name)} FOREIGN KEY ({columns})"]
    words += [f"REFERENCES {quoted(key.schema)}.{quoted(key.table)} ({references})"]
    words += [f"ON DELETE {key.on_delete}"] if key.on_delete else []
    words += [f"ON UPDATE {key.on_update}"] if key.on_update else []
    return " ".join(words)


def ttl_text(ttl: TimeToLive) -> str:
    """The table options of a time to live."""
    words = [f"TTL = {quoted(ttl.column)} + INTERVAL {ttl.interval} TTL_ENABLE = '{'ON' if ttl.enabled else 'OFF'}'"]
    return " ".join(words + ([f"TTL_JOB_INTERVAL = '{ttl.job_interval}'"] if ttl.job_interval else []))


def partitioning_text(rule: Partitioning) -> str:
    """What follows PARTITION BY."""
    columns = f"({', '.join(map(quoted, rule.columns))})"
    if rule.kind == "hash":
        return f"HASH ({rule.expression}) PARTITIONS {len(rule.partitions)}"
    if rule.kind == "key":
        return f"KEY {columns} PARTITIONS {len(rule.partitions)}"
    method = f"{rule.kind.upper()} ({rule.expression})" if rule.expression else f"{rule.kind.upper()} COLUMNS {columns}"
    return f"{method} {partitions_text(rule.kind, rule.partitions)}"


def partitions_text(kind: str, partitions: Sequence[Partition]) -> str:
    """`(PARTITION p VALUES …, …)`"""
    return f"({', '.join(f'PARTITION {quoted(one.name)} {_values(kind, one)}' for one in partitions)})"


def _values(kind: str, partition: Partition) -> str:
    if kind == "range":
        return f"VALUES LESS THAN ({', '.join(partition.values[0])})"
    if partition.values == (("DEFAULT",),):
        return "DEFAULT"
    return f"VALUES IN ({', '.join(_member(member) for member in partition.values)})"


def _member(values: tuple[str, ...]) -> str:
    return values[0] if len(values) == 1 else f"({', '.join(values)})"
