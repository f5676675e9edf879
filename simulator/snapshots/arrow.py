"""Functions on Arrow data in Spark.

One law: the same call as Spark's own, without its warning about pandas, which Arrow functions do not meet.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

Batches = Iterator[pa.RecordBatch]


def map_in_arrow(frame: DataFrame, function: Callable[[Batches], Batches], schema: StructType) -> DataFrame:
    """DataFrame.mapInArrow."""
    with warnings.catch_warnings():  # pyspark 4.3 warns of pandas 3 wherever it makes a Python function
        warnings.simplefilter("ignore", FutureWarning)
        return frame.mapInArrow(function, schema)


def map_strings(function: Callable[[pa.Array], pa.Array], text: Column) -> Column:
    """A function from string arrays to string arrays on a column."""

    def arrays(texts: pa.Array) -> pa.Array:
        return function(texts)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        column: Column = F.arrow_udf(arrays, "string")(text)  # type: ignore[call-overload, attr-defined, unused-ignore]
    return column
