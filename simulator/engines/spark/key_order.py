"""The times of rows that have to change in some order, found by tasks: only values that are handed on come together."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from simulator.engines.spark.failures import wrap_errors
from simulator.engines.spark.frames import Batches, map_in_arrow
from simulator.sources import handed_on
from simulator.sources.diff import Comparison
from simulator.sources.key_order import FIRST


def in_order(differing: DataFrame, comparison: Comparison) -> Comparison:
    """Return the comparison with the times of those rows (ROW_DIFFERENCES) that have to change in some order.

    Raises UserError if they are too many.
    """

    def claims(batches: Batches) -> Batches:
        with wrap_errors():
            yield from (handed_on.claims(batch, comparison) for batch in batches if batch.num_rows)

    claimed = map_in_arrow(differing, claims, handed_on.CLAIMS).persist(StorageLevel.DISK_ONLY)
    first = F.col("role").isin(*FIRST)
    values = claimed.groupBy("value").agg(
        F.bool_or(first).alias("first"),
        F.bool_or(~first).alias("then"),
        (F.min("row_hash") != F.max("row_hash")).alias("several"),
    )
    of_several = claimed.join(values.where("first AND then AND several"), "value", "left_semi")
    found = of_several.select(*handed_on.CLAIMS.names).limit(handed_on.MOST + 1).toArrow().cast(handed_on.CLAIMS)
    claimed.unpersist()
    every = pa.concat_batches([pa.RecordBatch.from_pylist([], handed_on.CLAIMS), *found.to_batches()])
    return replace(comparison, fixed=handed_on.fixed_times(every, comparison))
