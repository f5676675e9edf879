"""When rules of event filters ignore a row change for its values, as a Spark condition.

One law: values are TiDB texts, and a rule that cannot tell (NULL) lets the change through.
Source: tiflow v8.5.7 pkg/filter/expr_filter.go; ticdc v8.5.4, the same.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulator.filters.events import EventFilters, EventRule
from simulator.filters.expressions import condition
from simulator.schema.keys import visible_columns
from simulator.schema.table import Table

SEPARATOR, NULL = b"\xff", b"\xfe"
"""Between the cells of a row image, and instead of one (see images)."""

Texts = Mapping[str, Column]
"""TiDB texts of the visible columns, by name."""


def ignored(filters: EventFilters, table: Table, kind: str, before: Texts, after: Texts) -> Column | None:
    """Whether rules ignore a change of that kind (insert, update, delete) for its values; None where none looks.

    Raises ChangefeedError for the expressions of that kind: CDC:ErrInvalidFilterExpression,
    CDC:ErrExpressionColumnNotFound.
    """
    found: list[Column] = []
    for rule in filters.rules:
        if rule.row_matcher.match(table.schema, table.name):
            found += (condition(text, table, values) for text, values in _expressions(rule, kind, before, after))
    return functools.reduce(Column.__or__, found) if found else None


def texts(image: str, table: Table) -> Texts:
    """The cells of the row images in a column; of one only the cells that are asked for are cut out."""
    whole, separator = F.col(image).cast("string"), F.lit(SEPARATOR).cast("string")

    def cell(place: int) -> Column:
        through = F.call_function("substring_index", whole, separator, F.lit(place + 1))
        text = F.call_function("substring_index", through, separator, F.lit(-1))
        return F.when(text != F.lit(NULL).cast("string"), text)

    return {column.name: cell(place) for place, column in enumerate(visible_columns(table))}


def _expressions(rule: EventRule, kind: str, before: Texts, after: Texts) -> Iterator[tuple[str, Texts]]:
    """An UPDATE goes by its old row or by its new one."""
    said = rule.setting
    every = {
        "insert": ((said.ignore_insert_value_expr, after),),
        "delete": ((said.ignore_delete_value_expr, before),),
        "update": ((said.ignore_update_old_value_expr, before), (said.ignore_update_new_value_expr, after)),
    }
    yield from ((text, values) for text, values in every[kind] if text)
