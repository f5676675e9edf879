"""What engines ask of Spark frames beside Spark's own words: Arrow functions on them, and values by number.

One law: the plan stays small however many tables there are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from simulator.run.bare_arrow import without_pandas

without_pandas()  # Spark's workers import this, too, and pandas takes them longer than a small task does.

Batches = Iterator[pa.RecordBatch]


def map_in_arrow(
    frame: DataFrame, function: Callable[[Batches], Batches], schema: pa.Schema, barrier: bool = False
) -> DataFrame:
    """DataFrame.mapInArrow with Arrow's schema, and without its warning about pandas, which is not used."""
    with warnings.catch_warnings():  # pyspark 4.3 warns of pandas 3 wherever it makes a Python function
        warnings.simplefilter("ignore", FutureWarning)
        return frame.mapInArrow(function, from_arrow_schema(schema), barrier)


def by_number(values: Sequence[int] | Sequence[bool], number: Column | str) -> Column:
    """The value at that place, as a Spark long (boolean for booleans); one literal where all are the same."""
    kind = "boolean" if isinstance(values[0], bool) else "bigint"
    if len(set(values)) == 1:
        return F.lit(values[0]).cast(kind)
    # One text that Spark folds into a constant array: ten thousand literals take it half a minute.
    texts = F.split(F.lit(",".join(str(value) for value in values)), ",")
    return F.get(texts.cast(f"array<{kind}>"), number)
