"""Which master `--master auto` is: this process where that is enough, else Spark on this machine, or where it was submitted."""

from __future__ import annotations

import os

from simulator.settings import AUTO, IN_PROCESS, ON_SPARK


def chosen_master(master: str, in_process: bool) -> str:
    """Return the given master; for `auto` the one without Spark if work can be done `in_process`."""
    if master != AUTO:
        return master
    return IN_PROCESS if in_process else _submitted() or ON_SPARK


def _submitted() -> str | None:
    """Return the master of the `spark-submit` that started this program; None if none did."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return None
    from pyspark import SparkConf

    master: str | None = SparkConf().get("spark.master")
    return master
