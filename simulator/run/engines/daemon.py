"""Spark's daemon of Python workers, with what their tasks need imported before it forks them: nearly a second for each.

One law: as Spark asks (pyspark/daemon.py), there is no other thread when it forks; so what starts threads when it is
imported is told not to. A Python that cannot do the tasks says so before it is asked to.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

from simulator.run.engines.carried import packed
from simulator.run.engines.workers_python import lacking

ALONE = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""Of numpy and of pyarrow."""

KIND = "TICDC_SIM_WORKERS"
NEEDED = {"ticdc-windows": "streaming.source", "ticdc-rows": "streaming.task"}
"""By what a source or a sink of a streaming query is called (`streaming.query` says to its processes)."""


def prepare() -> None:
    """Imports what the tasks need."""
    os.environ.update(ALONE)
    import_module(f"simulator.run.engines.{NEEDED.get(os.environ.get(KIND, ''), 'on_spark')}")


if __name__ == "__main__":
    if (why := lacking()) is not None:
        sys.exit(packed("UserError", why))  # Spark brings standard error to the driver

    from pyspark.daemon import manager

    prepare()
    manager()
