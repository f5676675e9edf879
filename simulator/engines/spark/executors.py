"""Prepare the executors of a cluster: wait for them, ship the package, and check their Python before anything is sent."""

from __future__ import annotations

import time
from collections.abc import Iterable

from pyspark import SparkContext

from simulator.engines.spark.failures import unwrap_errors
from simulator.engines.spark.shipped_code import ship
from simulator.errors import UserError

START_TIMEOUT = 60.0
"""Seconds within which a cluster must start an executor."""

QUIET_PERIOD = 2.0
"""Seconds to wait for further executors after the last one came."""


def slots(context: SparkContext) -> int:
    """Return how many tasks run at the same time."""
    java = context._jsc.sc()
    return int(java.maxNumConcurrentTasks(java.resourceProfileManager().defaultResourceProfile()))


@unwrap_errors()
def make_ready(context: SparkContext) -> None:
    """Prepare all executors; raises UserError if none starts or one cannot run the tasks."""
    ship(context)
    count = _wait_for_executors(context)
    # A barrier stage gives every executor its share of the tasks.
    context.parallelize(range(count), count).barrier().mapPartitions(_probe).collect()


def _wait_for_executors(context: SparkContext) -> int:
    """Return the slots of all executors that start."""
    count, changed = 0, time.monotonic()
    while not count or time.monotonic() < changed + QUIET_PERIOD:
        if time.monotonic() > changed + START_TIMEOUT:
            raise UserError(
                f"Spark at {context.master} has started no executor for {START_TIMEOUT:.0f} s: it has no worker with enough "
                "free cores and memory (spark.executor.cores, spark.executor.memory); the workers' logs say more"
            )
        time.sleep(0.1)
        if (now := slots(context)) != count:
            count, changed = now, time.monotonic()
    return count


def _probe(rows: Iterable[int]) -> Iterable[int]:
    """An empty task; Python cannot unpickle it without the package."""
    return ()
