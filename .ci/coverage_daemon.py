"""Spark's daemon of Python workers, which here write down the lines they ran after each task: at the end of a session
Spark kills them, and nothing more is heard of them (pyspark/daemon.py, shutdown)."""

from __future__ import annotations

import coverage
from pyspark import daemon

worker = daemon.worker


def measured(*connection: object) -> int:
    """A worker's task, and then the lines."""
    try:
        return worker(*connection)
    finally:
        running = coverage.Coverage.current()
        if running:
            running.save()


if __name__ == "__main__":
    daemon.worker = measured
    daemon.manager()
