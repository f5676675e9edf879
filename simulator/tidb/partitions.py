"""Compute the partition of a table in which TiDB stores a row (tidb pkg/table/tables/partition.go)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from simulator.errors import SchemaError
from simulator.tidb.collations import compare
from simulator.tidb.expressions.operators.casts import cast
from simulator.tidb.expressions.operators.comparisons import comparison
from simulator.tidb.expressions.operators.texts import as_blob, collation_key
from simulator.tidb.expressions.sql.evaluate import EvaluationError, evaluate
from simulator.tidb.expressions.sql.graph import FALSE, NULL, TRUE, Sql, case, identifier, join, sql, when
from simulator.tidb.expressions.translate import TableScope, translate
from simulator.tidb.expressions.trees import definition_tree
from simulator.tidb.expressions.values.literals import column_value
from simulator.tidb.expressions.values.value import Value, is_true
from simulator.tidb.model.table import Column, Partitioning, Table

KEY_TYPES = frozenset(
    "tinyint smallint mediumint int bigint decimal char varchar date datetime timestamp time year enum set".split()
)
"""The column types that PARTITION BY KEY is simulated for."""


def locate_partition(table: Table, texts: Mapping[str, pa.Array]) -> pa.Array:
    """Return the ordinal (int32) of each row's partition, null if no partition takes the row.

    `texts`: the TiDB text of each column. Raises SchemaError for a partitioning that is not simulated.
    """
    rule = table.partitioning
    if rule is None:
        raise SchemaError(f"table {table.name!r} is not partitioned")
    rows = len(next(iter(texts.values())))
    try:
        results = evaluate({"ordinal": _ordinal(table, rule, tuple(texts))}, texts, rows)
    except EvaluationError as error:
        raise SchemaError(f"table {table.name!r}: its partitions cannot be computed here: {error}") from None
    return results["ordinal"]


@functools.lru_cache(256)
def _ordinal(table: Table, rule: Partitioning, columns: tuple[str, ...]) -> Sql:
    return partition_ordinal(table, rule, {column: identifier(column) for column in columns})


def partition_ordinal(table: Table, rule: Partitioning, cells: Mapping[str, Sql]) -> Sql:
    """Return the SQL of a row's partition ordinal, from the SQL of the TiDB text of its columns."""
    return sql("{}::INTEGER", _ORDERS[rule.kind](TableScope(table, cells), rule))


def _hash(scope: TableScope, rule: Partitioning) -> Sql:
    value = cast(_of_expression(scope, rule), "SIGNED")
    return sql(f"coalesce(abs({{}} % {len(rule.partitions)}), 0)", value.sql)


def _of_expression(scope: TableScope, rule: Partitioning) -> Value:
    return translate(definition_tree(rule.expression, scope.table), scope)


def _members(table: Table, rule: Partitioning) -> list[Column]:
    """Return the columns of RANGE COLUMNS, LIST COLUMNS or KEY."""
    columns = {column.name.lower(): column for column in table.columns}
    names = rule.columns or (table.primary_key if rule.kind == "key" else ())
    return [columns[name.lower()] for name in names]


def _values(scope: TableScope, rule: Partitioning) -> list[Value]:
    """Return the values that are compared with bounds."""
    if rule.expression:
        return [_of_expression(scope, rule)]
    return [column_value(column, scope.cells[column.name]) for column in _members(scope.table, rule)]


def _bound(text: str, table: Table, value: Value) -> Value:
    """Return a bound with the collation of the value."""
    bound = translate(definition_tree(text, table), TableScope(table, {}))
    return replace(bound, collation=value.collation) if value.kind == bound.kind == "string" else bound


def _range(scope: TableScope, rule: Partitioning) -> Sql:
    """Find the first partition with a bound above the row, by binary search. NULL is below every bound."""
    values = _values(scope, rule)
    above = [is_true(_above(values, partition.values[0], scope.table)) for partition in rule.partitions]

    def search(low: int, high: int) -> Sql:
        if low == high:
            return sql(str(low)) if low < len(above) else NULL
        middle = (low + high) // 2
        return when(above[middle], search(low, middle), search(middle + 1, high))

    return search(0, len(above))


def _above(values: list[Value], bounds: tuple[str, ...], table: Table) -> Sql:
    """Whether the bounds are above the values. The first different pair decides."""
    if not values:
        return FALSE
    value, bound = values[0], bounds[0]
    if bound.upper() == "MAXVALUE":
        return TRUE
    limit = _bound(bound, table, value)
    below = sql("{} IS NULL OR {}", value.sql, comparison("<", value, limit))
    if len(values) == 1:
        return below
    return sql("{} OR ({} AND {})", below, comparison("=", value, limit), _above(values[1:], bounds[1:], table))


def _list(scope: TableScope, rule: Partitioning) -> Sql:
    """Find the partition that lists the row's values, else the default partition."""
    values, default = _values(scope, rule), NULL
    branches = []
    for place, partition in enumerate(rule.partitions):
        same = []
        for member in partition.values:
            if tuple(bound.upper() for bound in member) == ("DEFAULT",):
                default = sql(str(place))
                continue
            pairs = zip(values, member, strict=True)
            same.append(
                join("AND", [comparison("<=>", value, _bound(bound, scope.table, value)) for value, bound in pairs])
            )
        if same:
            branches.append((join("OR", same), sql(str(place))))
    return case(branches, default)


def _key(scope: TableScope, rule: Partitioning) -> Sql:
    """Take the CRC32 of the columns' sort keys, with a zero byte for NULL (TiDB ForKeyPruning.LocateKeyPartition)."""
    parts = []
    for column in _members(scope.table, rule):
        type = column.type
        if type.name not in KEY_TYPES or type.collation.endswith("_ci") or compare.has_weights(type.collation):
            raise SchemaError(
                f"table {scope.table.name!r}: PARTITION BY KEY on column {column.name!r} is not computed for "
                f"{type.name} with collation {type.collation}; numbers, times and strings of a _bin or binary "
                f"collation of UTF-8, Latin-1 or ASCII are"
            )
        is_bytes = type.charset == "binary" and type.name in ("char", "varchar")
        key = collation_key(scope.cells[column.name], type.collation)
        parts.append(sql("coalesce({}, unhex('00'))", as_blob(Value(key, "string", is_binary=is_bytes))))
    return sql(f"crc32_of({{}}) % {len(rule.partitions)}", join("||", parts))


_ORDERS = {"hash": _hash, "key": _key, "list": _list, "range": _range}
