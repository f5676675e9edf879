"""A value for each table, topic or destination, found by its number in a Spark frame.

One law: the plan stays small however many there are.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F


def by_number(values: Sequence[int] | Sequence[bool], number: Column | str) -> Column:
    """The value at that place, as a Spark long (boolean for booleans); one literal where all are the same."""
    kind = "boolean" if isinstance(values[0], bool) else "bigint"
    if len(set(values)) == 1:
        return F.lit(values[0]).cast(kind)
    # One text that Spark folds into a constant array: ten thousand literals take it half a minute.
    texts = F.split(F.lit(",".join(str(value) for value in values)), ",")
    return F.get(texts.cast(f"array<{kind}>"), number)
