"""Spark's daemon of Python workers, which imports what their tasks need before it forks them.

That saves nearly a second per worker. Spark requires that no other thread runs when the daemon forks
(pyspark/daemon.py), so libraries that start threads on import are configured not to. A Python that cannot run the
tasks reports that when the daemon starts.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

from simulator.engines.spark.workers import missing_requirement, pack_error

SINGLE_THREADED = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""Environment variables of numpy and pyarrow."""

MODULE = "TICDC_SIM_WORKERS"
"""The environment variable that names the module which the workers of a query need; unset for the engine's own."""


def prepare() -> None:
    """Import what the tasks need."""
    os.environ.update(SINGLE_THREADED)
    import_module(os.environ.get(MODULE, "simulator.engines.on_spark"))


if __name__ == "__main__":
    if (why := missing_requirement()) is not None:
        sys.exit(pack_error("UserError", why))  # Spark brings standard error to the driver

    from pyspark.daemon import manager

    prepare()
    manager()
