"""The times of rows that have to change in some order, found by tasks: only values that are handed on come together."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame

from simulator.engines.spark.failures import wrap_errors
from simulator.engines.spark.frames import Batches, map_in_arrow
from simulator.sources import handed_on
from simulator.sources.diff import Comparison


def in_order(differing: DataFrame, comparison: Comparison) -> Comparison:
    """Return the comparison with the times of those rows (ROW_DIFFERENCES) that have to change in some order.

    Raises UserError if they are too many.
    """

    def claims(batches: Batches) -> Batches:
        with wrap_errors():
            yield from (handed_on.claims(batch, comparison) for batch in batches if batch.num_rows)

    def of_values(batches: Batches) -> Batches:
        with wrap_errors():
            if claimed := [batch for batch in batches if batch.num_rows]:
                yield handed_on.handed_on(pa.concat_batches(claimed))

    claimed = map_in_arrow(differing, claims, handed_on.CLAIMS).repartition("value")
    found = (
        map_in_arrow(claimed, of_values, handed_on.CLAIMS).limit(handed_on.MOST + 1).toArrow().cast(handed_on.CLAIMS)
    )
    every = pa.concat_batches([pa.RecordBatch.from_pylist([], handed_on.CLAIMS), *found.to_batches()])
    return replace(comparison, fixed=handed_on.fixed_times(every, comparison))
