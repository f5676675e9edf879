"""What the engine uses of Spark that is no part of its documented interface, and what it does where a version lacks it.

Each fallback gives the same messages, and takes longer or tells less.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext, java_gateway
from pyspark.sql import DataFrame, SparkSession

BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"

EXCLUDED_RULE = "org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation"
"""The rule of adaptive execution that would move partitions (Spark: AQEOptimizer.scala)."""


def knows_setting(spark: SparkSession, name: str) -> bool:
    """Whether Spark has a setting, which may be an internal one: Spark accepts any name, and ignores unknown ones."""
    return bool(spark.conf.isModifiable(name))


def excludes_rule(spark: SparkSession) -> bool:
    """Whether adaptive execution leaves partitions in place, as it has the rule that is excluded; else it must be off."""
    return _has(lambda: _java(spark).java.lang.Class.forName(EXCLUDED_RULE))


def run_shuffles(frame: DataFrame) -> bool:
    """Run all stages of an adaptive plan but the last one; False if Spark cannot do that."""
    return _has(lambda: _frame(frame).queryExecution().executedPlan().finalPhysicalPlan(), fails=True)


def slots(context: SparkContext) -> int:
    """Return how many tasks run at the same time; 1 if Spark tells neither that nor the number of cores."""
    found: list[int] = []

    def ask() -> None:
        java = context._jsc.sc()
        found.append(int(java.maxNumConcurrentTasks(java.resourceProfileManager().defaultResourceProfile())))

    if _has(ask):
        return found[0]
    return 1 if context.getConf().contains("spark.default.parallelism") else int(context.defaultParallelism)


STARTING = threading.Lock()


def start_java(settings: Mapping[str, str]) -> None:
    """Start Spark's Java, unless it runs, in a process group of its own: a signal to the group of this process, as
    `timeout` sends it, must not end it before its work is put away. It ends with this process, as it reads its pipe.

    Where Spark lacks what this needs, it starts Java itself, in the same group.
    """
    with STARTING:
        if getattr(SparkContext, "_gateway", None) is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
            return
        try:
            launch: Any = java_gateway.launch_gateway
            begin = SparkContext._ensure_initialized
            signature(launch).bind(None, {})
            signature(begin).bind(gateway=None)
        except (AttributeError, TypeError):
            return
        begin(gateway=launch(SparkConf().setAll(list(settings.items())), {"process_group": 0}))


def java_process() -> subprocess.Popen[bytes] | None:
    """Return Spark's Java; None if it is not known, and then nobody says how it ended, or ends it before its work."""
    process: subprocess.Popen[bytes] | None = getattr(getattr(SparkContext, "_gateway", None), "proc", None)
    return process


def java_is_starting() -> bool:
    return getattr(SparkContext, "_gateway", False) is None


def active_context() -> SparkContext | None:
    context: SparkContext | None = getattr(SparkContext, "_active_spark_context", None)
    return context


def silence_accumulators(context: SparkContext) -> None:
    """Suppress py4j's traceback when Java has ended, as the waiting call reports it."""
    server: Any = getattr(context, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda *_: None


def has_daemon() -> bool:
    """Whether Spark's daemon of Python workers can be started by ours; else its own runs, whose workers start slower."""
    try:
        from pyspark.daemon import manager
    except ImportError:
        return False
    return callable(manager)


def _java(spark: SparkSession) -> Any:
    return spark._jvm


def _frame(frame: DataFrame) -> Any:
    return frame._jdf


def _has(call: Callable[[], object], fails: bool = False) -> bool:
    """Whether Spark has what is called; an error of what it does is raised if `fails`, and else as if it had not."""
    try:
        call()
    except Py4JJavaError:
        if fails:
            raise
        return False
    except (Py4JError, AttributeError, TypeError) as error:
        if isinstance(error, Py4JError) and "does not exist" not in str(error):
            raise
        return False
    return True
