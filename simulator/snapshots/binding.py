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
