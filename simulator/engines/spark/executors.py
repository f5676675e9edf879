"""Executors on a cluster: until they are there, have the package, and a Python that can do the tasks.

One law: what a machine of the cluster lacks shows before anything is sent.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from pyspark import SparkContext

from simulator.engines.spark.failures import translated
from simulator.engines.spark.shipped_code import ship
from simulator.errors import UserError

WITHIN = 60.0
"""Seconds until a cluster has started an executor."""

SETTLED = 2.0
"""Seconds after the last one came until no other is waited for."""


def slots(context: SparkContext) -> int:
    """How many tasks run at the same time."""
    java = context._jsc.sc()
    return int(java.maxNumConcurrentTasks(java.resourceProfileManager().defaultResourceProfile()))


@translated()
def make_ready(context: SparkContext) -> None:
    """Raises UserError where no executor comes, or one cannot do our tasks."""
    ship(context)
    count = _settled(context)
    # As a barrier, so that every executor has its share of the tasks.
    context.parallelize(range(count), count).barrier().mapPartitions(_nothing).collect()


def _settled(context: SparkContext) -> int:
    """The slots of all executors that come."""
    found, changed = 0, time.monotonic()
    while not found or time.monotonic() < changed + SETTLED:
        if time.monotonic() > changed + WITHIN:
            raise UserError(
                f"Spark at {context.master} has started no executor for {WITHIN:.0f} s: it has no worker with enough "
                "free cores and memory (spark.executor.cores, spark.executor.memory); the workers' logs say more"
            )
        time.sleep(0.1)
        if (now := slots(context)) != found:
            found, changed = now, time.monotonic()
    return found


def _nothing(rows: Iterable[int]) -> Iterable[int]:
    """A task of ours, which Python cannot even name where it lacks the package."""
    return ()
