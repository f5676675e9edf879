"""The row changes that event filters let through, on Spark.

One law: tables that no rule looks at cost nothing; those with equal columns under the same rules share one branch.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from simulator import tso
from simulator.filters.conditions import ignored, texts
from simulator.filters.event_types import ROW_KINDS
from simulator.filters.events import EventFilters, ignoring_row
from simulator.filters.expression_checks import looks
from simulator.numbered import by_number
from simulator.schema.table import Table


def kept(
    changes: DataFrame, tables: Sequence[Table], filters: EventFilters, ignored_start_ts: Collection[int] = ()
) -> DataFrame:
    """The changes that are sent; the frame itself where no rule is about any of the tables.

    Of the columns it reads table int (place in `tables`), op byte (place in ROW_KINDS), before and after binary (row
    images), and commit_ts long for transactions to ignore. An UPDATE is still one change: TiCDC filters first and
    splits then. Raises ChangefeedError for an expression that does not suit its table: CDC:ErrInvalidFilterExpression,
    CDC:ErrExpressionColumnNotFound.
    """
    kinds, groups = [_kinds(filters, table) for table in tables], _groups(filters, tables)
    found = [F.getbit(by_number(kinds, "table"), F.col("op").cast("int")) == 1] if any(kinds) else []
    found += [_by_values(filters, tables, groups)] if any(groups) else []
    found += [F.col("commit_ts").isin([ts + tso.BEFORE_COMMIT for ts in ignored_start_ts])] if ignored_start_ts else []
    return changes.where(~functools.reduce(Column.__or__, found)) if found else changes


def _kinds(filters: EventFilters, table: Table) -> int:
    """One bit for each kind of change that `ignore-event` names."""
    found = (ignoring_row(filters, table.schema, table.name, kind) for kind in ROW_KINDS)
    return sum(1 << bit for bit, rule in enumerate(found) if rule)


def _groups(filters: EventFilters, tables: Sequence[Table]) -> list[int]:
    """For each table the number of its group, from 1; 0 where no rule looks at its rows."""
    numbers: dict[object, int] = {(): 0}
    groups = []
    for table in tables:
        rules = tuple(rule.number for rule in filters.rules if looks(rule, table))
        alike = rules and (rules, table.columns, table.indexes, table.primary_key)
        groups.append(numbers.setdefault(alike, len(numbers)))
    return groups


def _by_values(filters: EventFilters, tables: Sequence[Table], groups: Sequence[int]) -> Column:
    """Whether a change is ignored for its values."""
    number = by_number(groups, "table")
    first = {group: table for group, table in zip(reversed(groups), reversed(tables), strict=True) if group}
    cases = F.when(number == 0, F.lit(False))
    for group, table in sorted(first.items(), key=lambda pair: pair[0]):
        cases = cases.when(number == group, _of_table(filters, table))
    return cases.otherwise(F.lit(False))


def _of_table(filters: EventFilters, table: Table) -> Column:
    before, after = texts("before", table), texts("after", table)
    cases = F.when(F.col("op").isNull(), F.lit(False))
    for op, kind in enumerate(ROW_KINDS):
        found = ignored(filters, table, kind, before, after)
        cases = cases if found is None else cases.when(F.col("op") == op, found)
    return cases.otherwise(F.lit(False))
