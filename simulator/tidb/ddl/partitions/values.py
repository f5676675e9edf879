"""Checks of bounds and members of partitions: types, order, duplicates (TiDB: pkg/ddl/partition.go,
checkPartitionValuesIsInt, checkRangePartitionValue, checkListPartitionValue; pkg/ddl/ddl_api.go,
checkAndGetColumnsTypeAndValuesMatch, checkRangeColumnsPartitionValue)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pyarrow as pa

from simulator.errors import SchemaError
from simulator.tidb import syntax
from simulator.tidb.collations import compare
from simulator.tidb.ddl.columns.definitions import is_valid_literal
from simulator.tidb.ddl.definitions.defaults import value_text
from simulator.tidb.ddl.expressions.constants import NO_TABLE, ConstantValue, evaluate_constant
from simulator.tidb.ddl.expressions.illegal_functions import parse_or_none
from simulator.tidb.ddl.lookups import existing_column
from simulator.tidb.ddl.partitions.functions import check_allowed, is_unsigned
from simulator.tidb.errors import tidb_error
from simulator.tidb.expressions.trees import walk
from simulator.tidb.model.table import Column, Partition, Partitioning, Table
from simulator.tidb.model.types import family

MAXVALUE, DEFAULT = "MAXVALUE", ("DEFAULT",)
COLUMN_CONSTANT_KINDS = {
    "integer": ("int", "uint", "null", "unknown"),
    **dict.fromkeys(("date", "datetime", "time"), ("string", "null", "unknown")),
}
"""Kinds of constants by type of the column of RANGE COLUMNS or LIST COLUMNS."""

WRAP = 1 << 64


def check_types(partition: Partition, partitioning: Partitioning, table: Table) -> None:
    for values in partition.values:
        for place, text in enumerate(values if values != DEFAULT else ()):
            if text == MAXVALUE:
                continue
            if partitioning.columns:
                check_column_value(evaluate_constant(text), column_of(partitioning, place, table))
            else:
                check_number(evaluate_constant(text), partition.name, is_unsigned(partitioning.expression, table))
    check_functions(partition)


def check_functions(partition: Partition) -> None:
    for text in {text for values in partition.values for text in values}:
        tree = parse_or_none(text) if text not in (MAXVALUE, *DEFAULT) else None
        for node in walk(tree) if tree is not None else ():
            check_allowed(node, NO_TABLE)


def check_number(value: ConstantValue, partition: str, unsigned: bool) -> None:
    if value.kind == "int" and unsigned and int(value.text) < 0:
        raise tidb_error("ddl:1563")
    if value.kind not in ("int", "uint", "null", "unknown"):
        raise tidb_error("ddl:1697", partition)


def check_column_value(value: ConstantValue, column: Column) -> None:
    kind = family(column.type)
    if value.kind not in COLUMN_CONSTANT_KINDS.get(kind, (value.kind,)):
        raise tidb_error("ddl:1654")
    if column.type.name == "char" and value.kind not in ("string", "bytes", "null", "unknown"):
        raise tidb_error("ddl:1654")
    if value.kind not in ("null", "unknown") and stored_text(value, column) is None:
        raise tidb_error("ddl:1654")


def stored_text(value: ConstantValue, column: Column) -> str | None:
    """Return the constant as TiDB text of the column; None if it is no value of the column."""
    default = syntax.ColumnDefault("string" if value.kind in ("string", "bytes") else "number", value.text)
    try:
        text = value_text(default, column.type)
    except SchemaError:
        return None
    return text if text is not None and is_valid_literal(text, column.type) else None


def column_of(partitioning: Partitioning, place: int, table: Table) -> Column:
    column = existing_column(table, partitioning.columns[place], tidb_error("ddl:1488"))
    return column


def check_bounds(partitioning: Partitioning, table: Table) -> Partitioning:
    """Return RANGE partitioning with evaluated bounds. Raises DdlError for bounds that do not increase."""
    if partitioning.columns:
        for lower, upper in pairwise(partitioning.partitions):
            if not is_above(upper.values[0], lower.values[0], partitioning, table):
                raise tidb_error("ddl:1493")
        return partitioning
    partitions = partitioning.partitions
    last = partitions[-1:] if partitions and partitions[-1].values[0][0] == MAXVALUE else ()
    unsigned = is_unsigned(partitioning.expression, table)
    written, before = [], None
    for partition in partitions[: len(partitions) - len(last)]:
        text = partition.values[0][0]
        if text == MAXVALUE:
            raise tidb_error("ddl:1481")
        number = integer_bound(text, unsigned)
        if before is not None and number is not None and number <= before:
            raise tidb_error("ddl:1493")
        before = number if number is not None else before
        written.append(replace(partition, values=((text if number is None else str(number),),)))
    return replace(partitioning, partitions=(*written, *last))


def integer_bound(text: str, unsigned: bool) -> int | None:
    """Return a bound as the number that TiDB compares; None if it cannot be computed here."""
    value = evaluate_constant(text)
    if value.kind == "null":
        raise tidb_error("ddl:1659", text)
    if value.kind == "unknown":
        return None
    number = int(value.text)
    if unsigned:
        return number % WRAP
    return (number + WRAP // 2) % WRAP - WRAP // 2


def is_above(upper: Sequence[str], lower: Sequence[str], partitioning: Partitioning, table: Table) -> bool:
    """Return whether a bound of RANGE COLUMNS is above the one before it.

    The first greater column decides, even if columns before it are less (TiDB: checkTwoRangeColumns).
    """
    for place, (high, low) in enumerate(zip(upper, lower)):
        if high == MAXVALUE and low != MAXVALUE:
            return True
        if low == MAXVALUE:
            return False
        column = column_of(partitioning, place, table)
        left, right = (sort_key(evaluate_constant(text), column) for text in (high, low))
        if left is None or right is None:
            return left is right is None and high != low
        if left > right:
            return True
    return False


def sort_key(value: ConstantValue, column: Column) -> bytes | None:
    """Return the sort key of a value; None for NULL and for a value that cannot be computed here."""
    text = None if value.kind in ("null", "unknown") else stored_text(value, column)
    if text is None:
        return None
    if family(column.type) == "integer":
        return (int(text) + WRAP).to_bytes(10, "big")
    if family(column.type) != "string":
        return text.encode()
    return bytes(compare.sort_keys(column.type.collation, pa.array([text], pa.string()))[0].as_py())


def check_lists(partitioning: Partitioning, table: Table) -> None:
    """Raise DdlError for duplicate members or DEFAULT."""
    unsigned = not partitioning.columns and is_unsigned(partitioning.expression, table)
    seen: set[object] = set()
    for partition in partitioning.partitions:
        for values in partition.values:
            keys = (member_key(text, place, partitioning, table, unsigned) for place, text in enumerate(values))
            member = values if values == DEFAULT else tuple(keys)
            if member in seen:
                raise tidb_error("ddl:1495")
            seen.add(member)


def member_key(text: str, place: int, partitioning: Partitioning, table: Table, unsigned: bool) -> object:
    value = evaluate_constant(text)
    if value.kind == "null":
        return None
    if value.kind == "unknown":
        return text
    if partitioning.columns:
        return sort_key(value, column_of(partitioning, place, table))
    return integer_bound(text, unsigned)
