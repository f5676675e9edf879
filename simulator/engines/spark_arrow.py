"""Functions on Arrow batches in Spark.

One law: the same call as Spark's own, with Arrow's schema, and without its warning about pandas, which is not used.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

Batches = Iterator[pa.RecordBatch]


def map_in_arrow(
    frame: DataFrame, function: Callable[[Batches], Batches], schema: pa.Schema, barrier: bool = False
) -> DataFrame:
    """DataFrame.mapInArrow."""
    with warnings.catch_warnings():  # pyspark 4.3 warns of pandas 3 wherever it makes a Python function
        warnings.simplefilter("ignore", FutureWarning)
        return frame.mapInArrow(function, from_arrow_schema(schema), barrier)
