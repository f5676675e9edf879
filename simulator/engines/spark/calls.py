"""Calls to Spark in another thread, as none may be torn: what a signal ends is ended from this one.

One law: Spark is imported by whoever enters, not by whoever imports this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from simulator.signals import held

Start = Callable[..., "Future[Any]"]
"""Begins a call of a function with arguments behind those that were begun before."""


@contextmanager
def apart() -> Iterator[Start]:
    """Where the block ends while a call still runs, Spark is ended."""
    with held():  # an import that a signal ends midway leaves half a module behind
        from simulator.engines.spark import session as spark
    work: Future[Any] | None = None

    def start(function: Callable[..., Any], *arguments: object) -> Future[Any]:
        nonlocal work
        with held():
            work = pool.submit(function, *arguments)
        return work

    with ThreadPoolExecutor(1) as pool:
        try:
            yield start
        finally:
            if work is not None and not work.done():
                spark.end(work.done)
