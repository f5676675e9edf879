"""Spark's daemon of Python workers, with what their tasks need imported before it forks them: nearly a second for each.

One law: as Spark asks (pyspark/daemon.py), there is no other thread when it forks; so what starts threads when it is
imported is told not to. A Python that cannot do the tasks says so before it is asked to.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

from simulator.engines.spark.packed_errors import packed
from simulator.engines.spark.python_version import lacking

ALONE = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""Of numpy and of pyarrow."""

MODULE = "TICDC_SIM_WORKERS"
"""The environment variable that names the module which the workers of a query need; unset for the engine's own."""


def prepare() -> None:
    """Imports what the tasks need."""
    os.environ.update(ALONE)
    import_module(os.environ.get(MODULE, "simulator.engines.on_spark"))


if __name__ == "__main__":
    if (why := lacking()) is not None:
        sys.exit(packed("UserError", why))  # Spark brings standard error to the driver

    from pyspark.daemon import manager

    prepare()
    manager()
