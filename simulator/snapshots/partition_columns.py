"""In which partition TiDB keeps a row.

One law: the answer depends on the partitioning columns' values alone, as in TiDB (pkg/table/tables/partition.go).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.errors import SchemaError
from simulator.schema.expressions import spark_sql
from simulator.schema.table import ColumnType, Partitioning, Table
from simulator.snapshots.typed import spark_type

_KEY_TYPES = ("tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "char", "varchar", "date", "datetime",
              "timestamp", "time", "year", "enum", "set")


def locate_partition(table: Table, columns: Mapping[str, str]) -> Column:
    """Ordinal of the partition that holds a row; null where none takes it.

    `columns`: by column name, the Spark SQL of its TiDB text. Raises SchemaError for a
    partitioning that cannot be computed here.
    """
    rule = table.partitioning
    if rule is None:
        raise SchemaError(f"table {table.name!r} is not partitioned")
    if rule.kind == "key":
        return _key(table, rule, columns)
    typed = _typed(table, columns)
    if rule.kind == "hash":
        value = F.expr(_sql(rule.expression, typed)).cast("bigint")
        return F.coalesce(F.abs(value % len(rule.partitions)), F.lit(0)).cast("int")
    names = _members(table, rule)
    values = [typed[name] for name in names] if names else [_sql(rule.expression, typed)]
    types = [_type(table, name) for name in names] or [ColumnType("bigint")]
    literals = [spark_type(type) for type in types]
    case_blind = [type.collation.endswith("_ci") for type in types]
    values = [f"lower({value})" if blind else value for value, blind in zip(values, case_blind)]
    order = _range if rule.kind == "range" else _list
    return F.expr(order(rule, values, literals, case_blind))


def _members(table: Table, rule: Partitioning) -> tuple[str, ...]:
    """Columns of RANGE COLUMNS and LIST COLUMNS, as the table spells them."""
    if rule.expression:
        return ()
    spelled = {column.name.lower(): column.name for column in table.columns}
    return tuple(spelled[name.lower()] for name in rule.columns)


def _type(table: Table, name: str) -> ColumnType:
    return next(column.type for column in table.columns if column.name == name)


def _typed(table: Table, columns: Mapping[str, str]) -> dict[str, str]:
    return {column.name: f"try_cast({columns[column.name]} as {spark_type(column.type)})"
            for column in table.columns if column.name in columns}


def _sql(expression: str, typed: Mapping[str, str]) -> str:
    """Spark SQL of an expression over typed columns."""
    marks = {name: f"column {index}" for index, name in enumerate(typed)}
    sql = spark_sql(expression, marks)
    return re.sub(r"`column (\d+)`", lambda found: list(typed.values())[int(found[1])], sql)


def _literal(text: str, type: str, case_blind: bool) -> str:
    value = f"cast({spark_sql(text, {})} as {type})"
    return f"lower({value})" if case_blind else value


def _range(rule: Partitioning, values: Sequence[str], types: Sequence[str], case_blind: Sequence[bool]) -> str:
    """The first partition whose bound lies above the row; NULL lies below everything."""
    branches = []
    for index, partition in enumerate(rule.partitions):
        above, equal = [], ""
        for value, type, blind, bound in zip(values, types, case_blind, partition.values[0]):
            if bound.upper() == "MAXVALUE":
                above.append(f"({equal}true)")
                break
            limit = _literal(bound, type, blind)
            above.append(f"({equal}({value} is null or {value} < {limit}))")
            equal += f"{value} = {limit} and "
        branches.append(f"when {' or '.join(above)} then {index}")
    return f"case {' '.join(branches)} end"


def _list(rule: Partitioning, values: Sequence[str], types: Sequence[str], case_blind: Sequence[bool]) -> str:
    """The partition that lists the row's values, else the default one."""
    branches, default = [], "null"
    for index, partition in enumerate(rule.partitions):
        for member in partition.values:
            if tuple(bound.upper() for bound in member) == ("DEFAULT",):
                default = str(index)
                continue
            same = [f"({value}) <=> {_literal(bound, type, blind)}"
                    for value, type, blind, bound in zip(values, types, case_blind, member)]
            branches.append(f"when {' and '.join(same)} then {index}")
    return f"case {' '.join(branches) or 'when false then 0'} else {default} end"


def _key(table: Table, rule: Partitioning, columns: Mapping[str, str]) -> Column:
    """CRC32 of the columns' sort keys, a zero byte for NULL (TiDB ForKeyPruning.LocateKeyPartition)."""
    names = _members(table, rule) or table.primary_key
    parts = []
    for name in names:
        type, text = _type(table, name), F.expr(columns[name])
        if type.name not in _KEY_TYPES or type.collation.endswith("_ci"):
            raise SchemaError(
                f"table {table.name!r}: PARTITION BY KEY on column {name!r} is not computed for {type.name} with "
                f"collation {type.collation}; numbers, times and strings of a _bin or binary collation are")
        data = F.encode(text, "ISO-8859-1") if _is_bytes(type) else _padded(type, text).cast("binary")
        parts.append(F.coalesce(data, F.lit(b"\x00")))
    return (F.crc32(F.concat(*parts)) % len(rule.partitions)).cast("int")


def _is_bytes(type: ColumnType) -> bool:
    return type.charset == "binary" and type.name in ("char", "varchar")


def _padded(type: ColumnType, text: Column) -> Column:
    """Text as its _bin collation compares it: without trailing spaces."""
    return text if type.charset == "binary" else F.rtrim(text)
