"""Spark: how it is called, in another thread, so that a signal never interrupts a call. It is imported when it is called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from simulator.errors import UserError
from simulator.signals import defer_signals

PACKAGES = ("pyspark", "py4j")

Submit = Callable[..., "Future[Any]"]
"""Submits a function with its arguments; calls run one after the other."""


def import_spark() -> Any:
    """Return the module of Spark's session, imported without a signal midway, which would leave half of it behind.

    Raises UserError if pyspark is missing.
    """
    with defer_signals():
        try:
            from simulator.engines.spark import session
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if package not in PACKAGES:
                raise
            raise UserError(f"Spark needs the package {package}, which is missing: pip install pyspark") from error
    return session


@contextmanager
def spark_calls() -> Iterator[Submit]:
    """Yield a function that submits calls; end Spark if the block is left while a call runs."""
    spark = import_spark()
    last_call: Future[Any] | None = None

    def submit(function: Callable[..., Any], *arguments: object) -> Future[Any]:
        nonlocal last_call
        with defer_signals():
            last_call = pool.submit(function, *arguments)
        return last_call

    with ThreadPoolExecutor(1) as pool:
        try:
            yield submit
        finally:
            if last_call is not None and not last_call.done():
                spark.end(last_call.done)
