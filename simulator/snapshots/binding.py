"""A value named once in an expression.

One law: what is bound is written and computed once, however often the expression names it; Catalyst copies the rest.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F


def let(value: Column, body: Callable[[Column], Column]) -> Column:
    """`body` of the value; for branches that few rows take, as Spark interprets it instead of compiling it."""
    return F.transform(F.array(value), body)[0]


def let_sql(value: str, body: Callable[[str], str]) -> str:
    """The same, in SQL; bindings may stand inside each other."""
    depth = value.count(_NAME) + body("").count(_NAME)
    name = f"{_NAME}{depth}"
    return f"transform(array({value}), {name} -> {body(name)})[0]"


_NAME = "bound"
